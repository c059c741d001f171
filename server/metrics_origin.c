/* SPDX-License-Identifier: ISC */

/*
 * Families of the origins.  Each origin is looked at once, so that its
 * numbers are of one moment; one whose lock is not had has no samples but
 * the one that says so.
 */
#include "metrics.h"

#include <stddef.h>
#include <stdlib.h>

struct look {
	const char	*name;		/* plain by the configuration */
	bool		locked;
	struct origin_view view;
};

static uint64_t
breaker_number(const struct origin_view *view)
{
	switch (view->breaker) {
	case BREAKER_HALF_OPEN:
		return 1;
	case BREAKER_OPEN:
		return 2;
	default:
		return 0;
	}
}

static uint64_t
limit(const struct origin_view *view)
{
	return view->limit_now;
}

static uint64_t
in_flight(const struct origin_view *view)
{
	return view->in_flight;
}

static uint64_t
waiting(const struct origin_view *view)
{
	return view->waiting;
}

static uint64_t
upload_limit(const struct origin_view *view)
{
	return view->config.upload.limit;
}

static uint64_t
upload_in_flight(const struct origin_view *view)
{
	return view->upload_in_flight;
}

static uint64_t
upload_waiting(const struct origin_view *view)
{
	return view->upload_waiting;
}

static uint64_t
held(const struct origin_view *view)
{
	return view->held;
}

static uint64_t
partitions_open(const struct origin_view *view)
{
	return view->partitions_open;
}

static uint64_t
mode(const struct origin_view *view)
{
	return view->mode;
}

static uint64_t
latency(const struct origin_view *view)
{
	return view->latency_us;
}

static uint64_t
granted(const struct origin_view *view)
{
	return view->limiter.granted + view->upload.granted;
}

static uint64_t
waited(const struct origin_view *view)
{
	return view->limiter.waited + view->upload.waited;
}

static uint64_t
overdue(const struct origin_view *view)
{
	return view->limiter.overdue + view->upload.overdue;
}

static uint64_t
swept(const struct origin_view *view)
{
	return view->limiter.swept + view->upload.swept;
}

static uint64_t
successes(const struct origin_view *view)
{
	return view->successes;
}

static uint64_t
failures(const struct origin_view *view)
{
	return view->failures;
}

static uint64_t
neutral(const struct origin_view *view)
{
	return view->neutral;
}

static uint64_t
opened(const struct origin_view *view)
{
	return view->opened_count;
}

static uint64_t
miss_floods(const struct origin_view *view)
{
	return view->miss_floods;
}

static uint64_t
rebuilt(const struct origin_view *view)
{
	return view->rebuilt;
}

static const struct {
	const char	*name;
	const char	*type;
	const char	*help;
	uint64_t	(*value)(const struct origin_view *view);
} families[] = {
	{ "origin_limit", "gauge", "calls at once, adaptive or configured",
	    limit },
	{ "origin_in_flight", "gauge", "calls under way", in_flight },
	{ "origin_waiting", "gauge", "callers that wait", waiting },
	{ "origin_upload_limit", "gauge", "uploads at once", upload_limit },
	{ "origin_upload_in_flight", "gauge", "uploads under way",
	    upload_in_flight },
	{ "origin_upload_waiting", "gauge", "uploads that wait",
	    upload_waiting },
	{ "origin_breaker_state", "gauge", "0 closed, 1 half open, 2 open",
	    breaker_number },
	{ "origin_breaker_held", "gauge", "1 while held by hand", held },
	{ "origin_partitions_open", "gauge", "partitions whose own breaker "
	    "is not closed", partitions_open },
	{ "origin_mode", "gauge", "0 normal, 1 stale-on-error, 2 bypass",
	    mode },
	{ "origin_latency_us", "gauge", "average that an adaptive limit "
	    "follows, else 0", latency },
	{ "origin_granted", "counter", "calls that were let through",
	    granted },
	{ "origin_waited", "counter", "of these, calls that had to wait",
	    waited },
	{ "origin_overdue", "counter", "calls taken for lost", overdue },
	{ "origin_swept", "counter", "calls and waiters of processes that "
	    "ended", swept },
	{ "origin_successes", "counter", "calls that succeeded", successes },
	{ "origin_failures", "counter", "calls that failed", failures },
	{ "origin_neutral", "counter", "calls that said nothing of the "
	    "origin", neutral },
	{ "origin_opened", "counter", "times the breaker opened", opened },
	{ "origin_miss_floods", "counter", "floods of misses", miss_floods },
	{ "origin_rebuilt", "counter", "times that the tables were made anew "
	    "after a death", rebuilt },
};

static void
write_refused(FILE *out, const struct look *look)
{
	const struct origin_view *view = &look->view;

	for (unsigned i = LIMITER_NOT_REFUSED + 1; i < LIMITER_REFUSALS;
	    i++) {
		(void)fprintf(out, "weir_origin_refused_total{origin=\"%s\","
		    "reason=\"%s\"} %llu\n", look->name,
		    limiter_refusal_name((enum limiter_refusal)i),
		    (unsigned long long)(view->limiter.refused[i] +
		    view->upload.refused[i]));
	}
	(void)fprintf(out, "weir_origin_refused_total{origin=\"%s\","
	    "reason=\"breaker_open\"} %llu\n", look->name,
	    (unsigned long long)view->refused_open);
}

static void
write_families(FILE *out, const struct look *looks, uint32_t count)
{
	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
		bool counter = families[i].type[0] == 'c';

		metrics_write_family(out, families[i].name, families[i].type,
		    families[i].help);
		for (uint32_t o = 0; o < count; o++) {
			if (looks[o].locked) {
				continue;
			}
			(void)fprintf(out, "weir_%s%s{origin=\"%s\"} %llu\n",
			    families[i].name, counter ? "_total" : "",
			    looks[o].name, (unsigned long long)
			    families[i].value(&looks[o].view));
		}
	}
	metrics_write_family(out, "origin_refused", "counter",
	    "calls refused, by reason");
	for (uint32_t o = 0; o < count; o++) {
		if (!looks[o].locked) {
			write_refused(out, &looks[o]);
		}
	}
	metrics_write_family(out, "origin_locked", "gauge", "1 if a process "
	    "that does not go on holds its lock");
	for (uint32_t o = 0; o < count; o++) {
		(void)fprintf(out, "weir_origin_locked{origin=\"%s\"} %d\n",
		    looks[o].name, looks[o].locked);
	}
}

void
metrics_write_origins(FILE *out, struct origin *origins, uint32_t count,
    struct boot_ms now)
{
	struct look *looks = calloc(count, sizeof(*looks));

	/* Without memory, or origins, there are no families of them. */
	if (looks == NULL || count == 0) {
		free(looks);
		return;
	}
	for (uint32_t i = 0; i < count; i++) {
		looks[i].name = origin_name(&origins[i]);
		looks[i].locked = origin_look(&origins[i], now,
		    &looks[i].view) != OK;
	}
	write_families(out, looks, count);
	free(looks);
}
