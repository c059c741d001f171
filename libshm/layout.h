/* SPDX-License-Identifier: ISC */

/*
 * Every byte that lies in a pool's two segments, drawn.  Nothing else may
 * define shared bytes.  Any process includes this.
 *
 * Pool segment (memfd, sealed; workers write, clients map read-only):
 *
 *	0                struct pool_header
 *	shards_offset    struct shard_public [shard_count]
 *	dirs_offset      uint32_t [shard_count][2][dir_capacity]
 *	generations_offset uint64_t [extent_count + 1]
 *	rows_offset      struct epoch_row [EPOCH_ROW_SLOTS]
 *	sketch_offset    struct epoch_cell [sketch_cells]
 *	stats_offset     struct stats_block [stats_blocks]
 *	extents_offset   extent 1, extent 2, ... extent_count
 *
 * Private segment (memfd; workers and supervisor only):
 *
 *	0                struct private_header
 *	private_shards_offset struct shard_private [shard_count]
 *	infos_offset     struct extent_info [extent_count + 1]
 *	pins_offset      uint16_t [extent_count + 1][pin_stride]
 *	ghosts_offset    uint32_t [shard_count][ghost_words]
 *	marks_offset     uint64_t [shard_count][mark_words], of overflow lines
 *	flights_offset   a table of flight.h [shard_count], flights_stride apart
 *
 * Extents are numbered from 1, so that a slot word of 0 is empty.  Offsets
 * and numbers only, never pointers.  All of it is input to whoever reads:
 * geometry is checked once at attach and copied (struct geometry), every
 * other number is checked at each use.
 *
 * What an entry costs beside its key and value (the bar is 64 bytes):
 *
 *	header                                   48.0
 *	alignment to 8, mean over lengths         3.5
 *	index: 64-byte lines of 8 slots, split at 7 entries to a bucket;
 *	  Poisson, counting overflow lines:
 *	    all buckets at mean 7:   64 * 1.27 / 7                 = 11.6
 *	    half of them split:      64 * (0.5 * 1.79 + 1.09) / 10.5 = 12.1
 *	                                         12.1
 *	                                         ----
 *	                                         63.6
 *	each tag                                  8.0
 */
#ifndef LAYOUT_H
#define LAYOUT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "flight.h"
#include "ghost.h"
#include "hash.h"
#include "lock.h"
#include "stats.h"

#define LAYOUT_MAGIC		0x4c4f4f5052494557ULL	/* "WEIRPOOL" */
#define LAYOUT_PRIVATE_MAGIC	0x5649525052494557ULL	/* "WEIRPRIV" */
#define LAYOUT_VERSION		1

#define CACHE_LINE_BYTES	64
#define PAGE_BYTES		4096

#define KEY_MAX_BYTES		1024
#define TAGS_MAX		32
#define SHARDS_MAX		256
#define WORKERS_MAX		64
#define EXTENT_MIN_BYTES	(16u << 10)
#define EXTENT_MAX_BYTES	(64u << 20)
#define EXTENTS_MAX		((1u << 22) - 1)
#define POOL_MIN_BYTES		(4ull << 20)
#define POOL_MAX_BYTES		(1ull << 40)
/* Flights of all shards: as many as calls may be out and queued. */
#define FLIGHTS_DEFAULT		8256u
#define FLIGHTS_MAX		(1u << 20)
#define FLIGHTS_SHARD_MIN	64u

/*
 * Slot word:
 *
 *	63        48 47   46 45      44   23 22          0
 *	| tag 16   | count 2 | refresh | extent 22 | offset / 8 |
 *
 * Count and refresh change by compare-and-swap alone; everything else is
 * stored by a holder of the shard's lock.  Word 7 of a line may instead be a
 * link to an overflow line, told by extent 0 in a word that is not 0:
 *
 *	63              45 44   23 22            0
 *	| version 19     |    0   | overflow line |     lines from 1
 *
 * The version differs each time a line is linked, so that a reader who
 * compares link words knows that it did not change chains.
 */
#define SLOT_TAG_SHIFT		48
#define SLOT_COUNT_SHIFT	46
#define SLOT_COUNT_MAX		3u
#define SLOT_COUNT_MASK		(3ull << SLOT_COUNT_SHIFT)
#define SLOT_REFRESH_SHIFT	45
#define SLOT_REFRESH		(1ull << SLOT_REFRESH_SHIFT)
#define SLOT_EXTENT_SHIFT	23
#define SLOT_EXTENT_MASK	(((1ull << 22) - 1) << SLOT_EXTENT_SHIFT)
#define SLOT_OFFSET_MASK	((1ull << 23) - 1)
#define SLOT_HINT_MASK		(SLOT_COUNT_MASK | SLOT_REFRESH)
#define LINK_VERSION_SHIFT	45
#define LINK_VERSION_MASK	((1ull << 19) - 1)
#define LINK_LINES_MAX		((1u << 23) - 1)

#define LINE_SLOTS		8
#define BUCKET_LINES_MAX	8
/* All words of a full bucket but the links of all but its last line. */
#define BUCKET_SLOTS_MAX	(LINE_SLOTS * BUCKET_LINES_MAX -	\
				    (BUCKET_LINES_MAX - 1))
/* A shard splits a bucket above this many entries to a bucket. */
#define BUCKET_TARGET_ENTRIES	7

struct index_line {
	_Atomic uint64_t word[LINE_SLOTS];
};
_Static_assert(sizeof(struct index_line) == CACHE_LINE_BYTES, "one line");

/*
 * Entry, 8-aligned:
 *
 *	word 0   63  value bytes  32 | 31  checksum               0
 *	word 1   63               key hash                        0
 *	word 2   63  tags 56 | 55  sequence of the shard          0
 *	word 3   63 flags 56 | 55 key bytes 44 | 43  created, ms  0
 *	word 4   63  hard expiry  32 | 31  soft expiry            0   *
 *	word 5   63  cost, ms 48 | 47     epoch number            0   *
 *	then     tag hashes, 8 bytes each
 *	then     key, then padding to 8 if ENTRY_COUNTER, then value
 *
 * Words marked * change under the shard's lock by atomic stores and lie
 * outside the checksum, like the value of a counter.  Nothing else changes
 * once the entry is linked.  An expiry is a span from created:
 * 0xffffffff never, else bit 31 tells seconds (1) from milliseconds (0).  The
 * cost is what computing the value took, 65,535 for more; it stays with it.
 * With ENTRY_CHAIN the value lies in a chain of whole extents and the value
 * bytes of word 0 are 0; see struct chain_part.
 */
#define ENTRY_WORDS		6
#define ENTRY_SEQUENCE_BITS	56
#define ENTRY_CREATED_BITS	44
#define ENTRY_KEY_SHIFT		44
#define ENTRY_KEY_BITS		12
#define ENTRY_EPOCH_BITS	48	/* and the cost above them */
#define ENTRY_ALIGN		8u

#define ENTRY_COUNTER		0x01u	/* value is one 64-bit number */
#define ENTRY_CHAIN		0x02u	/* value owns whole extents */
#define ENTRY_USER_FLAGS	0xf0u	/* kept for the caller, not read here */
#define ENTRY_NEGATIVE		0x10u	/* of them: there is no such thing */

#define EXPIRY_NEVER		0xffffffffu
#define EXPIRY_SECONDS		0x80000000u

struct entry {
	_Atomic uint64_t word[ENTRY_WORDS];
};
_Static_assert(sizeof(struct entry) == 48, "see the arithmetic above");

/*
 * First bytes of every extent of a chained value.  Part 0 is followed by the
 * entry, its tags and key, then value bytes; the others by value bytes.
 * Reader: checks id and index of each part under that part's generation.
 */
#define CHAIN_GROWING		UINT64_MAX

struct chain_part {
	_Atomic uint64_t id;		/* sequence | shard << 56 */
	_Atomic uint32_t index;		/* 0, 1, ... */
	_Atomic uint32_t next;		/* extent of the next part, 0 none */
	_Atomic uint32_t used_bytes;	/* value bytes in this part */
	_Atomic uint32_t checksum;	/* of them, once the part is full */
	/* part 0 alone */
	_Atomic uint64_t total_bytes;	/* CHAIN_GROWING until known */
	_Atomic uint64_t published_bytes; /* readable; release by the writer */
	_Atomic uint32_t parts;		/* extents of the whole chain so far */
	_Atomic uint32_t unused;
	_Atomic uint64_t unused2;
	_Atomic uint64_t unused3;
};
_Static_assert(sizeof(struct chain_part) == CACHE_LINE_BYTES, "chain part");

/*
 * Generations: odd while an extent is free, an index page, or waits for its
 * pins; even while it holds entries.  64 bits, only ever raised.
 */

/*
 * Purges.  A row says "what (a tag hash) was purged at number"; rows are
 * found by hash with linear probing and never move.  A cell of the sketch
 * holds the highest number of all tags that fall into it.
 */
#define EPOCH_ROWS_MAX		10000u
#define EPOCH_ROW_SLOTS		16384u
#define EPOCH_SKETCH_MIN_BYTES	(64u << 10)
#define EPOCH_SKETCH_MAX_BYTES	(8u << 20)

struct epoch_row {
	_Atomic uint64_t what;		/* 0 is an unused row */
	_Atomic uint64_t number;	/* release after what; 0 not yet */
};
_Static_assert(sizeof(struct epoch_row) == 16, "epoch row");

struct epoch_cell {
	_Atomic uint64_t soft;
	_Atomic uint64_t invalid;
};
_Static_assert(sizeof(struct epoch_cell) == 16, "epoch cell");

#define USUAL_LINE	256u	/* a cache line in usual_lines */

/* One cache line a shard, read by every get. */
struct shard_public {
	/* holder of the shard's lock, release; readers acquire */
	_Atomic uint64_t bucket_count;
	_Atomic uint32_t dir_pages[2];	/* index pages in use: DIR_* */
	_Atomic uint64_t entry_count;	/* linked slots, for people */
	_Atomic uint64_t moves;		/* of slots to earlier words */
	/* of entries lately linked, the mean, in 1/USUAL_LINE; a hint */
	_Atomic uint32_t usual_lines;
	uint32_t	unused0;
	uint64_t	unused[3];
};
_Static_assert(sizeof(struct shard_public) == CACHE_LINE_BYTES, "shard line");

#define DIR_PRIMARY	0
#define DIR_OVERFLOW	1

/* Set at creation, checked and copied at attach. */
struct geometry {
	uint64_t	pool_bytes;	/* extent_count << extent_shift */
	uint64_t	segment_bytes;
	uint64_t	private_bytes;
	uint32_t	extent_shift;
	uint32_t	extent_count;
	uint32_t	shard_count;	/* a power of two */
	uint32_t	worker_count;
	uint32_t	dir_capacity;
	uint32_t	sketch_cells;	/* a power of two */
	uint32_t	stats_blocks;
	uint32_t	pin_stride;
	uint32_t	ghost_words;	/* of each shard */
	uint32_t	mark_words;	/* of each shard */
	uint32_t	flights_per_shard;
	uint32_t	unused;
	uint64_t	chain_max_bytes; /* extents of one chain, in bytes */
	uint64_t	shards_offset;
	uint64_t	dirs_offset;
	uint64_t	generations_offset;
	uint64_t	rows_offset;
	uint64_t	sketch_offset;
	uint64_t	stats_offset;
	uint64_t	extents_offset;
	uint64_t	private_shards_offset;
	uint64_t	infos_offset;
	uint64_t	pins_offset;
	uint64_t	ghosts_offset;
	uint64_t	marks_offset;
	uint64_t	flights_offset;
	uint64_t	flights_stride;	/* bytes of a shard's table */
};
_Static_assert(sizeof(struct geometry) == 192, "geometry");

#define POOL_NAME_BYTES	64

struct pool_header {
	/* set at creation, then read-only */
	uint64_t	magic;
	uint32_t	version;
	uint32_t	unused0;
	uint64_t	layout_hash;
	uint8_t		boot_id[16];	/* of this life of the daemon */
	struct hash_key	key_hash_key;
	uint64_t	created_boot_ms;
	char		name[POOL_NAME_BYTES];
	struct geometry	geometry;
	uint8_t		unused1[128];
	/* keeper, relaxed */
	_Atomic uint64_t heartbeat_ms;
	_Atomic uint64_t tracing;
	/* any worker, relaxed: see origin_bypass.h */
	_Atomic uint64_t bypassed;
	uint8_t		unused2[40];
	/*
	 * Any worker under the epoch lock.  Newest is raised last (release),
	 * readers load it first (acquire).
	 */
	_Atomic uint64_t epoch_newest;
	_Atomic uint64_t epoch_all_hard;
	_Atomic uint64_t epoch_all_invalid;
	_Atomic uint64_t epoch_all_soft;
	_Atomic uint64_t epoch_rows_used;
	uint8_t		unused3[24];
};
_Static_assert(offsetof(struct pool_header, geometry) == 128, "header");
_Static_assert(offsetof(struct pool_header, heartbeat_ms) == 448, "header");
_Static_assert(offsetof(struct pool_header, epoch_newest) == 512, "header");
_Static_assert(sizeof(struct pool_header) <= PAGE_BYTES, "header");

/*
 * State of an extent, one word, the truth that all lists are derived from:
 *
 *	63  owner shard 48 | 47 role 40 | 39  birth  0
 *
 * Births of one shard rise (and begin again after 2^40, which
 * extent_born_before() allows for); the queues are in their order.
 */
enum extent_role {
	EXTENT_FREE,		/* in the pool's free list */
	EXTENT_SMALL,		/* in the shard's small queue */
	EXTENT_MAIN,		/* in the shard's main queue */
	EXTENT_CHAIN_HEAD,	/* in the main queue, part 0 of a chain */
	EXTENT_CHAIN_PART,	/* hangs on its head */
	EXTENT_INDEX,		/* page of the index, for ever */
	EXTENT_SPARE,		/* the shard's empty extent for moves */
	EXTENT_LIMBO,		/* unlinked, waits for pins */
	EXTENT_ROLE_COUNT
};
#define STATE_OWNER_SHIFT	48
#define STATE_ROLE_SHIFT	40
#define STATE_BIRTH_MASK	((1ull << 40) - 1)

/* Private.  Written under the owner shard's lock, or the pool's if free. */
struct extent_info {
	_Atomic uint64_t state;
	/* release after an entry's bytes, before its link */
	_Atomic uint32_t committed;
	uint32_t	next;		/* next extent of its list, 0 none */
	uint32_t	live_bytes;	/* of linked entries */
	uint32_t	live_entries;
	uint64_t	earliest_ms;	/* lowest hard expiry seen, or never */
	uint32_t	chain_head;	/* EXTENT_CHAIN_*: extent of part 0 */
	uint32_t	chain_next;	/* next part, 0 none */
	uint32_t	chain_last;	/* head: extent of the last part */
	uint32_t	unused;
	uint64_t	chain_stamp_ms;	/* head: last append */
	uint64_t	swept_epoch;	/* newest purge the sweep saw here */
};
_Static_assert(sizeof(struct extent_info) == CACHE_LINE_BYTES, "extent info");

struct extent_list {
	uint32_t	head;
	uint32_t	tail;
	uint32_t	count;
};

/* Private, one a shard; all but the lock under the lock. */
struct shard_private {
	struct shm_lock	lock;
	uint32_t	recovering;	/* tries of a recovery under way */
	uint32_t	link_version;
	uint64_t	sequence;	/* of the last entry */
	uint64_t	birth;		/* of the last extent */
	uint64_t	main_entries;	/* linked from main, sizes the ghosts */
	struct extent_list small;
	struct extent_list main;
	struct extent_list limbo;
	uint32_t	open_small;
	uint32_t	open_main;
	uint32_t	spare;
	uint32_t	owned;		/* extents but index pages */
	uint32_t	index_pages;
	uint32_t	overflow_used;	/* lines marked in use, line 0 too */
	uint32_t	overflow_rover;	/* where to search on */
	/* a reclaim that was interrupted goes on here */
	uint32_t	reclaim_extent;
	uint32_t	reclaim_offset;
	uint32_t	reclaim_moved;	/* bytes of entries it moved */
	uint32_t	reclaim_mode;	/* enum reclaim_mode */
	uint32_t	poor_passes;	/* since an extent was handed out */
	/* the expiry sweep */
	uint32_t	sweep_extent;
	uint32_t	sweep_offset;
	uint32_t	sweep_looked;	/* entries of that extent so far */
	uint64_t	sweep_state;	/* of that extent when it was begun */
	uint64_t	sweep_earliest_ms; /* of what it kept so far */
	uint64_t	sweep_epoch;	/* newest purge when it was begun */
	struct ghost	ghost;
	_Atomic uint32_t wanted;	/* below its share, and none was free */
	/* each worker its own word, any order: long pins of this shard */
	_Atomic uint32_t pins_held[WORKERS_MAX];
};

struct private_header {
	/* set at creation, then read-only */
	uint64_t	magic;
	uint64_t	layout_hash;
	uint8_t		boot_id[16];
	struct geometry	geometry;
	/* the extent pool; taken after a shard's lock, never before */
	struct shm_lock	pool_lock;
	uint32_t	free_head;
	_Atomic uint32_t free_count;	/* under it; others look */
	_Atomic uint32_t wanted_count;	/* shards that wait for an extent */
	uint32_t	unused0;
	/* a leaf: no other lock is taken under it */
	struct shm_lock	epoch_lock;
	uint64_t	epoch_next;	/* the number a purge is publishing */
};
_Static_assert(sizeof(struct private_header) <= PAGE_BYTES, "private header");

/* Of the sizes and places of all the above; a difference is refused. */
#define LAYOUT_MIX(h, v)	(((h) ^ (uint64_t)(v)) * 0x100000001b3ull)
#define LAYOUT_HASH							\
	LAYOUT_MIX(LAYOUT_MIX(LAYOUT_MIX(LAYOUT_MIX(LAYOUT_MIX(		\
	LAYOUT_MIX(							\
	LAYOUT_MIX(LAYOUT_MIX(LAYOUT_MIX(LAYOUT_MIX(			\
	    0xcbf29ce484222325ull + LAYOUT_VERSION,			\
	    sizeof(struct pool_header)),				\
	    offsetof(struct pool_header, geometry)),			\
	    offsetof(struct pool_header, epoch_newest)),		\
	    sizeof(struct geometry) << 8 | sizeof(struct entry)),	\
	    sizeof(struct shard_private)),				\
	    sizeof(struct private_header)),				\
	    sizeof(struct extent_info) << 8 | STATE_ROLE_SHIFT),	\
	    sizeof(struct stats_block)),				\
	    SLOT_EXTENT_SHIFT << 16 | SLOT_COUNT_SHIFT << 8 |		\
	    ENTRY_KEY_SHIFT),						\
	    sizeof(struct flight) << 8 |				\
	    sizeof(struct flight_state_words))

#endif
