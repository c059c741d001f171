/* SPDX-License-Identifier: ISC */

/*
 * How long does a hit take, against the least that it could take, and
 * against memcached, redis and LMDB?  Readers are client processes of a live
 * daemon that copy the value out with its library; each checks a word of it.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "live.h"
#include "peer.h"
#include "peer_files.h"
#include "syscall_count.h"

#define READERS		2
#define TAGS		1000
#define ATTACHES	31
#define COUNTED_HITS	1000000
/* A kernel that falls behind may make a look at the clock a call. */
#define COUNTS		3
/* A peer over a socket is asked this much less: 2^5 times. */
#define WARM_HALVINGS	2
#define PEER_HALVINGS	5

static const char *const stream_names[] = { "zipf", "uniform", "miss" };

/* One way to ask one or more sides. */
struct asked {
	const struct bench *b;
	const struct side *sides;
	size_t		side_count;
	uint32_t	order;
	const struct live *purged;	/* a tag of it before each run */
	const struct peer *moved;	/* its server to the core */
	unsigned	core;
};

static double
ask(void *argument)
{
	const struct asked *a = argument;
	double figure;

	if (a->purged != NULL && !live_purge_other_tag(a->purged)) {
		bench_fail(a->b, "a purge was refused");
	}
	if (a->moved != NULL) {
		peer_move_server(a->moved, a->core);
	}
	/* The side before has left the caches full of its own. */
	(void)side_ask_all(a->sides, a->side_count,
	    a->order + workload_order(0, WARM_HALVINGS));
	figure = side_ask_all(a->sides, a->side_count, a->order);
	if (!(figure > 0)) {
		bench_fail(a->b, "a side died or gave a wrong value");
	}
	return figure;
}

/* A live pool with its floor and its readers, each on a core. */
struct stage {
	struct live	live;
	struct side	readers[READERS];
	struct side	floor;
	unsigned	rounds;
};

static void
open_stage(const struct bench *b, struct stage *s, uint64_t keys,
    uint64_t value_bytes, uint64_t draws)
{
	live_create(b, &s->live, keys, value_bytes, draws);
	for (unsigned i = 0; i < READERS; i++) {
		live_start_reader(b, &s->live, &s->readers[i], i);
	}
	if (!side_exec(&s->floor, 0, "floor_hit", s->live.workload_fd) ||
	    !(side_ask(&s->floor, WORKLOAD_ZIPF) > 0)) {
		bench_fail(b, "floor_hit beside this program does not run");
	}
	s->rounds = (unsigned)bench_amount(b, 5, 11, 21);
}

static void
close_stage(struct stage *s)
{
	for (unsigned i = 0; i < READERS; i++) {
		side_stop(&s->readers[i]);
	}
	side_stop(&s->floor);
	live_destroy(&s->live);
}

static void
begin_row(struct bench *b, const struct workload *w, const char *what,
    const char *how)
{
	bench_begin_row(b);
	bench_add_text(b, "what", "%s", what);
	bench_add_text(b, "value", "%llu B",
	    (unsigned long long)w->value_bytes);
	bench_add_text(b, "keys", "%llu", (unsigned long long)w->key_count);
	bench_add_text(b, "drawn", "%s", how);
}

/* Floor, one reader and two readers in turn; the bars NULL or a name. */
static void
measure_stream(struct bench *b, const struct stage *s,
    enum workload_stream stream, const char *floor_bar, const char *two_bar)
{
	struct asked one = { .b = b, .sides = s->readers, .side_count = 1,
	    .order = workload_order(stream, 0) };
	struct asked two = one;
	struct asked floor = one;
	struct measure_side sides[] = {
		{ .run = ask, .argument = &one },
		{ .run = ask, .argument = &floor },
		{ .run = ask, .argument = &two },
	};
	bool has_two = measure_count_cores() > 1;

	two.side_count = READERS;
	floor.sides = &s->floor;
	measure_alternate(sides, has_two ? 3 : 2, s->rounds);
	begin_row(b, s->live.w, stream == WORKLOAD_MISS ? "miss" : "hit",
	    stream_names[stream]);
	bench_add_side(b, "ns", &sides[0]);
	bench_add_number(b, "floor_ns", sides[1].median);
	bench_add_number(b, "over_floor",
	    measure_ratio(&sides[0], &sides[1]));
	if (floor_bar != NULL) {
		bench_add_bar(b, floor_bar,
		    measure_ratio(&sides[0], &sides[1]));
	}
	if (has_two) {
		bench_add_number(b, "two_over_one",
		    measure_ratio(&sides[0], &sides[2]));
	}
	if (two_bar != NULL && has_two) {
		bench_add_bar(b, two_bar, measure_ratio(&sides[0], &sides[2]));
	} else if (two_bar != NULL) {
		bench_skip_bar(b, two_bar, "there is one core");
	}
}

static void
measure_peer(struct bench *b, const struct stage *s,
    const struct peer_ops *ops, const char *bar)
{
	struct peer peer = { 0 };
	char folder[4096];
	const char *why = "no temporary folder";
	struct asked ours = { .b = b, .sides = s->readers, .side_count = 1,
	    .order = workload_order(WORKLOAD_ZIPF, 0) };
	struct asked same = ours, other;
	struct measure_side sides[] = {
		{ .run = ask, .argument = &ours },
		{ .run = ask, .argument = &same },
		{ .run = ask, .argument = &other },
	};

	if (peer_folder_create(folder, sizeof(folder))) {
		why = peer_start(&peer, ops, s->live.w, folder);
	}
	if (why != NULL) {
		peer_folder_remove(folder);
		bench_skip_bar(b, bar, why);
		return;
	}
	same.sides = &peer.client;
	if (peer.server != 0) {
		same.moved = &peer;
		same.order = workload_order(WORKLOAD_ZIPF, PEER_HALVINGS);
	}
	other = same;
	other.core = 1;
	(void)ask(&same);	/* warms up */
	measure_alternate(sides, peer.server != 0 ? 3 : 2, s->rounds);
	bench_add_version(b, ops->name, peer.version);
	begin_row(b, s->live.w, ops->name, "zipf");
	if (peer.server != 0 && sides[2].median < sides[1].median) {
		sides[1] = sides[2];
		bench_add_text(b, "server", "on the other core");
	} else if (peer.server != 0) {
		bench_add_text(b, "server", "on the client's core");
	}
	bench_add_side(b, "ns", &sides[1]);
	bench_add_number(b, "over_weir", measure_ratio(&sides[1], &sides[0]));
	bench_add_bar(b, bar, measure_ratio(&sides[1], &sides[0]));
	peer_stop(&peer);
	peer_folder_remove(folder);
}

/*
 * Two pools of one content, whose entries carry a tag each.  In one, a tag
 * that no entry carries is purged before each run, more than once a second:
 * every get stays a hit and every hit has to judge its entry's tag.
 */
static void
measure_purges(struct bench *b, uint64_t keys, uint64_t draws)
{
	static struct live calm, purged;
	struct side calm_reader, purged_reader;
	struct asked a = { .b = b, .sides = &calm_reader, .side_count = 1,
	    .order = workload_order(WORKLOAD_ZIPF, 0) };
	struct asked p = a;
	struct measure_side sides[] = {
		{ .run = ask, .argument = &a },
		{ .run = ask, .argument = &p },
	};

	live_create(b, &calm, keys, 1024, draws);
	live_create(b, &purged, keys, 1024, draws);
	live_tag_all(b, &calm, TAGS);
	live_tag_all(b, &purged, TAGS);
	live_start_reader(b, &calm, &calm_reader, 0);
	live_start_reader(b, &purged, &purged_reader, 0);
	p.sides = &purged_reader;
	p.purged = &purged;
	measure_alternate(sides, 2, (unsigned)bench_amount(b, 5, 11, 21));
	begin_row(b, purged.w, "hit, tags purged", "zipf");
	bench_add_side(b, "ns", &sides[1]);
	bench_add_number(b, "over_unpurged",
	    measure_ratio(&sides[1], &sides[0]));
	bench_add_bar(b, "get_under_tag_purge_over_get",
	    measure_ratio(&sides[1], &sides[0]));
	side_stop(&calm_reader);
	side_stop(&purged_reader);
	live_destroy(&calm);
	live_destroy(&purged);
}

/* Attaches and hits once, in a process that has never seen the pool. */
static double
attach_and_hit(void *live, uint32_t order)
{
	static uint8_t buffer[WORKLOAD_VALUE_MAX];
	const struct live *l = live;
	uint64_t start = measure_now_ns();
	struct weir *weir = live_open(l);

	(void)order;
	if (weir == NULL || !live_get(weir, l->w->draws[0].key, buffer)) {
		return (double)NAN;
	}
	return (double)(measure_now_ns() - start);
}

static void
serve_attach(void *live, int fd)
{
	side_serve(fd, attach_and_hit, live);
}

static void
measure_attach(struct bench *b, struct stage *s)
{
	double us[ATTACHES];

	for (unsigned i = 0; i < ATTACHES; i++) {
		struct side side;

		us[i] = side_fork(&side, 0, serve_attach, &s->live) ?
		    side_ask(&side, 0) / 1000 : (double)NAN;
		side_stop(&side);
		if (!(us[i] > 0)) {
			bench_fail(b, "an attach failed");
		}
	}
	begin_row(b, s->live.w, "attach and first hit", "zipf");
	bench_add_number(b, "us", measure_median(us, ATTACHES));
	bench_add_bar(b, "attach_and_first_hit_us",
	    measure_median(us, ATTACHES));
}

struct counted {
	const struct live *live;
	struct weir	*weir;		/* NULL: refused */
};

static uint8_t counted_value[WORKLOAD_VALUE_MAX];

static void
set_up_counted(void *argument)
{
	struct counted *c = argument;

	c->weir = live_open(c->live);
	/* The first second's: a ring is asked for, mapped and told of. */
	for (uint64_t i = 0; c->weir != NULL &&
	    i < c->live->w->draw_count; i++) {
		(void)live_get(c->weir, c->live->w->draws[i].key,
		    counted_value);
	}
}

static bool
hit_counted(void *argument)
{
	struct counted *c = argument;
	const struct workload *w = c->live->w;
	bool fine = c->weir != NULL;

	for (uint64_t i = 0; fine && i < COUNTED_HITS; i++) {
		fine = live_get(c->weir,
		    w->draws[i % w->draw_count].key, counted_value);
	}
	return fine;
}

static void
measure_syscalls(struct bench *b, const struct stage *s)
{
	static struct counted c;
	double counts[COUNTS];
	double calls = 0;

	c.live = &s->live;
	for (unsigned i = 0; i < COUNTS && calls >= 0; i++) {
		counts[i] = (double)syscall_count(set_up_counted, hit_counted,
		    &c);
		calls = counts[i] < 0 ? -1 : measure_median(counts, i + 1);
	}
	if (calls < 0) {
		bench_skip_bar(b, "syscalls_per_million_hits",
		    "the system refuses tracing");
		return;
	}
	begin_row(b, s->live.w, "system calls of a million hits", "zipf");
	bench_add_number(b, "calls", calls);
	bench_add_bar(b, "syscalls_per_million_hits", calls);
}

/* 1 KiB and 100,000 keys: what most bars are about. */
static void
measure_middle(struct bench *b, uint64_t keys, uint64_t draws)
{
	static struct stage s;

	open_stage(b, &s, keys, 1024, draws);
	measure_stream(b, &s, WORKLOAD_ZIPF, "get_1k_zipf_100k_over_floor",
	    "two_processes_over_one");
	measure_stream(b, &s, WORKLOAD_UNIFORM, NULL, NULL);
	measure_stream(b, &s, WORKLOAD_MISS, NULL, NULL);
	measure_peer(b, &s, &peer_memcached, "memcached_over_get_1k");
	measure_peer(b, &s, &peer_redis, "redis_over_get_1k");
	measure_peer(b, &s, &peer_lmdb, "lmdb_over_get_1k");
	measure_attach(b, &s);
	measure_syscalls(b, &s);
	close_stage(&s);
}

static void
measure_plain(struct bench *b, uint64_t keys, uint64_t value_bytes,
    uint64_t draws, const char *bar)
{
	static struct stage s;

	open_stage(b, &s, keys, value_bytes, draws);
	measure_stream(b, &s, WORKLOAD_ZIPF, bar, NULL);
	measure_stream(b, &s, WORKLOAD_UNIFORM, NULL, NULL);
	close_stage(&s);
}

int
main(int argc, char **argv)
{
	struct bench *b = bench_create("hit", argc, argv);
	uint64_t draws = bench_amount(b, 1u << 18, 1u << 19, 1u << 20);

	bench_add_setting(b, "requests_per_run", "%llu; 64 KiB: 1/32 of it",
	    (unsigned long long)draws);
	bench_add_setting(b, "weird", "-a off -l error -m as the keys need");
	bench_add_setting(b, "zipf_s", "%.2f", WORKLOAD_ZIPF_S);
	bench_add_setting(b, "purged_tag", "one that no entry carries, before "
	    "each run; entries carry one of %u tags", TAGS);
	measure_middle(b, 100000, draws);
	measure_plain(b, 100000, 64, draws, "get_64b_zipf_100k_over_floor");
	measure_plain(b, 1000, 65536, draws / 32, NULL);
	measure_purges(b, 100000, draws);
	if (!bench_is_quick(b)) {
		measure_plain(b, 1000000, 64, draws, NULL);
	}
	measure_plain(b, 1000000, 1024, draws, "get_1k_zipf_1m_over_floor");
	bench_add_limit(b, "Two readers and two cores: nothing is known of "
	    "more.");
	return bench_finish(b);
}
