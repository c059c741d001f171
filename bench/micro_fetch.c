/* SPDX-License-Identifier: ISC */

/*
 * Each is counted in a run of its own; see instruction_count.h.
 */
#include "micro_fetch.h"

#include <stdio.h>
#include <string.h>

#include "daemon.h"
#include "instruction_count.h"
#include "weir.h"

#define HITS		10000u
#define WARM_HITS	1000u
#define VALUE_BYTES	1024u
#define KEY		"object:00000000000001"
#define PARTITION	"/objects"

struct counted {
	struct weir	*weir;
	uint8_t		value[VALUE_BYTES];
	bool		fine;
};

/* External, so that callgrind finds them by name. */
void	micro_run_gets(struct counted *c, unsigned count);
void	micro_run_fetches(struct counted *c, unsigned count);
void	micro_run_fetches_of_partition(struct counted *c, unsigned count);

void __attribute__((noinline))
micro_run_gets(struct counted *c, unsigned count)
{
	size_t length;

	for (unsigned i = 0; i < count; i++) {
		c->fine = weir_get(c->weir, KEY, sizeof(KEY) - 1, c->value,
		    sizeof(c->value), &length, NULL) == WEIR_OK && c->fine;
	}
}

static int
compute_nothing(void *arg, struct weir_computed *computed)
{
	(void)arg;
	(void)computed;
	return WEIR_FAILED;
}

static void
fetch(struct counted *c, unsigned count,
    const struct weir_fetch_options *options)
{
	struct weir_fetched fetched;

	for (unsigned i = 0; i < count; i++) {
		c->fine = weir_fetch(c->weir, KEY, sizeof(KEY) - 1, c->value,
		    sizeof(c->value), options, compute_nothing, NULL,
		    &fetched) == WEIR_OK && c->fine;
	}
}

void __attribute__((noinline))
micro_run_fetches(struct counted *c, unsigned count)
{
	struct weir_fetch_options options = WEIR_FETCH_OPTIONS_INIT;

	options.ttl_ms = 3600000;
	fetch(c, count, &options);
}

void __attribute__((noinline))
micro_run_fetches_of_partition(struct counted *c, unsigned count)
{
	struct weir_fetch_options options = WEIR_FETCH_OPTIONS_INIT;

	options.ttl_ms = 3600000;
	options.origin.partition = PARTITION;
	options.origin.partition_length = sizeof(PARTITION) - 1;
	fetch(c, count, &options);
}

static const struct {
	const char	*step;
	const char	*option;
	const char	*function;
	void		(*run)(struct counted *c, unsigned count);
} counted_runs[] = {
	{ "weir_get, hit", "--counted-gets", "micro_run_gets",
	    micro_run_gets },
	{ "weir_fetch, hit", "--counted-fetches", "micro_run_fetches",
	    micro_run_fetches },
	{ "weir_fetch of a partition, hit", "--counted-partition-fetches",
	    "micro_run_fetches_of_partition",
	    micro_run_fetches_of_partition },
};
#define RUN_COUNT	(sizeof(counted_runs) / sizeof(*counted_runs))

static size_t
find_run(const char *option)
{
	size_t i = 0;

	while (i < RUN_COUNT && strcmp(counted_runs[i].option, option) != 0) {
		i++;
	}
	return i;
}

bool
micro_fetch_is_counted(int argc, char **argv)
{
	return argc == 2 && find_run(argv[1]) < RUN_COUNT;
}

int
micro_fetch_run_counted(const struct bench *b, const char *option)
{
	static struct daemon d;
	static struct counted c;
	size_t i = find_run(option);

	daemon_start(b, &d, "pool default {\n\tmemory = 16M\n}\n");
	c.weir = daemon_open(&d);
	c.fine = c.weir != NULL && weir_set(c.weir, KEY, sizeof(KEY) - 1,
	    c.value, sizeof(c.value), NULL, NULL) == WEIR_OK;
	if (c.fine) {
		/* Not by the function that is counted. */
		counted_runs[i == 0 ? 1 : 0].run(&c, WARM_HITS);
		counted_runs[i].run(&c, HITS);
	}
	weir_close(c.weir);
	daemon_stop(&d);
	return c.fine ? 0 : 1;
}

void
micro_measure_fetch(struct bench *b)
{
	double get = 0;

	for (size_t i = 0; i < RUN_COUNT; i++) {
		double each = (double)instruction_count(counted_runs[i].option,
		    counted_runs[i].function) / HITS;

		if (!(each > 0)) {
			bench_add_limit(b, "No instructions of a fetch: "
			    "valgrind is not installed.");
			return;
		}
		get = i == 0 ? each : get;
		bench_begin_row(b);
		bench_add_text(b, "step", "%s", counted_runs[i].step);
		bench_add_text(b, "value", "%u B", VALUE_BYTES);
		bench_add_number(b, "instructions", each);
		bench_add_number(b, "over_get", each - get);
	}
}
