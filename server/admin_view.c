/* SPDX-License-Identifier: ISC */

/*
 * Verbs that show the daemon: its processes, pools, clients, counters.
 */
#include "admin.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "client_table.h"
#include "epoch.h"
#include "extent.h"
#include "geometry.h"
#include "health.h"
#include "memory_sum.h"
#include "protocol.h"
#include "stats.h"
#include "weir.h"

static uint64_t
sum(const struct pool *pool, enum stat_id stat)
{
	return stats_sum(pool->all_stats, pool->g.stats_blocks, stat);
}

static uint64_t
since(struct boot_ms now, uint64_t then_ms)
{
	return now.ms > then_ms ? now.ms - then_ms : 0;
}

/* Relaxed in all loads of tables: for people, each by itself. */
static uint64_t
load64(const _Atomic uint64_t *word)
{
	return atomic_load_explicit(word, memory_order_relaxed);
}

static uint32_t
load32(const _Atomic uint32_t *word)
{
	return atomic_load_explicit(word, memory_order_relaxed);
}

static const char *
pool_name(const struct admin *admin, uint32_t pool)
{
	return pool < admin->heritage->config.pool_count ?
	    admin->heritage->config.pools[pool].name : "";
}

/* Hits in all reads; null before the first. */
static json_t *
ratio(uint64_t part, uint64_t rest)
{
	return part + rest == 0 ? json_null() :
	    json_real((double)part / (double)(part + rest));
}

enum result
admin_ping(struct admin *admin)
{
	(void)admin;
	return OK;
}

enum result
admin_version(struct admin *admin)
{
	(void)json_object_set_new(admin->answer, "weird",
	    json_string(WEIR_VERSION_STRING));
	admin_put_number(admin->answer, "layout", LAYOUT_VERSION);
	admin_put_number(admin->answer, "protocol", FRAME_VERSION);
	return OK;
}

static void
add_reason(void *arg, const char *text)
{
	(void)json_array_append_new(arg, json_string(text));
}

enum result
admin_status(struct admin *admin)
{
	const struct control *control = admin->heritage->control;
	json_t *answer = admin->answer, *reasons = json_array();
	json_t *pools = json_array();
	char boot_id[33];

	for (int i = 0; i < 16; i++) {
		(void)snprintf(boot_id + 2 * i, 3, "%02x",
		    control->boot_id[i]);
	}
	admin_put_number(answer, "uptime_ms", since(admin->now,
	    control->started_boot_ms));
	(void)json_object_set_new(answer, "boot_id", json_string(boot_id));
	admin_put_number(answer, "supervisor_pid", control->supervisor_pid);
	admin_put_number(answer, "workers", control->worker_count);
	admin_put_number(answer, "clients", client_table_count(control));
	admin_put_number(answer, "max_clients", control->client_capacity);
	(void)json_object_set_new(answer, "state", json_string(health_name(
	    health_look(control, admin->origins, admin->origin_count,
	    admin->now, add_reason, reasons))));
	(void)json_object_set_new(answer, "reasons", reasons);
	admin_put_number(answer, "reloads", load64(&control->reloads));
	admin_put_number(answer, "reloads_failed",
	    load64(&control->reloads_failed));
	for (uint32_t i = 0; i < admin->heritage->config.pool_count; i++) {
		const struct pool *pool = &admin->heritage->pools[i];
		json_t *row = json_object();

		(void)json_object_set_new(row, "name",
		    json_string(pool_name(admin, i)));
		admin_put_number(row, "entries", memory_sum_entries(pool));
		admin_put_number(row, "memory_bytes", pool->g.pool_bytes);
		(void)json_array_append_new(pools, row);
	}
	(void)json_object_set_new(answer, "pools", pools);
	return OK;
}

static void
put_free_extents(json_t *row, const struct pool *pool)
{
	if (!extent_pool_lock(pool)) {
		(void)json_object_set_new(row, "extents_free", json_null());
		return;
	}
	admin_put_number(row, "extents_free", pool->priv->free_count);
	extent_pool_unlock(pool);
}

enum result
admin_pools(struct admin *admin)
{
	json_t *pools = json_array();

	for (uint32_t i = 0; i < admin->heritage->config.pool_count; i++) {
		const struct pool *pool = &admin->heritage->pools[i];
		json_t *row = json_object();

		(void)json_object_set_new(row, "name",
		    json_string(pool_name(admin, i)));
		admin_put_number(row, "memory_bytes", pool->g.pool_bytes);
		admin_put_number(row, "segment_bytes",
		    pool->g.segment_bytes);
		admin_put_number(row, "private_bytes",
		    pool->g.private_bytes);
		admin_put_number(row, "extent_bytes",
		    pool_extent_bytes(pool));
		admin_put_number(row, "extents", pool->g.extent_count);
		put_free_extents(row, pool);
		admin_put_number(row, "shards", pool->g.shard_count);
		admin_put_number(row, "entries", memory_sum_entries(pool));
		admin_put_number(row, "value_max_bytes",
		    geometry_value_max_bytes(&pool->g));
		admin_put_number(row, "inline_max_bytes",
		    geometry_inline_max_bytes(&pool->g));
		admin_put_number(row, "epoch", epoch_now(pool));
		(void)json_object_set_new(row, "hit_ratio",
		    ratio(sum(pool, STAT_get_hits),
		    sum(pool, STAT_get_misses)));
		(void)json_array_append_new(pools, row);
	}
	(void)json_object_set_new(admin->answer, "pools", pools);
	return OK;
}

static const char *
state_name(uint32_t state)
{
	static const char *const names[] = {
		[PROCESS_NONE] = "none", [PROCESS_STARTING] = "starting",
		[PROCESS_RUNNING] = "running",
		[PROCESS_DRAINING] = "draining", [PROCESS_DEAD] = "dead",
	};

	return state < sizeof(names) / sizeof(names[0]) ? names[state] :
	    "unknown";
}

/* "exit 1", "signal 9", or null while it never ended. */
static json_t *
last_exit(const struct control_process *process)
{
	int status = (int)load32(&process->last_status);

	if (load64(&process->restarts) == 0 && status == 0) {
		return json_null();
	}
	return WIFSIGNALED(status) ?
	    json_sprintf("signal %d", WTERMSIG(status)) :
	    json_sprintf("exit %d", WEXITSTATUS(status));
}

enum result
admin_workers(struct admin *admin)
{
	const struct control *control = admin->heritage->control;
	json_t *workers = json_array();

	for (uint32_t i = 0; i <= control->worker_count &&
	    i <= WORKERS_MAX; i++) {
		const struct control_process *process =
		    &control->processes[i];
		json_t *row = json_object();

		admin_put_number(row, "index", i);
		(void)json_object_set_new(row, "role", json_string(i ==
		    control->worker_count ? "keeper" : "worker"));
		admin_put_number(row, "pid", load32(&process->pid));
		(void)json_object_set_new(row, "state",
		    json_string(state_name(load32(&process->state))));
		admin_put_number(row, "incarnation",
		    load64(&process->incarnation));
		admin_put_number(row, "started_ms_ago", since(admin->now,
		    load64(&process->started_ms)));
		admin_put_number(row, "heartbeat_ms_ago", since(admin->now,
		    load64(&process->heartbeat_ms)));
		admin_put_number(row, "restarts",
		    load64(&process->restarts));
		(void)json_object_set_new(row, "last_exit",
		    last_exit(process));
		admin_put_number(row, "connections",
		    load32(&process->connections));
		admin_put_number(row, "requests",
		    load64(&process->requests));
		admin_put_number(row, "ring_records",
		    load64(&process->ring_records));
		admin_put_number(row, "hangups", load64(&process->hangups));
		(void)json_array_append_new(workers, row);
	}
	(void)json_object_set_new(admin->answer, "workers", workers);
	return OK;
}

enum result
admin_clients(struct admin *admin)
{
	const struct control *control = admin->heritage->control;
	json_t *clients = json_array();

	for (uint32_t i = 0; i < control->client_capacity; i++) {
		const struct control_client *client = &control->clients[i];
		json_t *row;

		if (!client_table_in_use(control, client)) {
			continue;
		}
		row = json_object();
		admin_put_number(row, "pid", load32(&client->pid));
		admin_put_number(row, "uid", load32(&client->uid));
		admin_put_number(row, "gid", load32(&client->gid));
		admin_put_number(row, "worker",
		    load32(&client->worker) - 1);
		(void)json_object_set_new(row, "pool", json_string(
		    pool_name(admin, load32(&client->pool))));
		admin_put_number(row, "connected_ms", since(admin->now,
		    load64(&client->since_ms)));
		admin_put_number(row, "requests", load64(&client->requests));
		admin_put_number(row, "ring_records",
		    load64(&client->ring_records));
		admin_put_number(row, "ring_bytes",
		    load32(&client->ring_bytes));
		admin_put_number(row, "hits", load64(&client->hits));
		admin_put_number(row, "misses", load64(&client->misses));
		admin_put_number(row, "stale", load64(&client->stale));
		(void)json_array_append_new(clients, row);
	}
	(void)json_object_set_new(admin->answer, "clients", clients);
	return OK;
}

enum result
admin_stats(struct admin *admin)
{
	const struct pool *pool = admin->pool;
	json_t *counters = json_array(), *derived = json_object();

	if (pool == NULL) {
		(void)json_decref(counters), (void)json_decref(derived);
		(void)snprintf(admin->text, sizeof(admin->text),
		    "there are several pools: name one");
		return INVALID;
	}
	for (unsigned stat = 0; stat < STAT_COUNT; stat++) {
		json_t *row = json_object();

		(void)json_object_set_new(row, "name",
		    json_string(stats_name((enum stat_id)stat)));
		admin_put_number(row, "value", sum(pool, (enum stat_id)stat));
		(void)json_object_set_new(row, "help",
		    json_string(stats_help((enum stat_id)stat)));
		(void)json_array_append_new(counters, row);
	}
	(void)json_object_set_new(derived, "hit_ratio", ratio(
	    sum(pool, STAT_get_hits), sum(pool, STAT_get_misses)));
	(void)json_object_set_new(derived, "stale_ratio", ratio(
	    sum(pool, STAT_get_stale), sum(pool, STAT_get_hits) -
	    sum(pool, STAT_get_stale)));
	admin_put_number(derived, "entries", memory_sum_entries(pool));
	(void)json_object_set_new(admin->answer, "pool",
	    json_string(pool_name(admin, admin->pool_index)));
	(void)json_object_set_new(admin->answer, "counters", counters);
	(void)json_object_set_new(admin->answer, "derived", derived);
	return OK;
}

enum result
admin_mem(struct admin *admin)
{
	const struct heritage *heritage = admin->heritage;
	json_t *pools = json_array();

	for (uint32_t i = 0; i < heritage->config.pool_count; i++) {
		const struct pool *pool = &heritage->pools[i];
		uint64_t index = memory_sum_index_bytes(pool);
		json_t *row = json_object();

		(void)json_object_set_new(row, "name",
		    json_string(pool_name(admin, i)));
		admin_put_number(row, "extents_bytes", pool->g.pool_bytes -
		    index);
		admin_put_number(row, "index_bytes", index);
		admin_put_number(row, "tables_bytes",
		    pool->g.segment_bytes - pool->g.pool_bytes);
		admin_put_number(row, "private_bytes",
		    pool->g.private_bytes);
		admin_put_number(row, "total_bytes", pool->g.segment_bytes +
		    pool->g.private_bytes);
		(void)json_array_append_new(pools, row);
	}
	(void)json_object_set_new(admin->answer, "pools", pools);
	admin_put_number(admin->answer, "control_bytes",
	    heritage->control->bytes);
	admin_put_number(admin->answer, "rings_bytes",
	    memory_sum_rings_bytes(heritage->control));
	admin_put_number(admin->answer, "page_table_bytes_estimate",
	    memory_sum_page_tables(heritage));
	admin_put_number(admin->answer, "total_bytes",
	    memory_sum_total(heritage));
	return OK;
}
