/* SPDX-License-Identifier: ISC */

/*
 * The detector of floods of misses, with what clients say of their hits.  Each
 * test has a partition of its own, and more misses than make a flood.
 */
#include "crowd.h"

#include <stdio.h>
#include <string.h>

#define MISSES		600u
#define HITS_PER_MISS	9u
#define WARM_KEYS	50u

struct caller {
	struct weir	*handle;
	struct weir_fetch_options options;
	const char	*partition;
	unsigned	failed;		/* calls that were not WEIR_OK */
};

static int
compute(void *arg, struct weir_computed *computed)
{
	(void)arg;
	computed->value = "value";
	computed->length = 5;
	return WEIR_OK;
}

static struct caller
begin(struct crowd_stage *stage, const char *partition)
{
	struct caller caller = {
		.handle = scene_open(&stage->scene),
		.options = WEIR_FETCH_OPTIONS_INIT,
		.partition = partition,
	};

	caller.options.origin.partition = partition;
	caller.options.origin.partition_length = strlen(partition);
	return caller;
}

static size_t
make_key(char *key, size_t size, const struct caller *caller,
    const char *what, unsigned number)
{
	return (size_t)snprintf(key, size, "%s %s %u", caller->partition,
	    what, number);
}

static void
fetch(struct caller *caller, const char *what, unsigned number)
{
	char key[64], value[16];
	size_t length = make_key(key, sizeof(key), caller, what, number);

	caller->failed += weir_fetch(caller->handle, key, length, value,
	    sizeof(value), &caller->options, compute, NULL, NULL) !=
	    WEIR_OK;
}

static void
get(struct caller *caller, const char *what, unsigned number)
{
	char key[64], value[16];
	size_t length = make_key(key, sizeof(key), caller, what, number);

	caller->failed += weir_get(caller->handle, key, length, value,
	    sizeof(value), NULL, NULL) != WEIR_OK;
}

static void
fill_by_hand(struct caller *caller, const char *what, unsigned number)
{
	char key[64];
	size_t length = make_key(key, sizeof(key), caller, what, number);
	struct weir_lease lease;

	if (weir_lease(caller->handle, key, length, 0, &caller->options,
	    &lease) != WEIR_LEAD || weir_lease_fill(caller->handle, &lease,
	    key, length, "value", 5, NULL, NULL) != WEIR_OK) {
		caller->failed++;
	}
}

static uint64_t
floods(const struct crowd_stage *stage)
{
	return crowd_origin_number(stage, "\"floods\": ");
}

static void
check(struct crowd_stage *stage, struct caller *caller, const char *name,
    uint64_t before, uint64_t wanted)
{
	uint64_t told = floods(stage) - before;

	(void)plain_check(&stage->test, name, caller->failed == 0 &&
	    told == wanted, "%u calls failed, %llu floods told",
	    caller->failed, (unsigned long long)told);
	weir_close(caller->handle);
}

static void
test_misses(struct crowd_stage *stage)
{
	struct caller caller = begin(stage, "flooded");
	uint64_t before = floods(stage);

	for (unsigned i = 0; i < MISSES; i++) {
		fetch(&caller, "new", i);
	}
	check(stage, &caller, "misses_alone_are_a_flood", before, 1);
}

static void
test_hits(struct crowd_stage *stage)
{
	struct caller caller = begin(stage, "busy");
	uint64_t before = floods(stage);

	for (unsigned i = 0; i < MISSES; i++) {
		fetch(&caller, "new", i);
		for (unsigned h = 0; h < HITS_PER_MISS; h++) {
			fetch(&caller, "new", (i + h) % (i + 1));
		}
	}
	check(stage, &caller, "misses_among_hits_are_none", before, 0);
}

/* Hits of another partition, however many, are nobody's excuse. */
static void
test_others(struct crowd_stage *stage)
{
	struct caller other = begin(stage, "other");
	struct caller caller = begin(stage, "hidden");
	uint64_t before = floods(stage);

	weir_close(other.handle);
	other.handle = caller.handle;
	fetch(&other, "warm", 0);
	for (unsigned i = 0; i < MISSES; i++) {
		fetch(&caller, "new", i);
		for (unsigned h = 0; h < HITS_PER_MISS; h++) {
			fetch(&other, "warm", 0);
		}
	}
	caller.failed += other.failed;
	check(stage, &caller, "hits_of_another_partition_hide_none", before,
	    1);
}

static void
test_by_hand(struct crowd_stage *stage)
{
	struct caller caller = begin(stage, "by hand");
	uint64_t before = floods(stage);

	for (unsigned i = 0; i < WARM_KEYS; i++) {
		fill_by_hand(&caller, "warm", i);
	}
	for (unsigned i = 0; i < MISSES; i++) {
		fill_by_hand(&caller, "new", i);
		for (unsigned h = 0; h < HITS_PER_MISS; h++) {
			get(&caller, "warm", h);
		}
	}
	check(stage, &caller, "gets_count_as_hits", before, 0);
}

static void
test_permits(struct crowd_stage *stage)
{
	struct caller caller = begin(stage, "guarded");
	uint64_t before = floods(stage);

	for (unsigned i = 0; i < MISSES; i++) {
		struct weir_permit permit;

		caller.failed += weir_permit_acquire(caller.handle,
		    &caller.options.origin, 1000, &permit) != WEIR_OK ||
		    weir_permit_release(caller.handle, &permit,
		    WEIR_SUCCESS) != WEIR_OK;
	}
	check(stage, &caller, "permits_are_no_misses", before, 0);
}

int
main(int argc, char **argv)
{
	static struct crowd_stage stage;
	static const struct {
		const char	*name;
		void		(*fn)(struct crowd_stage *stage);
	} tests[] = {
		{ "misses", test_misses },
		{ "hits", test_hits },
		{ "others", test_others },
		{ "by_hand", test_by_hand },
		{ "permits", test_permits },
	};

	if (!crowd_open(&stage, argc, argv)) {
		return plain_end(&stage.test);
	}
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		if (plain_wants(&stage.test, tests[i].name)) {
			tests[i].fn(&stage);
		}
	}
	return crowd_close(&stage);
}
