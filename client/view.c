/* SPDX-License-Identifier: ISC */

/*
 * Views.  What a view was made of is kept in its secret: the attachment's
 * serial, the number of parts, and each part's extent and generation.  It
 * lies in the caller's memory, so it is checked like any input.
 */
#include "get.h"

#include "lease_send.h"

_Static_assert(WEIR_VIEW_PARTS == READ_VIEW_PARTS, "parts of a view");

enum {
	SECRET_SERIAL,
	SECRET_COUNT,
	SECRET_PARTS,
};

static void
fill_view(struct weir_view *view, const struct read_view *made,
    const struct attachment *a, uint64_t value_bytes)
{
	view->part_count = made->part_count;
	view->bytes = made->bytes;
	view->value_bytes = value_bytes;
	view->secret[SECRET_SERIAL] = a->serial;
	view->secret[SECRET_COUNT] = made->part_count;
	for (unsigned i = 0; i < made->part_count; i++) {
		view->part[i] = made->part[i];
		view->secret[SECRET_PARTS + 2 * i] = made->extent[i];
		view->secret[SECRET_PARTS + 2 * i + 1] = made->generation[i];
	}
}

/* Views of it live until the close, and so does the mapping. */
static void
mark_viewed(const struct attachment *a)
{
	union {
		const struct attachment *given;
		struct attachment *marked;
	} attachment = { .given = a };

	/* Relaxed: seen by whoever sees that the reader has left. */
	atomic_store_explicit(&attachment.marked->viewed, true,
	    memory_order_relaxed);
}

static int
view_once(struct weir *handle, const void *key_bytes, size_t key_length,
    uint64_t offset, struct weir_view *view, struct weir_info *info)
{
	struct reading reading;
	struct read_view made;
	struct read_hit hit;
	struct key key;
	int result = reading_begin(handle, &reading);
	bool found;

	view->part_count = 0;
	view->bytes = 0;
	view->value_bytes = 0;
	view->secret[SECRET_SERIAL] = 0;
	if (result != OK) {
		return result;
	}
	if (key_bytes == NULL) {
		key_length = 0;
	}
	result = key_init(&key, &reading.lane->pool, key_bytes, key_length);
	if (result == OK) {
		result = (int)read_view(&reading.lane->pool, &key,
		    reading.now, offset, &made, &hit);
	}
	found = result == OK || result == STALE;
	if (found || result == GROWING) {
		mark_viewed(reading.attachment);
		fill_view(view, &made, reading.attachment, hit.value_bytes);
		get_fill_info(info, &hit, reading.now);
	}
	reading_end(handle, &reading, found ? &hit : NULL);
	if (result == MISS) {
		return reading_miss(handle, reading.lane);
	}
	return result >= 0 ? result : lane_fail(reading.lane, result, "%s",
	    result_text((enum result)result));
}

int
weir_view(struct weir *handle, const void *key_bytes, size_t key_length,
    uint64_t offset, struct weir_view *view, struct weir_info *info)
{
	int result = view_once(handle, key_bytes, key_length, offset, view,
	    info);

	if (result == MISS && lease_settle(handle)) {
		result = view_once(handle, key_bytes, key_length, offset,
		    view, info);
	}
	return result;
}

bool
weir_view_valid(struct weir *handle, const struct weir_view *view)
{
	struct lane *lane = lane_of(handle);
	const struct attachment *a;
	struct read_view made;
	bool valid = false;

	if (lane == NULL) {
		return false;
	}
	a = lane_enter(handle, lane);
	made.part_count = (unsigned)view->secret[SECRET_COUNT];
	if (a != NULL && view->secret[SECRET_SERIAL] == a->serial &&
	    view->secret[SECRET_COUNT] <= WEIR_VIEW_PARTS) {
		valid = true;
		for (unsigned i = 0; i < made.part_count; i++) {
			made.extent[i] =
			    (uint32_t)view->secret[SECRET_PARTS + 2 * i];
			made.generation[i] =
			    view->secret[SECRET_PARTS + 2 * i + 1];
			valid = valid &&
			    pool_extent_exists(&lane->pool, made.extent[i]);
		}
		valid = valid && read_view_valid(&lane->pool, &made);
	}
	lane_leave(lane);
	return valid;
}
