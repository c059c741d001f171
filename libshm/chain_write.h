/* SPDX-License-Identifier: ISC */

/*
 * Writing a chained value, whole or as it arrives; the proof stands in
 * chain.h.  Workers alone.  A writer holds the shard's lock only inside each
 * call, for at most CHAIN_PIECE_BYTES of copying.
 */
#ifndef CHAIN_WRITE_H
#define CHAIN_WRITE_H

#include "lease.h"
#include "pool.h"
#include "write.h"

#define CHAIN_PIECE_BYTES	(64u << 10)

/* In the caller's memory; belongs to one writer. */
struct chain_writer {
	uint32_t	shard;
	uint32_t	head;		/* extent of part 0 */
	uint64_t	id;
	uint64_t	written;
	struct entry_head entry;
	struct key	key;
	bool		linked;
	bool		fills;
	struct lease_fill fill;		/* its door has to stay */
	enum set_when	when;
	uint64_t	expected_version;
};

/*
 * Begin a value of spec->key; spec->value is not used, spec->value_bytes is
 * what the caller expects, 0 if unknown.  With early it can be read while it
 * grows, in the place of what the key had; else it appears when it is whole.
 * The key's bytes must stay until the end.  TOO_LARGE at once when the
 * expected size is; FULL, BUSY; EXISTS and CHANGED after spec->when;
 * LEASE_LOST, CHANGED after spec->fill, whose flight ends with
 * chain_finish().
 */
enum result chain_begin(const struct pool *pool,
    const struct entry_spec *spec, bool early, struct boot_ms now,
    struct chain_writer *writer);

/*
 * Append.  TOO_LARGE: the pool takes no more; FULL: no room, or the pool has
 * dropped the chain meanwhile; BUSY.  After an error the writer calls
 * chain_abort().
 */
enum result chain_append(const struct pool *pool, struct chain_writer *writer,
    const void *bytes, size_t length, struct boot_ms now);

/*
 * The value is whole: link it if that was not done early.  After an error
 * (of chain_begin()'s, too) the writer calls chain_abort().
 */
enum result chain_finish(const struct pool *pool, struct chain_writer *writer,
    struct boot_ms now, uint64_t *version);

/* Drop what was written.  Readers of an early value get a miss. */
void	chain_abort(const struct pool *pool, struct chain_writer *writer);

/*
 * Give back all extents of a chain whose head no slot points to any more.
 * Under the shard's lock.
 */
void	chain_free(const struct pool *pool, uint32_t shard, uint32_t head);

/* True if a chain still grows and nothing came for CHAIN_STALL_MS. */
bool	chain_stalled(const struct pool *pool, uint32_t head,
    struct boot_ms now);

#endif
