/* SPDX-License-Identifier: ISC */

/*
 * Reasons.
 */
#include "health.h"

#include "client_table.h"

#define REASON_BYTES	(ORIGIN_NAME_BYTES + 80)

static const char *const state_names[] = {
	[HEALTH_READY] = "ready",
	[HEALTH_DEGRADED] = "degraded",
	[HEALTH_DRAINING] = "draining",
};

const char *
health_name(enum health_state state)
{
	return state_names[state];
}

/* True, with a text, if something is wrong with that process. */
static bool
process_ails(const struct control *control, uint32_t index,
    struct boot_ms now, char text[REASON_BYTES])
{
	const struct control_process *process = &control->processes[index];
	/* Relaxed: each says something by itself. */
	uint32_t state = atomic_load_explicit(&process->state,
	    memory_order_relaxed);
	uint64_t beat = atomic_load_explicit(&process->heartbeat_ms,
	    memory_order_relaxed);
	char name[32];

	if (index == control->worker_count) {
		(void)snprintf(name, sizeof(name), "the keeper");
	} else {
		(void)snprintf(name, sizeof(name), "worker %u", index);
	}
	if (state != PROCESS_RUNNING && state != PROCESS_DRAINING) {
		(void)snprintf(text, REASON_BYTES, "%s is not running", name);
		return true;
	}
	if (now.ms > beat && now.ms - beat > HEALTH_SILENCE_MS) {
		(void)snprintf(text, REASON_BYTES,
		    "%s was not heard of for %llu ms", name,
		    (unsigned long long)(now.ms - beat));
		return true;
	}
	return false;
}

/* True, with a text, if calls to that origin are refused, or if it is stuck. */
static bool
origin_ails(struct origin *origin, struct boot_ms now,
    char text[REASON_BYTES])
{
	struct origin_view view;

	if (origin_look(origin, now, &view) != OK) {
		(void)snprintf(text, REASON_BYTES, "the lock of origin %s is "
		    "held by a process that does not go on",
		    origin_name(origin));
		return true;
	}
	/* Half open is as good as it gets until somebody calls. */
	if (view.breaker == BREAKER_OPEN) {
		(void)snprintf(text, REASON_BYTES,
		    "the breaker of origin %s is open", origin_name(origin));
		return true;
	}
	return false;
}

enum health_state
health_look(const struct control *control, struct origin *origins,
    uint32_t count, struct boot_ms now, health_reason_fn *fn, void *arg)
{
	enum health_state state = HEALTH_READY;
	char text[REASON_BYTES];

	for (uint32_t i = 0; i <= control->worker_count &&
	    i <= WORKERS_MAX; i++) {
		if (process_ails(control, i, now, text)) {
			state = HEALTH_DEGRADED;
			fn(arg, text);
		}
	}
	for (uint32_t i = 0; i < count; i++) {
		if (origin_ails(&origins[i], now, text)) {
			state = HEALTH_DEGRADED;
			fn(arg, text);
		}
	}
	if (client_table_count(control) >= control->client_capacity) {
		state = HEALTH_DEGRADED;
		fn(arg, "max_clients are connected");
	}
	/* Relaxed: says something by itself. */
	if (atomic_load_explicit(&control->draining,
	    memory_order_relaxed) != 0) {
		state = HEALTH_DRAINING;
		fn(arg, "the daemon is stopping");
	}
	return state;
}

static void
write_reason(void *arg, const char *text)
{
	(void)fprintf(arg, "- %s\n", text);
}

bool
health_write(FILE *out, const struct control *control,
    struct origin *origins, uint32_t count, struct boot_ms now)
{
	enum health_state state = health_look(control, origins, count, now,
	    write_reason, out);

	(void)fprintf(out, "%s\n", health_name(state));
	return state != HEALTH_DRAINING;
}
