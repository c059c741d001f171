/* SPDX-License-Identifier: ISC */

/*
 * Encoding of an entry; drawn in layout.h.
 */
#include "entry.h"

#include "checksum.h"
#include "racy_copy.h"

/* What of the header the checksum covers: all that never changes. */
#define SUMMED_WORDS	4

uint32_t
entry_span(uint64_t created_ms, uint64_t expiry_ms)
{
	uint64_t span;

	if (expiry_ms == UINT64_MAX) {
		return EXPIRY_NEVER;
	}
	span = expiry_ms > created_ms ? expiry_ms - created_ms : 0;
	if (span < EXPIRY_SECONDS) {
		return (uint32_t)span;
	}
	span = span / CLOCK_MS_PER_S + (span % CLOCK_MS_PER_S != 0);
	if (span >= (EXPIRY_NEVER & ~EXPIRY_SECONDS)) {
		return EXPIRY_NEVER;
	}
	return (uint32_t)span | EXPIRY_SECONDS;
}

static void
pack(const struct entry_head *head, uint64_t words[ENTRY_WORDS])
{
	words[0] = (uint64_t)head->value_bytes << 32 | head->checksum;
	words[1] = head->hash;
	words[2] = (uint64_t)head->tag_count << ENTRY_SEQUENCE_BITS |
	    (head->sequence & ((1ull << ENTRY_SEQUENCE_BITS) - 1));
	words[3] = (uint64_t)head->flags << 56 |
	    (uint64_t)head->key_bytes << ENTRY_KEY_SHIFT |
	    (head->created_ms & ((1ull << ENTRY_CREATED_BITS) - 1));
	words[4] = (uint64_t)head->hard << 32 | head->soft;
	words[5] = (uint64_t)head->cost_ms << ENTRY_EPOCH_BITS |
	    (head->epoch & ((1ull << ENTRY_EPOCH_BITS) - 1));
}

/*
 * The header without its sum, then tags, key and value as they lie in the
 * extent, but the value of a counter, which changes in place.  The words are
 * summed where they are: a copy of them two at a time has to wait until all
 * stores before them have left the processor, those to cold lines too.
 */
static uint32_t
sum(uint64_t words[ENTRY_WORDS], const struct entry_head *head,
    const void *body)
{
	uint64_t end = (uint64_t)entry_value_at(head) +
	    ((head->flags & ENTRY_COUNTER) != 0 ? 0 : head->value_bytes);

	words[0] &= ~0xffffffffull;
	return checksum_parts(words, SUMMED_WORDS * sizeof(words[0]), body,
	    end - sizeof(struct entry));
}

void
entry_write(struct entry *entry, struct entry_head *head,
    const uint64_t *tags, const void *key, const void *value)
{
	uint8_t *base = (uint8_t *)entry;
	uint32_t key_end = entry_key_at(head) + head->key_bytes;
	uint64_t words[ENTRY_WORDS];
	static const uint8_t zero[ENTRY_ALIGN];

	racy_fill(base + sizeof(*entry), tags,
	    head->tag_count * sizeof(uint64_t));
	racy_fill(base + entry_key_at(head), key, head->key_bytes);
	if (entry_value_at(head) > key_end) {
		racy_fill(base + key_end, zero, entry_value_at(head) - key_end);
	}
	racy_fill(base + entry_value_at(head), value, head->value_bytes);

	head->checksum = 0;
	pack(head, words);
	head->checksum = sum(words, head, base + sizeof(*entry));
	words[0] |= head->checksum;
	for (unsigned i = 0; i < ENTRY_WORDS; i++) {
#if SHM_TSAN
		atomic_store_explicit(&entry->word[i], words[i],
		    memory_order_release);
#else
		/* Relaxed: published by the release store of the slot. */
		atomic_store_explicit(&entry->word[i], words[i],
		    memory_order_relaxed);
#endif
	}
}

void
entry_store_expiry(struct entry *entry, uint32_t soft, uint32_t hard)
{
	/* Relaxed: one word, true by itself; a reader may see it late. */
	atomic_store_explicit(&entry->word[4], (uint64_t)hard << 32 | soft,
	    memory_order_relaxed);
}

void
entry_store_epoch(struct entry *entry, uint64_t epoch)
{
	uint64_t mask = (1ull << ENTRY_EPOCH_BITS) - 1;
	/* Relaxed: under the lock. */
	uint64_t cost = atomic_load_explicit(&entry->word[5],
	    memory_order_relaxed) & ~mask;

	/* Relaxed: one word; a reader that sees the old one misses. */
	atomic_store_explicit(&entry->word[5], cost | (epoch & mask),
	    memory_order_relaxed);
}

bool
entry_checksum_ok(const struct entry *entry, const struct entry_head *head)
{
	uint64_t words[ENTRY_WORDS];

	pack(head, words);
	return sum(words, head, (const uint8_t *)entry + sizeof(*entry)) ==
	    head->checksum;
}
