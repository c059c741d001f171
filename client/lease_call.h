/* SPDX-License-Identifier: ISC */

/*
 * Leases and permits as the files of the library see them.
 */
#ifndef LEASE_CALL_H
#define LEASE_CALL_H

#include "channel.h"
#include "encode.h"
#include "weir.h"

struct lane;

#define LEASE_DEFAULT_MS	30000u
#define LEASE_WAIT_DEFAULT_MS	40000u
#define LEASE_BACK_OFF_MS	100u

/* What a LEASE asks beside the options. */
struct lease_ask {
	uint64_t	seen_version;
	bool		no_wait;
	uint32_t	hits;		/* of the partition */
};

/*
 * Ask; *mode is enum origin_mode.  The result as of weir_lease().
 */
int	lease_ask(struct weir *handle, struct lane *lane, const void *key,
    size_t key_length, const struct weir_fetch_options *options,
    const struct lease_ask *ask, struct weir_lease *lease, uint32_t *mode);

/* The fill with what computing took. */
int	lease_fill_in(struct weir *handle, struct lane *lane,
    struct weir_lease *lease, const void *key, size_t key_length,
    const void *value, size_t length, const struct weir_set_options *options,
    uint64_t *version);

/* A FILL as it is; one that cannot be sent ends its flight, too. */
int	lease_fill_request(struct weir *handle, struct lane *lane,
    const struct request *request, uint64_t *version);

/*
 * A FILL could not even be made: why, which it answers.  The lease is ended,
 * unless it has no key to end it with, or is none of a flight.
 */
int	lease_fill_refused(struct weir *handle, struct lane *lane,
    struct weir_lease *lease, const void *key, size_t key_length, int why);

/* A lease of no flight: its permit goes back with that outcome. */
bool	lease_is_alone(const struct weir_lease *lease);

#endif
