/* SPDX-License-Identifier: ISC */

/*
 * Rows of the client table.
 */
#include "client_table.h"

#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "holder.h"
#include "point.h"

bool
client_table_taken(const struct control_client *row)
{
	/* Acquire: pairs with the release in client_table_claim(). */
	return atomic_load_explicit(&row->worker, memory_order_acquire) != 0;
}

/*
 * When the process started, in the kernel's ticks: field 22 of its stat
 * file, counted behind the name, which may hold anything.  0: not to be seen.
 */
uint64_t
client_table_start_time(pid_t pid)
{
	char path[32], text[512];
	const char *at;
	ssize_t n;
	int fd;
	unsigned long long started = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = pid > 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0) {
		return 0;
	}
	n = read(fd, text, sizeof(text) - 1);
	(void)close(fd);
	if (n <= 0) {
		return 0;
	}
	text[n] = 0;
	at = strrchr(text, ')');
	if (at == NULL || sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %*u %*u "
	    "%*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
	    &started) != 1) {
		return 0;
	}
	return started;
}

/* Its worker died; a word out of range is nobody's either. */
static bool
is_orphan(const struct control *control, const struct control_client *row)
{
	/* Relaxed: a death that is not seen yet is seen at the next look. */
	uint32_t worker = atomic_load_explicit(&row->worker,
	    memory_order_relaxed);

	return worker > control->worker_count || worker > WORKERS_MAX ||
	    (worker != 0 && atomic_load_explicit(&row->incarnation,
	    memory_order_relaxed) < atomic_load_explicit(
	    &control->processes[worker - 1].incarnation,
	    memory_order_relaxed));
}

bool
client_table_in_use(const struct control *control,
    const struct control_client *row)
{
	/* Acquire: pairs with the release in client_table_claim(). */
	uint32_t worker = atomic_load_explicit(&row->worker,
	    memory_order_acquire);

	if (worker == 0 || worker > control->worker_count ||
	    worker > WORKERS_MAX) {
		return false;
	}
	/* Relaxed: a death that is not seen yet is seen at the next look. */
	return !is_orphan(control, row) && atomic_load_explicit(
	    &row->orphan_until_ms, memory_order_relaxed) == 0;
}

uint32_t
client_table_count(const struct control *control)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < control->client_capacity; i++) {
		count += client_table_in_use(control, &control->clients[i]);
	}
	return count;
}

/* Relaxed throughout: published by the worker word that comes after. */
static void
fill_row(struct control_client *row, uint64_t incarnation,
    const struct peer *peer, uint32_t pool, struct boot_ms now)
{
	atomic_store_explicit(&row->pid, (uint32_t)peer->pid,
	    memory_order_relaxed);
	atomic_store_explicit(&row->incarnation, incarnation,
	    memory_order_relaxed);
	atomic_store_explicit(&row->uid, peer->uid, memory_order_relaxed);
	atomic_store_explicit(&row->gid, peer->gid, memory_order_relaxed);
	atomic_store_explicit(&row->pool, pool, memory_order_relaxed);
	atomic_store_explicit(&row->ring_bytes, 0, memory_order_relaxed);
	atomic_store_explicit(&row->since_ms, now.ms, memory_order_relaxed);
	atomic_store_explicit(&row->requests, 0, memory_order_relaxed);
	atomic_store_explicit(&row->ring_records, 0, memory_order_relaxed);
	atomic_store_explicit(&row->hits, 0, memory_order_relaxed);
	atomic_store_explicit(&row->misses, 0, memory_order_relaxed);
	atomic_store_explicit(&row->stale, 0, memory_order_relaxed);
}

/* Under the lock, which says what a death under it left: nothing. */
static bool
lock_table(struct control *control)
{
	switch (lock_acquire(&control->clients_lock, LOCK_TIMEOUT_MS)) {
	case LOCK_HELD:
		return true;
	case LOCK_HELD_OWNER_DIED:
		/* A row half made is free, one half taken over an orphan. */
		lock_mark_consistent(&control->clients_lock);
		return true;
	default:
		return false;
	}
}

/* Relaxed: published by the worker word, which the caller stores last. */
static void
make_holder(struct control_client *row, uint64_t started)
{
	uint64_t secret;

	randombytes_buf(&secret, sizeof(secret));
	atomic_store_explicit(&row->secret, secret, memory_order_relaxed);
	atomic_store_explicit(&row->started, started, memory_order_relaxed);
	atomic_store_explicit(&row->orphan_until_ms, 0,
	    memory_order_relaxed);
	atomic_fetch_add_explicit(&row->generation, 1, memory_order_relaxed);
}

enum result
client_table_claim(struct control *control, uint32_t process,
    uint64_t incarnation, const struct peer *peer, uint32_t pool,
    struct boot_ms now, struct control_client **row)
{
	/* A look at /proc is nothing to do under a lock. */
	uint64_t started = client_table_start_time(peer->pid);
	enum result result = FULL;

	if (!lock_table(control)) {
		return BUSY;
	}
	for (uint32_t i = 0; i < control->client_capacity; i++) {
		struct control_client *at = &control->clients[i];

		if (client_table_taken(at)) {
			continue;
		}
		fill_row(at, incarnation, peer, pool, now);
		make_holder(at, started);
		/* Release: pairs with client_table_taken(). */
		atomic_store_explicit(&at->worker, process + 1,
		    memory_order_release);
		*row = at;
		result = OK;
		break;
	}
	lock_release(&control->clients_lock);
	return result;
}

/*
 * Under the lock.  A death after any of the stores leaves an orphan, of the
 * worker before or of this one: no life of a worker has the number 0.
 * Release each, so that none is stored before the one above it; that of the
 * worker word pairs with client_table_taken().
 */
static void
make_ours(struct control_client *row, uint32_t process, uint64_t incarnation,
    uint64_t until_ms)
{
	atomic_store_explicit(&row->incarnation, 0, memory_order_release);
	SHM_POINT(client_row_unowned);
	atomic_store_explicit(&row->orphan_until_ms, until_ms,
	    memory_order_release);
	SHM_POINT(client_row_dated);
	/* The ring went with the worker that had it. */
	atomic_store_explicit(&row->ring_bytes, 0, memory_order_release);
	atomic_store_explicit(&row->worker, process + 1,
	    memory_order_release);
	SHM_POINT(client_row_moved);
	atomic_store_explicit(&row->incarnation, incarnation,
	    memory_order_release);
}

/* Adopted or not. */
static bool
is_left_behind(const struct control *control,
    const struct control_client *row)
{
	return client_table_taken(row) && !client_table_in_use(control, row);
}

enum result
client_table_take_over(struct control *control, struct control_client *row,
    uint64_t holder, uint32_t process, uint64_t incarnation)
{
	enum result result = MISS;

	if (!lock_table(control)) {
		return BUSY;
	}
	if (client_table_taken(row) && holder_of_row(control, row) ==
	    holder) {
		result = BUSY;
		if (is_left_behind(control, row)) {
			make_ours(row, process, incarnation, 0);
			result = OK;
		}
	}
	lock_release(&control->clients_lock);
	return result;
}

/* Relaxed: under the lock, where rows are given to processes. */
static bool
is_of_process(const struct control_client *row, const struct peer *peer,
    uint64_t started, uint32_t pool)
{
	return atomic_load_explicit(&row->pid, memory_order_relaxed) ==
	    (uint32_t)peer->pid && atomic_load_explicit(&row->uid,
	    memory_order_relaxed) == peer->uid && atomic_load_explicit(
	    &row->started, memory_order_relaxed) == started &&
	    atomic_load_explicit(&row->pool, memory_order_relaxed) == pool;
}

enum result
client_table_reseat(struct control *control, uint32_t process,
    uint64_t incarnation, const struct peer *peer, uint32_t pool,
    uint64_t holder, uint64_t secret, struct control_client **row)
{
	uint64_t started = client_table_start_time(peer->pid);
	struct control_client *own;
	enum result result = FULL;

	if (started == 0) {
		return FULL;	/* not to be told from a later process */
	}
	if (!lock_table(control)) {
		return BUSY;
	}
	/* Under the lock: it may be claimed through another worker. */
	own = holder_row(control, holder);
	/* Relaxed: under the lock, as all of a row that is given away. */
	if (own != NULL && is_left_behind(control, own) &&
	    is_of_process(own, peer, started, pool) && atomic_load_explicit(
	    &own->secret, memory_order_relaxed) == secret) {
		make_ours(own, process, incarnation, 0);
		*row = own;
		result = OK;
	}
	lock_release(&control->clients_lock);
	return result;
}

enum result
client_table_adopt(struct control *control, uint32_t process,
    uint64_t incarnation, uint64_t until_ms, uint32_t *at,
    struct control_client **row)
{
	/* Most looks find nothing: those take no lock. */
	while (*at < control->client_capacity && (!client_table_taken(
	    &control->clients[*at]) || !is_orphan(control,
	    &control->clients[*at]))) {
		++*at;
	}
	if (*at >= control->client_capacity) {
		return MISS;
	}
	if (!lock_table(control)) {
		return BUSY;
	}
	*row = &control->clients[(*at)++];
	if (!client_table_taken(*row) || !is_orphan(control, *row)) {
		*row = NULL;
	} else {
		make_ours(*row, process, incarnation, until_ms);
	}
	lock_release(&control->clients_lock);
	return OK;
}

void
client_table_release(struct control_client *row)
{
	/* Release: the row's last counts before it is another's. */
	atomic_store_explicit(&row->worker, 0, memory_order_release);
}

void
client_table_leave(struct control_client *row)
{
	/* Release: as above; no life of a worker has the number 0. */
	atomic_store_explicit(&row->incarnation, 0, memory_order_release);
}

enum result
client_table_let_go(struct control *control, struct control_client *row,
    uint64_t holder, uint32_t process)
{
	enum result result = MISS;

	/* Under the lock: a claim may come through another worker. */
	if (!lock_table(control)) {
		return BUSY;
	}
	/* Relaxed: stored under the lock. */
	if (client_table_taken(row) && holder_of_row(control, row) ==
	    holder && atomic_load_explicit(&row->worker,
	    memory_order_relaxed) == process + 1 && atomic_load_explicit(
	    &row->orphan_until_ms, memory_order_relaxed) != 0) {
		client_table_release(row);
		result = OK;
	}
	lock_release(&control->clients_lock);
	return result;
}
