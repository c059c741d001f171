/* SPDX-License-Identifier: ISC */

/*
 * How often this process has allocated: functions in the place of malloc()
 * and its kin that count and hand on.  Only linked where a bench wants it.
 */
#ifndef ALLOCATION_COUNT_H
#define ALLOCATION_COUNT_H

#include <stdint.h>

uint64_t allocation_count(void);

#endif
