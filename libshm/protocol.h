/* SPDX-License-Identifier: ISC */

/*
 * The frames between a client and a worker, and the records of the ring;
 * drawn in weir-protocol(5).  Both sides include this.  Everything that was
 * received is input: lengths are checked before a body is looked at.
 *
 * All numbers are little-endian.  A frame:
 *
 *	 0  u32 magic          "WEIR"
 *	 4  u8  version        1
 *	 5  u8  type           enum frame_type
 *	 6  u16 flags          FRAME_ANSWER, FRAME_MORE
 *	 8  i32 status         answers: enum result; requests: 0
 *	12  u32 reserved       0
 *	16  u64 id             of the request; the answer repeats it
 *	24  u64 ring_tail      requests: the client's ring tail (0: no ring),
 *	                       drained up to there before the request; else 0
 *	32  u64 length         of the body that follows
 *	40  body
 *
 * An answer whose status is not OK has a text as body, for people.
 *
 * Bodies (requests; then the body of an OK answer).  "key" is the rest of
 * the body unless a value follows.
 *
 *	HELLO    u32 protocol, u32 pid, u16 name length, u16 0, u32 0, pool name
 *	         -> descriptor of the pool segment by SCM_RIGHTS;
 *	            u64 boot clock of the daemon in ms, u64 largest value,
 *	            u64 ring bytes, 16 bytes boot id
 *	RING     (empty) -> descriptor of the ring by SCM_RIGHTS; u64 capacity
 *	PING     (empty) -> (empty)
 *	DOORBELL (empty), no answer
 *	SET      struct wire_set, tags (8 bytes each), key, value
 *	         -> u64 version
 *	DELETE   u64 version, key -> (empty)
 *	TOUCH    u64 ttl ms, u64 soft ttl ms, key -> (empty)
 *	COUNTER  i64 delta, i64 initial, u64 ttl ms, u32 create, u32 0, key
 *	         -> i64 number
 *	PURGE    u8 what, u8 how, u16 0, u32 0, u64 tag hash -> u64 number
 *	FLUSH    (empty) -> u64 stored, u64 refused since the last flush
 *	ADMIN    JSON (admin socket alone) -> JSON, FRAME_MORE on all but the
 *	         last frame of an answer
 */
#ifndef PROTOCOL_H
#define PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRAME_MAGIC		0x52494557u	/* "WEIR" */
#define FRAME_VERSION		1
#define FRAME_HEADER_BYTES	40
#define FRAME_ANSWER		0x0001u
#define FRAME_MORE		0x0002u

/* A body longer than this is refused, but of SET, whose value is streamed. */
#define FRAME_BODY_MAX		(64u << 10)
/* Of ADMIN requests; answers are cut into frames of FRAME_BODY_MAX. */
#define FRAME_ADMIN_MAX		(1u << 20)

enum frame_type {
	FRAME_HELLO = 1,
	FRAME_RING = 2,
	FRAME_PING = 3,
	FRAME_DOORBELL = 4,
	FRAME_SET = 5,
	FRAME_DELETE = 6,
	FRAME_TOUCH = 7,
	FRAME_COUNTER = 8,
	FRAME_PURGE = 9,
	FRAME_FLUSH = 10,
	FRAME_ADMIN = 32,
};

enum purge_what {
	PURGE_TAG = 1,
	PURGE_ALL = 2,
};

struct frame {
	uint8_t		type;
	uint16_t	flags;
	int32_t		status;
	uint64_t	id;
	uint64_t	ring_tail;
	uint64_t	length;
};

void	frame_encode(uint8_t out[FRAME_HEADER_BYTES],
    const struct frame *frame);

/* False: magic, version or reserved bytes are not ours. */
bool	frame_decode(const uint8_t in[FRAME_HEADER_BYTES],
    struct frame *frame);

/*
 * SET, on the wire 48 bytes:
 *
 *	 0 u8 when, u8 tag count, u8 flags, u8 0
 *	 4 u32 key length
 *	 8 u64 ttl ms (0 never), 16 u64 soft ttl ms (0 never)
 *	24 u64 version (when), 32 u64 epoch (0: the current one)
 *	40 u64 value length
 */
#define WIRE_SET_BYTES	48

struct wire_set {
	uint8_t		when;		/* enum set_when */
	uint8_t		tag_count;
	uint8_t		flags;
	uint32_t	key_length;
	uint64_t	ttl_ms;
	uint64_t	soft_ttl_ms;
	uint64_t	version;
	uint64_t	epoch;
	uint64_t	value_length;
};

void	wire_set_encode(uint8_t out[WIRE_SET_BYTES],
    const struct wire_set *set);
void	wire_set_decode(const uint8_t in[WIRE_SET_BYTES],
    struct wire_set *set);

/* Unaligned little-endian numbers. */
void	wire_put_u16(uint8_t *out, uint16_t value);
void	wire_put_u32(uint8_t *out, uint32_t value);
void	wire_put_u64(uint8_t *out, uint64_t value);
uint16_t wire_get_u16(const uint8_t *in);
uint32_t wire_get_u32(const uint8_t *in);
uint64_t wire_get_u64(const uint8_t *in);

/*
 * Records of the ring, client to worker, one-way:
 *
 *	RING_HINT   n times { u64 key hash, u32 extent, u32 offset }
 *	RING_SET    as SET
 *	RING_COUNTS u64 hits, u64 misses, u64 stale since the last one
 */
enum ring_type {
	RING_HINT = 1,
	RING_SET = 2,
	RING_COUNTS = 3,
};
#define RING_HINT_BYTES	16
/* Hints of one client that are looked at in a second; more are dropped. */
#define RING_HINTS_PER_S	20000u

#endif
