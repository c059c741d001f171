/* SPDX-License-Identifier: ISC */

/*
 * The read protocol.  Any process reads; the writer of a shard holds its
 * lock; nobody waits for a reader.
 *
 * States of the bytes of an extent under one even generation g: open (bytes
 * above committed change, bytes below do not), closed, retired (odd), reused
 * (even, above g).  A slot word is linked or not.
 *
 *	reader                                writer / reclaimer
 *	0 n  = bucket count, m = moves (acq.) append: bytes, committed
 *	1 s  = slot (acquire)                   (release), slot = word (release)
 *	2 g  = generation[extent(s)] (acq.)   overwrite: append, slot = new word
 *	   odd: retry                         unlink: slot = 0 (release)
 *	3 s' = slot (acquire) differs but     reclaim:
 *	   for count, refresh: retry            a unlink every slot into e
 *	4 header words, lengths checked         b generation[e] = odd (relaxed)
 *	5 key compared, hash, expiry, epochs    c fence (seq_cst)
 *	6 value copied                          d pins; reuse: new bytes
 *	7 fence (acquire);                      e generation[e] = even (release)
 *	   generation[e] != g: retry              before new entries are linked
 *
 * 1. Pairing.  Step 3 sees the slot still linked after g was read.  A slot
 *    that points into e is unlinked (a) before e turns odd (b), and new ones
 *    are linked after e is even again; so at step 3 the slot points to an
 *    entry that was whole under g, or g is odd.  Without step 3 a slot read
 *    before a recycle pairs with a generation read after it, and bytes that
 *    a client chose are taken for an entry (seen within 30 s).
 * 2. Whole.  A byte of the reuse (d) read at 4 to 6 was stored after the
 *    fence c; the acquire fence of 7 pairs with c through that byte, so 7
 *    sees b or later: differs from g.  Without step 7: 1,201 foreign values
 *    in 20 s.
 * 3. So what passes 7 is the entry that the slot named at step 3, unchanged
 *    but for the words that may change in place (expiry, epoch, a counter's
 *    value), each of which is one atomic word.
 * 4. A check that failed at 4 or 5 says something about those bytes only if
 *    7 holds too; else retry.  (1,771 false misses without.)
 * 5. A miss.  An entry linked throughout leaves its word only by a split (the
 *    count changes after the copy), by a line that becomes a link (the new
 *    line holds it before), or by absorb (the moves change after the copy,
 *    before the link goes and the line is zeroed).  So: nothing found, count,
 *    moves and every link that was followed unchanged: it was not linked at
 *    some moment of the call.  Links alone do not do: one that went before
 *    the scan came there was never followed, and the words that took its
 *    entries had been passed.
 * 6. Retries are bounded by READ_TRIES; past that the answer is a miss,
 *    which is counted.
 *
 * Reader dies at any step: it holds nothing.  Writer dies before the slot
 * store: nothing is linked.  Reclaimer dies after a: entries are lost, which
 * a cache may; after b: e stays odd and readers retry no more, for no slot
 * points to it; recovery retires it again.
 */
#include "read.h"

#include "chain.h"
#include "fault.h"
#include "index.h"
#include "point.h"
#include "racy_copy.h"

#define READ_TRIES	8

enum answer {
	ANSWER_HIT,	/* whole and right: hit is filled */
	ANSWER_OTHER,	/* whole, and another key's, or expired */
	ANSWER_RETRY,	/* changed meanwhile */
};

/* What a lookup wants to have done with the value at step 6. */
struct want {
	void		*buffer;
	size_t		bytes;
	bool		copy;
};

/* The links that a scan followed, to be compared at its end. */
struct trail {
	const _Atomic uint64_t *at[BUCKET_LINES_MAX];
	uint64_t	word[BUCKET_LINES_MAX];
	unsigned	count;
};

/* Step 7. */
static inline bool
unchanged(const struct pool *pool, uint32_t extent, uint64_t generation)
{
	/* Pairs with the fence of extent_retire(). */
	shm_fence_acquire();
	SHM_POINT(read_step7);
	if (FAULT(read_no_generation_recheck)) {
		return true;
	}
	/* Relaxed: ordered by the fence. */
	return atomic_load_explicit(&pool->generations[extent],
	    memory_order_relaxed) == generation;
}

/* The slow half of step 5: an entry older than the newest purge. */
static enum epoch_verdict
judge_old(const struct pool *pool, const struct entry *entry,
    const struct entry_head *head)
{
	uint64_t tags[TAGS_MAX];

	racy_copy(tags, (const uint8_t *)entry + sizeof(*entry),
	    head->tag_count * sizeof(uint64_t));
	return epoch_judge(pool, head->epoch, tags, head->tag_count);
}

static void
copy_value(const struct entry *entry, const struct entry_head *head,
    const struct want *want)
{
	const uint8_t *value = (const uint8_t *)entry + entry_value_at(head);

	if ((head->flags & ENTRY_COUNTER) != 0 &&
	    head->value_bytes == sizeof(uint64_t)) {
		/* Relaxed: one word, changed in place by counter_add(). */
		uint64_t number = atomic_load_explicit(
		    (const _Atomic uint64_t *)(const void *)value,
		    memory_order_relaxed);

		memcpy(want->buffer, &number, sizeof(number));
		return;
	}
	racy_copy(want->buffer, value, head->value_bytes);
}

/* Steps 4 to 7 for the entry that hit->slot_word names under its generation. */
static inline enum answer
look(const struct pool *pool, const struct key *key, struct boot_ms now,
    uint64_t newest, const struct want *want, struct read_hit *hit)
{
	uint64_t room = pool_extent_bytes(pool) - hit->offset;
	const struct entry *entry = (const struct entry *)(const void *)
	    ((const uint8_t *)pool_extent(pool, hit->extent) + hit->offset);
	bool right = false;

	hit->freshness = EPOCH_ALIVE;
	if (room >= sizeof(*entry)) {
		hit->head = entry_load(entry);
		SHM_POINT(read_step4);
		right = hit->head.hash == key->hash &&
		    hit->head.key_bytes == key->length &&
		    entry_fits(&hit->head, room);
	}
	if (right && !FAULT(read_compares_hash_only)) {
		right = racy_equal((const uint8_t *)entry +
		    entry_key_at(&hit->head), key->bytes, key->length);
	}
	if (right && hit->head.epoch < newest) {
		hit->freshness = judge_old(pool, entry, &hit->head);
		right = hit->freshness != EPOCH_DEAD;
	}
	right = right && !entry_expired(&hit->head, now);
	if (!right && FAULT(read_trusts_failed_check)) {
		return ANSWER_OTHER;
	}
	if (right && want->copy && (hit->head.flags & ENTRY_CHAIN) == 0 &&
	    hit->head.value_bytes <= want->bytes) {
		copy_value(entry, &hit->head, want);
		SHM_POINT(read_step6);
	}
	if (!unchanged(pool, hit->extent, hit->generation)) {
		return ANSWER_RETRY;
	}
	return right ? ANSWER_HIT : ANSWER_OTHER;
}

/* Steps 2 and 3, then look(), for a slot whose tag matches. */
static inline enum answer
try_slot(const struct pool *pool, const struct key *key, struct boot_ms now,
    uint64_t newest, const struct want *want, struct read_hit *hit)
{
	uint64_t again;

	hit->extent = slot_extent(hit->slot_word);
	hit->offset = slot_offset(hit->slot_word);
	if (!pool_extent_exists(pool, hit->extent) ||
	    hit->offset >= pool_extent_bytes(pool)) {
		stats_add(pool->stats, STAT_get_corrupt, 1);
		return ANSWER_OTHER;
	}
	/* Relaxed: a hint; no byte is believed for it. */
	entry_prefetch((const uint8_t *)pool_extent(pool, hit->extent) +
	    hit->offset, atomic_load_explicit(
	    &pool->shards[hit->shard].usual_lines, memory_order_relaxed));
	SHM_POINT(read_step1);
	/* Pairs with extent_open(): g even implies its bytes are of g. */
	hit->generation = atomic_load_explicit(
	    &pool->generations[hit->extent], memory_order_acquire);
	if ((hit->generation & 1) != 0) {
		return ANSWER_RETRY;
	}
	SHM_POINT(read_step2);
	/* Pairs with the release stores of writers and reclaim. */
	again = atomic_load_explicit(hit->slot, memory_order_acquire);
	if (((again ^ hit->slot_word) & ~SLOT_HINT_MASK) != 0 &&
	    !FAULT(read_no_slot_recheck)) {
		return ANSWER_RETRY;
	}
	return look(pool, key, now, newest, want, hit);
}

/* Conclusion 5: nothing moved under a scan that found nothing. */
static bool
scan_stands(const struct pool *pool, const struct read_hit *hit,
    uint64_t count, uint64_t moves, const struct trail *trail)
{
	/* After the loads of the scan; pairs with s4 and absorb's stores. */
	shm_fence_acquire();
	if (index_moves(pool, hit->shard) != moves &&
	    !FAULT(read_no_moves_recheck)) {
		return false;
	}
	if (FAULT(read_no_count_recheck)) {
		return true;
	}
	if (index_bucket_count(pool, hit->shard) != count) {
		return false;
	}
	for (unsigned i = 0; i < trail->count; i++) {
		/* Relaxed: ordered by the fence. */
		if (atomic_load_explicit(trail->at[i], memory_order_relaxed) !=
		    trail->word[i]) {
			return false;
		}
	}
	return true;
}

/*
 * One pass over the bucket.  HIT, RETRY, or OTHER for a miss.  The last word
 * of a line may lead to another line.
 */
static inline enum answer
scan(const struct pool *pool, const struct key *key, struct boot_ms now,
    uint64_t newest, const struct want *want, struct read_hit *hit)
{
	uint64_t moves = index_moves(pool, hit->shard);
	uint64_t count = index_bucket_count(pool, hit->shard);
	struct index_line *line = count == 0 ? NULL : index_line(pool,
	    hit->shard, DIR_PRIMARY, index_bucket(key->hash, count));
	struct trail trail;

	SHM_POINT(read_step0);
	trail.count = 0;
	while (line != NULL) {
		uint64_t words[LINE_SLOTS];
		/* Step 1. */
		unsigned matches = index_match_line(line, key->hash, words);
		uint64_t last = words[LINE_SLOTS - 1];

		for (; matches != 0; matches &= matches - 1) {
			unsigned i = (unsigned)__builtin_ctz(matches);
			enum answer answer;

			if ((words[i] & SLOT_EXTENT_MASK) == 0) {
				continue;	/* empty, or a link */
			}
			hit->slot = &line->word[i];
			hit->slot_word = words[i];
			answer = try_slot(pool, key, now, newest, want, hit);
			if (answer != ANSWER_OTHER) {
				return answer;
			}
		}
		if (!slot_is_link(last) ||
		    trail.count == BUCKET_LINES_MAX - 1) {
			break;
		}
		trail.at[trail.count] = &line->word[LINE_SLOTS - 1];
		trail.word[trail.count++] = last;
		line = index_line(pool, hit->shard, DIR_OVERFLOW,
		    link_line(last));
	}
	return scan_stands(pool, hit, count, moves, &trail) ? ANSWER_OTHER :
	    ANSWER_RETRY;
}

static enum result
fresh_or_stale(const struct read_hit *hit, struct boot_ms now)
{
	if (hit->freshness == EPOCH_ALIVE &&
	    now.ms < entry_expiry_ms(&hit->head, hit->head.soft)) {
		return OK;
	}
	return STALE;
}

static inline enum result
lookup(const struct pool *pool, const struct key *key, struct boot_ms now,
    const struct want *want, struct read_hit *hit)
{
	/* Before anything of the entry; see epoch.h r1. */
	uint64_t newest = epoch_now(pool);

	hit->shard = pool_shard_of(pool, key->hash);
	for (int tries = 0; tries < READ_TRIES; tries++) {
		switch (scan(pool, key, now, newest, want, hit)) {
		case ANSWER_HIT:
			hit->value_bytes = hit->head.value_bytes;
			hit->version = (uint64_t)hit->shard <<
			    ENTRY_SEQUENCE_BITS | hit->head.sequence;
			return fresh_or_stale(hit, now);
		case ANSWER_OTHER:
			return MISS;
		case ANSWER_RETRY:
			stats_add(pool->stats, STAT_get_retries, 1);
			break;
		}
	}
	stats_add(pool->stats, STAT_get_retries_exhausted, 1);
	return MISS;
}

/* A chained value, of which lookup() found the first part. */
static enum result
copy_chain(const struct pool *pool, void *buffer, size_t bytes,
    struct read_hit *hit, enum result found)
{
	size_t copied;
	bool growing;

	if (!chain_extent_of_value(pool, hit, &growing)) {
		return MISS;
	}
	if (growing) {
		return GROWING;
	}
	if (hit->value_bytes > bytes) {
		return TOO_LARGE;
	}
	if (read_chain(pool, hit, 0, buffer, hit->value_bytes, &copied) !=
	    OK || copied != hit->value_bytes) {
		return MISS;
	}
	return found;
}

enum result
read_copy(const struct pool *pool, const struct key *key, struct boot_ms now,
    void *buffer, size_t bytes, struct read_hit *hit)
{
	struct want want = { .buffer = buffer, .bytes = bytes, .copy = true };

	for (int tries = 0; tries < READ_TRIES; tries++) {
		enum result result = lookup(pool, key, now, &want, hit);

		if (result == MISS) {
			break;
		}
		if ((hit->head.flags & ENTRY_CHAIN) == 0) {
			return read_count(pool,
			    hit->value_bytes > bytes ? TOO_LARGE : result);
		}
		result = copy_chain(pool, buffer, bytes, hit, result);
		if (result != MISS) {
			return read_count(pool, result);
		}
		/* Replaced while it was copied: the new one is there. */
		stats_add(pool->stats, tries + 1 < READ_TRIES ?
		    STAT_get_retries : STAT_get_retries_exhausted, 1);
	}
	return read_count(pool, MISS);
}

enum result
read_peek(const struct pool *pool, const struct key *key, struct boot_ms now,
    struct read_hit *hit)
{
	struct want want = { .copy = false };

	for (int tries = 0; tries < READ_TRIES; tries++) {
		enum result result = lookup(pool, key, now, &want, hit);
		bool growing;

		if (result == MISS || (hit->head.flags & ENTRY_CHAIN) == 0) {
			return result;
		}
		if (chain_extent_of_value(pool, hit, &growing)) {
			return growing ? GROWING : result;
		}
		stats_add(pool->stats, STAT_get_retries, 1);
	}
	return MISS;
}

