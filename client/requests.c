/* SPDX-License-Identifier: ISC */

/*
 * The blocking calls that change something: one request, one answer.
 */
#include "weir.h"

#include "encode.h"
#include "handle.h"
#include "lane.h"

/* The call, and the number in its answer. */
static int
call_for_number(struct weir *handle, struct lane *lane,
    const struct request *request, uint64_t *number)
{
	struct answer answer;
	int result = channel_call(handle, lane, request, &answer);

	if (result == OK && answer.length != sizeof(uint64_t)) {
		return lane_fail(lane, CORRUPT, "the answer makes no sense");
	}
	*number = result == OK ? wire_get_u64(answer.body) : 0;
	return result;
}

static int
call_plain(struct weir *handle, const struct request *request)
{
	struct lane *lane = lane_of(handle);
	struct answer answer;

	if (lane == NULL) {
		return WEIR_NO_MEMORY;
	}
	return channel_call(handle, lane, request, &answer);
}

int
weir_set(struct weir *handle, const void *key, size_t key_length,
    const void *value, size_t length, const struct weir_set_options *options,
    uint64_t *version)
{
	struct lane *lane = lane_of(handle);
	struct request request;
	uint64_t number = 0;
	int result;

	if (lane == NULL) {
		return WEIR_NO_MEMORY;
	}
	result = request_make_set(&request, key, key_length, value, length,
	    options);
	if (result != OK) {
		return lane_fail(lane, result, "%s",
		    result_text((enum result)result));
	}
	result = call_for_number(handle, lane, &request, &number);
	if (version != NULL) {
		*version = number;
	}
	return result;
}

int
weir_delete(struct weir *handle, const void *key, size_t key_length,
    uint64_t version)
{
	struct request request;

	request_make_delete(&request, key, key_length, version);
	return call_plain(handle, &request);
}

int
weir_touch(struct weir *handle, const void *key, size_t key_length,
    uint64_t ttl_ms, uint64_t soft_ttl_ms)
{
	struct request request;

	request_make_touch(&request, key, key_length, ttl_ms, soft_ttl_ms);
	return call_plain(handle, &request);
}

int
weir_counter_add(struct weir *handle, const void *key, size_t key_length,
    int64_t delta, const struct weir_counter_options *options, int64_t *value)
{
	struct lane *lane = lane_of(handle);
	struct request request;
	uint64_t number = 0;
	int result;

	if (lane == NULL) {
		return WEIR_NO_MEMORY;
	}
	result = request_make_counter(&request, key, key_length, delta,
	    options);
	if (result != OK) {
		return lane_fail(lane, result, "%s",
		    result_text((enum result)result));
	}
	result = call_for_number(handle, lane, &request, &number);
	if (value != NULL && result == OK) {
		*value = (int64_t)number;
	}
	return result;
}

static int
purge(struct weir *handle, struct request *request, enum weir_purge_how how)
{
	struct lane *lane = lane_of(handle);
	uint64_t number;

	if (lane == NULL) {
		return WEIR_NO_MEMORY;
	}
	if ((unsigned)how > WEIR_PURGE_SOFT) {
		return lane_fail(lane, INVALID, "no such way to purge");
	}
	request->type = FRAME_PURGE;
	request->how = how;
	return call_for_number(handle, lane, request, &number);
}

int
weir_purge_tag(struct weir *handle, const void *tag, size_t length,
    enum weir_purge_how how)
{
	struct request request = {
		.what = PURGE_TAG,
		.tag = { .bytes = tag, .length = length },
	};

	return purge(handle, &request, how);
}

int
weir_purge_all(struct weir *handle, enum weir_purge_how how)
{
	struct request request = { .what = PURGE_ALL };

	return purge(handle, &request, how);
}

int
weir_ping(struct weir *handle)
{
	static const struct request request = { .type = FRAME_PING };

	return call_plain(handle, &request);
}
