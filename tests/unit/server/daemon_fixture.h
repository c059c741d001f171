/* SPDX-License-Identifier: ISC */

/*
 * A daemon's tables without its processes: one pool, the control segment,
 * a heritage that names both.  For tests of the worker's parts.
 */
#ifndef DAEMON_FIXTURE_H
#define DAEMON_FIXTURE_H

#include "heritage.h"

#define FIXTURE_POOL_BYTES	(8ull << 20)
#define FIXTURE_CLIENTS		4
#define FIXTURE_BOOT_MS		1000000u

/* A moment of the fake clock. */
static inline struct boot_ms
fixture_at(uint64_t ms)
{
	return (struct boot_ms){ .ms = FIXTURE_BOOT_MS + ms };
}

/* Asserts that all could be made; the heritage is static. */
struct heritage *fixture_create(void);
void	fixture_destroy(struct heritage *heritage);

/* Store a text, for reads. */
void	fixture_set(const struct pool *pool, const char *key,
    const char *value);

#endif
