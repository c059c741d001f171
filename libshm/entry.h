/* SPDX-License-Identifier: ISC */

/*
 * One stored object: its header words in and out, its size, its expiry.
 * Any process may call.  Entries in a mapping are input: entry_load() takes
 * each header word once, entry_fits() says whether its lengths make sense,
 * and only then is anything else derived from them.
 */
#ifndef ENTRY_H
#define ENTRY_H

#include <stdbool.h>
#include <stdint.h>

#include "clock.h"
#include "layout.h"
#include "result.h"

/* A header as it was read, unpacked. */
struct entry_head {
	uint32_t	value_bytes;
	uint32_t	checksum;
	uint64_t	hash;
	uint64_t	sequence;
	uint64_t	created_ms;
	uint64_t	epoch;
	uint32_t	soft;		/* spans, see layout.h */
	uint32_t	hard;
	uint16_t	key_bytes;
	uint8_t		tag_count;
	uint8_t		flags;
	uint16_t	cost_ms;	/* of computing the value */
};

/*
 * Where key and value lie is known only from the header, which has to come
 * from memory first.  As many lines as an entry of the shard usually has
 * (usual_lines, untrusted) are asked for at the same time: waiting for the
 * two in turn made a hit on 1 KiB a third longer.  Past so many lines the
 * processor runs ahead by itself.
 */
#define ENTRY_PREFETCH_MAX	18u

static inline void
entry_prefetch(const uint8_t *entry, uint32_t usual_lines)
{
	uint32_t lines = usual_lines / USUAL_LINE + 1;

	if (lines > ENTRY_PREFETCH_MAX) {
		lines = ENTRY_PREFETCH_MAX;
	}
	for (uint32_t i = 0; i < lines; i++) {
		__builtin_prefetch(entry + i * CACHE_LINE_BYTES);
	}
}

static inline uint64_t
entry_word(const struct entry *entry, unsigned word)
{
	/*
	 * Relaxed: counts only if the generation is the same after the
	 * acquire fence of step 7, or under the shard's lock.
	 */
#if SHM_TSAN
	return atomic_load_explicit(&entry->word[word], memory_order_acquire);
#else
	return atomic_load_explicit(&entry->word[word], memory_order_relaxed);
#endif
}

static inline struct entry_head
entry_load(const struct entry *entry)
{
	struct entry_head head;
	uint64_t word;

	word = entry_word(entry, 0);
	head.checksum = (uint32_t)word;
	head.value_bytes = (uint32_t)(word >> 32);
	head.hash = entry_word(entry, 1);
	word = entry_word(entry, 2);
	head.sequence = word & ((1ull << ENTRY_SEQUENCE_BITS) - 1);
	head.tag_count = (uint8_t)(word >> ENTRY_SEQUENCE_BITS);
	word = entry_word(entry, 3);
	head.created_ms = word & ((1ull << ENTRY_CREATED_BITS) - 1);
	head.key_bytes = (uint16_t)((word >> ENTRY_KEY_SHIFT) &
	    ((1u << ENTRY_KEY_BITS) - 1));
	head.flags = (uint8_t)(word >> 56);
	word = entry_word(entry, 4);
	head.soft = (uint32_t)word;
	head.hard = (uint32_t)(word >> 32);
	word = entry_word(entry, 5);
	head.epoch = word & ((1ull << ENTRY_EPOCH_BITS) - 1);
	head.cost_ms = (uint16_t)(word >> ENTRY_EPOCH_BITS);
	return head;
}

/* Where the parts lie, counted from the header. */
static inline uint32_t
entry_key_at(const struct entry_head *head)
{
	return (uint32_t)sizeof(struct entry) +
	    head->tag_count * (uint32_t)sizeof(uint64_t);
}

static inline uint32_t
entry_value_at(const struct entry_head *head)
{
	uint32_t at = entry_key_at(head) + head->key_bytes;

	if ((head->flags & ENTRY_COUNTER) != 0) {
		at = (at + ENTRY_ALIGN - 1) & ~(ENTRY_ALIGN - 1);
	}
	return at;
}

/* Bytes in the extent, a multiple of 8. */
static inline uint64_t
entry_bytes(const struct entry_head *head)
{
	uint64_t end = (uint64_t)entry_value_at(head) + head->value_bytes;

	return (end + ENTRY_ALIGN - 1) & ~(uint64_t)(ENTRY_ALIGN - 1);
}

/* True if lengths are in range and all of it ends within room bytes. */
static inline bool
entry_fits(const struct entry_head *head, uint64_t room)
{
	return head->key_bytes - 1u < KEY_MAX_BYTES &&
	    head->tag_count <= TAGS_MAX && entry_bytes(head) <= room;
}

/* The time of an expiry, UINT64_MAX for never. */
static inline uint64_t
entry_expiry_ms(const struct entry_head *head, uint32_t span)
{
	if (span == EXPIRY_NEVER) {
		return UINT64_MAX;
	}
	if ((span & EXPIRY_SECONDS) != 0) {
		return head->created_ms +
		    (uint64_t)(span & ~EXPIRY_SECONDS) * CLOCK_MS_PER_S;
	}
	return head->created_ms + span;
}

static inline bool
entry_expired(const struct entry_head *head, struct boot_ms now)
{
	return now.ms >= entry_expiry_ms(head, head->hard);
}

/*
 * The span from created to an absolute time (UINT64_MAX: never).  Above
 * 2^31 ms it is rounded up to seconds; above 68 years it is never.
 */
uint32_t entry_span(uint64_t created_ms, uint64_t expiry_ms);

/*
 * Write a whole entry but a chained value: header, tags, key, value,
 * checksum.  head says all but the checksum; entry has entry_bytes() room
 * that no reader can reach yet.
 */
void	entry_write(struct entry *entry, struct entry_head *head,
    const uint64_t *tags, const void *key, const void *value);

/* Change what may change, under the shard's lock. */
void	entry_store_expiry(struct entry *entry, uint32_t soft, uint32_t hard);
void	entry_store_epoch(struct entry *entry, uint64_t epoch);

/*
 * True if the checksum is right.  For bytes that do not change: under the
 * shard's lock, with head as it was loaded and checked to fit.
 */
bool	entry_checksum_ok(const struct entry *entry,
    const struct entry_head *head);

#endif
