/* SPDX-License-Identifier: ISC */

/*
 * Durations as people write and read them: 250ms, 10s, 5m, 2h, 1d.  Any
 * thread may call.
 */
#ifndef DURATION_H
#define DURATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DURATION_TEXT_BYTES	32u

/*
 * A whole number with ms, s, m, h or d after it; only 0 may stand alone.
 * False, with *ms untouched, for anything else and for more than 64 bits.
 */
bool	duration_parse(const char *text, uint64_t *ms);

/* Two units at most: "12 ms", "4.2 s", "3 min 5 s", "2 d 4 h". */
void	duration_format(char text[DURATION_TEXT_BYTES], uint64_t ms);

#endif
