/* SPDX-License-Identifier: ISC */

/*
 * Verbs that show origins: all of it, the limiters, the breakers.  One whose
 * lock is not had (a stopped process holds it) is shown without its numbers,
 * so that the others can be seen.
 */
#include "admin.h"

#include <stdio.h>
#include <string.h>

#include "admin_args.h"
#include "admin_origin.h"
#include "holder.h"

/* What one verb puts into the object of an origin. */
typedef void (put_fn)(const struct admin *admin, json_t *row,
    const struct origin_view *view);

static void
put_text(json_t *row, const char *name, const char *text)
{
	(void)json_object_set_new(row, name, json_string(text));
}

static void
put_flag(json_t *row, const char *name, bool value)
{
	(void)json_object_set_new(row, name, json_boolean(value));
}

void
admin_origin_put_left(json_t *object, const char *name, uint64_t until_ms,
    struct boot_ms now)
{
	/* No time ends after this. */
	admin_put_number(object, name, until_ms > now.ms ?
	    until_ms - now.ms : UINT64_MAX);
}

json_t *
admin_origin_holder(const struct admin *admin, uint64_t holder)
{
	struct control *control = admin->heritage->control;
	const struct control_client *row;

	if (holder == 0) {
		return json_null();
	}
	row = holder_row(control, holder);
	if (row != NULL) {
		/* Relaxed: for people. */
		return json_pack("{s:I, s:I}", "pid",
		    (json_int_t)atomic_load_explicit(&row->pid,
		    memory_order_relaxed), "uid",
		    (json_int_t)atomic_load_explicit(&row->uid,
		    memory_order_relaxed));
	}
	for (uint32_t i = 0; i < control->worker_count &&
	    i < WORKERS_MAX; i++) {
		if (holder_of_worker(control, i) == holder) {
			return json_pack("{s:I}", "worker", (json_int_t)i);
		}
	}
	return json_pack("{s:b}", "gone", 1);
}

static void
put_mode(json_t *row, const struct origin_view *view, struct boot_ms now)
{
	put_text(row, "mode", origin_mode_name(view->mode));
	admin_origin_put_left(row, "mode_left_ms", view->mode_until_ms, now);
}

/* Each cause; those of the breaker are no limiter's. */
static json_t *
refusals(const struct limiter_state *state)
{
	json_t *refused = json_object();

	for (unsigned i = LIMITER_NOT_REFUSED + 1; i < LIMITER_REFUSALS;
	    i++) {
		admin_put_number(refused,
		    limiter_refusal_name((enum limiter_refusal)i),
		    state->refused[i]);
	}
	return refused;
}

static void
put_state(json_t *row, const struct limiter_config *config,
    const struct limiter_state *state, json_t *refused)
{
	admin_put_number(row, "limit", config->limit);
	admin_put_number(row, "in_flight", state->in_flight);
	admin_put_number(row, "waiting", state->waiting);
	admin_put_number(row, "queue", config->places);
	admin_put_number(row, "granted", state->granted);
	admin_put_number(row, "waited", state->waited);
	admin_put_number(row, "overdue", state->overdue);
	admin_put_number(row, "swept", state->swept);
	(void)json_object_set_new(row, "refused", refused);
}

static void
put_limiter(json_t *row, const struct origin_view *view)
{
	const struct limiter_config *config = &view->config.limiter;
	json_t *refused = refusals(&view->limiter);
	json_t *upload = json_object();

	admin_put_number(refused, "breaker_open", view->refused_open);
	put_state(row, config, &view->limiter, refused);
	admin_put_number(row, "limit_now", view->limit_now);
	admin_put_number(row, "limit_max", view->limit_max);
	admin_put_number(row, "queue_wait_ms", config->wait_ms);
	admin_put_number(row, "partition_limit", config->partition_cap);
	admin_put_number(row, "partition_queue", config->partition_places);
	admin_put_number(row, "host_limit", config->host_cap);
	admin_put_number(row, "client_limit", config->client_cap);
	admin_put_number(row, "headroom", config->headroom);
	admin_put_number(row, "reserve", config->reserve_pct);
	admin_put_number(row, "upload_share", view->config.upload_pct);
	admin_put_number(row, "timeout_ms", config->permit_ms);
	put_state(upload, &view->config.upload, &view->upload,
	    refusals(&view->upload));
	(void)json_object_set_new(row, "upload", upload);
}

static void
put_breaker(const struct admin *admin, json_t *row,
    const struct origin_view *view)
{
	const struct breaker_config *config = &view->config.breaker;
	struct boot_ms now = admin->now;

	put_flag(row, "enabled", config->enabled != 0);
	put_text(row, "scope", view->config.breaker_by_partition != 0 ?
	    "partition" : "origin");
	put_text(row, "state", breaker_state_name(view->breaker));
	put_flag(row, "held", view->held);
	admin_origin_put_left(row, "hold_left_ms", view->hold_until_ms, now);
	admin_origin_put_left(row, "open_left_ms",
	    view->breaker == BREAKER_OPEN && !view->held ?
	    view->open_until_ms : 0, now);
	admin_put_number(row, "changed_ms_ago",
	    view->breaker_changed_ms == 0 ||
	    view->breaker_changed_ms > now.ms ? UINT64_MAX :
	    now.ms - view->breaker_changed_ms);
	admin_put_number(row, "generation", view->breaker_generation);
	admin_put_number(row, "opened", view->opened_count);
	admin_put_number(row, "partitions_open", view->partitions_open);
	admin_put_number(row, "window_ms", config->window_ms);
	admin_put_number(row, "window_successes", view->window_successes);
	admin_put_number(row, "window_failures", view->window_failures);
	admin_put_number(row, "calls", config->min_outcomes);
	admin_put_number(row, "failures_percent", config->failure_pct);
	admin_put_number(row, "partitions", config->min_partitions);
	admin_put_number(row, "open_ms", config->open_ms);
	admin_put_number(row, "open_max_ms", config->open_max_ms);
	(void)json_object_set_new(row, "probe",
	    admin_origin_holder(admin, view->probe_owner));
}

static json_t *
adaptive(const struct origin_view *view)
{
	json_t *row = json_object();

	put_flag(row, "enabled", view->config.adaptive.enabled != 0);
	admin_put_number(row, "min", view->config.adaptive.min_limit);
	admin_put_number(row, "tolerance",
	    view->config.adaptive.tolerance_pct);
	admin_put_number(row, "latency_us", view->latency_us);
	return row;
}

static json_t *
miss_flood(const struct origin_view *view)
{
	const struct missrate_config *config = &view->config.missrate;
	json_t *row = json_object();

	admin_put_number(row, "misses", config->enabled != 0 ?
	    config->min_misses : 0);
	admin_put_number(row, "window_ms", config->window_ms);
	admin_put_number(row, "percent", config->miss_pct);
	put_flag(row, "throttle", config->throttle != 0);
	admin_put_number(row, "floods", view->miss_floods);
	(void)json_object_set_new(row, "last_partition",
	    view->flood_partition == 0 ? json_null() : json_sprintf("%016llx",
	    (unsigned long long)view->flood_partition));
	return row;
}

static void
put_whole(const struct admin *admin, json_t *row,
    const struct origin_view *view)
{
	json_t *breaker = json_object();

	put_mode(row, view, admin->now);
	put_limiter(row, view);
	put_breaker(admin, breaker, view);
	(void)json_object_set_new(row, "adaptive", adaptive(view));
	(void)json_object_set_new(row, "breaker", breaker);
	(void)json_object_set_new(row, "miss_flood", miss_flood(view));
	admin_put_number(row, "successes", view->successes);
	admin_put_number(row, "failures", view->failures);
	admin_put_number(row, "neutral", view->neutral);
	admin_put_number(row, "rebuilt", view->rebuilt);
}

static void
put_only_limiter(const struct admin *admin, json_t *row,
    const struct origin_view *view)
{
	(void)admin;
	put_limiter(row, view);
	put_flag(row, "adaptive", view->config.adaptive.enabled != 0);
}

static json_t *
show(struct admin *admin, struct origin *origin, put_fn *put)
{
	json_t *row = json_object();
	struct origin_view view;
	bool locked = origin_look(origin, admin->now, &view) != OK;

	put_text(row, "name", origin_name(origin));
	put_flag(row, "locked", locked);
	if (!locked) {
		put(admin, row, &view);
	} else if (put == put_whole) {
		/* One word, which has no lock. */
		put_text(row, "mode", origin_mode_name(origin_mode_now(origin,
		    admin->now)));
		(void)json_object_set_new(row, "mode_left_ms", json_null());
	}
	return row;
}

/* The origin named, or all. */
static enum result
list(struct admin *admin, const char *name, put_fn *put)
{
	struct origin *origin = NULL;
	json_t *rows;

	if (json_object_get(admin->args, "origin") != NULL) {
		enum result result = admin_args_origin(admin, &origin);

		if (result != OK) {
			return result;
		}
	}
	rows = json_array();
	for (uint32_t i = 0; i < admin->origin_count; i++) {
		if (origin == NULL || origin == &admin->origins[i]) {
			(void)json_array_append_new(rows, show(admin,
			    &admin->origins[i], put));
		}
	}
	(void)json_object_set_new(admin->answer, name, rows);
	return OK;
}

enum result
admin_origins(struct admin *admin)
{
	return list(admin, "origins", put_whole);
}

enum result
admin_limiter_show(struct admin *admin)
{
	return list(admin, "limiters", put_only_limiter);
}

enum result
admin_breaker_list(struct admin *admin)
{
	return list(admin, "breakers", put_breaker);
}
