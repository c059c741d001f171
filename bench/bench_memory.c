/* SPDX-License-Identifier: ISC */

/*
 * How many bytes does an entry cost beside its key and value, in a pool and
 * in memcached and redis that hold the same?
 */
#include <math.h>
#include <string.h>

#include "bench.h"
#include "dataset.h"
#include "extent.h"
#include "peer.h"
#include "peer_files.h"

/* About as many bytes of values in each row. */
#define FILL_QUICK_BYTES (32u << 20)
#define FILL_BYTES	(128u << 20)
#define FILL_LONG_BYTES	(512u << 20)
#define ENTRIES_MIN	10000u
#define ENTRIES_PART	320u	/* at least so many of them to an entry */
/* The peers' client asks once, that they hold what is counted. */
#define DRAWS		4096u

#define HUNDRED_BYTES	100u
#define ONE_KIB		1024u
#define TEN_KIB		10240u

static const uint64_t value_sizes[] = { 50, HUNDRED_BYTES, 256, ONE_KIB, 4096,
    TEN_KIB };

/* Bytes of a pool, each in one place. */
struct spent {
	double	entry_count;
	double	entries;	/* headers, keys, values, to multiples of 8 */
	double	tails;		/* of full extents, behind the last entry */
	double	open_rest;	/* of extents that are still filled */
	double	lines;		/* of the index, in use */
	double	pages_rest;	/* of pages of the index, not in use */
	double	spares;		/* extents kept for moves */
	double	ghosts;		/* keys that were dropped, remembered */
	double	tables;		/* headers and tables of both segments */
};

static void
add_extent(const struct pool *pool, uint32_t extent, struct spent *spent)
{
	uint64_t state = extent_state(pool, extent);
	double whole = (double)pool_extent_bytes(pool);
	double used = extent_committed(pool, extent);
	const struct shard_private *owner;

	switch (extent_role_of(state)) {
	case EXTENT_SMALL:
	case EXTENT_MAIN:
		owner = &pool->shards_private[extent_owner_of(state)];
		spent->entries += used;
		if (extent == owner->open_small || extent == owner->open_main) {
			spent->open_rest += whole - used;
		} else {
			spent->tails += whole - used;
		}
		break;
	case EXTENT_INDEX:
		spent->pages_rest += whole;
		break;
	case EXTENT_SPARE:
		spent->spares += whole;
		break;
	default:
		break;
	}
}

static void
add_up(const struct pool *pool, struct spent *spent)
{
	double lines = 0;

	memset(spent, 0, sizeof(*spent));
	for (uint32_t i = 1; i <= pool->g.extent_count; i++) {
		add_extent(pool, i, spent);
	}
	for (uint32_t i = 0; i < pool->g.shard_count; i++) {
		/* Relaxed: this process is the only one. */
		lines += (double)atomic_load_explicit(
		    &pool->shards[i].bucket_count, memory_order_relaxed);
		/* Line 0 is marked and never used. */
		lines += pool->shards_private[i].overflow_used - 1;
		spent->entry_count += (double)atomic_load_explicit(
		    &pool->shards[i].entry_count, memory_order_relaxed);
	}
	spent->lines = lines * CACHE_LINE_BYTES;
	spent->pages_rest -= spent->lines;
	spent->ghosts = (double)pool->g.shard_count * pool->g.ghost_words *
	    sizeof(uint32_t);
	spent->tables = (double)pool->g.extents_offset +
	    (double)pool->g.private_bytes - spent->ghosts;
}

static void
begin_row(struct bench *b, const char *who, const char *what,
    const struct workload *w)
{
	bench_begin_row(b);
	bench_add_text(b, "who", "%s", who);
	bench_add_text(b, "what", "%s", what);
	bench_add_text(b, "value", "%llu B",
	    (unsigned long long)w->value_bytes);
	bench_add_text(b, "entries", "%llu",
	    (unsigned long long)w->key_count);
}

/* An entry's part of so many bytes. */
static void
add_part(struct bench *b, const struct workload *w, const char *what,
    double bytes)
{
	begin_row(b, "weir", what, w);
	bench_add_number(b, "bytes_per_entry",
	    bytes / (double)w->key_count);
}

static double
content_bytes(const struct workload *w)
{
	return (double)(WORKLOAD_KEY_BYTES + w->value_bytes);
}

static void
report_total(struct bench *b, const char *who, const char *what,
    const struct workload *w, double overhead)
{
	begin_row(b, who, what, w);
	bench_add_number(b, "bytes_per_entry", overhead);
	bench_add_number(b, "pct", 100 * overhead / content_bytes(w));
}

/* Bytes to an entry beside key and value. */
static double
measure_pool(struct bench *b, const struct dataset *d)
{
	const struct workload *w = d->w;
	double header = sizeof(struct entry);
	struct spent spent;
	double overhead;

	add_up(&d->pool, &spent);
	if (spent.entry_count != (double)w->key_count) {
		bench_fail(b, "the pool holds %.0f of %llu entries",
		    spent.entry_count, (unsigned long long)w->key_count);
	}
	overhead = (spent.entries + spent.lines) / spent.entry_count -
	    content_bytes(w);
	report_total(b, "weir", "beside key and value", w, overhead);
	add_part(b, w, "of it: header", header * spent.entry_count);
	add_part(b, w, "of it: to a multiple of 8", spent.entries -
	    (header + content_bytes(w)) * spent.entry_count);
	add_part(b, w, "of it: index lines in use", spent.lines);
	report_total(b, "weir", "with ends of full extents", w, overhead +
	    spent.tails / spent.entry_count);
	add_part(b, w, "apart: index lines not in use", spent.pages_rest);
	add_part(b, w, "apart: room in open extents", spent.open_rest);
	add_part(b, w, "apart: spare extents", spent.spares);
	add_part(b, w, "apart: ghosts", spent.ghosts);
	add_part(b, w, "apart: other tables", spent.tables);
	return overhead;
}

/* The same of a peer; not a number if it is not there. */
static double
measure_peer(struct bench *b, const struct peer_ops *ops,
    const struct workload *w)
{
	struct peer peer = { 0 };
	char folder[4096];
	double overhead = (double)NAN;

	if (!peer_folder_create(folder, sizeof(folder))) {
		return overhead;
	}
	if (peer_start(&peer, ops, w, folder) == NULL) {
		if (!(side_ask(&peer.client, WORKLOAD_UNIFORM) > 0)) {
			bench_fail(b, "%s does not hold all of %llu entries",
			    ops->name, (unsigned long long)w->key_count);
		}
		if (peer.bytes_filled > peer.bytes_empty) {
			overhead = (double)(peer.bytes_filled -
			    peer.bytes_empty) / (double)w->key_count -
			    content_bytes(w);
			report_total(b, ops->name, "beside key and value", w,
			    overhead);
		}
		bench_add_version(b, ops->name, peer.version);
		peer_stop(&peer);
	}
	peer_folder_remove(folder);
	return overhead;
}

static void
measure_size(struct bench *b, uint64_t value_bytes)
{
	static const struct peer_ops *const peers[] = {
		&peer_memcached, &peer_redis,
	};
	uint64_t fill = bench_amount(b, FILL_QUICK_BYTES, FILL_BYTES,
	    FILL_LONG_BYTES);
	uint64_t count = fill / (value_bytes < ENTRIES_PART ? ENTRIES_PART :
	    value_bytes);
	struct dataset d;
	double ours, best = (double)NAN;

	count = count < ENTRIES_MIN ? ENTRIES_MIN : count;
	dataset_create(b, &d, count, value_bytes, DRAWS, 0);
	ours = measure_pool(b, &d);
	for (size_t i = 0; i < sizeof(peers) / sizeof(peers[0]); i++) {
		/* Of a number and none, the number. */
		best = fmin(best, measure_peer(b, peers[i], d.w));
	}
	if (value_bytes == ONE_KIB) {
		bench_add_bar(b, "overhead_bytes_1k", ours);
	} else if (value_bytes == TEN_KIB) {
		bench_add_bar(b, "overhead_pct_10k",
		    100 * ours / content_bytes(d.w));
	} else if (value_bytes == HUNDRED_BYTES && isnan(best)) {
		bench_skip_bar(b, "overhead_100b_over_best_peer",
		    "no peer is installed");
	} else if (value_bytes == HUNDRED_BYTES) {
		bench_add_bar(b, "overhead_100b_over_best_peer", ours / best);
	}
	dataset_destroy(&d);
}

int
main(int argc, char **argv)
{
	struct bench *b = bench_create("memory", argc, argv);

	bench_add_setting(b, "key", "%d B", WORKLOAD_KEY_BYTES);
	bench_add_setting(b, "pool", "as large as to evict nothing");
	for (size_t i = 0; i < sizeof(value_sizes) / sizeof(value_sizes[0]);
	    i++) {
		measure_size(b, value_sizes[i]);
	}
	bench_add_limit(b, "Peers: what they say of themselves. memcached: "
	    "chunks in use and the whole hash table, pages partly used not "
	    "counted; redis: used_memory above that of an empty one.");
	bench_add_limit(b, "Ends of full extents, where the next entry did "
	    "not fit, are in the second figure of weir alone; "
	    "memcached's ends of pages are in none.");
	bench_add_limit(b, "Entries are stored once: what overwritten and "
	    "expired ones hold until their extent is reclaimed is not here.");
	return bench_finish(b);
}
