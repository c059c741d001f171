/* SPDX-License-Identifier: ISC */

/*
 * Asynchronous stores: pushed into the ring, told of by a flush.
 */
#include "weir.h"

#include "encode.h"
#include "handle.h"
#include "lane.h"

/* A ring may go with its connection between opening and pushing. */
#define PUSH_TRIES	3

#define FLUSH_ANSWER_BYTES	16

/* The daemon is there, and so is a ring. */
static int
have_ring(struct weir *handle, struct lane *lane)
{
	struct deadline deadline = deadline_after(handle->timeout_ms);
	int result = channel_lock(handle, deadline);

	if (result != OK) {
		return lane_fail(lane, result, "other threads use the "
		    "connection: %s", result_text((enum result)result));
	}
	result = attach_ensure(handle, lane, deadline);
	if (result == OK) {
		result = ring_out_open(handle, lane, deadline);
	}
	channel_unlock(handle);
	return result;
}

/*
 * MISS: there is no ring of this attachment.  Whatever ring_push() says; the
 * doorbell is due if *ring.
 */
static int
push_set(struct weir *handle, const struct attachment *a,
    const struct request *request, bool *ring)
{
	struct ring_out *out = &handle->ring;
	struct encoded encoded;
	bool doorbell;
	int result = MISS;

	*ring = false;
	request_encode(request, &a->pool, &encoded);
	request_record(request, &encoded);

	(void)pthread_mutex_lock(&handle->ring_lock);
	if (out->state == RING_READY && out->pool_serial == a->serial) {
		result = ring_push(&out->producer, RING_SET, encoded.part, 3,
		    &doorbell);
		/* A full ring too: the worker has to come. */
		*ring = doorbell || ((result == OK || result == FULL) &&
		    out->owed);
		if (*ring) {
			out->owed = false;
		}
		if (result == OK) {
			out->queued_count++;
		}
	}
	(void)pthread_mutex_unlock(&handle->ring_lock);
	return result;
}

static int
try_push(struct weir *handle, struct lane *lane,
    const struct request *request)
{
	const struct attachment *a = lane_enter(handle, lane);
	int result = MISS;
	bool ring = false;

	if (a != NULL) {
		result = request_check(request, &a->pool);
		if (result == OK) {
			result = push_set(handle, a, request, &ring);
		}
	}
	lane_leave(lane);
	if (ring) {
		channel_doorbell(handle);
	}
	return result;
}

int
weir_set_async(struct weir *handle, const void *key, size_t key_length,
    const void *value, size_t length, const struct weir_set_options *options)
{
	struct lane *lane = lane_of(handle);
	struct request request;
	int result;

	if (lane == NULL) {
		return WEIR_NO_MEMORY;
	}
	if (handle->disabled) {
		return lane_fail(lane, NO_SERVER, "WEIR_DISABLE is set");
	}
	result = request_make_set(&request, key, key_length, value, length,
	    options);
	if (result == OK) {
		result = request_check(&request, NULL);
	}
	for (int tries = 0; result == OK && tries < PUSH_TRIES; tries++) {
		result = try_push(handle, lane, &request);
		if (result != MISS) {
			break;
		}
		result = have_ring(handle, lane);
		if (result != OK) {
			return result;
		}
		/* A ring that came and went in every try. */
		if (tries == PUSH_TRIES - 1) {
			result = CLOSED;
		}
	}
	if (result == TOO_LARGE) {
		/* For the ring, or for the pool, which this will say. */
		return weir_set(handle, key, key_length, value, length,
		    options, NULL);
	}
	/* A full ring is tried again and again: nothing is formatted for it. */
	return result >= 0 ? result : lane_fail_plain(lane, result);
}

/* Take the numbers of stores since the last flush; how many were lost. */
static uint64_t
settle(struct weir *handle, uint64_t told)
{
	struct ring_out *ring = &handle->ring;
	uint64_t lost;

	(void)pthread_mutex_lock(&handle->ring_lock);
	ring->queued_count -= told < ring->queued_count ? told :
	    ring->queued_count;
	lost = ring->lost_count;
	ring->lost_count = 0;
	(void)pthread_mutex_unlock(&handle->ring_lock);
	return lost;
}

static bool
anything_queued(struct weir *handle)
{
	bool any;

	(void)pthread_mutex_lock(&handle->ring_lock);
	any = handle->ring.queued_count > 0;
	(void)pthread_mutex_unlock(&handle->ring_lock);
	return any;
}

int
weir_flush(struct weir *handle, uint64_t *failed)
{
	static const struct request request = { .type = FRAME_FLUSH };
	struct lane *lane = lane_of(handle);
	struct answer answer;
	uint64_t told = 0, refused = 0, lost;
	int result = WEIR_OK;

	if (failed != NULL) {
		*failed = 0;
	}
	if (lane == NULL) {
		return WEIR_NO_MEMORY;
	}
	if (anything_queued(handle)) {
		result = channel_call(handle, lane, &request, &answer);
		if (result == OK && answer.length == FLUSH_ANSWER_BYTES) {
			refused = wire_get_u64(answer.body + 8);
			told = wire_get_u64(answer.body) + refused;
		} else if (result == OK) {
			result = lane_fail(lane, CORRUPT, "the answer to "
			    "FLUSH makes no sense");
		}
	}
	lost = settle(handle, told);
	if (failed != NULL) {
		*failed = refused + lost;
	}
	if (result == OK && lost > 0) {
		return lane_fail(lane, CLOSED, "%llu stores were queued when "
		    "the connection was lost", (unsigned long long)lost);
	}
	return result;
}
