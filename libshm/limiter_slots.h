/* SPDX-License-Identifier: ISC */

/*
 * Permits and places as slots: taking and freeing one, with the order of
 * stores that limiter.h promises.  Included by the limiter alone.
 */
#ifndef LIMITER_SLOTS_H
#define LIMITER_SLOTS_H

#include "limiter.h"

/* True: a permit is free for this class. */
bool	limiter_has_room(const struct limiter *limiter,
    const struct limiter_config *config, enum limiter_class class);

/* A permit for somebody who did not wait; 0: no rows, see limiter_rows.h. */
uint32_t limiter_permit_take(struct limiter *limiter,
    const struct limiter_config *config,
    const struct limiter_request *request, struct boot_ms now);

/* A place that waits; 0: as above. */
uint32_t limiter_place_take(struct limiter *limiter,
    const struct limiter_config *config,
    const struct limiter_request *request, struct boot_ms now);

/* There is room, and this is the waiter who is next. */
void	limiter_place_grant(struct limiter *limiter,
    const struct limiter_config *config, uint32_t place, struct boot_ms now);

/* Without the grant loop, which has to follow. */
void	limiter_permit_free(struct limiter *limiter,
    const struct limiter_config *config, uint32_t permit);

/* A granted place: its permit stays. */
void	limiter_place_free(struct limiter *limiter, uint32_t place);

/* Whatever it is; a granted one's permit is freed, too. */
void	limiter_place_drop(struct limiter *limiter,
    const struct limiter_config *config, uint32_t place);

/* The permit that a place names is held, and was given to it. */
bool	limiter_place_owns(const struct limiter *limiter,
    const struct limiter_place *place);

void	limiter_granted_append(struct limiter *limiter, uint32_t place);
void	limiter_granted_remove(struct limiter *limiter, uint32_t place);

/* The owner word, after all that was stored before it. */
void	limiter_owner_store(uint64_t *owner, uint64_t value);

#endif
