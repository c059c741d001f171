/* SPDX-License-Identifier: ISC */

#include "ghost.h"

#include <string.h>

/*
 * A word's time has 12 bits and a lifetime is 256 ticks, so the time of a
 * word wraps after 16 lifetimes.  The sweep passes every line within 8 of
 * them, and no word lives to look young again.
 */
#define TICK_BITS		12
#define TICK_MASK		((1u << TICK_BITS) - 1)
#define LIFETIME_TICKS		256u
#define SWEEP_TICKS		2048u

/*
 * Below this limit a filter is too small to matter; the bound keeps one
 * insertion from moving the clock by more than 16 ticks, and so the sweep
 * of one insertion short.
 */
#define LIMIT_MIN		16u
#define LIMIT_MAX		(1ull << 36)	/* clock moves by at least 16 */

#define FRACTION_BITS		32

uint64_t
ghost_word_count(uint64_t memory_bytes)
{
	uint64_t lines = memory_bytes / GHOST_BYTES_PER_WORD /
	    GHOST_LINE_WORDS;

	return (lines == 0 ? 1 : lines) * GHOST_LINE_WORDS;
}

size_t
ghost_bytes(uint64_t word_count)
{
	uint64_t lines = word_count / GHOST_LINE_WORDS +
	    (word_count % GHOST_LINE_WORDS != 0);

	return (size_t)lines * GHOST_LINE_WORDS * sizeof(uint32_t);
}

void
ghost_init(struct ghost *ghost, uint32_t *words, uint64_t word_count)
{
	memset(ghost, 0, sizeof(*ghost));
	memset(words, 0, (size_t)word_count * sizeof(*words));
}

static uint32_t
count_lines(uint64_t word_count)
{
	uint64_t lines = word_count / GHOST_LINE_WORDS;

	return lines > UINT32_MAX ? UINT32_MAX : (uint32_t)lines;
}

/*
 * All hashes of a shard agree in the bits that chose the shard, and the
 * index draws from others; mixing all 64 makes line and fingerprint
 * independent of both.
 */
static uint64_t
mix_hash(uint64_t hash)
{
	hash ^= hash >> 32;
	hash *= 0xd6e8feb86659fd93ull;
	hash ^= hash >> 32;
	hash *= 0xd6e8feb86659fd93ull;
	return hash ^ hash >> 32;
}

static uint32_t *
find_line(uint32_t *words, uint32_t lines, uint64_t mixed)
{
	uint64_t line = (mixed >> 32) * lines >> 32;

	return words + line * GHOST_LINE_WORDS;
}

/* Never 0, so that no word in use is 0. */
static uint32_t
fingerprint(uint64_t mixed)
{
	uint32_t print = (uint32_t)mixed >> TICK_BITS;

	return print == 0 ? 1 : print;
}

static uint32_t
tick_now(const struct ghost *ghost)
{
	return (uint32_t)(ghost->clock >> FRACTION_BITS) & TICK_MASK;
}

static uint32_t
age_ticks(uint32_t word, uint32_t now)
{
	return (now - word) & TICK_MASK;
}

static void
sweep_lines(struct ghost *ghost, uint32_t *words, uint32_t lines,
    uint32_t ticks)
{
	uint32_t per_tick = lines / SWEEP_TICKS + 1;
	uint32_t left = ticks * per_tick < lines ? ticks * per_tick : lines;
	uint32_t now = tick_now(ghost);

	for (; left > 0; left--) {
		uint32_t line = ghost->sweep_line < lines ?
		    ghost->sweep_line : 0;
		uint32_t *word = words + (size_t)line * GHOST_LINE_WORDS;

		for (unsigned i = 0; i < GHOST_LINE_WORDS; i++) {
			if (age_ticks(word[i], now) >= LIFETIME_TICKS) {
				word[i] = 0;
			}
		}
		ghost->sweep_line = line + 1;
	}
}

static void
advance_clock(struct ghost *ghost, uint32_t *words, uint32_t lines,
    uint64_t limit)
{
	uint64_t before = ghost->clock >> FRACTION_BITS;
	uint32_t ticks;

	if (limit < LIMIT_MIN) {
		limit = LIMIT_MIN;
	} else if (limit > LIMIT_MAX) {
		limit = LIMIT_MAX;
	}
	ghost->clock += ((uint64_t)LIFETIME_TICKS << FRACTION_BITS) / limit;
	ticks = (uint32_t)((ghost->clock >> FRACTION_BITS) - before);
	sweep_lines(ghost, words, lines, ticks & TICK_MASK);
}

void
ghost_insert(struct ghost *ghost, uint32_t *words, uint64_t word_count,
    uint64_t hash, uint64_t limit)
{
	uint64_t mixed = mix_hash(hash);
	uint32_t lines = count_lines(word_count);
	uint32_t print = fingerprint(mixed);
	uint32_t *line, *place;

	if (lines == 0) {
		return;
	}
	advance_clock(ghost, words, lines, limit);
	line = find_line(words, lines, mixed);
	place = line;
	for (unsigned i = 0; i < GHOST_LINE_WORDS; i++) {
		uint32_t now = tick_now(ghost);

		if (line[i] >> TICK_BITS == print) {
			place = &line[i];
			break;
		}
		if (*place != 0 && (line[i] == 0 ||
		    age_ticks(line[i], now) > age_ticks(*place, now))) {
			place = &line[i];
		}
	}
	*place = print << TICK_BITS | tick_now(ghost);
}

bool
ghost_take(const struct ghost *ghost, uint32_t *words, uint64_t word_count,
    uint64_t hash)
{
	uint64_t mixed = mix_hash(hash);
	uint32_t lines = count_lines(word_count);
	uint32_t print = fingerprint(mixed);
	uint32_t *line;

	if (lines == 0) {
		return false;
	}
	line = find_line(words, lines, mixed);
	for (unsigned i = 0; i < GHOST_LINE_WORDS; i++) {
		if (line[i] >> TICK_BITS == print) {
			uint32_t age = age_ticks(line[i], tick_now(ghost));

			line[i] = 0;
			return age < LIFETIME_TICKS;
		}
	}
	return false;
}
