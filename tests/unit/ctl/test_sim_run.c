/* SPDX-License-Identifier: ISC */

#include "sim_run.h"

#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "prng.h"
#include "trace_file.h"

#define RANDOM_REQUESTS	6000u
#define RANDOM_OBJECTS	300u

static enum sim_outcome
run_bytes(const void *bytes, size_t length, struct sim_row *rows,
    size_t count, const atomic_bool *stop)
{
	struct trace_file file;
	struct trace_reader *reader;
	enum sim_outcome outcome;

	trace_file_create(&file, bytes, length);
	reader = trace_open(file.path);
	cr_assert_not_null(reader);
	outcome = sim_run(reader, rows, count, stop);
	trace_close(reader);
	trace_file_remove(&file);
	return outcome;
}

/* Misses of one policy over objects of one size. */
static uint64_t
count_misses(const char *policy, uint64_t capacity, const uint64_t *objects,
    size_t count, uint32_t size)
{
	struct sim_row row = {
		.policy = sim_policy_find(policy),
		.capacity = capacity,
	};
	uint8_t *bytes = trace_file_encode_all(objects, count, size);

	cr_assert_not_null(row.policy);
	cr_assert_eq(run_bytes(bytes, count * TRACE_RECORD_BYTES, &row, 1,
	    NULL), SIM_DONE);
	cr_assert_eq(row.requests, count);
	free(bytes);
	return row.misses;
}

/* As above, with an object for each letter. */
static uint64_t
count_word(const char *policy, uint64_t capacity, const char *word)
{
	uint64_t objects[128];
	size_t count = strlen(word);

	cr_assert_leq(count, 128u);
	for (size_t i = 0; i < count; i++) {
		objects[i] = (unsigned char)word[i];
	}
	return count_misses(policy, capacity, objects, count, 1);
}

/* A skewed mix of RANDOM_OBJECTS objects. */
static void
fill_random(uint64_t *objects, size_t count, uint64_t seed)
{
	struct prng prng;

	prng_init(&prng, seed);
	for (size_t i = 0; i < count; i++) {
		objects[i] = prng_below(&prng,
		    1 + prng_below(&prng, RANDOM_OBJECTS));
	}
}

Test(sim_run, lru_evicts_the_least_recently_used)
{
	cr_assert_eq(count_word("lru", 2, "abacab"), 4u, "a stays, b goes");
}

Test(sim_run, fifo_evicts_the_oldest_whatever_its_hits)
{
	cr_assert_eq(count_word("fifo", 2, "abacab"), 5u, "a goes, then b");
}

Test(sim_run, sieve_spares_what_was_visited)
{
	/* a visited: the hand passes it and takes b; then c, still new. */
	cr_assert_eq(count_word("sieve", 2, "abaca"), 3u);
	cr_assert_eq(count_word("sieve", 2, "abacab"), 4u);
	/* d takes b's place and leaves the hand at c, past a: e takes c's. */
	cr_assert_eq(count_word("sieve", 3, "abcadea"), 5u);
}

Test(sim_run, belady_evicts_what_comes_last)
{
	cr_assert_eq(count_word("belady", 2, "abcab"), 4u);
	cr_assert_eq(count_word("belady", 3, "abcdabc"), 5u);
}

Test(sim_run, s3fifo_lets_a_scan_pass_by_what_is_hot)
{
	/* 20 objects: 2 in small.  Hot ones are touched twice in small. */
	static const char hot[] = "aaabbb";
	char word[128];
	size_t length = strlen(hot);

	memcpy(word, hot, length);
	for (char c = 'A'; c <= 'Z'; c++) {
		word[length++] = c;
	}
	for (char c = '0'; c <= '9'; c++) {
		word[length++] = c;
	}
	word[length++] = 'a';
	word[length++] = 'b';
	word[length] = '\0';
	cr_assert_eq(count_word("s3fifo", 20, word), 2u + 36u);
	cr_assert_eq(count_word("lru", 20, word), 4u + 36u);
	cr_assert_eq(count_word("weir", 64, word), 2u + 36u, "all fit");
}

Test(sim_run, s3fifo_takes_what_its_ghost_knows_into_main)
{
	/* Capacity 10: small 1, main 9.  x leaves small at k, comes back
	 * through the ghost, and outlives a scan that small lets pass. */
	cr_assert_eq(count_word("s3fifo", 10, "xabcdefghijkxlmnopqrstux"),
	    1u + 11u + 1u + 10u);
}

/* The obvious way to do each, as the judge of the fast one. */
static uint64_t
slow_lru(const uint64_t *objects, size_t count, size_t capacity)
{
	uint64_t *cached = calloc(capacity, sizeof(*cached));
	size_t used = 0;
	uint64_t misses = 0;

	for (size_t i = 0; i < count; i++) {
		size_t at = 0;

		while (at < used && cached[at] != objects[i]) {
			at++;
		}
		if (at == used) {
			misses++;
			used += used < capacity;
			at = used - 1;
		}
		memmove(cached + 1, cached, at * sizeof(*cached));
		cached[0] = objects[i];
	}
	free(cached);
	return misses;
}

static size_t
next_use(const uint64_t *objects, size_t count, size_t from, uint64_t object)
{
	while (from < count && objects[from] != object) {
		from++;
	}
	return from;
}

static uint64_t
slow_belady(const uint64_t *objects, size_t count, size_t capacity)
{
	uint64_t *cached = calloc(capacity, sizeof(*cached));
	size_t used = 0;
	uint64_t misses = 0;

	for (size_t i = 0; i < count; i++) {
		size_t last = 0;

		if (next_use(cached, used, 0, objects[i]) < used) {
			continue;
		}
		misses++;
		if (used < capacity) {
			cached[used++] = objects[i];
			continue;
		}
		for (size_t j = 1; j < used; j++) {
			if (next_use(objects, count, i, cached[j]) >
			    next_use(objects, count, i, cached[last])) {
				last = j;
			}
		}
		cached[last] = objects[i];
	}
	free(cached);
	return misses;
}

Test(sim_run, lru_agrees_with_the_obvious_way)
{
	static uint64_t objects[RANDOM_REQUESTS];

	for (uint64_t seed = 1; seed <= 3; seed++) {
		fill_random(objects, RANDOM_REQUESTS, seed);
		cr_assert_eq(count_misses("lru", 40, objects,
		    RANDOM_REQUESTS, 1), slow_lru(objects, RANDOM_REQUESTS,
		    40), "seed %u", (unsigned)seed);
	}
}

Test(sim_run, belady_agrees_with_the_obvious_way)
{
	static uint64_t objects[RANDOM_REQUESTS];

	for (uint64_t seed = 1; seed <= 3; seed++) {
		fill_random(objects, RANDOM_REQUESTS, seed);
		cr_assert_eq(count_misses("belady", 40, objects,
		    RANDOM_REQUESTS, 1), slow_belady(objects,
		    RANDOM_REQUESTS, 40), "seed %u", (unsigned)seed);
	}
}

Test(sim_run, no_policy_beats_belady_or_misses_what_fits)
{
	static uint64_t objects[RANDOM_REQUESTS];
	const struct sim_ops *policy;
	uint64_t best;

	fill_random(objects, RANDOM_REQUESTS, 4);
	best = count_misses("belady", 100, objects, RANDOM_REQUESTS, 1);
	for (size_t i = 0; (policy = sim_policy_at(i)) != NULL; i++) {
		cr_expect_geq(count_misses(policy->name, 100, objects,
		    RANDOM_REQUESTS, 1), best, "%s", policy->name);
		cr_expect_leq(count_misses(policy->name, 4000, objects,
		    RANDOM_REQUESTS, 1), RANDOM_OBJECTS, "%s", policy->name);
	}
}

Test(sim_run, rows_of_one_pass_equal_rows_run_alone)
{
	static uint64_t objects[RANDOM_REQUESTS];
	struct sim_row rows[12];
	size_t count = 0;
	const struct sim_ops *policy;
	uint8_t *bytes;

	fill_random(objects, RANDOM_REQUESTS, 5);
	for (size_t i = 0; (policy = sim_policy_at(i)) != NULL; i++) {
		rows[count++] = (struct sim_row){ policy, 500, 0, 0 };
		rows[count++] = (struct sim_row){ policy, 900, 0, 0 };
	}
	bytes = trace_file_encode_all(objects, RANDOM_REQUESTS, 7);
	cr_assert_eq(run_bytes(bytes, RANDOM_REQUESTS * TRACE_RECORD_BYTES,
	    rows, count, NULL), SIM_DONE);
	for (size_t i = 0; i < count; i++) {
		cr_expect_eq(rows[i].misses, count_misses(
		    rows[i].policy->name, rows[i].capacity, objects,
		    RANDOM_REQUESTS, 7), "%s", rows[i].policy->name);
	}
	free(bytes);
}

/* Sizes that change, exceed every limit, and capacities down to 1. */
Test(sim_run, ends_at_any_mix_of_sizes_and_capacities)
{
	static const uint64_t capacities[] = {
		1, 2, 3, 4, 5, 7, 15, 16, 63, 64, 65, 255, 256, 257, 1000,
		4096, 100000, 1ull << 31, 1ull << 32, 1ull << 36,
	};
	enum { REQUESTS = 4000, CAPACITIES = 20 };
	struct sim_row rows[CAPACITIES * 6];
	static uint8_t bytes[REQUESTS * TRACE_RECORD_BYTES];
	size_t count = 0;
	const struct sim_ops *policy;
	struct prng prng;

	prng_init(&prng, 7);
	for (uint32_t i = 0; i < REQUESTS; i++) {
		uint32_t size = 1 + ((uint32_t)prng_next(&prng) >> 1 >>
		    prng_below(&prng, 31));

		trace_file_encode(bytes + (size_t)i * TRACE_RECORD_BYTES, i,
		    prng_below(&prng, 400), size > TRACE_SIZE_MAX ?
		    TRACE_SIZE_MAX : size,
		    (int64_t)i + 2 + prng_below(&prng, 99));
	}
	for (size_t i = 0; (policy = sim_policy_at(i)) != NULL; i++) {
		for (size_t j = 0; j < CAPACITIES; j++) {
			rows[count++] = (struct sim_row){
				policy, capacities[j], 0, 0,
			};
		}
	}
	cr_assert_eq(run_bytes(bytes, sizeof(bytes), rows, count, NULL),
	    SIM_DONE);
	for (size_t i = 0; i < count; i++) {
		cr_expect_eq(rows[i].requests, REQUESTS);
		cr_expect_geq(rows[i].misses, 1u);
		cr_expect_leq(rows[i].misses, rows[i].requests);
	}
}

/* Entries that are all hot must not keep a reclaim from ending. */
Test(sim_run, weir_stores_new_objects_when_all_others_are_hot)
{
	enum { HOT = 200, ROUNDS = 60 };
	static uint64_t objects[ROUNDS * (3 * HOT + 1) + 1];
	size_t count = 0;
	uint64_t misses;

	for (uint64_t round = 0; round < ROUNDS; round++) {
		for (uint64_t i = 0; i < 3 * HOT; i++) {
			objects[count++] = i % HOT;
		}
		objects[count++] = 1000 + round;
	}
	objects[count++] = 1000 + ROUNDS - 1;	/* the newest is there */
	misses = count_misses("weir", HOT, objects, count, 1);
	cr_assert_eq(count_misses("weir", HOT, objects, count - 1, 1),
	    misses, "the last request is a hit");
	cr_assert_lt(misses, count / 2);
}

Test(sim_run, a_bad_trace_and_a_raised_flag_end_the_run)
{
	static uint8_t bytes[2 * TRACE_RECORD_BYTES];
	struct sim_row row = {
		.policy = sim_policy_find("weir"),
		.capacity = 100,
	};
	atomic_bool stop = true;

	trace_file_encode(bytes, 0, 1, 1, -1);
	cr_assert_eq(run_bytes(bytes, sizeof(bytes), &row, 1, NULL),
	    SIM_BAD_TRACE);
	cr_assert_eq(run_bytes(bytes, TRACE_RECORD_BYTES, &row, 1, &stop),
	    SIM_STOPPED);
	cr_assert_eq(run_bytes(bytes, TRACE_RECORD_BYTES, &row, 1, NULL),
	    SIM_DONE);
	cr_assert_eq(row.misses, 1u);
}

Test(sim_run, knows_its_policies_by_name)
{
	static const char *const names[] = {
		"lru", "fifo", "sieve", "s3fifo", "belady", "weir",
	};

	for (size_t i = 0; i < 6; i++) {
		cr_assert_not_null(sim_policy_find(names[i]), "%s", names[i]);
		cr_assert_str_eq(sim_policy_at(i)->name, names[i]);
	}
	cr_assert_null(sim_policy_at(6));
	cr_assert_null(sim_policy_find("arc"));
	cr_assert_null(sim_policy_find(""));
}
