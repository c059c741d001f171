/* SPDX-License-Identifier: ISC */

/*
 * Holders' words, and a client's claim of what it held.
 */
#include "holder.h"

#include "client_table.h"
#include "limiter.h"

/*
 * A client's word: generation of the row, then the row from 1.  A worker's:
 * the top bit, its incarnation, its number.
 */
#define ROW_BITS	20u
#define ROW_MASK	((1ull << ROW_BITS) - 1)
#define WORKER_BIT	(1ull << 63)
#define WORKER_BITS	8u
#define WORKER_MASK	((1ull << WORKER_BITS) - 1)

static uint64_t
load(const _Atomic uint64_t *word)
{
	/* Acquire: pairs with the releases of client_table.c. */
	return atomic_load_explicit(word, memory_order_acquire);
}

uint64_t
holder_of_row(const struct control *control, const struct control_client *row)
{
	uint64_t number = (uint64_t)(row - control->clients) + 1;

	return (load(&row->generation) << ROW_BITS & ~WORKER_BIT) | number;
}

bool
holder_split(uint64_t holder, uint32_t *number, uint64_t *generation)
{
	if ((holder & WORKER_BIT) != 0 || (holder & ROW_MASK) == 0) {
		return false;
	}
	*number = (uint32_t)(holder & ROW_MASK) - 1;
	*generation = holder >> ROW_BITS;
	return true;
}

static uint64_t
incarnation_of(const struct control *control, uint32_t worker)
{
	/* Acquire: pairs with the release of the supervisor at a death. */
	return worker >= WORKERS_MAX ? 0 : atomic_load_explicit(
	    &control->processes[worker].incarnation, memory_order_acquire);
}

uint64_t
holder_of_worker(const struct control *control, uint32_t worker)
{
	return WORKER_BIT | incarnation_of(control, worker) << WORKER_BITS |
	    worker;
}

struct control_client *
holder_row(struct control *control, uint64_t holder)
{
	uint64_t number = holder & ROW_MASK;
	struct control_client *row;

	if ((holder & WORKER_BIT) != 0 || number == 0 ||
	    number > control->client_capacity) {
		return NULL;
	}
	row = &control->clients[number - 1];
	if (!client_table_taken(row) || holder_of_row(control, row) !=
	    holder) {
		return NULL;
	}
	return row;
}

bool
holder_is_dead(void *arg, uint64_t holder)
{
	struct control *control = arg;

	if ((holder & WORKER_BIT) != 0) {
		uint32_t worker = (uint32_t)(holder & WORKER_MASK);

		return worker >= control->worker_count ||
		    holder_of_worker(control, worker) != holder;
	}
	return holder_row(control, holder) == NULL;
}

bool
holder_worker_is_dead(void *arg, uint64_t worker)
{
	const struct control *control = arg;
	uint32_t index = limiter_worker_index(worker);

	return index >= control->worker_count || limiter_worker(index,
	    incarnation_of(control, index)) != worker;
}

/* Relaxed: what never changes while the holder is the same. */
static bool
may_claim(const struct control_client *old, const struct control_client *row,
    const struct peer *peer, uint64_t secret)
{
	return atomic_load_explicit(&old->secret, memory_order_relaxed) ==
	    secret && atomic_load_explicit(&old->uid, memory_order_relaxed) ==
	    peer->uid && atomic_load_explicit(&old->pid,
	    memory_order_relaxed) == (uint32_t)peer->pid &&
	    atomic_load_explicit(&old->pool, memory_order_relaxed) ==
	    atomic_load_explicit(&row->pool, memory_order_relaxed);
}

enum result
holder_claim(struct control *control, uint32_t process, uint64_t incarnation,
    const struct peer *peer, uint64_t holder, uint64_t secret,
    struct control_client **row)
{
	struct control_client *old = holder_row(control, holder);
	enum result result;

	if (old == NULL) {
		return MISS;
	}
	if (!may_claim(old, *row, peer, secret)) {
		return DENIED;
	}
	if (old == *row) {
		return OK;
	}
	result = client_table_take_over(control, old, holder, process,
	    incarnation);
	if (result == OK) {
		*row = old;
	}
	return result;
}
