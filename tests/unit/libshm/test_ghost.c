/* SPDX-License-Identifier: ISC */

#include "ghost.h"

#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "prng.h"

#define WORDS	65536u
#define LIMIT	4096u

/* A filter with room on both sides that must stay untouched. */
#define GUARD_WORDS	64u
#define GUARD		0x5a5a5a5au

struct filter {
	struct ghost	ghost;
	uint64_t	count;
	uint32_t	*memory;
	uint32_t	*words;
};

static void
make_filter(struct filter *f, uint64_t count)
{
	size_t room = (size_t)count + 2 * GUARD_WORDS;

	f->count = count;
	f->memory = malloc(room * sizeof(*f->memory));
	cr_assert_not_null(f->memory);
	for (size_t i = 0; i < room; i++) {
		f->memory[i] = GUARD;
	}
	f->words = f->memory + GUARD_WORDS;
	ghost_init(&f->ghost, f->words, count);
}

static void
drop_filter(struct filter *f)
{
	for (size_t i = 0; i < GUARD_WORDS; i++) {
		cr_assert_eq(f->memory[i], GUARD, "written below");
		cr_assert_eq(f->words[f->count + i], GUARD, "written above");
	}
	free(f->memory);
}

static void
insert(struct filter *f, uint64_t hash, uint64_t limit)
{
	ghost_insert(&f->ghost, f->words, f->count, hash, limit);
}

static bool
take(struct filter *f, uint64_t hash)
{
	return ghost_take(&f->ghost, f->words, f->count, hash);
}

/* Insert count other keys. */
static void
age(struct filter *f, struct prng *prng, uint64_t count, uint64_t limit)
{
	for (uint64_t i = 0; i < count; i++) {
		insert(f, prng_next(prng), limit);
	}
}

Test(ghost, takes_what_was_inserted_once)
{
	struct filter f;

	make_filter(&f, WORDS);
	cr_assert_not(take(&f, 42));
	insert(&f, 42, LIMIT);
	cr_assert_not(take(&f, 43));
	cr_assert(take(&f, 42));
	cr_assert_not(take(&f, 42));
	drop_filter(&f);
}

Test(ghost, forgets_after_as_many_insertions_as_the_limit)
{
	struct filter f;
	struct prng prng;

	prng_init(&prng, 1);
	make_filter(&f, WORDS);
	insert(&f, 7, LIMIT);
	age(&f, &prng, LIMIT * 98 / 100, LIMIT);
	cr_assert(take(&f, 7), "younger than the limit");

	insert(&f, 7, LIMIT);
	age(&f, &prng, LIMIT * 101 / 100, LIMIT);
	cr_assert_not(take(&f, 7), "older than the limit");
	drop_filter(&f);
}

Test(ghost, inserting_again_makes_a_key_young)
{
	struct filter f;
	struct prng prng;

	prng_init(&prng, 2);
	make_filter(&f, WORDS);
	insert(&f, 7, LIMIT);
	age(&f, &prng, LIMIT / 4 * 3, LIMIT);
	insert(&f, 7, LIMIT);
	age(&f, &prng, LIMIT / 4 * 3, LIMIT);
	cr_assert(take(&f, 7));
	cr_assert_not(take(&f, 7), "it was there twice");
	drop_filter(&f);
}

/* The clock must not make a long dead word look young when it wraps. */
Test(ghost, never_remembers_again_what_it_forgot)
{
	for (uint64_t lifetimes = 1; lifetimes <= 40; lifetimes++) {
		struct filter f;
		struct prng prng;

		prng_init(&prng, lifetimes);
		make_filter(&f, WORDS);
		insert(&f, 7, 64);
		/* A few keys in many lines: 7's line is not written again. */
		age(&f, &prng, lifetimes * 64 + 32, 64);
		cr_assert_not(take(&f, 7), "after %u lifetimes",
		    (unsigned)lifetimes);
		drop_filter(&f);
	}
}

Test(ghost, survives_the_wrap_of_its_clock)
{
	struct filter f;
	struct prng prng;
	uint64_t before;

	prng_init(&prng, 3);
	make_filter(&f, WORDS);
	f.ghost.clock = UINT64_MAX - (1ull << 38);
	insert(&f, 7, LIMIT);
	before = f.ghost.clock;
	age(&f, &prng, LIMIT / 2, LIMIT);
	cr_assert_lt(f.ghost.clock, before, "the clock has wrapped");
	cr_assert(take(&f, 7));

	f.ghost.clock = UINT64_MAX - (1ull << 38);
	insert(&f, 8, LIMIT);
	age(&f, &prng, LIMIT + LIMIT / 50, LIMIT);
	cr_assert_not(take(&f, 8));
	drop_filter(&f);
}

Test(ghost, replaces_the_oldest_word_of_a_full_line)
{
	struct filter f;

	make_filter(&f, GHOST_LINE_WORDS);
	for (uint64_t i = 0; i <= GHOST_LINE_WORDS; i++) {
		insert(&f, i, 64);	/* four ticks each */
	}
	cr_assert_not(take(&f, 0), "the oldest gave way");
	for (uint64_t i = 1; i <= GHOST_LINE_WORDS; i++) {
		cr_assert(take(&f, i), "key %u", (unsigned)i);
	}
	drop_filter(&f);
}

/*
 * Hashes of one shard agree in bits 40 to 47, neighbours of one bucket in
 * the low ones, keys of one tag in the high ones.
 */
Test(ghost, spreads_hashes_that_differ_in_few_bits)
{
	static const unsigned shifts[] = { 0, 8, 24, 32, 52 };

	for (size_t s = 0; s < sizeof(shifts) / sizeof(shifts[0]); s++) {
		struct filter f;
		unsigned found = 0;

		make_filter(&f, WORDS);
		for (uint64_t i = 0; i < LIMIT; i++) {
			insert(&f, i << shifts[s] ^ 0x5aull << 40, 2 * LIMIT);
		}
		for (uint64_t i = 0; i < LIMIT; i++) {
			found += take(&f, i << shifts[s] ^ 0x5aull << 40);
		}
		cr_expect_geq(found, LIMIT / 100 * 98,
		    "shift %u: %u of %u found", shifts[s], found, LIMIT);
		drop_filter(&f);
	}
}

Test(ghost, seldom_takes_a_key_it_never_saw)
{
	struct filter f;
	struct prng prng;
	unsigned wrong = 0;

	prng_init(&prng, 4);
	make_filter(&f, WORDS);
	age(&f, &prng, WORDS, WORDS);
	for (unsigned i = 0; i < 200000; i++) {
		wrong += take(&f, prng_next(&prng));
	}
	/* 16 words of 20 bits: 3 expected. */
	cr_assert_leq(wrong, 20u, "%u of 200000", wrong);
	drop_filter(&f);
}

Test(ghost, holds_nearly_all_keys_of_a_filter_half_as_large)
{
	struct filter f;
	unsigned found = 0;

	make_filter(&f, WORDS);
	for (uint64_t i = 0; i < WORDS / 2; i++) {
		insert(&f, i, WORDS);
	}
	for (uint64_t i = 0; i < WORDS / 2; i++) {
		found += take(&f, i);
	}
	cr_assert_geq(found, WORDS / 200 * 98, "%u of %u", found, WORDS / 2);
	drop_filter(&f);
}

Test(ghost, takes_limits_of_any_size)
{
	static const uint64_t limits[] = {
		0, 1, 15, 16, 17, 1ull << 32, 1ull << 40, UINT64_MAX,
	};
	struct filter f;

	make_filter(&f, WORDS);
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		insert(&f, i, limits[i]);
		cr_assert(take(&f, i), "limit number %zu", i);
	}
	drop_filter(&f);
}

Test(ghost, remembers_nothing_without_a_whole_line)
{
	struct filter f;

	make_filter(&f, GHOST_LINE_WORDS - 1);
	insert(&f, 7, LIMIT);
	cr_assert_not(take(&f, 7));
	drop_filter(&f);

	make_filter(&f, 0);
	insert(&f, 7, LIMIT);
	cr_assert_not(take(&f, 7));
	drop_filter(&f);
}

Test(ghost, stays_in_bounds_when_its_words_are_scribbled_on)
{
	struct filter f;
	struct prng prng;

	prng_init(&prng, 5);
	make_filter(&f, 5 * GHOST_LINE_WORDS + 3);
	for (unsigned i = 0; i < 100000; i++) {
		f.words[prng_next(&prng) % f.count] =
		    (uint32_t)prng_next(&prng);
		f.ghost.clock = prng_next(&prng);
		f.ghost.sweep_line = (uint32_t)prng_next(&prng);
		insert(&f, prng_next(&prng), prng_next(&prng) >>
		    (prng_next(&prng) & 63));
		(void)take(&f, prng_next(&prng));	/* either answer */
	}
	f.ghost.sweep_line = UINT32_MAX;
	insert(&f, 7, 1);
	cr_assert(take(&f, 7), "damage heals");
	drop_filter(&f);
}

Test(ghost, gives_one_word_for_128_bytes_in_whole_lines)
{
	cr_assert_eq(ghost_word_count(0), 16u);
	cr_assert_eq(ghost_word_count(2048), 16u);
	cr_assert_eq(ghost_word_count(4096), 32u);
	cr_assert_eq(ghost_word_count(64ull << 20), 524288u);
	cr_assert_eq(ghost_bytes(0), 0u);
	cr_assert_eq(ghost_bytes(1), 64u);
	cr_assert_eq(ghost_bytes(16), 64u);
	cr_assert_eq(ghost_bytes(17), 128u);
}
