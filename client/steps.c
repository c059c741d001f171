/* SPDX-License-Identifier: ISC */

/*
 * Requests in steps, for event loops: nothing here waits, but for the first
 * connection.
 */
#include "weir.h"

#include "encode.h"
#include "handle.h"
#include "lane.h"

int
weir_fd(struct weir *handle)
{
	int fd;

	if (lane_of(handle) == NULL) {
		return -1;
	}
	(void)pthread_mutex_lock(&handle->lock);
	fd = handle->channel.wire.fd;
	channel_unlock(handle);
	return fd;
}

bool
weir_wants_write(struct weir *handle)
{
	bool wants;

	if (lane_of(handle) == NULL) {
		return false;
	}
	(void)pthread_mutex_lock(&handle->lock);
	wants = wire_queued_bytes(&handle->channel.wire) > 0;
	channel_unlock(handle);
	return wants;
}

int
weir_step(struct weir *handle)
{
	struct lane *lane = lane_of(handle);
	enum result result = CLOSED;

	if (lane == NULL) {
		return WEIR_NO_MEMORY;
	}
	(void)pthread_mutex_lock(&handle->lock);
	if (handle->channel.wire.fd >= 0) {
		result = channel_receive(handle);
		if (result == OK) {
			result = wire_flush(&handle->channel.wire);
		}
		if (result == BUSY) {
			result = OK;
		}
		if (result != OK) {
			channel_drop(handle);
		}
	}
	channel_leave(handle);
	return result == OK ? OK : lane_fail(lane, result, "%s",
	    result == CLOSED ? "not connected" : result_text(result));
}

static int
start_made(struct weir *handle, struct lane *lane, int made,
    const struct request *request, weir_done_fn done, void *arg)
{
	if (made != OK) {
		return lane_fail(lane, made, "%s",
		    result_text((enum result)made));
	}
	return channel_start(handle, lane, request, done, arg);
}

int
weir_start_set(struct weir *handle, const void *key, size_t key_length,
    const void *value, size_t length, const struct weir_set_options *options,
    weir_done_fn done, void *arg)
{
	struct lane *lane = lane_of(handle);
	struct request request;
	int made;

	if (lane == NULL) {
		return WEIR_NO_MEMORY;
	}
	made = request_make_set(&request, key, key_length, value, length,
	    options);
	return start_made(handle, lane, made, &request, done, arg);
}

int
weir_start_delete(struct weir *handle, const void *key, size_t key_length,
    uint64_t version, weir_done_fn done, void *arg)
{
	struct lane *lane = lane_of(handle);
	struct request request;

	if (lane == NULL) {
		return WEIR_NO_MEMORY;
	}
	request_make_delete(&request, key, key_length, version);
	return start_made(handle, lane, OK, &request, done, arg);
}

int
weir_start_touch(struct weir *handle, const void *key, size_t key_length,
    uint64_t ttl_ms, uint64_t soft_ttl_ms, weir_done_fn done, void *arg)
{
	struct lane *lane = lane_of(handle);
	struct request request;

	if (lane == NULL) {
		return WEIR_NO_MEMORY;
	}
	request_make_touch(&request, key, key_length, ttl_ms, soft_ttl_ms);
	return start_made(handle, lane, OK, &request, done, arg);
}

int
weir_start_counter_add(struct weir *handle, const void *key,
    size_t key_length, int64_t delta,
    const struct weir_counter_options *options, weir_done_fn done, void *arg)
{
	struct lane *lane = lane_of(handle);
	struct request request;
	int made;

	if (lane == NULL) {
		return WEIR_NO_MEMORY;
	}
	made = request_make_counter(&request, key, key_length, delta,
	    options);
	return start_made(handle, lane, made, &request, done, arg);
}
