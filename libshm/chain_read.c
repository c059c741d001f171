/* SPDX-License-Identifier: ISC */

/*
 * Reading a chained value, part after part; the proof stands in chain.h.
 * Any process; nothing is stored.
 */
#include "chain.h"

#include "fault.h"
#include "point.h"
#include "racy_copy.h"

struct cursor {
	uint32_t	extent;
	uint32_t	index;
	uint64_t	generation;
	uint64_t	base;		/* of its first byte in the value */
	uint64_t	room;		/* value bytes it holds when full */
	const uint8_t	*bytes;
};

static bool
still(const struct pool *pool, uint32_t extent, uint64_t generation)
{
	/* Pairs with the fence of extent_retire(). */
	shm_fence_acquire();
	SHM_POINT(chain_read_checked);
	/* Relaxed: ordered by the fence. */
	return atomic_load_explicit(&pool->generations[extent],
	    memory_order_relaxed) == generation;
}

/* k3: this extent is that part of that chain, under the cursor's generation. */
static bool
is_part(const struct pool *pool, const struct read_hit *hit,
    const struct cursor *cursor)
{
	const struct chain_part *part = chain_part_of(pool, cursor->extent);
	/* Acquire under TSan's model; relaxed would do before still(). */
	uint64_t id = atomic_load_explicit(&part->id, memory_order_acquire);
	uint32_t index = atomic_load_explicit(&part->index,
	    memory_order_acquire);

	if (FAULT(chain_id_unchecked) || FAULT(chain_parts_trusted)) {
		return true;
	}
	return id == hit->version && index == cursor->index;
}

static void
place(const struct pool *pool, const struct read_hit *hit,
    struct cursor *cursor)
{
	uint64_t at = sizeof(struct chain_part);

	if (cursor->index == 0) {
		at = hit->offset + entry_value_at(&hit->head);
	}
	cursor->bytes = (const uint8_t *)pool_extent(pool, cursor->extent) +
	    at;
	cursor->room = chain_part_room(pool, &hit->head, cursor->index);
}

static bool
first_part(const struct pool *pool, const struct read_hit *hit,
    struct cursor *cursor)
{
	cursor->extent = hit->extent;
	cursor->generation = hit->generation;
	cursor->index = 0;
	cursor->base = 0;
	/* Of a chain the entry lies right behind the part header. */
	if (hit->offset != sizeof(struct chain_part) ||
	    !is_part(pool, hit, cursor)) {
		return false;
	}
	place(pool, hit, cursor);
	return true;
}

static bool
next_part(const struct pool *pool, const struct read_hit *hit,
    struct cursor *cursor)
{
	struct chain_part *part = chain_part_of(pool, cursor->extent);
	/* k5; pairs with c4. */
	uint32_t next = atomic_load_explicit(&part->next,
	    memory_order_acquire);

	if (!still(pool, cursor->extent, cursor->generation) ||
	    !pool_extent_exists(pool, next)) {
		return false;
	}
	cursor->base += cursor->room;
	cursor->extent = next;
	cursor->index++;
	/* From here on the chain may go and its extent be another's. */
	SHM_POINT(chain_read_next);
	/* Pairs with extent_open(). */
	cursor->generation = atomic_load_explicit(&pool->generations[next],
	    memory_order_acquire);
	if ((cursor->generation & 1) != 0 || !is_part(pool, hit, cursor)) {
		return false;
	}
	/*
	 * k3: opened for small entries the extent would show its old id until
	 * the first of them is written, under a generation that stays.
	 */
	if (!FAULT(chain_head_unchecked) && !FAULT(chain_parts_trusted) &&
	    !still(pool, hit->extent, hit->generation)) {
		return false;
	}
	SHM_POINT(chain_read_part);
	place(pool, hit, cursor);
	return true;
}

/* The part that holds the byte at from. */
static bool
seek(const struct pool *pool, const struct read_hit *hit, uint64_t from,
    struct cursor *cursor)
{
	if (!first_part(pool, hit, cursor)) {
		return false;
	}
	while (from - cursor->base >= cursor->room) {
		if (!next_part(pool, hit, cursor)) {
			return false;
		}
	}
	return true;
}

bool
chain_extent_of_value(const struct pool *pool, struct read_hit *hit,
    bool *growing)
{
	const struct chain_part *part = chain_part_of(pool, hit->extent);
	struct cursor cursor;
	uint64_t total, published;

	if (!first_part(pool, hit, &cursor)) {
		return false;
	}
	total = atomic_load_explicit(&part->total_bytes,
	    memory_order_acquire);
	/* k2; pairs with c5. */
	published = atomic_load_explicit(&part->published_bytes,
	    memory_order_acquire);
	if (!still(pool, hit->extent, hit->generation)) {
		return false;
	}
	*growing = total != published;
	hit->value_bytes = published;
	return published <= pool->g.chain_max_bytes;
}

enum result
read_chain(const struct pool *pool, const struct read_hit *hit, uint64_t from,
    void *buffer, size_t bytes, size_t *copied)
{
	struct read_hit now = *hit;
	struct cursor cursor;
	bool growing;

	*copied = 0;
	if (!chain_extent_of_value(pool, &now, &growing)) {
		return MISS;
	}
	if (from > now.value_bytes) {
		return INVALID;
	}
	if (bytes > now.value_bytes - from) {
		bytes = now.value_bytes - from;
	}
	if (bytes == 0) {
		return OK;
	}
	if (!seek(pool, &now, from, &cursor)) {
		return MISS;
	}
	for (;;) {
		uint64_t skip = from + *copied - cursor.base;
		uint64_t piece = cursor.room - skip;

		if (piece > bytes - *copied) {
			piece = bytes - *copied;
		}
		racy_copy((uint8_t *)buffer + *copied, cursor.bytes + skip,
		    piece);
		if (!still(pool, cursor.extent, cursor.generation)) {
			return MISS;
		}
		*copied += piece;
		if (*copied == bytes) {
			return OK;
		}
		if (!next_part(pool, &now, &cursor)) {
			return MISS;
		}
	}
}

enum result
chain_view(const struct pool *pool, const struct read_hit *hit, uint64_t from,
    struct read_view *view)
{
	struct cursor cursor;
	uint64_t left;

	if (from > hit->value_bytes) {
		return INVALID;
	}
	left = hit->value_bytes - from;
	if (left == 0) {
		return OK;
	}
	if (!seek(pool, hit, from, &cursor)) {
		return MISS;
	}
	while (left > 0 && view->part_count < READ_VIEW_PARTS) {
		unsigned i = view->part_count++;
		uint64_t skip = from + view->bytes - cursor.base;
		uint64_t piece = cursor.room - skip;

		piece = piece < left ? piece : left;
		/* The mapping may be read-only; iovec has no const. */
		view->part[i].iov_base = (void *)(uintptr_t)
		    (cursor.bytes + skip);
		view->part[i].iov_len = piece;
		view->extent[i] = cursor.extent;
		view->generation[i] = cursor.generation;
		view->bytes += piece;
		left -= piece;
		if (left > 0 && !next_part(pool, hit, &cursor)) {
			return MISS;
		}
	}
	return read_view_valid(pool, view) ? OK : MISS;
}
