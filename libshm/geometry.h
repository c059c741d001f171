/* SPDX-License-Identifier: ISC */

/*
 * From a pool's numbers (memory, extent size, workers, flights) to the place of
 * every table in its segments.  Any process may call; pure arithmetic.
 */
#ifndef GEOMETRY_H
#define GEOMETRY_H

#include "layout.h"
#include "result.h"

/*
 * Default extent size: pool / 256, a power of two within 64 KiB and 1 MiB,
 * or more where the 22 bits of an extent number ask for it.
 */
uint64_t geometry_default_extent_bytes(uint64_t pool_bytes);

/*
 * Fills *g.  pool_bytes (4 MiB to 1 TiB) are the bytes of the extents: the
 * entries and the index; the tables come on top, see segment_bytes and
 * private_bytes.  extent_bytes is a power of two within 16 KiB and 64 MiB,
 * or 0 for the default.  worker_count is 1 to 64.  INVALID otherwise, or
 * when the pool holds fewer than 16 extents.  It has room for
 * FLIGHTS_DEFAULT flights.
 */
enum result geometry_compute(struct geometry *g, uint64_t pool_bytes,
    uint64_t extent_bytes, uint32_t worker_count);

/*
 * The same with room for so many flights in all shards together (0: the
 * default, at most FLIGHTS_MAX), and for FLIGHTS_SHARD_MIN in each.
 */
enum result geometry_compute_for(struct geometry *g, uint64_t pool_bytes,
    uint64_t extent_bytes, uint32_t worker_count, uint32_t flights);

/*
 * True if g, read from a mapping of segment_bytes, is what
 * geometry_compute() makes of its own first fields.
 */
bool	geometry_valid(const struct geometry *g, uint64_t segment_bytes);

/* Largest value stored inside an extent; above it a value is chained. */
uint32_t geometry_inline_max_bytes(const struct geometry *g);

/* Largest value the pool takes, for a key and tags of the largest size. */
uint64_t geometry_value_max_bytes(const struct geometry *g);

/* Extents a shard may hold before it has to give some to the others. */
uint32_t geometry_fair_share(const struct geometry *g);

#endif
