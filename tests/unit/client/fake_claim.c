/* SPDX-License-Identifier: ISC */

/*
 * CLAIM, as the fake daemon reads and answers it.
 */
#include "fake_lease.h"

#include "fake_daemon.h"
#include "fake_serve.h"

#include <criterion/criterion.h>

void
fake_lease_tell_claims(struct fake_daemon *daemon, int status)
{
	pthread_mutex_lock(&daemon->lease.lock);
	daemon->lease.claim_status = status;
	pthread_mutex_unlock(&daemon->lease.lock);
}

void
fake_lease_delay_claims(struct fake_daemon *daemon, unsigned busy,
    bool hangs_up)
{
	pthread_mutex_lock(&daemon->lease.lock);
	daemon->lease.claims_busy = busy;
	daemon->lease.claim_hangs_up = hangs_up;
	pthread_mutex_unlock(&daemon->lease.lock);
}

void
fake_claim_read(struct fake_asked *asked, const uint8_t *body, size_t length)
{
	const size_t at = WIRE_CLAIM_BYTES;

	cr_assert_geq(length, at);
	asked->number[0] = wire_get_u64(body);
	asked->number[1] = wire_get_u64(body + 8);
	asked->lists = length > at;
	if (asked->lists) {
		asked->listed = wire_get_u32(body + at);
		cr_assert_eq(wire_get_u32(body + at + 4), 0);
		cr_assert_eq(length, at + 8 + asked->listed *
		    WIRE_HOLD_BYTES);
	}
	if (asked->listed > 0) {
		wire_hold_decode(body + at + 8, &asked->first);
	}
}

bool
fake_claim_serve(struct fake_lease *lease, struct fake_client *client,
    const struct frame *frame)
{
	bool hangs_up = lease->claims_busy == 0 && lease->claim_hangs_up;

	if (hangs_up) {
		lease->claim_hangs_up = false;
		return false;
	}
	fake_answer(client, frame, lease->claims_busy > 0 ? BUSY :
	    lease->claim_status, "", 0, -1);
	lease->claims_busy -= lease->claims_busy > 0;
	return true;
}
