/* SPDX-License-Identifier: ISC */

/*
 * What the files share that bring an ask from its frame to its answer; see
 * lease_session.h.  Workers.
 */
#ifndef ASK_H
#define ASK_H

#include "jitter.h"
#include "lease_session.h"
#include "session.h"

static inline struct lease_session *
ask_session(const struct ask *ask)
{
	return &ask->conn->session->leases;
}

static inline uint64_t
ask_left_ms(uint64_t until_ms, struct boot_ms now)
{
	return until_ms > now.ms ? until_ms - now.ms : 0;
}

/*
 * ask_answer.c; after the first three the ask is gone.  Granted: the permit
 * is there, or none is needed.
 */
void	ask_answer_granted(struct ask *ask, struct boot_ms now);
void	ask_answer_refusal(struct ask *ask, enum result status,
    uint32_t reason, int32_t code, uint64_t retry_after_ms);
void	ask_refuse_text(struct ask *ask, enum result status,
    const char *text);
void	ask_free(struct ask *ask);

/* What it leads goes to another, or ends for all with ending. */
void	ask_stop_leading(struct ask *ask,
    const struct flight_ending *ending);

/* ask_permit.c: a permit for it, then its answer; it may be gone. */
void	ask_permit(struct ask *ask);

/* It waits: look at it then. */
void	ask_wait_until(struct ask *ask, uint64_t until_ms,
    struct boot_ms now);

#endif
