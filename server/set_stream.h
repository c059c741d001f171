/* SPDX-License-Identifier: ISC */

/*
 * A SET whose value is too long to be kept until all of it is here.  A value
 * that is stored in extents of its own is written there as it arrives; one
 * that goes into a part of an extent, which can only be where extents are
 * large, is collected first, as long as the worker's budget for that lasts.
 * Whatever is wrong with the request, its bytes are taken to the end, so that
 * the connection goes on.  Workers.
 */
#ifndef SET_STREAM_H
#define SET_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "chain_write.h"
#include "clock.h"
#include "fill_head.h"
#include "pool.h"
#include "request_parse.h"
#include "result.h"

/* What all connections of a worker may collect at once. */
#define SET_STREAM_BUDGET_BYTES	(32ull << 20)

struct connection;

struct set_stream {
	const struct pool *pool;
	uint64_t	*budget_used;	/* the worker's */
	uint64_t	body_bytes;
	uint64_t	epoch;		/* current when the request came */
	struct boot_ms	arrived;
	uint64_t	seen;		/* of the body */
	size_t		prefix_bytes;	/* 0 until known */
	enum result	result;		/* not OK: the rest is skipped */
	struct wire_set	head;
	struct key	key;
	uint64_t	tags[TAGS_MAX];
	struct entry_spec spec;
	struct chain_writer writer;
	bool		chained;
	/* a FILL: its head comes before what a SET is made of */
	struct connection *conn;	/* NULL: a SET */
	uint8_t		end_bytes[WIRE_END_BYTES];
	size_t		end_seen;
	struct fill_head fill_head;
	bool		fill_known;
	uint8_t		*whole;		/* collected value, or NULL */
	uint64_t	whole_bytes;	/* so far */
	uint8_t		prefix[REQUEST_SET_PREFIX_MAX];
};

/*
 * body_bytes is the length of the frame's body.  The stream stays where it is
 * until set_stream_end() or set_stream_drop().
 */
void	set_stream_begin(struct set_stream *stream, const struct pool *pool,
    uint64_t body_bytes, uint64_t *budget_used, struct boot_ms now);

/* Before the first bytes: it is a FILL of that connection. */
void	set_stream_is_fill(struct set_stream *stream,
    struct connection *conn);

/* The next bytes of the body; together never more than body_bytes. */
void	set_stream_feed(struct set_stream *stream, const uint8_t *bytes,
    size_t length, struct boot_ms now);

/* All of the body was fed: the result as of write_set(). */
enum result set_stream_end(struct set_stream *stream, struct boot_ms now,
    uint64_t *version);

/* The rest will not come. */
void	set_stream_drop(struct set_stream *stream);

#endif
