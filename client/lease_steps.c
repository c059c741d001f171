/* SPDX-License-Identifier: ISC */

/*
 * Leases and permits in steps, for event loops.
 */
#include "lease_parts.h"

#include "handle.h"
#include "hit_count.h"
#include "lane.h"

#include <string.h>

/* Under the channel's lock.  False: the answer makes no sense. */
static bool
take_lease(void *taker, const struct answer *answer)
{
	struct wire_lease_answer said;

	if (!lease_read_answer(answer, &said)) {
		return false;
	}
	lease_put(&said, answer->status, taker);
	return true;
}

static bool
take_permit(void *taker, const struct answer *answer)
{
	struct wire_lease_answer said;

	if (!lease_read_answer(answer, &said)) {
		return false;
	}
	lease_put_permit(&said, answer->status, taker);
	return true;
}

int
weir_start_lease(struct weir *handle, const void *key, size_t key_length,
    uint64_t seen_version, const struct weir_fetch_options *options,
    struct weir_lease *lease, weir_done_fn done, void *arg)
{
	static const struct weir_fetch_options plain =
	    WEIR_FETCH_OPTIONS_INIT;
	struct lane *lane = lane_of(handle);
	struct lease_ask ask = { .seen_version = seen_version };
	struct request request;

	memset(lease, 0, sizeof(*lease));
	lease->reason = "";
	if (lane == NULL) {
		return WEIR_NO_MEMORY;
	}
	if (options == NULL) {
		options = &plain;
	}
	if (!lease_options_are_sound(options)) {
		return lane_fail_plain(lane, INVALID);
	}
	ask.hits = hit_count_take_all(lane);
	ask.no_wait = options->no_wait != 0;
	lease_make(&request, key, key_length, options, &ask);
	/* Its caller goes on meanwhile: it cannot wait for itself. */
	request.lease.thread = 0;
	return channel_start_taken(handle, lane, &request, take_lease, lease,
	    done, arg);
}

/* What was not even queued is its caller's yet, to be ended once more. */
static int
put_back(struct weir_lease *lease, const struct weir_lease *before,
    int result)
{
	if (result != OK) {
		*lease = *before;
	}
	return result;
}

int
weir_start_lease_fill(struct weir *handle, struct weir_lease *lease,
    const void *key, size_t key_length, const void *value, size_t length,
    const struct weir_set_options *options, weir_done_fn done, void *arg)
{
	struct lane *lane = lane_of(handle);
	const struct weir_lease before = *lease;
	struct request request;
	int result;

	if (lane == NULL) {
		return WEIR_NO_MEMORY;
	}
	if (!lease_make_fill(&request, lease, key, key_length, value, length,
	    options, &result)) {
		return lane_fail_plain(lane, result);
	}
	return put_back(lease, &before, channel_start(handle, lane, &request,
	    done, arg));
}

static int
start_end(struct weir *handle, const struct request *request,
    enum lease_given given, weir_done_fn done, void *arg)
{
	/* With nothing to give back, any answer says the same. */
	static const struct request ping = { .type = FRAME_PING };
	struct lane *lane = lane_of(handle);

	if (lane == NULL) {
		return WEIR_NO_MEMORY;
	}
	if (request->end.outcome > WEIR_NEUTRAL) {
		return lane_fail_plain(lane, INVALID);
	}
	if (given == LEASE_NONE) {
		return lane_fail_plain(lane, LEASE_LOST);
	}
	return channel_start(handle, lane, given == LEASE_GIVEN ? request :
	    &ping, done, arg);
}

int
weir_start_lease_fail(struct weir *handle, struct weir_lease *lease,
    const void *key, size_t key_length, enum weir_outcome outcome, int code,
    uint32_t back_off_ms, weir_done_fn done, void *arg)
{
	const struct weir_lease before = *lease;
	struct request request;
	enum lease_given given = lease_make_end(&request, FRAME_FAIL, lease,
	    key, key_length, outcome, code, back_off_ms);

	return put_back(lease, &before, start_end(handle, &request, given,
	    done, arg));
}

int
weir_start_lease_uncacheable(struct weir *handle, struct weir_lease *lease,
    const void *key, size_t key_length, uint32_t for_ms, weir_done_fn done,
    void *arg)
{
	const struct weir_lease before = *lease;
	struct request request;
	enum lease_given given = lease_make_end(&request, FRAME_UNCACHEABLE,
	    lease, key, key_length, WEIR_SUCCESS, 0, for_ms);

	return put_back(lease, &before, start_end(handle, &request, given,
	    done, arg));
}

int
weir_start_permit_acquire(struct weir *handle,
    const struct weir_origin *origin, uint32_t wait_ms,
    struct weir_permit *permit, weir_done_fn done, void *arg)
{
	struct lane *lane = lane_of(handle);
	struct request request;

	memset(permit, 0, sizeof(*permit));
	permit->reason = "";
	if (lane == NULL) {
		return WEIR_NO_MEMORY;
	}
	lease_make_permit(&request, origin, wait_ms);
	if (request.name[0] == 0) {
		return lane_fail(lane, INVALID, "a permit needs an origin");
	}
	return channel_start_taken(handle, lane, &request, take_permit,
	    permit, done, arg);
}

int
weir_start_permit_release(struct weir *handle, struct weir_permit *permit,
    enum weir_outcome outcome, weir_done_fn done, void *arg)
{
	const struct weir_permit before = *permit;
	struct request request;
	bool given = lease_make_release(&request, permit, outcome);
	int result = start_end(handle, &request, given ? LEASE_GIVEN :
	    LEASE_NONE, done, arg);

	if (result != OK) {
		*permit = before;
	}
	return result;
}
