/* SPDX-License-Identifier: ISC */

/*
 * Epoch rows and the sketch; the proof stands in epoch.h.
 */
#include "epoch.h"

#include "fault.h"
#include "point.h"

uint64_t
epoch_tag_hash(const struct pool *pool, const void *tag, size_t length)
{
	uint64_t hash = hash_bytes(&pool->hash_key, tag, length);

	return hash == 0 ? 1 : hash;
}

static struct epoch_cell *
cell_of(const struct pool *pool, uint64_t tag)
{
	return &pool->sketch[tag & (pool->g.sketch_cells - 1)];
}

/* The row of a tag, or the free row where it would go; NULL if full. */
static struct epoch_row *
find_row(const struct pool *pool, uint64_t tag)
{
	uint64_t at = tag >> 20;

	for (uint32_t i = 0; i < EPOCH_ROW_SLOTS; i++) {
		struct epoch_row *row =
		    &pool->rows[(at + i) & (EPOCH_ROW_SLOTS - 1)];
		/* Acquire: r3 reads the rows before all_hard. */
		uint64_t what = atomic_load_explicit(&row->what,
		    memory_order_acquire);

		if (what == tag || what == 0) {
			return row;
		}
	}
	return NULL;
}

/* Number of the hard purge of a tag, 0 if there was none. */
static uint64_t
row_number(const struct pool *pool, uint64_t tag)
{
	struct epoch_row *row = find_row(pool, tag);
	uint64_t number;

	if (row == NULL || atomic_load_explicit(&row->what,
	    memory_order_relaxed) != tag) {
		return 0;
	}
	/* Pairs with the release store of the number. */
	number = atomic_load_explicit(&row->number, memory_order_acquire);
	/* Cleared and used for another tag meanwhile: all_hard covers it. */
	return atomic_load_explicit(&row->what, memory_order_relaxed) == tag ?
	    number : 0;
}

enum epoch_verdict
epoch_judge(const struct pool *pool, uint64_t epoch, const uint64_t *tags,
    unsigned tag_count)
{
	const struct pool_header *header = pool->header;
	uint64_t invalid = 0, soft = 0;

	for (unsigned i = 0; i < tag_count; i++) {
		struct epoch_cell *cell = cell_of(pool, tags[i]);
		/* Relaxed: the acquire load of newest ordered them. */
		uint64_t number = atomic_load_explicit(&cell->invalid,
		    memory_order_relaxed);

		invalid = number > invalid ? number : invalid;
		number = atomic_load_explicit(&cell->soft,
		    memory_order_relaxed);
		soft = number > soft ? number : soft;
		number = row_number(pool, tags[i]);
		if (FAULT(epoch_strict_less) ? number > epoch + 1 :
		    number > epoch) {
			return EPOCH_DEAD;
		}
	}
	/* After the rows: conclusion 3. */
	if (atomic_load_explicit(&header->epoch_all_hard,
	    memory_order_acquire) > epoch) {
		return EPOCH_DEAD;
	}
	if (invalid > epoch || atomic_load_explicit(
	    &header->epoch_all_invalid, memory_order_acquire) > epoch) {
		return EPOCH_INVALID;
	}
	if (soft > epoch || atomic_load_explicit(&header->epoch_all_soft,
	    memory_order_acquire) > epoch) {
		return EPOCH_SOFT;
	}
	return EPOCH_ALIVE;
}

static void
raise_newest(const struct pool *pool)
{
	/* p3: after the rows; pairs with epoch_now(). */
	atomic_store_explicit(&pool->header->epoch_newest,
	    pool->priv->epoch_next, memory_order_release);
}

static bool
enter_epochs(const struct pool *pool)
{
	struct shm_lock *lock = &pool->priv->epoch_lock;

	switch (lock_acquire(lock, LOCK_TIMEOUT_MS)) {
	case LOCK_HELD:
		break;
	case LOCK_HELD_OWNER_DIED:
		/* Finish what the dead one began; it counted for more. */
		raise_newest(pool);
		stats_add(pool->stats, STAT_recoveries, 1);
		lock_mark_consistent(lock);
		break;
	case LOCK_BUSY:
	case LOCK_BROKEN:
		stats_add(pool->stats, STAT_lock_timeouts, 1);
		return false;
	}
	/* Relaxed: written under this lock alone. */
	pool->priv->epoch_next = atomic_load_explicit(
	    &pool->header->epoch_newest, memory_order_relaxed) + 1;
	SHM_POINT(epoch_reserved);
	if (FAULT(epoch_newest_first)) {
		raise_newest(pool);
		SHM_POINT(epoch_row_written);
	}
	return true;
}

static void
leave_epochs(const struct pool *pool, uint64_t *number)
{
	SHM_POINT(epoch_row_written);
	*number = pool->priv->epoch_next;
	raise_newest(pool);
	SHM_POINT(epoch_raised);
	lock_release(&pool->priv->epoch_lock);
}

/* All of the pool, then forget the rows, which it covers. */
static void
store_all_hard(const struct pool *pool, uint64_t number)
{
	/* Release before the rows go: conclusion 3. */
	atomic_store_explicit(&pool->header->epoch_all_hard, number,
	    memory_order_release);
	SHM_POINT(epoch_all_stored);
	for (uint32_t i = 0; i < EPOCH_ROW_SLOTS; i++) {
		atomic_store_explicit(&pool->rows[i].number, 0,
		    memory_order_release);
		atomic_store_explicit(&pool->rows[i].what, 0,
		    memory_order_release);
	}
	/* Relaxed: for people and under the lock. */
	atomic_store_explicit(&pool->header->epoch_rows_used, 0,
	    memory_order_relaxed);
}

static void
store_row(const struct pool *pool, uint64_t tag, uint64_t number)
{
	_Atomic uint64_t *used = &pool->header->epoch_rows_used;
	struct epoch_row *row = find_row(pool, tag);
	/* Relaxed: rows and their count change under the epoch lock. */
	uint64_t count = atomic_load_explicit(used, memory_order_relaxed);

	if (row != NULL && atomic_load_explicit(&row->what,
	    memory_order_relaxed) == 0) {
		if (count >= EPOCH_ROWS_MAX) {
			row = NULL;
		} else {
			atomic_store_explicit(&row->what, tag,
			    memory_order_release);
			atomic_store_explicit(used, count + 1,
			    memory_order_relaxed);
			SHM_POINT(epoch_row_claimed);
		}
	}
	if (row == NULL) {
		stats_add(pool->stats, STAT_epoch_rows_full, 1);
		store_all_hard(pool, number);
		return;
	}
	/* After what; pairs with row_number(). */
	atomic_store_explicit(&row->number, number, memory_order_release);
}

enum result
epoch_purge_tag(const struct pool *pool, uint64_t tag_hash,
    enum epoch_kind kind, uint64_t *number)
{
	struct epoch_cell *cell = cell_of(pool, tag_hash);

	if (tag_hash == 0) {
		return INVALID;
	}
	if (!enter_epochs(pool)) {
		return BUSY;
	}
	switch (kind) {
	case EPOCH_KIND_HARD:
		store_row(pool, tag_hash, pool->priv->epoch_next);
		break;
	case EPOCH_KIND_INVALID:
		/* Release: published by p3; so is the other. */
		atomic_store_explicit(&cell->invalid, pool->priv->epoch_next,
		    memory_order_release);
		break;
	case EPOCH_KIND_SOFT:
		atomic_store_explicit(&cell->soft, pool->priv->epoch_next,
		    memory_order_release);
		break;
	}
	leave_epochs(pool, number);
	stats_add(pool->stats, STAT_purges_tag, 1);
	return OK;
}

enum result
epoch_purge_all(const struct pool *pool, enum epoch_kind kind,
    uint64_t *number)
{
	struct pool_header *header = pool->header;

	if (!enter_epochs(pool)) {
		return BUSY;
	}
	switch (kind) {
	case EPOCH_KIND_HARD:
		store_all_hard(pool, pool->priv->epoch_next);
		break;
	case EPOCH_KIND_INVALID:
		/* Release: published by p3; so is the other. */
		atomic_store_explicit(&header->epoch_all_invalid,
		    pool->priv->epoch_next, memory_order_release);
		break;
	case EPOCH_KIND_SOFT:
		atomic_store_explicit(&header->epoch_all_soft,
		    pool->priv->epoch_next, memory_order_release);
		break;
	}
	leave_epochs(pool, number);
	stats_add(pool->stats, STAT_purges_all, 1);
	return OK;
}
