/* SPDX-License-Identifier: ISC */

/*
 * A copy of the request is kept until its answer.
 */
#include "lease_send.h"

#include "lane.h"
#include "lease_call.h"
#include "lease_parts.h"

#include <stdlib.h>
#include <string.h>

struct sent_fill {
	struct weir	*handle;
	struct request	request;
	bool		again;
	struct weir_tag	tags[];		/* then key, value, the tags' bytes */
};

static void *
put(uint8_t **at, const void *bytes, size_t length)
{
	uint8_t *start = *at;

	if (length > 0) {
		memcpy(start, bytes, length);
	}
	*at += length;
	return start;
}

/* NULL: no memory. */
static struct sent_fill *
copy_fill(struct weir *handle, const struct request *request)
{
	unsigned count = request->set.tag_count;
	size_t bytes = sizeof(struct sent_fill) +
	    count * sizeof(struct weir_tag) + request->key_length +
	    request->value_length;
	struct sent_fill *fill;
	uint8_t *at;

	for (unsigned i = 0; i < count; i++) {
		bytes += request->tags[i].length;
	}
	fill = malloc(bytes);
	if (fill == NULL) {
		return NULL;
	}
	at = (uint8_t *)(fill->tags + count);
	*fill = (struct sent_fill){ .handle = handle, .request = *request };
	fill->request.key = put(&at, request->key, request->key_length);
	fill->request.value = put(&at, request->value, request->value_length);
	for (unsigned i = 0; i < count; i++) {
		fill->tags[i].bytes = put(&at, request->tags[i].bytes,
		    request->tags[i].length);
		fill->tags[i].length = request->tags[i].length;
	}
	fill->request.tags = fill->tags;
	return fill;
}

static void
was_answered(void *arg, int result, uint64_t version)
{
	struct sent_fill *fill = arg;
	struct weir *handle = fill->handle;
	struct lane *lane = lane_of(handle);

	(void)version;
	/* Relaxed: a hint.  With many under way only one may have to find
	 * out that nobody answers. */
	if (result == CLOSED && !fill->again && lane != NULL &&
	    !atomic_load_explicit(&handle->absent, memory_order_relaxed)) {
		fill->again = true;
		if (channel_start_own(handle, lane, &fill->request, false,
		    was_answered, fill) == OK) {
			return;
		}
	}
	/* Relaxed: see lease_settle(). */
	(void)atomic_fetch_sub_explicit(&handle->fills_sent, 1,
	    memory_order_relaxed);
	free(fill);
}

static int
send_copy(struct weir *handle, struct lane *lane,
    const struct request *request)
{
	struct sent_fill *fill = copy_fill(handle, request);
	int result;

	if (fill == NULL) {
		return NO_MEMORY;
	}
	(void)atomic_fetch_add_explicit(&handle->fills_sent, 1,
	    memory_order_relaxed);
	result = channel_start_own(handle, lane, &fill->request, true,
	    was_answered, fill);
	if (result != OK) {
		(void)atomic_fetch_sub_explicit(&handle->fills_sent, 1,
		    memory_order_relaxed);
		free(fill);
	}
	return result;
}

int
lease_fill_send(struct weir *handle, struct lane *lane,
    struct weir_lease *lease, const void *key, size_t key_length,
    const void *value, size_t length, const struct weir_set_options *options)
{
	struct request request;
	int result;

	if (length > LEASE_SEND_MAX) {
		return lease_fill_in(handle, lane, lease, key, key_length,
		    value, length, options, NULL);
	}
	if (!lease_make_fill(&request, lease, key, key_length, value, length,
	    options, &result)) {
		return lease_fill_refused(handle, lane, lease, key,
		    key_length, result);
	}
	result = send_copy(handle, lane, &request);
	if (result != OK) {
		/* Too much is under way, or it says why. */
		return lease_fill_request(handle, lane, &request, NULL);
	}
	return OK;
}

static bool
are_under_way(const struct weir *handle)
{
	/* Relaxed: see lease_settle(). */
	return atomic_load_explicit(&handle->fills_sent,
	    memory_order_relaxed) != 0;
}

bool
lease_settle_slowly(struct weir *handle)
{
	static const struct request ping = { .type = FRAME_PING };
	struct lane *lane = lane_of(handle);
	struct answer answer;

	if (lane == NULL) {
		return false;
	}
	/* Answers come in order: all of them are there with this one; or it
	 * found the connection lost, and they were sent once more. */
	for (int tries = 0; tries < 2 && are_under_way(handle); tries++) {
		(void)channel_call(handle, lane, &ping, &answer);
	}
	return true;
}
