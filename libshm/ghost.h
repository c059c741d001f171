/* SPDX-License-Identifier: ISC */

/*
 * Ghost filter: remembers, in one 4-byte word per key, the hashes of entries
 * that were lately dropped from the small queue.  The caller owns the memory
 * (one shard's part of the private segment, or a simulator's heap) and holds
 * the lock that covers it; no pointer is kept, so state and words may both
 * lie in a shared mapping.  Every word is input: damage makes the filter
 * forget or misremember a key and does nothing else.
 *
 *	line of 64 bytes: 16 words      one word
 *	+----+----+-- --+----+          31           12 11      0
 *	| w0 | w1 | ... | w15|          | fingerprint | ticks    |  0 = free
 *	+----+----+-- --+----+
 *
 * Time is counted in insertions, as a share of the limit that was in force:
 * an insertion with limit L moves the clock by 1/L of a lifetime, and a
 * word is in while it is younger than one lifetime.
 */
#ifndef GHOST_H
#define GHOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GHOST_LINE_WORDS	16u
#define GHOST_BYTES_PER_WORD	128u	/* of the memory the filter serves */

struct ghost {
	uint64_t	clock;		/* ticks, 32.32 fixed point; wraps */
	uint32_t	sweep_line;	/* next line to clear of old words */
	uint32_t	reserved;	/* zero */
};
_Static_assert(sizeof(struct ghost) == 16, "struct ghost is shared");

/* The words that serve memory_bytes of values: whole lines, at least one. */
uint64_t ghost_word_count(uint64_t memory_bytes);

/* Bytes of that many words, rounded up to whole lines. */
size_t	ghost_bytes(uint64_t word_count);

/*
 * Empty the filter.  words points at word_count words, best aligned to 64
 * bytes; word_count is the caller's own knowledge, never read from the
 * mapping unchecked.  Words beyond the last whole line are not used; with
 * less than a line the filter remembers nothing.
 */
void	ghost_init(struct ghost *ghost, uint32_t *words, uint64_t word_count);

/*
 * Remember hash for the next limit insertions (evict_ghost_limit()).  A
 * hash that is there already is made young again.  In a full line the
 * oldest word gives way.
 */
void	ghost_insert(struct ghost *ghost, uint32_t *words,
	    uint64_t word_count, uint64_t hash, uint64_t limit);

/* True if hash is remembered; it is then forgotten. */
bool	ghost_take(const struct ghost *ghost, uint32_t *words,
	    uint64_t word_count, uint64_t hash);

#endif
