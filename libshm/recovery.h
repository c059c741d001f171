/* SPDX-License-Identifier: ISC */

/*
 * After a holder of a shard's lock died.  The index is the truth: recovery
 * never links what was not linked; it may forget, never lie.  It reads no
 * value and no checksum, so that it ends soon.  Readers go on meanwhile.
 *
 * Idempotent: a death inside it is repaired by the next run.  A try counter
 * is raised first; the second try in a row empties the shard without reading
 * what is in it.
 */
#ifndef RECOVERY_H
#define RECOVERY_H

#include "pool.h"

/* Under the shard's lock, which the caller then marks consistent. */
void	recovery_run(const struct pool *pool, uint32_t shard);

/* Its second half, for recovery.c. */
void	recovery_rebuild_lists(const struct pool *pool, uint32_t shard);

/* Drop all that a shard holds.  Under its lock; for tests and operators. */
void	recovery_empty_shard(const struct pool *pool, uint32_t shard);

#endif
