/* SPDX-License-Identifier: ISC */

/*
 * Blocking calls for leases and permits.
 */
#include "lease_call.h"

#include "handle.h"
#include "hit_count.h"
#include "lane.h"
#include "lease_parts.h"

#include <string.h>

/* As the daemon's own for what it cannot store. */
#define UNSENT_MARK_MS	1000u

static int
say(struct lane *lane, const struct answer *answer)
{
	if (answer->status >= 0) {
		return answer->status;
	}
	if (lease_has_answer(answer->status)) {
		return lane_fail_plain(lane, answer->status);
	}
	return lane_fail(lane, answer->status, "%.*s", (int)answer->length,
	    (const char *)answer->body);
}

/* The daemon says when wait_ms are over; this is for one that says nothing. */
static struct deadline
answer_deadline(const struct weir *handle, uint32_t wait_ms)
{
	uint64_t left_ms = (uint64_t)handle->timeout_ms + wait_ms;

	return deadline_after(left_ms < UINT32_MAX ? (uint32_t)left_ms :
	    UINT32_MAX);
}

int
lease_ask(struct weir *handle, struct lane *lane, const void *key,
    size_t key_length, const struct weir_fetch_options *options,
    const struct lease_ask *ask, struct weir_lease *lease, uint32_t *mode)
{
	struct wire_lease_answer said;
	struct request request;
	struct answer answer;
	int result;

	memset(lease, 0, sizeof(*lease));
	lease->reason = "";
	*mode = 0;
	lease_make(&request, key, key_length, options, ask);
	result = channel_call_long(handle, lane, &request, &answer,
	    answer_deadline(handle, ask->no_wait ? 0 :
	    request.lease.wait_ms));
	if (result != OK) {
		return result;
	}
	if (!lease_read_answer(&answer, &said)) {
		return lane_fail(lane, CORRUPT, "the answer makes no sense");
	}
	lease_put(&said, answer.status, lease);
	*mode = said.mode;
	return say(lane, &answer);
}

int
weir_lease(struct weir *handle, const void *key, size_t key_length,
    uint64_t seen_version, const struct weir_fetch_options *options,
    struct weir_lease *lease)
{
	static const struct weir_fetch_options plain =
	    WEIR_FETCH_OPTIONS_INIT;
	struct lane *lane = lane_of(handle);
	struct lease_ask ask = { .seen_version = seen_version };
	uint32_t mode;

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
	return lease_ask(handle, lane, key, key_length, options, &ask, lease,
	    &mode);
}

bool
lease_is_alone(const struct weir_lease *lease)
{
	return lease->secret[SECRET_TOKEN] == 0;
}

/*
 * A value that is not even sent is as one that the daemon cannot store: those
 * who wait compute their own, and the permit goes back.
 */
static void
end_unsent(struct weir *handle, struct lane *lane, const void *key,
    size_t key_length, const struct wire_end *end)
{
	struct request request = {
		.type = FRAME_UNCACHEABLE,
		.key = key,
		.key_length = key_length,
		.end = *end,
	};
	struct answer answer;

	request.end.note_ms = UNSENT_MARK_MS;
	(void)channel_call(handle, lane, &request, &answer);
}

int
lease_fill_refused(struct weir *handle, struct lane *lane,
    struct weir_lease *lease, const void *key, size_t key_length, int why)
{
	struct request request;

	if (why != KEY_INVALID && why != LEASE_LOST &&
	    lease_make_end(&request, FRAME_UNCACHEABLE, lease, key,
	    key_length, WEIR_SUCCESS, 0, 0) == LEASE_GIVEN) {
		end_unsent(handle, lane, key, key_length, &request.end);
	}
	return lane_fail_plain(lane, (enum result)why);
}

int
lease_fill_request(struct weir *handle, struct lane *lane,
    const struct request *request, uint64_t *version)
{
	struct answer answer = { .arrived = false };
	int result = channel_call(handle, lane, request, &answer);

	if (!answer.arrived && (result == TOO_LARGE || result == INVALID)) {
		end_unsent(handle, lane, request->key, request->key_length,
		    &request->end);
		return lane_fail_plain(lane, (enum result)result);
	}
	if (result == OK && answer.length != sizeof(uint64_t)) {
		return lane_fail(lane, CORRUPT, "the answer makes no sense");
	}
	if (result == OK && version != NULL) {
		*version = wire_get_u64(answer.body);
	}
	return result;
}

int
lease_fill_in(struct weir *handle, struct lane *lane,
    struct weir_lease *lease, const void *key, size_t key_length,
    const void *value, size_t length, const struct weir_set_options *options,
    uint64_t *version)
{
	struct request request;
	int result;

	if (version != NULL) {
		*version = 0;
	}
	if (!lease_make_fill(&request, lease, key, key_length, value, length,
	    options, &result)) {
		return lease_fill_refused(handle, lane, lease, key,
		    key_length, result);
	}
	return lease_fill_request(handle, lane, &request, version);
}

int
weir_lease_fill(struct weir *handle, struct weir_lease *lease,
    const void *key, size_t key_length, const void *value, size_t length,
    const struct weir_set_options *options, uint64_t *version)
{
	struct lane *lane = lane_of(handle);

	return lane == NULL ? WEIR_NO_MEMORY : lease_fill_in(handle, lane,
	    lease, key, key_length, value, length, options, version);
}

/*
 * *arrived: the daemon has heard of it.  If it has not, for want of sense,
 * what was to be ended is its caller's yet.
 */
static int
call_end(struct weir *handle, const struct request *request,
    enum lease_given given, bool *arrived)
{
	struct lane *lane = lane_of(handle);
	struct answer answer = { .arrived = false };
	int result;

	*arrived = false;
	if (lane == NULL) {
		return WEIR_NO_MEMORY;
	}
	if (request->end.outcome > WEIR_NEUTRAL) {
		return lane_fail_plain(lane, INVALID);
	}
	if (given != LEASE_GIVEN) {
		return given == LEASE_BARE ? WEIR_OK :
		    lane_fail_plain(lane, LEASE_LOST);
	}
	result = channel_call(handle, lane, request, &answer);
	*arrived = answer.arrived || (result != INVALID &&
	    result != KEY_INVALID);
	return result;
}

static int
end_lease(struct weir *handle, struct weir_lease *lease,
    const struct weir_lease *before, const struct request *request,
    enum lease_given given)
{
	bool arrived;
	int result = call_end(handle, request, given, &arrived);

	if (result != OK && !arrived) {
		*lease = *before;
	}
	return result;
}

int
weir_lease_fail(struct weir *handle, struct weir_lease *lease,
    const void *key, size_t key_length, enum weir_outcome outcome, int code,
    uint32_t back_off_ms)
{
	const struct weir_lease before = *lease;
	struct request request;
	enum lease_given given = lease_make_end(&request, FRAME_FAIL, lease,
	    key, key_length, outcome, code, back_off_ms);

	return end_lease(handle, lease, &before, &request, given);
}

int
weir_lease_uncacheable(struct weir *handle, struct weir_lease *lease,
    const void *key, size_t key_length, uint32_t for_ms)
{
	const struct weir_lease before = *lease;
	struct request request;
	enum lease_given given = lease_make_end(&request, FRAME_UNCACHEABLE,
	    lease, key, key_length, WEIR_SUCCESS, 0, for_ms);

	return end_lease(handle, lease, &before, &request, given);
}

int
weir_permit_acquire(struct weir *handle, const struct weir_origin *origin,
    uint32_t wait_ms, struct weir_permit *permit)
{
	struct lane *lane = lane_of(handle);
	struct wire_lease_answer said;
	struct request request;
	struct answer answer;
	int result;

	memset(permit, 0, sizeof(*permit));
	permit->reason = "";
	if (lane == NULL) {
		return WEIR_NO_MEMORY;
	}
	lease_make_permit(&request, origin, wait_ms);
	if (request.name[0] == 0) {
		return lane_fail(lane, INVALID, "a permit needs an origin");
	}
	result = channel_call_long(handle, lane, &request, &answer,
	    answer_deadline(handle, wait_ms));
	if (result != OK) {
		return result;
	}
	if (!lease_read_answer(&answer, &said)) {
		return lane_fail(lane, CORRUPT, "the answer makes no sense");
	}
	lease_put_permit(&said, answer.status, permit);
	return say(lane, &answer);
}

int
weir_permit_release(struct weir *handle, struct weir_permit *permit,
    enum weir_outcome outcome)
{
	const struct weir_permit before = *permit;
	struct request request;
	bool arrived;
	int result;

	if (!lease_make_release(&request, permit, outcome)) {
		struct lane *lane = lane_of(handle);

		return lane == NULL ? WEIR_NO_MEMORY :
		    lane_fail_plain(lane, LEASE_LOST);
	}
	result = call_end(handle, &request, LEASE_GIVEN, &arrived);
	if (result != OK && !arrived) {
		*permit = before;
	}
	return result;
}
