/* SPDX-License-Identifier: ISC */

/*
 * From what a caller asked for to the bytes of a frame.  Pure; any thread.
 * Keys and values are not copied: the parts point at the caller's.
 */
#ifndef ENCODE_H
#define ENCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "epoch.h"
#include "pool.h"
#include "protocol.h"
#include "weir.h"

/* Fixed part of the largest body: FILL and its tags. */
#define ENCODE_HEAD_MAX	(WIRE_END_BYTES + WIRE_SET_BYTES + TAGS_MAX * 8)
/* Of an origin. */
#define ENCODE_NAME_MAX	63u

struct request {
	enum frame_type	type;
	const void	*key;
	size_t		key_length;
	/* SET; HELLO: the pool's name; CLAIM: what is held, or NULL */
	const void	*value;
	size_t		value_length;
	const struct weir_tag *tags;	/* SET */
	struct wire_set	set;		/* SET: when, ttls, version */
	/* DELETE, TOUCH, COUNTER, CLAIM, ABANDON: their u64s; HELLO: holder
	 * and secret of the connection before, or 0 */
	uint64_t	number[3];
	uint32_t	create;		/* COUNTER */
	uint32_t	pid;		/* HELLO */
	/* PURGE */
	enum purge_what	what;
	enum weir_purge_how how;
	struct weir_tag	tag;
	/* LEASE, PERMIT */
	struct wire_lease lease;	/* all but the lengths */
	const char	*name;		/* of the origin */
	/* FILL, FAIL, UNCACHEABLE, RELEASE */
	struct wire_end	end;
};

struct encoded {
	uint8_t		head[FRAME_HEADER_BYTES + ENCODE_HEAD_MAX];
	size_t		head_bytes;
	struct iovec	part[3];	/* head, key, value */
};

/*
 * OK; KEY_INVALID, TOO_MANY_TAGS, INVALID, TOO_LARGE for the pool.  What can
 * be said without asking the daemon; pool may be NULL for HELLO.
 */
enum result request_check(const struct request *request,
    const struct pool *pool);

/* Fill in all but the frame's header; the request was checked. */
void	request_encode(const struct request *request,
    const struct pool *pool, struct encoded *out);

/* Then the frame's header. */
void	request_address(const struct request *request, uint64_t id,
    uint64_t ring_tail, struct encoded *out);

/* Instead: the parts of a record of the ring, which is the body alone. */
void	request_record(const struct request *request, struct encoded *out);

/* Make a SET of a caller's arguments.  OK, INVALID, TOO_MANY_TAGS. */
enum result request_make_set(struct request *request, const void *key,
    size_t key_length, const void *value, size_t length,
    const struct weir_set_options *options);

/* Make a COUNTER.  OK, INVALID. */
enum result request_make_counter(struct request *request, const void *key,
    size_t key_length, int64_t delta,
    const struct weir_counter_options *options);

void	request_make_delete(struct request *request, const void *key,
    size_t key_length, uint64_t version);
void	request_make_touch(struct request *request, const void *key,
    size_t key_length, uint64_t ttl_ms, uint64_t soft_ttl_ms);

#endif
