/* SPDX-License-Identifier: ISC */

/*
 * Telling the clients which origins are bypassed.  Workers.
 */
#ifndef ORIGIN_MODES_H
#define ORIGIN_MODES_H

#include <stdint.h>

#include "clock.h"
#include "heritage.h"
#include "origin.h"

/*
 * In each pool's header, for weir_fetch(): see origin_bypass.h.  At a change
 * of a mode, and once a second, since modes end by themselves.
 */
void	origin_modes_publish(const struct heritage *heritage,
    const struct origin *origins, uint32_t count, struct boot_ms now);

#endif
