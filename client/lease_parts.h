/* SPDX-License-Identifier: ISC */

/*
 * Requests made of a caller's leases and permits, and answers put into them:
 * what blocking calls and steps share.  Pure, but for the clock.
 */
#ifndef LEASE_PARTS_H
#define LEASE_PARTS_H

#include "channel.h"
#include "encode.h"
#include "lease_call.h"
#include "weir.h"

/* Words of weir_lease.secret; weir_permit has the first two. */
enum {
	SECRET_PERMIT,		/* origin, number in the upper half */
	SECRET_PERMIT_TOKEN,
	SECRET_TOKEN,		/* of the lease; 0 none */
	SECRET_SINCE_MS,	/* monotonic: when it was given */
};

bool	lease_options_are_sound(const struct weir_fetch_options *options);

void	lease_make(struct request *request, const void *key,
    size_t key_length, const struct weir_fetch_options *options,
    const struct lease_ask *ask);
void	lease_make_permit(struct request *request,
    const struct weir_origin *origin, uint32_t wait_ms);

/* These use the lease up. */
bool	lease_make_fill(struct request *request, struct weir_lease *lease,
    const void *key, size_t key_length, const void *value, size_t length,
    const struct weir_set_options *options, int *result);
/* What there was to go back. */
enum lease_given {
	LEASE_NONE,		/* no lease, or one that was ended */
	LEASE_BARE,		/* of no flight, no permit: nothing */
	LEASE_GIVEN,
};
enum lease_given lease_make_end(struct request *request, enum frame_type type,
    struct weir_lease *lease, const void *key, size_t key_length,
    enum weir_outcome outcome, int code, uint32_t note_ms);
/* False: no permit, or one that was released. */
bool	lease_make_release(struct request *request,
    struct weir_permit *permit, enum weir_outcome outcome);

/* Answers of these statuses say more than a text. */
bool	lease_has_answer(int status);
/* False: the answer makes no sense. */
bool	lease_read_answer(const struct answer *answer,
    struct wire_lease_answer *out);
void	lease_put(const struct wire_lease_answer *answer, int status,
    struct weir_lease *lease);
void	lease_put_permit(const struct wire_lease_answer *answer, int status,
    struct weir_permit *permit);

/* A lease of no flight, with what the permit has. */
void	lease_of_permit(const struct weir_permit *permit,
    struct weir_lease *lease);

#endif
