/* SPDX-License-Identifier: ISC */

/*
 * OpenMetrics: families one after the other, each with all its samples.
 */
#include "metrics.h"

#include "client_table.h"
#include "layout.h"
#include "memory_sum.h"
#include "stats.h"
#include "weir.h"

void
metrics_write_family(FILE *out, const char *name, const char *type,
    const char *help)
{
	(void)fprintf(out, "# TYPE weir_%s %s\n# HELP weir_%s %s\n", name,
	    type, name, help);
}

/* The value of a label: quote, backslash and line end are escaped. */
static void
write_label(FILE *out, const char *text)
{
	for (; *text != '\0'; text++) {
		if (*text == '\n') {
			(void)fputs("\\n", out);
			continue;
		}
		if (*text == '"' || *text == '\\') {
			(void)fputc('\\', out);
		}
		(void)fputc(*text, out);
	}
}

static void
pool_sample(FILE *out, const struct heritage *heritage, uint32_t pool,
    const char *name, const char *suffix, uint64_t value)
{
	(void)fprintf(out, "weir_%s%s{pool=\"", name, suffix);
	write_label(out, heritage->config.pools[pool].name);
	(void)fprintf(out, "\"} %llu\n", (unsigned long long)value);
}

static void
write_pool_counters(FILE *out, const struct heritage *heritage)
{
	for (unsigned stat = 0; stat < STAT_COUNT; stat++) {
		const char *name = stats_name((enum stat_id)stat);

		metrics_write_family(out, name, "counter",
		    stats_help((enum stat_id)stat));
		for (uint32_t i = 0; i < heritage->config.pool_count; i++) {
			const struct pool *pool = &heritage->pools[i];

			pool_sample(out, heritage, i, name, "_total",
			    stats_sum(pool->all_stats, pool->g.stats_blocks,
			    (enum stat_id)stat));
		}
	}
}

static uint64_t
value_max(const struct pool *pool)
{
	return geometry_value_max_bytes(&pool->g);
}

static uint64_t
memory(const struct pool *pool)
{
	return pool->g.pool_bytes;
}

static uint64_t
segments(const struct pool *pool)
{
	return pool->g.segment_bytes + pool->g.private_bytes;
}

static uint64_t
extents(const struct pool *pool)
{
	return pool->g.extent_count;
}

static void
write_pool_gauges(FILE *out, const struct heritage *heritage)
{
	static const struct {
		const char	*name;
		const char	*help;
		uint64_t	(*value)(const struct pool *pool);
	} gauges[] = {
		{ "pool_entries", "entries stored, dead ones that were not "
		    "met yet included", memory_sum_entries },
		{ "pool_memory_bytes", "memory of the pool as configured",
		    memory },
		{ "pool_segment_bytes", "both segments of the pool, tables "
		    "included", segments },
		{ "pool_index_bytes", "part of the memory that is index",
		    memory_sum_index_bytes },
		{ "pool_extents", "extents of the pool", extents },
		{ "pool_value_max_bytes", "largest value the pool takes",
		    value_max },
		{ "pool_epoch", "number of the newest purge", epoch_now },
	};

	for (size_t i = 0; i < sizeof(gauges) / sizeof(gauges[0]); i++) {
		metrics_write_family(out, gauges[i].name, "gauge",
		    gauges[i].help);
		for (uint32_t p = 0; p < heritage->config.pool_count; p++) {
			pool_sample(out, heritage, p, gauges[i].name, "",
			    gauges[i].value(&heritage->pools[p]));
		}
	}
}

enum process_value {
	PROCESS_UP,
	PROCESS_RESTARTS,
	PROCESS_CONNECTIONS,
	PROCESS_REQUESTS,
	PROCESS_RECORDS,
	PROCESS_HANGUPS,
	PROCESS_SILENCE,
};

static uint64_t
process_value(const struct control_process *process, enum process_value what,
    struct boot_ms now)
{
	uint64_t beat;

	/* Relaxed: each says something by itself. */
	switch (what) {
	case PROCESS_UP:
		return atomic_load_explicit(&process->state,
		    memory_order_relaxed) == PROCESS_RUNNING;
	case PROCESS_RESTARTS:
		return atomic_load_explicit(&process->restarts,
		    memory_order_relaxed);
	case PROCESS_CONNECTIONS:
		return atomic_load_explicit(&process->connections,
		    memory_order_relaxed);
	case PROCESS_REQUESTS:
		return atomic_load_explicit(&process->requests,
		    memory_order_relaxed);
	case PROCESS_RECORDS:
		return atomic_load_explicit(&process->ring_records,
		    memory_order_relaxed);
	case PROCESS_HANGUPS:
		return atomic_load_explicit(&process->hangups,
		    memory_order_relaxed);
	case PROCESS_SILENCE:
		beat = atomic_load_explicit(&process->heartbeat_ms,
		    memory_order_relaxed);
		return now.ms > beat ? now.ms - beat : 0;
	}
	return 0;
}

static void
write_processes(FILE *out, const struct control *control, struct boot_ms now)
{
	static const struct {
		const char	*name;
		const char	*type;
		const char	*help;
		enum process_value what;
	} rows[] = {
		{ "process_up", "gauge", "1 while it runs", PROCESS_UP },
		{ "process_restarts", "counter", "times it was started again",
		    PROCESS_RESTARTS },
		{ "process_connections", "gauge", "sockets it serves",
		    PROCESS_CONNECTIONS },
		{ "process_requests", "counter", "requests it answered, all "
		    "its lives", PROCESS_REQUESTS },
		{ "process_ring_records", "counter", "records it took out of "
		    "rings, all its lives", PROCESS_RECORDS },
		{ "process_hangups", "counter", "clients it dropped for what "
		    "they sent or did not read", PROCESS_HANGUPS },
		{ "process_silence_ms", "gauge", "since its last heartbeat",
		    PROCESS_SILENCE },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bool counter = rows[i].type[0] == 'c';

		metrics_write_family(out, rows[i].name, rows[i].type,
		    rows[i].help);
		for (uint32_t p = 0; p <= control->worker_count &&
		    p <= WORKERS_MAX; p++) {
			(void)fprintf(out, "weir_%s%s{role=\"%s\",index="
			    "\"%u\"} %llu\n", rows[i].name,
			    counter ? "_total" : "", p ==
			    control->worker_count ? "keeper" : "worker", p,
			    (unsigned long long)process_value(
			    &control->processes[p], rows[i].what, now));
		}
	}
}

static void
single(FILE *out, const char *name, const char *type, const char *help,
    uint64_t value)
{
	metrics_write_family(out, name, type, help);
	(void)fprintf(out, "weir_%s%s %llu\n", name, type[0] == 'c' ?
	    "_total" : "", (unsigned long long)value);
}

static void
write_daemon(FILE *out, const struct heritage *heritage, struct boot_ms now)
{
	const struct control *control = heritage->control;

	metrics_write_family(out, "build", "info", "version of the daemon");
	(void)fprintf(out, "weir_build_info{version=\"%s\"} 1\n",
	    WEIR_VERSION_STRING);
	single(out, "uptime_ms", "gauge", "since the daemon started",
	    now.ms - control->started_boot_ms);
	single(out, "clients", "gauge", "clients that are connected",
	    client_table_count(control));
	single(out, "clients_max", "gauge", "clients that may be connected",
	    control->client_capacity);
	/* Relaxed: each says something by itself. */
	single(out, "clients_refused", "counter",
	    "clients refused because too many were connected",
	    atomic_load_explicit(&control->clients_refused,
	    memory_order_relaxed));
	single(out, "reloads", "counter", "reloads of the configuration",
	    atomic_load_explicit(&control->reloads, memory_order_relaxed));
	single(out, "reloads_failed", "counter",
	    "reloads that kept the old configuration",
	    atomic_load_explicit(&control->reloads_failed,
	    memory_order_relaxed));
	single(out, "rings_bytes", "gauge", "rings of all clients",
	    memory_sum_rings_bytes(control));
	single(out, "memory_bytes", "gauge", "segments, rings and the page "
	    "tables of the daemon's processes", memory_sum_total(heritage));
}

void
metrics_write(FILE *out, const struct heritage *heritage,
    struct origin *origins, uint32_t count, struct boot_ms now)
{
	write_daemon(out, heritage, now);
	write_processes(out, heritage->control, now);
	write_pool_gauges(out, heritage);
	write_pool_counters(out, heritage);
	metrics_write_origins(out, origins, count, now);
	(void)fputs("# EOF\n", out);
}
