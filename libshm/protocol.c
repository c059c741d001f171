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
};
_Static_assert(FRAME_END == FRAME_HEADER_BYTES, "the frame's header");
_Static_assert(SET_END == WIRE_SET_BYTES, "the head of SET");

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
