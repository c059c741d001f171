/* SPDX-License-Identifier: ISC */

/*
 * Which origins are bypassed, as clients see it: a word of the pool's header
 * with a bit for each name.  Names may share a bit: it says that the daemon
 * has to be asked, which knows.  Workers store it at a change and once a
 * second, clients load it with each hit of a fetch.
 */
#ifndef ORIGIN_BYPASS_H
#define ORIGIN_BYPASS_H

#include <stdint.h>
#include <string.h>

#include "hash.h"

static inline uint64_t
origin_bypass_bit(const char *name)
{
	/* Every pool's and every client's the same: no pool's key. */
	static const struct hash_key none;

	return UINT64_C(1) << (hash_bytes(&none, name, strlen(name)) & 63);
}

#endif
