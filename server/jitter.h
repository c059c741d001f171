/* SPDX-License-Identifier: ISC */

/*
 * Random numbers that spread times: of retries, of open breakers, of expiry.
 * Whoever could guess them gains nothing, so no system call is made for each.
 * Workers; a process that forks must not have called it before.
 */
#ifndef JITTER_H
#define JITTER_H

#include <stdint.h>

uint64_t jitter_random(void);

#endif
