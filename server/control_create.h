/* SPDX-License-Identifier: ISC */

/*
 * Making the control segment, and its settings.  The supervisor alone.
 */
#ifndef CONTROL_CREATE_H
#define CONTROL_CREATE_H

#include "clock.h"
#include "control.h"
#include "result.h"
#include "segment.h"

/* Bytes of the segment: clients, and origins. */
uint64_t control_bytes(const struct config *config);

/*
 * The segment with empty tables and the settings of config.  OK,
 * NO_MEMORY, SYSTEM.
 */
enum result control_create(struct segment *segment, struct control **control,
    const struct config *config, const uint8_t boot_id[16],
    struct boot_ms now, struct wall_ms wall);

/*
 * The settings that a reload may change, for the children to see.  Pools of
 * config are matched by number.  OK, or BUSY: a stopped child holds the
 * lock, and nothing was changed.
 */
enum result control_publish(struct control *control,
    const struct config *config);

#endif
