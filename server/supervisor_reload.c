/* SPDX-License-Identifier: ISC */

/*
 * SIGHUP and SIGUSR1: a new configuration while the old one serves, and the
 * state for people.  A configuration with any error changes nothing.
 */
#include "supervisor_state.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "control_create.h"
#include "log.h"
#include "supervisor_reload.h"

static void
report_difference(void *arg, const char *name, bool reload)
{
	uint32_t *counts = arg;

	if (reload) {
		counts[0]++;
		log_line(LOG_LEVEL_INFO, "reload_changed", "option=%s", name);
	} else {
		counts[1]++;
		log_line(LOG_LEVEL_WARNING, "reload_needs_restart",
		    "option=%s", name);
	}
}

void
supervisor_merge_config(struct config *current, const struct config *wanted)
{
	current->log_level = wanted->log_level;
	current->drain_timeout_ms = wanted->drain_timeout_ms;
	current->admin_group = wanted->admin_group;
	current->admin_read_group = wanted->admin_read_group;
	for (uint32_t i = 0; i < current->pool_count; i++) {
		for (uint32_t j = 0; j < wanted->pool_count; j++) {
			if (strcmp(current->pools[i].name,
			    wanted->pools[j].name) == 0) {
				current->pools[i].access =
				    wanted->pools[j].access;
			}
		}
	}
	for (uint32_t i = 0; i < current->origin_count; i++) {
		for (uint32_t j = 0; j < wanted->origin_count; j++) {
			if (strcmp(current->origins[i].name,
			    wanted->origins[j].name) == 0) {
				current->origins[i] = wanted->origins[j];
			}
		}
	}
}

/* True if it is one that the running daemon can take; the log says why not. */
static bool
is_good(const struct supervisor *sup, const struct config_draft *wanted)
{
	uint32_t errors = wanted->error_count + wanted->errors_dropped;

	for (uint32_t i = 0; i < wanted->error_count; i++) {
		log_line(LOG_LEVEL_ERROR, "reload_error", "text=\"%s\"",
		    wanted->errors[i].text);
	}
	if (errors == 0 && supervisor_origins_fit(sup, &wanted->config)) {
		return true;
	}
	log_line(LOG_LEVEL_ERROR, "reload_failed", "errors=%u "
	    "text=\"the old configuration stays\"", errors);
	return false;
}

/* True if all of the new settings are in effect. */
static bool
apply(struct supervisor *sup, const struct config_draft *wanted)
{
	struct config merged = sup->draft->config;
	uint32_t counts[2] = { 0, 0 };
	bool all;

	if (!is_good(sup, wanted)) {
		return false;
	}
	supervisor_merge_config(&merged, &wanted->config);
	if (control_publish(sup->heritage.control, &merged) != OK) {
		log_line(LOG_LEVEL_ERROR, "reload_failed", "text=\"a stopped "
		    "child holds the settings: try again\"");
		return false;
	}
	all = supervisor_origins_apply(sup, &merged);
	supervisor_tell_workers(sup);
	config_diff(sup->draft, wanted, report_difference, counts);
	sup->draft->config = merged;
	/* Children that are started later begin with it. */
	sup->heritage.config = merged;
	log_set_level(merged.log_level);
	if (chmod(sup->admin_path, supervisor_admin_mode(&merged)) < 0) {
		log_line(LOG_LEVEL_WARNING, "admin_socket_mode",
		    "text=\"cannot change the mode of %s\"", sup->admin_path);
	}
	log_line(LOG_LEVEL_INFO, "reloaded", "changed=%u needs_restart=%u",
	    counts[0], counts[1]);
	return all;
}

void
supervisor_reload(struct supervisor *sup)
{
	struct control *control = sup->heritage.control;
	struct config_draft *wanted = calloc(1, sizeof(*wanted));
	bool done = false;

	(void)notify_send_reloading(&sup->notify);
	if (wanted == NULL) {
		log_line(LOG_LEVEL_ERROR, "reload_failed",
		    "text=\"out of memory\"");
	} else {
		(void)config_load(wanted, sup->options);
		done = apply(sup, wanted);
		free(wanted);
	}
	/* Relaxed: for people. */
	atomic_fetch_add_explicit(done ? &control->reloads :
	    &control->reloads_failed, 1, memory_order_relaxed);
	(void)notify_send(&sup->notify, "READY=1\nSTATUS=%s", done ?
	    "serving" : "serving; the last reload failed: see the log");
}

static void
log_child(const struct supervisor *sup, uint32_t index, struct boot_ms now)
{
	static const char *const states[] = {
		[PROCESS_NONE] = "none",
		[PROCESS_STARTING] = "starting",
		[PROCESS_RUNNING] = "running",
		[PROCESS_DRAINING] = "draining",
		[PROCESS_DEAD] = "dead",
	};
	struct control_process *row =
	    &sup->heritage.control->processes[index];
	/* Relaxed, all: for people. */
	uint32_t state = atomic_load_explicit(&row->state,
	    memory_order_relaxed);
	char name[32];

	log_line(LOG_LEVEL_INFO, "state_child", "child=%s pid=%d state=%s "
	    "age_ms=%llu restarts=%llu connections=%u requests=%llu",
	    child_name(&sup->heritage, index, name, sizeof(name)),
	    (int)sup->children[index].pid,
	    state <= PROCESS_DEAD ? states[state] : "unknown",
	    (unsigned long long)(now.ms - sup->children[index].started_ms),
	    (unsigned long long)atomic_load_explicit(&row->restarts,
	    memory_order_relaxed), atomic_load_explicit(&row->connections,
	    memory_order_relaxed), (unsigned long long)atomic_load_explicit(
	    &row->requests, memory_order_relaxed));
}

void
supervisor_log_state(const struct supervisor *sup)
{
	static const char *const phases[] = {
		[SUPERVISOR_STARTING] = "starting",
		[SUPERVISOR_READY] = "ready",
		[SUPERVISOR_DRAINING] = "draining",
		[SUPERVISOR_QUICK] = "stopping",
	};
	struct control *control = sup->heritage.control;
	struct boot_ms now = clock_boot_now();

	/* Relaxed, all: for people. */
	log_line(LOG_LEVEL_INFO, "state", "phase=%s uptime_ms=%llu "
	    "reloads=%llu reloads_failed=%llu clients_refused=%llu",
	    phases[sup->phase],
	    (unsigned long long)(now.ms - control->started_boot_ms),
	    (unsigned long long)atomic_load_explicit(&control->reloads,
	    memory_order_relaxed), (unsigned long long)atomic_load_explicit(
	    &control->reloads_failed, memory_order_relaxed),
	    (unsigned long long)atomic_load_explicit(
	    &control->clients_refused, memory_order_relaxed));
	for (uint32_t i = 0; i < supervisor_child_count(sup); i++) {
		log_child(sup, i, now);
	}
	for (uint32_t i = 0; i < sup->heritage.config.pool_count; i++) {
		const struct pool *pool = &sup->heritage.pools[i];
		uint64_t entries = 0;

		for (uint32_t s = 0; s < pool->g.shard_count; s++) {
			entries += atomic_load_explicit(
			    &pool->shards[s].entry_count,
			    memory_order_relaxed);
		}
		log_line(LOG_LEVEL_INFO, "state_pool", "pool=%s entries=%llu "
		    "memory_bytes=%llu", sup->heritage.config.pools[i].name,
		    (unsigned long long)entries,
		    (unsigned long long)pool->g.pool_bytes);
	}
}
