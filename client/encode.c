/* SPDX-License-Identifier: ISC */

/*
 * The bodies of protocol.h, written field by field.
 */
#include "encode.h"

#include "geometry.h"

#include <string.h>

/* Sizes of the structs that a caller's "size" may name: this version's. */
#define SET_OPTIONS_BYTES	sizeof(struct weir_set_options)
#define COUNTER_OPTIONS_BYTES	sizeof(struct weir_counter_options)

static bool
type_has_key(enum frame_type type)
{
	return type == FRAME_SET || type == FRAME_DELETE ||
	    type == FRAME_TOUCH || type == FRAME_COUNTER ||
	    type == FRAME_LEASE || type == FRAME_FILL ||
	    type == FRAME_FAIL || type == FRAME_UNCACHEABLE;
}

static bool
type_has_value(enum frame_type type)
{
	return type == FRAME_SET || type == FRAME_FILL;
}

static bool
tag_is_valid(const struct weir_tag *tag)
{
	return tag->bytes != NULL && tag->length - 1 < KEY_MAX_BYTES;
}

enum result
request_check(const struct request *request, const struct pool *pool)
{
	if (type_has_key(request->type) && (request->key == NULL ||
	    request->key_length - 1 >= KEY_MAX_BYTES)) {
		return KEY_INVALID;
	}
	if (request->type == FRAME_PURGE && request->what == PURGE_TAG &&
	    !tag_is_valid(&request->tag)) {
		return INVALID;
	}
	if ((request->type == FRAME_LEASE || request->type == FRAME_PERMIT) &&
	    strlen(request->name) > ENCODE_NAME_MAX) {
		return INVALID;
	}
	if (!type_has_value(request->type)) {
		return OK;
	}
	if (request->value == NULL && request->value_length > 0) {
		return INVALID;
	}
	for (unsigned i = 0; i < request->set.tag_count; i++) {
		if (!tag_is_valid(&request->tags[i])) {
			return INVALID;
		}
	}
	if (pool != NULL && request->value_length >
	    geometry_value_max_bytes(&pool->g)) {
		return TOO_LARGE;
	}
	return OK;
}

static uint8_t *
encode_set(const struct request *request, const struct pool *pool,
    uint8_t *at)
{
	struct wire_set set = request->set;

	set.key_length = (uint32_t)request->key_length;
	set.value_length = request->value_length;
	wire_set_encode(at, &set);
	at += WIRE_SET_BYTES;
	for (unsigned i = 0; i < set.tag_count; i++) {
		wire_put_u64(at, epoch_tag_hash(pool, request->tags[i].bytes,
		    request->tags[i].length));
		at += sizeof(uint64_t);
	}
	return at;
}

static uint8_t *
encode_numbers(const struct request *request, unsigned count, uint8_t *at)
{
	for (unsigned i = 0; i < count; i++) {
		wire_put_u64(at, request->number[i]);
		at += sizeof(uint64_t);
	}
	return at;
}

static uint8_t *
encode_hello(const struct request *request, uint8_t *at)
{
	wire_put_u32(at, FRAME_VERSION);
	wire_put_u32(at + 4, request->pid);
	wire_put_u16(at + 8, (uint16_t)request->value_length);
	wire_put_u16(at + 10, request->number[0] != 0);
	wire_put_u32(at + 12, 0);
	at += 16;
	return request->number[0] != 0 ? encode_numbers(request, 2, at) : at;
}

static uint8_t *
encode_claim(const struct request *request, uint8_t *at)
{
	at = encode_numbers(request, 2, at);
	if (request->value != NULL) {
		wire_put_u32(at, (uint32_t)(request->value_length /
		    WIRE_HOLD_BYTES));
		wire_put_u32(at + 4, 0);
		at += 8;
	}
	return at;
}

static uint8_t *
encode_purge(const struct request *request, const struct pool *pool,
    uint8_t *at)
{
	at[0] = (uint8_t)request->what;
	at[1] = (uint8_t)request->how;
	wire_put_u16(at + 2, 0);
	wire_put_u32(at + 4, 0);
	wire_put_u64(at + 8, request->what == PURGE_TAG ? epoch_tag_hash(pool,
	    request->tag.bytes, request->tag.length) : 0);
	return at + 16;
}

static uint8_t *
encode_lease(const struct request *request, uint8_t *at)
{
	struct wire_lease lease = request->lease;

	lease.name_length = (uint16_t)strlen(request->name);
	lease.key_length = (uint16_t)request->key_length;
	wire_lease_encode(at, &lease);
	at += WIRE_LEASE_BYTES;
	memcpy(at, request->name, lease.name_length);
	return at + lease.name_length;
}

void
request_encode(const struct request *request, const struct pool *pool,
    struct encoded *out)
{
	uint8_t *at = out->head + FRAME_HEADER_BYTES;

	switch (request->type) {
	case FRAME_HELLO:
		at = encode_hello(request, at);
		break;
	case FRAME_SET:
		at = encode_set(request, pool, at);
		break;
	case FRAME_LEASE:
	case FRAME_PERMIT:
		at = encode_lease(request, at);
		break;
	case FRAME_FILL:
		wire_end_encode(at, &request->end);
		at = encode_set(request, pool, at + WIRE_END_BYTES);
		break;
	case FRAME_FAIL:
	case FRAME_UNCACHEABLE:
	case FRAME_RELEASE:
		wire_end_encode(at, &request->end);
		at += WIRE_END_BYTES;
		break;
	case FRAME_DELETE:
	case FRAME_ABANDON:
		at = encode_numbers(request, 1, at);
		break;
	case FRAME_CLAIM:
		at = encode_claim(request, at);
		break;
	case FRAME_TOUCH:
		at = encode_numbers(request, 2, at);
		break;
	case FRAME_COUNTER:
		at = encode_numbers(request, 3, at);
		wire_put_u32(at, request->create);
		wire_put_u32(at + 4, 0);
		at += 8;
		break;
	case FRAME_PURGE:
		at = encode_purge(request, pool, at);
		break;
	case FRAME_RING:
	case FRAME_PING:
	case FRAME_DOORBELL:
	case FRAME_FLUSH:
	case FRAME_ADMIN:
		break;
	}
	out->head_bytes = (size_t)(at - out->head);
}

/* The parts are sent, never written to. */
static struct iovec
part_of(const void *bytes, size_t length)
{
	union {
		const void	*given;
		void		*taken;
	} base = { .given = bytes };

	return (struct iovec){ .iov_base = base.taken, .iov_len = length };
}

void
request_address(const struct request *request, uint64_t id,
    uint64_t ring_tail, struct encoded *out)
{
	struct frame frame = {
		.type = (uint8_t)request->type,
		.id = id,
		.ring_tail = ring_tail,
		.length = out->head_bytes - FRAME_HEADER_BYTES +
		    request->key_length + request->value_length,
	};

	frame_encode(out->head, &frame);
	out->part[0] = part_of(out->head, out->head_bytes);
	out->part[1] = part_of(request->key, request->key_length);
	out->part[2] = part_of(request->value, request->value_length);
}

void
request_record(const struct request *request, struct encoded *out)
{
	out->part[0] = part_of(out->head + FRAME_HEADER_BYTES,
	    out->head_bytes - FRAME_HEADER_BYTES);
	out->part[1] = part_of(request->key, request->key_length);
	out->part[2] = part_of(request->value, request->value_length);
}

enum result
request_make_set(struct request *request, const void *key, size_t key_length,
    const void *value, size_t length, const struct weir_set_options *options)
{
	static const struct weir_set_options plain = WEIR_SET_OPTIONS_INIT;

	if (options == NULL) {
		options = &plain;
	}
	if (options->size != SET_OPTIONS_BYTES ||
	    (unsigned)options->when > WEIR_IF_VERSION ||
	    (options->tag_count > 0 && options->tags == NULL) ||
	    (options->negative != 0 && length > 0)) {
		return INVALID;
	}
	if (options->tag_count > TAGS_MAX) {
		return TOO_MANY_TAGS;
	}
	*request = (struct request){
		.type = FRAME_SET,
		.key = key,
		.key_length = key_length,
		.value = value,
		.value_length = length,
		.tags = options->tags,
		.set = {
			.when = (uint8_t)options->when,
			.tag_count = (uint8_t)options->tag_count,
			.flags = options->negative != 0 ? ENTRY_NEGATIVE : 0,
			.ttl_ms = options->ttl_ms,
			.soft_ttl_ms = options->soft_ttl_ms,
			.version = options->version,
		},
	};
	return OK;
}

enum result
request_make_counter(struct request *request, const void *key,
    size_t key_length, int64_t delta,
    const struct weir_counter_options *options)
{
	static const struct weir_counter_options plain =
	    WEIR_COUNTER_OPTIONS_INIT;

	if (options == NULL) {
		options = &plain;
	}
	if (options->size != COUNTER_OPTIONS_BYTES) {
		return INVALID;
	}
	*request = (struct request){
		.type = FRAME_COUNTER,
		.key = key,
		.key_length = key_length,
		.number = {
			(uint64_t)delta, (uint64_t)options->initial,
			options->ttl_ms,
		},
		.create = options->no_create == 0,
	};
	return OK;
}

void
request_make_delete(struct request *request, const void *key,
    size_t key_length, uint64_t version)
{
	*request = (struct request){
		.type = FRAME_DELETE,
		.key = key,
		.key_length = key_length,
		.number = { version },
	};
}

void
request_make_touch(struct request *request, const void *key,
    size_t key_length, uint64_t ttl_ms, uint64_t soft_ttl_ms)
{
	*request = (struct request){
		.type = FRAME_TOUCH,
		.key = key,
		.key_length = key_length,
		.number = { ttl_ms, soft_ttl_ms },
	};
}
