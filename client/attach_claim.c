/* SPDX-License-Identifier: ISC */

/*
 * CLAIM, and what its answers mean.
 */
#include "attach_claim.h"

#include "clock.h"
#include "handle.h"

#include <stdlib.h>

/* How long the death of a worker may stay unknown: a hung one is killed. */
#define CLAIM_PATIENCE_MS	5000
/* Each waits in the daemon as long as it thinks right. */
#define CLAIMS_AT_ONCE		4

/* One CLAIM, and its status.  Not OK: the channel is dropped. */
static enum result
ask_claim(struct weir *handle, struct deadline deadline, int *status)
{
	const struct attach_state *state = &handle->attach;
	struct request request = {
		.type = FRAME_CLAIM,
		.number = { state->holder, state->secret },
	};
	struct answer answer = { .status = MISS };
	uint8_t *held;
	enum result result;
	bool whole;

	if (holds_encode(&state->holds, &held, &request.value_length) == OK) {
		request.value = held;
	} else {
		/* Then all of it is kept, whoever was told of it. */
		request.value_length = 0;
	}
	result = channel_exchange(handle, &request, NULL, &answer, deadline,
	    &whole);
	free(held);
	*status = answer.status;
	return result == OK && handle->channel.wire.fd < 0 ? CLOSED : result;
}

/*
 * Ours until it is said that it is not.  BUSY: the daemon does not know yet
 * that the worker is dead.
 */
static enum result
claim_until(struct weir *handle, struct deadline deadline, int *status)
{
	*status = BUSY;
	for (int i = 0; i < CLAIMS_AT_ONCE && *status == BUSY; i++) {
		enum result result = ask_claim(handle, deadline, status);

		if (result != OK) {
			return result;
		}
	}
	return *status == BUSY ? BUSY : OK;
}

enum result
attach_claim(struct weir *handle, uint64_t holder, uint64_t secret,
    struct deadline deadline)
{
	struct attach_state *state = &handle->attach;
	enum result result = OK;
	int status = MISS;

	if (state->holder != 0 && holds_matter(&state->holds)) {
		uint64_t now_ms = clock_boot_now().ms;

		if (state->claims_until_ms == 0) {
			state->claims_until_ms = now_ms + CLAIM_PATIENCE_MS;
		}
		result = claim_until(handle, deadline, &status);
		if (result != OK && now_ms < state->claims_until_ms) {
			return result;
		}
	}
	state->claims_until_ms = 0;
	if (result == OK && status == OK) {
		state->holds.lost = false;
		return OK;
	}
	/* It is the daemon's again, or will be when its time is over. */
	holds_clear(&state->holds);
	state->holder = holder;
	state->secret = secret;
	return handle->channel.wire.fd >= 0 ? OK : CLOSED;
}
