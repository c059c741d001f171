/* SPDX-License-Identifier: ISC */

/*
 * Verbs that look at what is stored: get, inspect, scan.
 */
#include "admin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "admin_args.h"
#include "extent.h"
#include "json_key.h"
#include "racy_copy.h"
#include "read.h"
#include "scan.h"
#include "shm_fence.h"

/* More of a value is not shown. */
#define VALUE_SHOWN_BYTES	(1u << 20)
#define VIEW_TRIES		8
#define SCAN_LIMIT		100u
#define SCAN_LIMIT_MAX		1000u
/* Portions of a walk in one call, of up to 1024 buckets each. */
#define SCAN_PORTIONS		64

static uint64_t
left(const struct admin *admin, uint64_t end_ms)
{
	return end_ms == UINT64_MAX ? UINT64_MAX : end_ms > admin->now.ms ?
	    end_ms - admin->now.ms : 0;
}

static uint64_t
age(const struct admin *admin, const struct entry_head *head)
{
	return admin->now.ms > head->created_ms ?
	    admin->now.ms - head->created_ms : 0;
}

static void
put_version(json_t *object, const char *name, uint64_t version)
{
	/* The number's bits: shards above 127 make it negative. */
	(void)json_object_set_new(object, name,
	    json_integer((json_int_t)version));
}

static void
put_times(const struct admin *admin, json_t *object,
    const struct entry_head *head)
{
	admin_put_number(object, "ttl_ms", left(admin,
	    entry_expiry_ms(head, head->hard)));
	admin_put_number(object, "soft_ttl_ms", left(admin,
	    entry_expiry_ms(head, head->soft)));
	admin_put_number(object, "age_ms", age(admin, head));
}

/* The beginning of a value that is longer than the buffer. */
static enum result
copy_beginning(const struct admin *admin, const struct key *key,
    uint8_t *buffer, struct read_hit *hit, size_t *length)
{
	struct read_view view;

	for (int tries = 0; tries < VIEW_TRIES; tries++) {
		enum result result = read_view(admin->pool, key, admin->now,
		    0, &view, hit);

		if (result != OK && result != STALE && result != GROWING) {
			return result;
		}
		*length = 0;
		for (unsigned i = 0; i < view.part_count; i++) {
			size_t part = view.part[i].iov_len;

			if (part > VALUE_SHOWN_BYTES - *length) {
				part = VALUE_SHOWN_BYTES - *length;
			}
			racy_copy(buffer + *length, view.part[i].iov_base,
			    part);
			*length += part;
		}
		if (read_view_valid(admin->pool, &view)) {
			return result;
		}
	}
	return MISS;
}

static void
put_value(struct admin *admin, const struct read_hit *hit,
    const uint8_t *value, size_t length)
{
	bool counter = (hit->head.flags & ENTRY_COUNTER) != 0 &&
	    length == sizeof(int64_t);
	int64_t number;

	if (counter) {
		memcpy(&number, value, sizeof(number));
		(void)json_object_set_new(admin->answer, "value",
		    json_sprintf("%lld", (long long)number));
	} else {
		json_key_put(admin->answer, "value", value, length);
	}
	(void)json_object_set_new(admin->answer, "is_counter",
	    json_boolean(counter));
}

enum result
admin_get(struct admin *admin)
{
	json_t *answer = admin->answer;
	struct read_hit hit;
	struct key key;
	uint8_t *bytes, *buffer;
	size_t length = 0;
	enum result result = admin_args_key(admin, &key, &bytes);

	if (result != OK) {
		return result;
	}
	buffer = malloc(VALUE_SHOWN_BYTES);
	if (buffer == NULL) {
		free(bytes);
		return NO_MEMORY;
	}
	result = read_copy(admin->pool, &key, admin->now, buffer,
	    VALUE_SHOWN_BYTES, &hit);
	if (result == OK || result == STALE) {
		length = (size_t)hit.value_bytes;
	} else if (result == TOO_LARGE || result == GROWING) {
		result = copy_beginning(admin, &key, buffer, &hit, &length);
	}
	(void)json_object_set_new(answer, "found",
	    json_boolean(result != MISS));
	if (result != MISS) {
		(void)json_object_set_new(answer, "stale",
		    json_boolean(result == STALE));
		put_value(admin, &hit, buffer, length);
		admin_put_number(answer, "value_bytes", hit.value_bytes);
		put_version(answer, "version_id", hit.version);
		put_times(admin, answer, &hit.head);
		if (result == GROWING || length < hit.value_bytes) {
			(void)json_object_set_new(answer, "truncated",
			    json_true());
		}
	}
	free(buffer);
	free(bytes);
	return OK;
}

/* Tags as they lie behind the header.  False: the entry is gone. */
static bool
put_tags(const struct admin *admin, const struct read_hit *hit,
    json_t *tags)
{
	const struct pool *pool = admin->pool;
	const uint8_t *entry = (const uint8_t *)pool_extent(pool,
	    hit->extent) + hit->offset;
	uint64_t copy[TAGS_MAX];

	racy_copy(copy, entry + sizeof(struct entry),
	    hit->head.tag_count * sizeof(uint64_t));
	/* Steps 6 and 7 of the read protocol. */
	shm_fence_acquire();
	/* Relaxed: ordered by the fence. */
	if (atomic_load_explicit(&pool->generations[hit->extent],
	    memory_order_relaxed) != hit->generation) {
		return false;
	}
	for (unsigned i = 0; i < hit->head.tag_count; i++) {
		(void)json_array_append_new(tags, json_sprintf("%016llx",
		    (unsigned long long)copy[i]));
	}
	return true;
}

static const char *
queue_name(const struct pool *pool, uint32_t extent)
{
	switch (extent_role_of(extent_state(pool, extent))) {
	case EXTENT_SMALL:
		return "small";
	case EXTENT_MAIN:
		return "main";
	case EXTENT_CHAIN_HEAD:
	case EXTENT_CHAIN_PART:
		return "chain";
	default:
		/* Reclaimed since. */
		return "none";
	}
}

static void
put_header(struct admin *admin, const struct read_hit *hit)
{
	static const char *const verdicts[] = {
		[EPOCH_ALIVE] = "alive", [EPOCH_SOFT] = "soft",
		[EPOCH_INVALID] = "invalid", [EPOCH_DEAD] = "dead",
	};
	const struct entry_head *head = &hit->head;
	json_t *answer = admin->answer, *bytes = json_object();

	put_version(answer, "version_id", hit->version);
	admin_put_number(answer, "shard", hit->shard);
	admin_put_number(answer, "sequence", head->sequence);
	admin_put_number(answer, "created_ms", head->created_ms);
	put_times(admin, answer, head);
	admin_put_number(answer, "epoch", head->epoch);
	(void)json_object_set_new(answer, "freshness",
	    json_string(verdicts[hit->freshness]));
	admin_put_number(answer, "flags", head->flags);
	(void)json_object_set_new(answer, "is_counter",
	    json_boolean((head->flags & ENTRY_COUNTER) != 0));
	admin_put_number(answer, "count", slot_count(hit->slot_word));
	(void)json_object_set_new(answer, "refresh",
	    json_boolean((hit->slot_word & SLOT_REFRESH) != 0));
	(void)json_object_set_new(answer, "queue",
	    json_string(queue_name(admin->pool, hit->extent)));
	admin_put_number(answer, "extent", hit->extent);
	admin_put_number(answer, "offset", hit->offset);
	admin_put_number(bytes, "key", head->key_bytes);
	admin_put_number(bytes, "value", hit->value_bytes);
	admin_put_number(bytes, "overhead", entry_bytes(head) -
	    head->key_bytes - head->value_bytes);
	(void)json_object_set_new(answer, "bytes", bytes);
}

enum result
admin_inspect(struct admin *admin)
{
	struct read_hit hit;
	struct key key;
	uint8_t *bytes;
	json_t *tags;
	bool found = false;
	enum result result = admin_args_key(admin, &key, &bytes);

	if (result != OK) {
		return result;
	}
	tags = json_array();
	for (int tries = 0; tries < VIEW_TRIES && !found &&
	    read_peek(admin->pool, &key, admin->now, &hit) != MISS; tries++) {
		found = put_tags(admin, &hit, tags);
	}
	(void)json_object_set_new(admin->answer, "found",
	    json_boolean(found));
	if (found) {
		put_header(admin, &hit);
		(void)json_object_set(admin->answer, "tags", tags);
	}
	json_decref(tags);
	free(bytes);
	return OK;
}

struct scan_state {
	struct admin	*admin;
	const uint8_t	*prefix;
	size_t		prefix_length;
	json_t		*items;
};

static bool
take_item(const struct scan_item *item, void *arg)
{
	struct scan_state *scan = arg;
	struct admin *admin = scan->admin;
	uint64_t value_bytes = item->head.value_bytes;
	struct read_hit hit;
	struct key key;
	json_t *row;

	if (item->head.key_bytes < scan->prefix_length ||
	    (scan->prefix_length > 0 && memcmp(item->key, scan->prefix,
	    scan->prefix_length) != 0)) {
		return true;
	}
	if ((item->head.flags & ENTRY_CHAIN) != 0 && key_init(&key,
	    admin->pool, item->key, item->head.key_bytes) == OK &&
	    read_peek(admin->pool, &key, admin->now, &hit) != MISS) {
		value_bytes = hit.value_bytes;
	}
	row = json_object();
	json_key_put(row, "key", item->key, item->head.key_bytes);
	admin_put_number(row, "value_bytes", value_bytes);
	admin_put_number(row, "ttl_ms", left(admin,
	    entry_expiry_ms(&item->head, item->head.hard)));
	admin_put_number(row, "age_ms", age(admin, &item->head));
	admin_put_number(row, "count", item->count);
	put_version(row, "version", item->version);
	(void)json_array_append_new(scan->items, row);
	return true;
}

enum result
admin_scan(struct admin *admin)
{
	struct scan_state scan = { .admin = admin };
	uint64_t limit, cursor;
	bool found;
	uint8_t *prefix;
	enum result result = admin_args_pool(admin);

	if (result != OK) {
		return result;
	}
	if (!admin_get_number(admin, "limit", SCAN_LIMIT, &limit) ||
	    !admin_get_number(admin, "cursor", 0, &cursor)) {
		return INVALID;
	}
	limit = limit == 0 ? SCAN_LIMIT : limit > SCAN_LIMIT_MAX ?
	    SCAN_LIMIT_MAX : limit;
	prefix = json_key_get(admin->args, "prefix", &scan.prefix_length,
	    &found);
	if (prefix == NULL && found) {
		(void)snprintf(admin->text, sizeof(admin->text),
		    "\"prefix\" is not a text, or \"prefix64\" no base64");
		return INVALID;
	}
	scan.prefix = prefix;
	scan.prefix_length = prefix == NULL ? 0 : scan.prefix_length;
	scan.items = json_array();
	for (int i = 0; i < SCAN_PORTIONS; i++) {
		size_t have = json_array_size(scan.items);

		cursor = scan_next(admin->pool, cursor, (unsigned)(limit -
		    have), admin->now, take_item, &scan);
		if (cursor == 0 || json_array_size(scan.items) >= limit) {
			break;
		}
	}
	admin_put_number(admin->answer, "cursor", cursor);
	(void)json_object_set_new(admin->answer, "items", scan.items);
	free(prefix);
	return OK;
}
