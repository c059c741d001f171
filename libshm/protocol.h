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
 *	HELLO    u32 protocol, u32 pid, u16 name length, u16 earlier, u32 0;
 *	         earlier 1: u64 holder, u64 secret of the process's connection
 *	         before this one, else 0; pool name
 *	         -> descriptor of the pool segment by SCM_RIGHTS;
 *	            u64 boot clock of the daemon in ms, u64 largest value,
 *	            u64 ring bytes, 16 bytes boot id, u64 holder, u64 secret
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
 *	CLAIM    u64 holder, u64 secret: what an earlier connection of the
 *	         process held is this one's -> (empty); MISS: it holds nothing;
 *	         DENIED: it is another's; BUSY: its worker is not known to be
 *	         dead, ask again.  Then perhaps u32 count, u32 0, and as many
 *	         struct wire_hold: all that the client was told of; whatever
 *	         else the holder has goes back
 *	LEASE    struct wire_lease, origin name, key -> struct wire_lease_answer
 *	         for LEASE_ANSWERED statuses: OK (look again), LEAD, ALONE,
 *	         SHED, CIRCUIT_OPEN, FAILED, BACKING_OFF, TIMEOUT
 *	FILL     struct wire_end, then as SET -> u64 version; LEASE_LOST,
 *	         CHANGED (written meanwhile: not stored), and those of SET
 *	FAIL     struct wire_end, key -> (empty); LEASE_LOST
 *	UNCACHEABLE struct wire_end, key -> (empty); LEASE_LOST
 *	PERMIT   struct wire_lease (its origin, no key) -> as LEASE, OK: granted
 *	RELEASE  struct wire_end -> (empty); LEASE_LOST: it was overdue
 *	ABANDON  u64 id of a LEASE or PERMIT under way: no answer is wanted any
 *	         more; what it gets is given back -> (empty)
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
	FRAME_CLAIM = 11,
	FRAME_LEASE = 12,
	FRAME_FILL = 13,
	FRAME_FAIL = 14,
	FRAME_UNCACHEABLE = 15,
	FRAME_PERMIT = 16,
	FRAME_RELEASE = 17,
	FRAME_ABANDON = 18,
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

/*
 * LEASE and PERMIT, 56 bytes, then the origin's name, then the key:
 *
 *	 0 u32 flags, 4 u32 thread (0: never WOULD_DEADLOCK)
 *	 8 u32 lease ms, 12 u32 longest wait ms (0: with WIRE_NO_WAIT)
 *	16 u64 version of the entry that is to be refreshed, 0 none
 *	24 u64 partition, 32 u64 host (hashes; 0 none)
 *	40 u32 hits of the partition since the last, 44 u32 0
 *	48 u16 name length (0: no origin), 50 u16 key length, 52 u32 0
 */
#define WIRE_LEASE_BYTES	56

#define WIRE_NO_WAIT		0x1u	/* neither for a leader nor a permit */
#define WIRE_BACKGROUND		0x2u	/* shed before foreground calls */
#define WIRE_UPLOAD		0x4u	/* of the pool of slow callers */
#define WIRE_MARKED		0x8u	/* the key may not be shared */
#define WIRE_LEASE_FLAGS	0xfu

/* Of lease_ms; more is cut to it.  The answer says what is left. */
#define WIRE_LEASE_MAX_MS	3600000u

struct wire_lease {
	uint32_t	flags;
	uint32_t	thread;
	uint32_t	lease_ms;
	uint32_t	wait_ms;
	uint64_t	seen_version;
	uint64_t	partition;
	uint64_t	host;
	uint32_t	hits;
	uint16_t	name_length;
	uint16_t	key_length;
};

void	wire_lease_encode(uint8_t out[WIRE_LEASE_BYTES],
    const struct wire_lease *lease);
/* False: unknown flags, or a reserved byte is not 0. */
bool	wire_lease_decode(const uint8_t in[WIRE_LEASE_BYTES],
    struct wire_lease *lease);

/*
 * A permit: 0 u32 origin, 4 u32 number (0: none) with the top bit for the
 * upload pool, 8 u64 token.  The answer, 56 bytes:
 *
 *	 0 permit, 16 u64 token of the lease (0: none)
 *	24 u64 retry after ms, 32 u64 time left of lease or permit, ms
 *	40 i32 code of who failed, 44 u32 reason, 48 u32 mode, 52 u32 0
 */
#define WIRE_PERMIT_BYTES	16
#define WIRE_PERMIT_UPLOAD	0x80000000u
#define WIRE_LEASE_ANSWER_BYTES	56

struct wire_permit {
	uint32_t	origin;
	uint32_t	number;
	uint64_t	token;
};

struct wire_lease_answer {
	struct wire_permit permit;
	uint64_t	token;
	uint64_t	retry_after_ms;
	uint64_t	left_ms;
	int32_t		code;
	uint32_t	reason;		/* enum limiter_refusal */
	uint32_t	mode;		/* enum origin_mode */
};

void	wire_lease_answer_encode(uint8_t out[WIRE_LEASE_ANSWER_BYTES],
    const struct wire_lease_answer *answer);
void	wire_lease_answer_decode(const uint8_t in[WIRE_LEASE_ANSWER_BYTES],
    struct wire_lease_answer *answer);

/*
 * What ends a lease or a permit, 48 bytes:
 *
 *	 0 permit, 16 u64 token of the lease (0: none)
 *	24 i32 code, 28 u32 outcome (enum breaker_outcome)
 *	32 u32 back-off or mark ms, 36 u32 ms that the computation took
 *	40 u64 0
 */
#define WIRE_END_BYTES	48

struct wire_end {
	struct wire_permit permit;
	uint64_t	token;
	int32_t		code;
	uint32_t	outcome;
	uint32_t	note_ms;
	uint32_t	cost_ms;
};

void	wire_end_encode(uint8_t out[WIRE_END_BYTES],
    const struct wire_end *end);
/* False: an outcome that is none, or a reserved byte is not 0. */
bool	wire_end_decode(const uint8_t in[WIRE_END_BYTES],
    struct wire_end *end);

/*
 * What a client has, in CLAIM, 24 bytes: 0 permit, 16 u64 token of the lease.
 * Of what one answer gave; number or token may be 0.
 */
#define WIRE_CLAIM_BYTES	16
#define WIRE_HOLD_BYTES		24
/* In one frame. */
#define WIRE_HOLDS_MAX		((FRAME_BODY_MAX - WIRE_CLAIM_BYTES - 8) / \
				    WIRE_HOLD_BYTES)

struct wire_hold {
	struct wire_permit permit;
	uint64_t	token;
};

void	wire_hold_encode(uint8_t out[WIRE_HOLD_BYTES],
    const struct wire_hold *hold);
void	wire_hold_decode(const uint8_t in[WIRE_HOLD_BYTES],
    struct wire_hold *hold);

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
 *	RING_SLIDE  u64 key hash, u32 extent, u32 offset, u64 ttl ms, u64 soft
 *	            ttl ms (0 never): a hit renews the entry's life
 */
enum ring_type {
	RING_HINT = 1,
	RING_SET = 2,
	RING_COUNTS = 3,
	RING_SLIDE = 4,
};
#define RING_HINT_BYTES	16
#define RING_SLIDE_BYTES	32
/* Hints of one client that are looked at in a second; more are dropped. */
#define RING_HINTS_PER_S	20000u

#endif
