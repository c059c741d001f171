/* SPDX-License-Identifier: ISC */

/*
 * The ring's life, and the quiet traffic of hits.  set_async.c pushes sets.
 */
#include "ring_out.h"

#include "attach.h"
#include "channel.h"
#include "handle.h"
#include "lane.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define COUNTS_BYTES	24

uint64_t
ring_out_tail(struct weir *handle)
{
	struct ring_out *ring = &handle->ring;
	uint64_t tail = 0;

	(void)pthread_mutex_lock(&handle->ring_lock);
	if (ring->state == RING_READY) {
		tail = ring_tail(&ring->producer);
		ring->owed = false;
	}
	(void)pthread_mutex_unlock(&handle->ring_lock);
	return tail;
}

void
ring_out_asked(struct weir *handle, uint64_t id)
{
	(void)pthread_mutex_lock(&handle->ring_lock);
	handle->ring.state = RING_ASKED;
	handle->ring.answered = false;
	handle->ring.asked_id = id;
	(void)pthread_mutex_unlock(&handle->ring_lock);
}

static void
unmap(struct ring_out *ring)
{
	if (ring->map != NULL) {
		(void)munmap(ring->map, ring->map_bytes);
		ring->map = NULL;
	}
}

/* A ring that could be cut would kill whoever writes to it. */
static enum result
map_ring(struct ring_out *ring, int fd)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;

	if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) {
		return NOT_SEALED;
	}
	if (fstat(fd, &st) < 0 || st.st_size <= 0) {
		return SYSTEM;
	}
	ring->map_bytes = (size_t)st.st_size;
	ring->map = mmap(NULL, ring->map_bytes, PROT_READ | PROT_WRITE,
	    MAP_SHARED, fd, 0);
	if (ring->map == MAP_FAILED) {
		ring->map = NULL;
		return NO_MEMORY;
	}
	/* A child that pushed would be a second producer. */
	(void)madvise(ring->map, ring->map_bytes, MADV_DONTFORK);
	(void)madvise(ring->map, ring->map_bytes, MADV_DONTDUMP);
	return ring_producer_attach(&ring->producer, ring->map,
	    ring->map_bytes);
}

enum result
ring_out_adopt(struct weir *handle, uint64_t id, int status, int fd,
    const uint8_t *body, size_t length)
{
	struct ring_out *ring = &handle->ring;
	enum result result = OK;

	(void)pthread_mutex_lock(&handle->ring_lock);
	if (ring->state != RING_ASKED || ring->asked_id != id) {
		result = CORRUPT;
	} else if (status != OK) {
		ring->state = RING_REFUSED;
		ring->refusal = status;
	} else if (fd < 0 || length != sizeof(uint64_t)) {
		result = CORRUPT;
	} else {
		ring->refusal = map_ring(ring, fd);
		if (ring->refusal == OK && ring->producer.capacity !=
		    wire_get_u64(body)) {
			ring->refusal = CORRUPT;
		}
		if (ring->refusal != OK) {
			unmap(ring);
		}
		ring->state = ring->refusal == OK ? RING_READY : RING_REFUSED;
		ring->owed = false;
		/* Relaxed: the channel's lock is held. */
		ring->pool_serial = atomic_load_explicit(&handle->current,
		    memory_order_relaxed)->serial;
	}
	if (result == OK) {
		ring->answered = true;
	}
	(void)pthread_mutex_unlock(&handle->ring_lock);
	if (fd >= 0) {
		(void)close(fd);
	}
	return result;
}

void
ring_out_drop(struct weir *handle)
{
	struct ring_out *ring = &handle->ring;

	(void)pthread_mutex_lock(&handle->ring_lock);
	unmap(ring);
	if (ring->state == RING_ASKED) {
		ring->refusal = CLOSED;
	}
	ring->state = RING_NONE;
	ring->answered = true;
	ring->owed = false;
	ring->lost_count += ring->queued_count;
	ring->queued_count = 0;
	(void)pthread_mutex_unlock(&handle->ring_lock);
}

void
ring_out_forget(struct weir *handle)
{
	/* What the parent has counted so far, the parent tells. */
	handle->ring = (struct ring_out){
		.told_hits = lane_sum(handle, STAT_get_hits),
		.told_misses = lane_sum(handle, STAT_get_misses),
		.told_stale = lane_sum(handle, STAT_get_stale),
	};
	if (handle->hints) {
		/* Relaxed: a child tells and connects at its first call. */
		atomic_store_explicit(&handle->next_tick_ms, 0,
		    memory_order_relaxed);
	}
}

int
ring_out_open(struct weir *handle, struct lane *lane,
    struct deadline deadline)
{
	struct ring_out *ring = &handle->ring;
	enum result result = OK;

	/* State changes under the channel's lock, which is held. */
	if (ring->state == RING_READY) {
		return OK;
	}
	if (ring->state != RING_ASKED) {
		result = channel_ask_ring(handle);
	}
	if (result == OK) {
		result = channel_wait(handle, &ring->answered, deadline);
	}
	if (result != OK) {
		channel_drop(handle);
	} else if (ring->state != RING_READY) {
		result = (enum result)ring->refusal;
	}
	return result == OK ? OK : lane_fail(lane, result,
	    "asking for a ring: %s", result_text(result));
}

/* Under the ring's lock, READY.  True: something was pushed. */
static bool
push_hints(struct ring_out *ring, struct lane *lane)
{
	struct iovec part = {
		.iov_base = lane->hints,
		.iov_len = lane->hint_count * RING_HINT_BYTES,
	};
	bool doorbell;
	enum result result;

	if (lane->hint_count == 0) {
		return false;
	}
	lane->hint_count = 0;
	/* Full, or a ring that makes no sense: hints may be lost. */
	result = ring_push(&ring->producer, RING_HINT, &part, 1, &doorbell);
	ring->owed |= doorbell;
	return result == OK;
}

static bool
push_counts(struct weir *handle, struct ring_out *ring)
{
	uint64_t hits = lane_sum(handle, STAT_get_hits);
	uint64_t misses = lane_sum(handle, STAT_get_misses);
	uint64_t stale = lane_sum(handle, STAT_get_stale);
	uint8_t body[COUNTS_BYTES];
	struct iovec part = { .iov_base = body, .iov_len = sizeof(body) };
	bool doorbell;

	if (hits == ring->told_hits && misses == ring->told_misses &&
	    stale == ring->told_stale) {
		return false;
	}
	wire_put_u64(body, hits - ring->told_hits);
	wire_put_u64(body + 8, misses - ring->told_misses);
	wire_put_u64(body + 16, stale - ring->told_stale);
	if (ring_push(&ring->producer, RING_COUNTS, &part, 1, &doorbell) !=
	    OK) {
		return false;
	}
	ring->owed |= doorbell;
	ring->told_hits = hits;
	ring->told_misses = misses;
	ring->told_stale = stale;
	return true;
}

/* False: this window has had its hints. */
static bool
take_from_window(struct lane *lane)
{
	uint64_t now_ms = lane->clock.boot.ms;

	if (now_ms - lane->window_ms >= LANE_WINDOW_MS) {
		lane->window_ms = now_ms;
		lane->window_hints = 0;
	}
	return lane->window_hints++ < LANE_WINDOW_HINTS;
}

void
ring_out_hint(struct weir *handle, struct lane *lane,
    const struct read_hit *hit)
{
	uint8_t *at = lane->hints + lane->hint_count * RING_HINT_BYTES;

	if (!take_from_window(lane)) {
		return;
	}
	wire_put_u64(at, hit->head.hash);
	wire_put_u32(at + 8, hit->extent);
	wire_put_u32(at + 12, hit->offset);
	if (++lane->hint_count < LANE_HINTS_MAX) {
		return;
	}
	if (pthread_mutex_trylock(&handle->ring_lock) != 0) {
		lane->hint_count = 0;
		return;
	}
	if (handle->ring.state == RING_READY) {
		(void)push_hints(&handle->ring, lane);
	}
	lane->hint_count = 0;
	(void)pthread_mutex_unlock(&handle->ring_lock);
}

void
ring_out_slide(struct weir *handle, struct lane *lane,
    const struct read_hit *hit, uint64_t ttl_ms, uint64_t soft_ttl_ms)
{
	uint8_t body[RING_SLIDE_BYTES];
	struct iovec part = { .iov_base = body, .iov_len = sizeof(body) };
	bool doorbell = false;

	if (!take_from_window(lane) ||
	    pthread_mutex_trylock(&handle->ring_lock) != 0) {
		return;
	}
	wire_put_u64(body, hit->head.hash);
	wire_put_u32(body + 8, hit->extent);
	wire_put_u32(body + 12, hit->offset);
	wire_put_u64(body + 16, ttl_ms);
	wire_put_u64(body + 24, soft_ttl_ms);
	if (handle->ring.state == RING_READY) {
		/* Full: the next hit renews it. */
		(void)ring_push(&handle->ring.producer, RING_SLIDE, &part, 1,
		    &doorbell);
		handle->ring.owed |= doorbell;
	}
	(void)pthread_mutex_unlock(&handle->ring_lock);
}

/* Ask for the ring, take its answer, or connect for it. */
static void
come_closer(struct weir *handle, struct lane *lane)
{
	uint64_t next = 0;
	bool waiting = false;
	enum result result = OK;

	if (!channel_try_lock(handle)) {
		return;
	}
	if (handle->channel.wire.fd < 0) {
		attach_retry(handle, lane);
	}
	if (handle->channel.wire.fd >= 0) {
		result = handle->ring.state == RING_ASKED ?
		    channel_receive(handle) : channel_ask_ring(handle);
		if (result != OK) {
			channel_drop(handle);
		}
		waiting = handle->ring.state == RING_ASKED;
		/* Look again at once, or in a ms for the answer. */
		next = lane->clock.boot.ms + (waiting ? 1 : 0);
		if (waiting || handle->ring.state == RING_READY) {
			/* Relaxed: it spaces ticks out, nothing more. */
			atomic_store_explicit(&handle->next_tick_ms, next,
			    memory_order_relaxed);
		}
	}
	channel_leave_own(handle);
}

void
ring_out_tick(struct weir *handle, struct lane *lane)
{
	struct ring_out *ring = &handle->ring;
	uint64_t now_ms = lane->clock.boot.ms;
	/* Relaxed: as in come_closer(). */
	uint64_t next = atomic_load_explicit(&handle->next_tick_ms,
	    memory_order_relaxed);
	bool ready, pushed = false;

	if (now_ms < next || !atomic_compare_exchange_strong_explicit(
	    &handle->next_tick_ms, &next, now_ms + RING_TICK_MS,
	    memory_order_relaxed, memory_order_relaxed) ||
	    pthread_mutex_trylock(&handle->ring_lock) != 0) {
		return;
	}
	ready = ring->state == RING_READY;
	if (ready) {
		pushed = push_counts(handle, ring);
		pushed |= push_hints(ring, lane);
	}
	(void)pthread_mutex_unlock(&handle->ring_lock);
	if (pushed) {
		channel_doorbell(handle);
	} else if (!ready) {
		come_closer(handle, lane);
	}
}

void
ring_out_last(struct weir *handle, struct lane *lane)
{
	(void)pthread_mutex_lock(&handle->ring_lock);
	if (handle->ring.state == RING_READY) {
		if (handle->hints) {
			(void)push_counts(handle, &handle->ring);
		}
		if (lane != NULL) {
			(void)push_hints(&handle->ring, lane);
		}
	}
	(void)pthread_mutex_unlock(&handle->ring_lock);
}
