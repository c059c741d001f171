/* SPDX-License-Identifier: ISC */

/*
 * Looking around in the mapping: keys by a cursor, the pool's counters.
 */
#include "scan.h"

#include "info.h"
#include "reading.h"
#include "stats.h"

#include <string.h>

struct walk {
	struct reading	*reading;
	const void	*prefix;
	size_t		prefix_length;
	weir_scan_fn	fn;
	void		*arg;
	unsigned	met;
	bool		stopped;
};

/* The header of a chained value does not say how long it is. */
static void
fill_chain_length(struct walk *walk, struct weir_scan_item *item)
{
	const struct pool *pool = &walk->reading->lane->pool;
	struct read_hit hit;
	struct key key;

	if (key_init(&key, pool, item->key, item->key_length) == OK &&
	    read_peek(pool, &key, walk->reading->now, &hit) != MISS) {
		item->info.value_bytes = hit.value_bytes;
	}
}

static bool
meet(const struct scan_item *found, void *arg)
{
	struct walk *walk = arg;
	struct weir_scan_item item = {
		.key = found->key,
		.key_length = found->head.key_bytes,
	};

	if (walk->stopped || item.key_length < walk->prefix_length ||
	    (walk->prefix_length > 0 && memcmp(item.key, walk->prefix,
	    walk->prefix_length) != 0)) {
		return true;
	}
	info_fill(&item.info, &found->head, found->version,
	    walk->reading->now);
	if ((found->head.flags & ENTRY_CHAIN) != 0) {
		fill_chain_length(walk, &item);
	}
	walk->met++;
	if (!walk->fn(&item, walk->arg)) {
		walk->stopped = true;
	}
	return true;
}

int
weir_scan(struct weir *handle, uint64_t *cursor, const void *prefix,
    size_t prefix_length, unsigned limit, weir_scan_fn fn, void *arg)
{
	struct reading reading;
	struct walk walk = {
		.reading = &reading, .prefix = prefix,
		.prefix_length = prefix_length, .fn = fn, .arg = arg,
	};
	uint64_t at = *cursor;
	int result;

	if (limit == 0 || fn == NULL ||
	    (prefix == NULL && prefix_length > 0)) {
		return WEIR_INVALID;
	}
	result = reading_begin(handle, &reading);
	if (result != OK) {
		return result == MISS ? WEIR_NO_SERVER : result;
	}
	do {
		/* One bucket with something in it at a time, so that a
		 * stop comes back to no more than that. */
		at = scan_next(&reading.lane->pool, at, 1, reading.now, meet,
		    &walk);
		if (walk.stopped) {
			break;
		}
		*cursor = at;
	} while (at != 0 && walk.met < limit);
	reading_end(handle, &reading, NULL);
	return WEIR_OK;
}

int
weir_stats(struct weir *handle, weir_stats_fn fn, void *arg)
{
	struct reading reading;
	int result = reading_begin(handle, &reading);

	if (result != OK) {
		return result == MISS ? WEIR_NO_SERVER : result;
	}
	for (unsigned i = 0; i < STAT_COUNT; i++) {
		const struct pool *pool = &reading.lane->pool;

		fn(stats_name((enum stat_id)i), stats_sum(pool->all_stats,
		    pool->g.stats_blocks, (enum stat_id)i),
		    stats_help((enum stat_id)i), arg);
	}
	reading_end(handle, &reading, NULL);
	return WEIR_OK;
}
