/* SPDX-License-Identifier: ISC */

/*
 * Request bodies; protocol.h draws them.
 */
#include "request_parse.h"

#define HELLO_BYTES	16
#define HELLO_EARLIER_BYTES 16
#define DELETE_BYTES	8
#define TOUCH_BYTES	16
#define COUNTER_BYTES	32
#define PURGE_BYTES	16
#define TAG_BYTES	8

bool
request_parse_hello(const uint8_t *body, size_t length,
    struct request_hello *hello)
{
	size_t at = HELLO_BYTES;

	if (length < HELLO_BYTES) {
		return false;
	}
	hello->protocol = wire_get_u32(body);
	hello->pid = wire_get_u32(body + 4);
	hello->name_length = wire_get_u16(body + 8);
	hello->holder = 0;
	hello->secret = 0;
	switch (wire_get_u16(body + 10)) {
	case 0:
		break;
	case 1:
		at += HELLO_EARLIER_BYTES;
		if (length < at) {
			return false;
		}
		hello->holder = wire_get_u64(body + HELLO_BYTES);
		hello->secret = wire_get_u64(body + HELLO_BYTES + 8);
		break;
	default:
		return false;
	}
	hello->name = (const char *)body + at;
	return hello->name_length == length - at &&
	    hello->name_length < POOL_NAME_BYTES;
}

enum result
request_parse_set_head(const uint8_t in[WIRE_SET_BYTES], uint64_t length,
    struct wire_set *head, size_t *prefix_bytes)
{
	wire_set_decode(in, head);
	if (head->tag_count > TAGS_MAX) {
		return TOO_MANY_TAGS;
	}
	if (head->key_length == 0 || head->key_length > KEY_MAX_BYTES) {
		return KEY_INVALID;
	}
	*prefix_bytes = WIRE_SET_BYTES + head->tag_count * TAG_BYTES +
	    head->key_length;
	if (length < *prefix_bytes ||
	    head->value_length != length - *prefix_bytes ||
	    head->when > SET_IF_VERSION ||
	    (head->flags & ~ENTRY_USER_FLAGS) != 0) {
		return INVALID;
	}
	return OK;
}

void
request_copy_tags(uint64_t tags[TAGS_MAX], const uint8_t *from,
    unsigned tag_count)
{
	for (unsigned i = 0; i < tag_count && i < TAGS_MAX; i++) {
		tags[i] = wire_get_u64(from + i * TAG_BYTES);
	}
}

enum result
request_parse_set(const uint8_t *body, size_t length,
    struct request_set *set)
{
	size_t prefix_bytes;
	enum result result;

	if (length < WIRE_SET_BYTES) {
		return INVALID;
	}
	result = request_parse_set_head(body, length, &set->head,
	    &prefix_bytes);
	if (result != OK) {
		return result;
	}
	request_copy_tags(set->tags, body + WIRE_SET_BYTES,
	    set->head.tag_count);
	set->value = body + prefix_bytes;
	set->key = set->value - set->head.key_length;
	return OK;
}

bool
request_parse_delete(const uint8_t *body, size_t length,
    struct request_delete *delete)
{
	if (length < DELETE_BYTES) {
		return false;
	}
	delete->version = wire_get_u64(body);
	delete->key = body + DELETE_BYTES;
	delete->key_length = length - DELETE_BYTES;
	return true;
}

bool
request_parse_touch(const uint8_t *body, size_t length,
    struct request_touch *touch)
{
	if (length < TOUCH_BYTES) {
		return false;
	}
	touch->ttl_ms = wire_get_u64(body);
	touch->soft_ttl_ms = wire_get_u64(body + 8);
	touch->key = body + TOUCH_BYTES;
	touch->key_length = length - TOUCH_BYTES;
	return true;
}

bool
request_parse_counter(const uint8_t *body, size_t length,
    struct request_counter *counter)
{
	uint32_t create;

	if (length < COUNTER_BYTES) {
		return false;
	}
	counter->delta = (int64_t)wire_get_u64(body);
	counter->initial = (int64_t)wire_get_u64(body + 8);
	counter->ttl_ms = wire_get_u64(body + 16);
	create = wire_get_u32(body + 24);
	counter->create = create != 0;
	counter->key = body + COUNTER_BYTES;
	counter->key_length = length - COUNTER_BYTES;
	return create <= 1;
}

bool
request_parse_purge(const uint8_t *body, size_t length,
    struct request_purge *purge)
{
	/* As the public header counts them. */
	static const enum epoch_kind kinds[] = {
		EPOCH_KIND_HARD, EPOCH_KIND_INVALID, EPOCH_KIND_SOFT,
	};

	if (length != PURGE_BYTES || body[1] >= 3 ||
	    (body[0] != PURGE_TAG && body[0] != PURGE_ALL)) {
		return false;
	}
	purge->what = (enum purge_what)body[0];
	purge->how = kinds[body[1]];
	purge->tag_hash = wire_get_u64(body + 8);
	return purge->what != PURGE_TAG || purge->tag_hash != 0;
}

struct entry_spec
request_set_spec(const struct pool *pool, const struct wire_set *head,
    const uint64_t *tags, struct boot_ms now)
{
	return (struct entry_spec){
		.tags = tags,
		.tag_count = head->tag_count,
		.value_bytes = head->value_length,
		.flags = head->flags,
		.soft_ms = request_expiry_ms(now, head->soft_ttl_ms),
		.hard_ms = request_expiry_ms(now, head->ttl_ms),
		.epoch = head->epoch == 0 ? epoch_now(pool) :
		    epoch_clamp(pool, head->epoch),
		.when = (enum set_when)head->when,
		.version = head->version,
	};
}
