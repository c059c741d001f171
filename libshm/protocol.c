/* SPDX-License-Identifier: ISC */

/*
 * Frames in and out of bytes.  Any process may call; no state.  Decoding
 * takes bytes of a peer: it looks at nothing but the header's own bytes, and
 * the caller checks what the numbers mean to it.
 */
#include "protocol.h"

#include <endian.h>
#include <string.h>

/* Places in the header and in the head of SET, as drawn in protocol.h. */
enum {
	FRAME_AT_MAGIC = 0,
	FRAME_AT_VERSION = 4,
	FRAME_AT_TYPE = 5,
	FRAME_AT_FLAGS = 6,
	FRAME_AT_STATUS = 8,
	FRAME_AT_RESERVED = 12,
	FRAME_AT_ID = 16,
	FRAME_AT_RING_TAIL = 24,
	FRAME_AT_LENGTH = 32,
	FRAME_END = 40,

	SET_AT_WHEN = 0,
	SET_AT_TAG_COUNT = 1,
	SET_AT_FLAGS = 2,
	SET_AT_ZERO = 3,
	SET_AT_KEY_LENGTH = 4,
	SET_AT_TTL = 8,
	SET_AT_SOFT_TTL = 16,
	SET_AT_VERSION = 24,
	SET_AT_EPOCH = 32,
	SET_AT_VALUE_LENGTH = 40,
	SET_END = 48,

	LEASE_AT_FLAGS = 0,
	LEASE_AT_THREAD = 4,
	LEASE_AT_LEASE = 8,
	LEASE_AT_WAIT = 12,
	LEASE_AT_VERSION = 16,
	LEASE_AT_PARTITION = 24,
	LEASE_AT_HOST = 32,
	LEASE_AT_HITS = 40,
	LEASE_AT_ZERO = 44,
	LEASE_AT_NAME = 48,
	LEASE_AT_KEY = 50,
	LEASE_AT_ZERO2 = 52,
	LEASE_END = 56,

	PERMIT_AT_ORIGIN = 0,
	PERMIT_AT_NUMBER = 4,
	PERMIT_AT_TOKEN = 8,
	PERMIT_END = 16,

	ANSWER_AT_TOKEN = PERMIT_END,
	ANSWER_AT_RETRY = 24,
	ANSWER_AT_LEFT = 32,
	ANSWER_AT_CODE = 40,
	ANSWER_AT_REASON = 44,
	ANSWER_AT_MODE = 48,
	ANSWER_AT_ZERO = 52,
	ANSWER_END = 56,

	END_AT_TOKEN = PERMIT_END,
	END_AT_CODE = 24,
	END_AT_OUTCOME = 28,
	END_AT_NOTE = 32,
	END_AT_COST = 36,
	END_AT_ZERO = 40,
	END_END = 48,

	HOLD_AT_TOKEN = PERMIT_END,
	HOLD_END = 24,
};
_Static_assert(FRAME_END == FRAME_HEADER_BYTES, "the frame's header");
_Static_assert(SET_END == WIRE_SET_BYTES, "the head of SET");
_Static_assert(LEASE_END == WIRE_LEASE_BYTES, "the head of LEASE");
_Static_assert(PERMIT_END == WIRE_PERMIT_BYTES, "a permit");
_Static_assert(ANSWER_END == WIRE_LEASE_ANSWER_BYTES, "its answer");
_Static_assert(END_END == WIRE_END_BYTES, "the head of FILL and others");
_Static_assert(HOLD_END == WIRE_HOLD_BYTES, "what is held");

/* The highest of enum breaker_outcome. */
#define OUTCOME_MAX	2u

/* Through memcpy(): one move of the processor, wherever the bytes lie. */
void
wire_put_u16(uint8_t *out, uint16_t value)
{
	uint16_t bytes = htole16(value);

	memcpy(out, &bytes, sizeof(bytes));
}

void
wire_put_u32(uint8_t *out, uint32_t value)
{
	uint32_t bytes = htole32(value);

	memcpy(out, &bytes, sizeof(bytes));
}

void
wire_put_u64(uint8_t *out, uint64_t value)
{
	uint64_t bytes = htole64(value);

	memcpy(out, &bytes, sizeof(bytes));
}

uint16_t
wire_get_u16(const uint8_t *in)
{
	uint16_t bytes;

	memcpy(&bytes, in, sizeof(bytes));
	return le16toh(bytes);
}

uint32_t
wire_get_u32(const uint8_t *in)
{
	uint32_t bytes;

	memcpy(&bytes, in, sizeof(bytes));
	return le32toh(bytes);
}

uint64_t
wire_get_u64(const uint8_t *in)
{
	uint64_t bytes;

	memcpy(&bytes, in, sizeof(bytes));
	return le64toh(bytes);
}

void
frame_encode(uint8_t out[FRAME_HEADER_BYTES], const struct frame *frame)
{
	wire_put_u32(out + FRAME_AT_MAGIC, FRAME_MAGIC);
	out[FRAME_AT_VERSION] = FRAME_VERSION;
	out[FRAME_AT_TYPE] = frame->type;
	wire_put_u16(out + FRAME_AT_FLAGS, frame->flags);
	wire_put_u32(out + FRAME_AT_STATUS, (uint32_t)frame->status);
	wire_put_u32(out + FRAME_AT_RESERVED, 0);
	wire_put_u64(out + FRAME_AT_ID, frame->id);
	wire_put_u64(out + FRAME_AT_RING_TAIL, frame->ring_tail);
	wire_put_u64(out + FRAME_AT_LENGTH, frame->length);
}

bool
frame_decode(const uint8_t in[FRAME_HEADER_BYTES], struct frame *frame)
{
	if (wire_get_u32(in + FRAME_AT_MAGIC) != FRAME_MAGIC ||
	    in[FRAME_AT_VERSION] != FRAME_VERSION ||
	    wire_get_u32(in + FRAME_AT_RESERVED) != 0) {
		return false;
	}
	frame->type = in[FRAME_AT_TYPE];
	frame->flags = wire_get_u16(in + FRAME_AT_FLAGS);
	frame->status = (int32_t)wire_get_u32(in + FRAME_AT_STATUS);
	frame->id = wire_get_u64(in + FRAME_AT_ID);
	frame->ring_tail = wire_get_u64(in + FRAME_AT_RING_TAIL);
	frame->length = wire_get_u64(in + FRAME_AT_LENGTH);
	return true;
}

void
wire_set_encode(uint8_t out[WIRE_SET_BYTES], const struct wire_set *set)
{
	out[SET_AT_WHEN] = set->when;
	out[SET_AT_TAG_COUNT] = set->tag_count;
	out[SET_AT_FLAGS] = set->flags;
	out[SET_AT_ZERO] = 0;
	wire_put_u32(out + SET_AT_KEY_LENGTH, set->key_length);
	wire_put_u64(out + SET_AT_TTL, set->ttl_ms);
	wire_put_u64(out + SET_AT_SOFT_TTL, set->soft_ttl_ms);
	wire_put_u64(out + SET_AT_VERSION, set->version);
	wire_put_u64(out + SET_AT_EPOCH, set->epoch);
	wire_put_u64(out + SET_AT_VALUE_LENGTH, set->value_length);
}

void
wire_set_decode(const uint8_t in[WIRE_SET_BYTES], struct wire_set *set)
{
	set->when = in[SET_AT_WHEN];
	set->tag_count = in[SET_AT_TAG_COUNT];
	set->flags = in[SET_AT_FLAGS];
	set->key_length = wire_get_u32(in + SET_AT_KEY_LENGTH);
	set->ttl_ms = wire_get_u64(in + SET_AT_TTL);
	set->soft_ttl_ms = wire_get_u64(in + SET_AT_SOFT_TTL);
	set->version = wire_get_u64(in + SET_AT_VERSION);
	set->epoch = wire_get_u64(in + SET_AT_EPOCH);
	set->value_length = wire_get_u64(in + SET_AT_VALUE_LENGTH);
}

void
wire_lease_encode(uint8_t out[WIRE_LEASE_BYTES],
    const struct wire_lease *lease)
{
	wire_put_u32(out + LEASE_AT_FLAGS, lease->flags);
	wire_put_u32(out + LEASE_AT_THREAD, lease->thread);
	wire_put_u32(out + LEASE_AT_LEASE, lease->lease_ms);
	wire_put_u32(out + LEASE_AT_WAIT, lease->wait_ms);
	wire_put_u64(out + LEASE_AT_VERSION, lease->seen_version);
	wire_put_u64(out + LEASE_AT_PARTITION, lease->partition);
	wire_put_u64(out + LEASE_AT_HOST, lease->host);
	wire_put_u32(out + LEASE_AT_HITS, lease->hits);
	wire_put_u32(out + LEASE_AT_ZERO, 0);
	wire_put_u16(out + LEASE_AT_NAME, lease->name_length);
	wire_put_u16(out + LEASE_AT_KEY, lease->key_length);
	wire_put_u32(out + LEASE_AT_ZERO2, 0);
}

bool
wire_lease_decode(const uint8_t in[WIRE_LEASE_BYTES],
    struct wire_lease *lease)
{
	lease->flags = wire_get_u32(in + LEASE_AT_FLAGS);
	lease->thread = wire_get_u32(in + LEASE_AT_THREAD);
	lease->lease_ms = wire_get_u32(in + LEASE_AT_LEASE);
	lease->wait_ms = wire_get_u32(in + LEASE_AT_WAIT);
	lease->seen_version = wire_get_u64(in + LEASE_AT_VERSION);
	lease->partition = wire_get_u64(in + LEASE_AT_PARTITION);
	lease->host = wire_get_u64(in + LEASE_AT_HOST);
	lease->hits = wire_get_u32(in + LEASE_AT_HITS);
	lease->name_length = wire_get_u16(in + LEASE_AT_NAME);
	lease->key_length = wire_get_u16(in + LEASE_AT_KEY);
	return (lease->flags & ~WIRE_LEASE_FLAGS) == 0 &&
	    wire_get_u32(in + LEASE_AT_ZERO) == 0 &&
	    wire_get_u32(in + LEASE_AT_ZERO2) == 0;
}

static void
permit_encode(uint8_t *out, const struct wire_permit *permit)
{
	wire_put_u32(out + PERMIT_AT_ORIGIN, permit->origin);
	wire_put_u32(out + PERMIT_AT_NUMBER, permit->number);
	wire_put_u64(out + PERMIT_AT_TOKEN, permit->token);
}

static void
permit_decode(const uint8_t *in, struct wire_permit *permit)
{
	permit->origin = wire_get_u32(in + PERMIT_AT_ORIGIN);
	permit->number = wire_get_u32(in + PERMIT_AT_NUMBER);
	permit->token = wire_get_u64(in + PERMIT_AT_TOKEN);
}

void
wire_lease_answer_encode(uint8_t out[WIRE_LEASE_ANSWER_BYTES],
    const struct wire_lease_answer *answer)
{
	permit_encode(out, &answer->permit);
	wire_put_u64(out + ANSWER_AT_TOKEN, answer->token);
	wire_put_u64(out + ANSWER_AT_RETRY, answer->retry_after_ms);
	wire_put_u64(out + ANSWER_AT_LEFT, answer->left_ms);
	wire_put_u32(out + ANSWER_AT_CODE, (uint32_t)answer->code);
	wire_put_u32(out + ANSWER_AT_REASON, answer->reason);
	wire_put_u32(out + ANSWER_AT_MODE, answer->mode);
	wire_put_u32(out + ANSWER_AT_ZERO, 0);
}

void
wire_lease_answer_decode(const uint8_t in[WIRE_LEASE_ANSWER_BYTES],
    struct wire_lease_answer *answer)
{
	permit_decode(in, &answer->permit);
	answer->token = wire_get_u64(in + ANSWER_AT_TOKEN);
	answer->retry_after_ms = wire_get_u64(in + ANSWER_AT_RETRY);
	answer->left_ms = wire_get_u64(in + ANSWER_AT_LEFT);
	answer->code = (int32_t)wire_get_u32(in + ANSWER_AT_CODE);
	answer->reason = wire_get_u32(in + ANSWER_AT_REASON);
	answer->mode = wire_get_u32(in + ANSWER_AT_MODE);
}

void
wire_end_encode(uint8_t out[WIRE_END_BYTES], const struct wire_end *end)
{
	permit_encode(out, &end->permit);
	wire_put_u64(out + END_AT_TOKEN, end->token);
	wire_put_u32(out + END_AT_CODE, (uint32_t)end->code);
	wire_put_u32(out + END_AT_OUTCOME, end->outcome);
	wire_put_u32(out + END_AT_NOTE, end->note_ms);
	wire_put_u32(out + END_AT_COST, end->cost_ms);
	wire_put_u64(out + END_AT_ZERO, 0);
}

bool
wire_end_decode(const uint8_t in[WIRE_END_BYTES], struct wire_end *end)
{
	permit_decode(in, &end->permit);
	end->token = wire_get_u64(in + END_AT_TOKEN);
	end->code = (int32_t)wire_get_u32(in + END_AT_CODE);
	end->outcome = wire_get_u32(in + END_AT_OUTCOME);
	end->note_ms = wire_get_u32(in + END_AT_NOTE);
	end->cost_ms = wire_get_u32(in + END_AT_COST);
	return end->outcome <= OUTCOME_MAX &&
	    wire_get_u64(in + END_AT_ZERO) == 0;
}

void
wire_hold_encode(uint8_t out[WIRE_HOLD_BYTES], const struct wire_hold *hold)
{
	permit_encode(out, &hold->permit);
	wire_put_u64(out + HOLD_AT_TOKEN, hold->token);
}

void
wire_hold_decode(const uint8_t in[WIRE_HOLD_BYTES], struct wire_hold *hold)
{
	permit_decode(in, &hold->permit);
	hold->token = wire_get_u64(in + HOLD_AT_TOKEN);
}
