/* SPDX-License-Identifier: ISC */

/*
 * How long does a store take, waited for and not, from one client process
 * and from two, beside memcached and redis?
 */
#include <stdio.h>
#include <unistd.h>

#include "async_side.h"
#include "bench.h"
#include "measure.h"
#include "peer.h"
#include "peer_files.h"
#include "workload.h"

#define CLIENTS		ASYNC_SIDES
#define KEYS		100000
#define SYNC_BYTES	1024
#define ASYNC_BYTES	64
/*
 * Stores that are not waited for, in a run.  Each leaves another copy behind,
 * and the queue of new ones, a tenth of the pool, has to hold those of all
 * clients.
 */
#define ASYNC_STORES	65536
#define ASYNC_LARGE_STORES 16384
#define ASYNC_ENTRY_EXTRA 96
#define ASYNC_POOL_PARTS 12
/*
 * A store over a socket is asked for that much less: 2^4 times, and 2^7 times
 * where it wakes an idle core, which can take a tenth of a millisecond.
 */
#define SYNC_HALVINGS	4
#define WAKING_HALVINGS	7
#define NS_PER_US	1000.0

/* A store under test: its server and its clients. */
struct tested {
	const struct peer_ops *ops;
	struct peer	peer;
	struct side	second;
	char		folder[4096];
	bool		runs;
};

/* One way to ask it. */
struct asked {
	const struct bench *b;
	const struct peer *moved;
	const struct side *sides;
	size_t		side_count;
	unsigned	core;		/* of the server */
	uint32_t	order;
};

/* Where a server may be while one client, or two, ask it. */
static const struct {
	unsigned	core;
	const char	*text;
} places[] = {
	{ 0, "on the first core" },
	{ 1, "on the second core" },
	{ PEER_ANY_CORE, "on both cores" },
};
#define PLACES	(sizeof(places) / sizeof(places[0]))

static double
ask(void *argument)
{
	const struct asked *a = argument;
	double figure;

	peer_move_server(a->moved, a->core);
	figure = side_ask_all(a->sides, a->side_count, a->order);
	if (!(figure > 0)) {
		bench_fail(a->b, "%s: a store was refused or lost",
		    a->moved->ops->name);
	}
	return figure;
}

/* The reason why not, or NULL. */
static const char *
start(struct tested *t, const struct workload *w)
{
	const char *why = "no temporary folder";

	if (peer_folder_create(t->folder, sizeof(t->folder))) {
		why = peer_start(&t->peer, t->ops, w, t->folder);
	}
	if (why == NULL && !peer_start_client(&t->peer, &t->second, 1)) {
		peer_stop(&t->peer);
		why = "no process for its second client";
	}
	if (why != NULL) {
		peer_folder_remove(t->folder);
	}
	t->runs = why == NULL;
	return why;
}

static void
stop(struct tested *t)
{
	if (t->runs) {
		side_stop(&t->second);
		peer_stop(&t->peer);
		peer_folder_remove(t->folder);
		t->runs = false;
	}
}

static void
begin_row(struct bench *b, const char *who, const char *how,
    uint64_t value_bytes, unsigned clients, const char *place)
{
	bench_begin_row(b);
	bench_add_text(b, "who", "%s", who);
	bench_add_text(b, "how", "%s", how);
	bench_add_text(b, "value", "%llu B", (unsigned long long)value_bytes);
	bench_add_number(b, "clients", clients);
	bench_add_text(b, "server", "%s", place);
}

/* Of the places that were tried, from first on, the fastest. */
static size_t
best_of(const struct measure_side *sides)
{
	size_t best = 0;

	for (size_t i = 1; i < PLACES; i++) {
		if (sides[i].median < sides[best].median) {
			best = i;
		}
	}
	return best;
}

/*
 * All of them with so many clients, each at each place, in turn; the best
 * place of each counts.  With one client the first is weir over memcached.
 */
static void
measure_sync(struct bench *b, struct tested *tested, size_t count,
    unsigned clients)
{
	struct asked asked[3 * PLACES];
	struct measure_side sides[3 * PLACES] = { 0 };
	struct side pair[3][CLIENTS];
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		pair[i][0] = tested[i].peer.client;
		pair[i][1] = tested[i].second;
		for (size_t p = 0; tested[i].runs && p < PLACES; p++, n++) {
			asked[n] = (struct asked){
				.b = b,
				.moved = &tested[i].peer,
				.sides = pair[i],
				.side_count = clients,
				.core = places[p].core,
				.order = WORKLOAD_SETS | workload_order(
				    WORKLOAD_ZIPF, places[p].core == 0 &&
				    clients == 1 ? SYNC_HALVINGS :
				    WAKING_HALVINGS),
			};
			sides[n].run = ask;
			sides[n].argument = &asked[n];
		}
	}
	measure_alternate(sides, n, (unsigned)bench_amount(b, 3, 11, 21));
	for (size_t at = 0; at < n; at += PLACES) {
		size_t best = best_of(sides + at);
		size_t ours = best_of(sides);
		const char *name = asked[at].moved->ops->name;

		begin_row(b, name, "waited for", SYNC_BYTES, clients,
		    places[best].text);
		bench_add_side(b, "ns", &sides[at + best]);
		bench_add_number(b, "thousand_per_s",
		    1e6 / sides[at + best].median);
		bench_add_number(b, "weir_over",
		    measure_ratio(&sides[ours], &sides[at + best]));
		if (clients == 1 && asked[at].moved->ops == &peer_memcached) {
			bench_add_bar(b, "sync_over_memcached",
			    measure_ratio(&sides[ours], &sides[at + best]));
		}
	}
}

static void
compare_sync(struct bench *b, const struct workload *w)
{
	struct tested tested[] = {
		{ .ops = &peer_weir },
		{ .ops = &peer_memcached },
		{ .ops = &peer_redis },
	};
	size_t count = sizeof(tested) / sizeof(tested[0]);

	for (size_t i = 0; i < count; i++) {
		const char *why = start(&tested[i], w);

		if (why == NULL) {
			bench_add_version(b, tested[i].ops->name,
			    tested[i].peer.version);
		} else if (i == 0) {
			bench_fail(b, "weird: %s", why);
		} else if (tested[i].ops == &peer_memcached) {
			bench_skip_bar(b, "sync_over_memcached", why);
		}
	}
	for (unsigned clients = 1; clients <= CLIENTS &&
	    clients <= measure_count_cores(); clients++) {
		measure_sync(b, tested, count, clients);
	}
	for (size_t i = 0; i < count; i++) {
		stop(&tested[i]);
	}
}

/* So many clients that store and do not wait. */
static void
measure_async(struct bench *b, const struct peer *weir,
    const struct side *clients, unsigned client_count)
{
	struct asked asked[PLACES];
	struct measure_side sides[PLACES] = { 0 };
	size_t best;

	for (size_t p = 0; p < PLACES; p++) {
		asked[p] = (struct asked){
			.b = b,
			.moved = weir,
			.sides = clients,
			.side_count = client_count,
			.core = places[p].core,
			.order = workload_order(WORKLOAD_ZIPF, 0),
		};
		sides[p].run = ask;
		sides[p].argument = &asked[p];
	}
	measure_alternate(sides, PLACES,
	    (unsigned)bench_amount(b, 7, 11, 21));
	best = best_of(sides);
	begin_row(b, "weir", "flushed once", weir->w->value_bytes,
	    client_count, places[best].text);
	bench_add_side(b, "ns", &sides[best]);
	bench_add_number(b, "thousand_per_s", 1e6 / sides[best].median);
	if (client_count == 1 && weir->w->value_bytes == ASYNC_BYTES) {
		bench_add_bar(b, "async_million_per_s",
		    NS_PER_US / sides[best].median);
	}
}

static void
try_async(struct bench *b, const struct workload *w)
{
	struct tested t = { .ops = &peer_weir };
	struct side clients[CLIENTS];
	const char *why;

	t.peer.memory_bytes = ASYNC_POOL_PARTS * CLIENTS * w->draw_count *
	    (w->value_bytes + ASYNC_ENTRY_EXTRA);
	why = start(&t, w);
	if (why != NULL) {
		bench_fail(b, "weird: %s", why);
	}
	for (unsigned i = 0; i < CLIENTS; i++) {
		if (!async_side_start(&clients[i], &t.peer, i, i) ||
		    !(side_ask(&clients[i], WORKLOAD_ZIPF) > 0)) {
			bench_fail(b, "a store was refused or lost");
		}
	}
	for (unsigned n = 1; n <= CLIENTS && n <= measure_count_cores();
	    n++) {
		measure_async(b, &t.peer, clients, n);
	}
	for (unsigned i = 0; i < CLIENTS; i++) {
		side_stop(&clients[i]);
	}
	stop(&t);
}

static const struct workload *
draw(const struct bench *b, uint64_t value_bytes, uint64_t draws)
{
	int fd = workload_create(KEYS, value_bytes, draws);
	const struct workload *w = fd < 0 ? NULL : workload_map(fd);

	if (w == NULL) {
		bench_fail(b, "no memory for %llu requests",
		    (unsigned long long)draws);
	}
	close(fd);
	return w;
}

int
main(int argc, char **argv)
{
	struct bench *b = bench_create("set", argc, argv);
	uint64_t draws = bench_amount(b, 1u << 18, 1u << 19, 1u << 20);

	bench_add_setting(b, "keys", "%d, Zipf %.2f", KEYS, WORKLOAD_ZIPF_S);
	bench_add_setting(b, "stores_per_run", "waited for: %llu, %llu with a "
	    "second core; else %d of %d B, %d of %d B",
	    (unsigned long long)draws >> SYNC_HALVINGS,
	    (unsigned long long)draws >> WAKING_HALVINGS, ASYNC_STORES,
	    ASYNC_BYTES, ASYNC_LARGE_STORES, SYNC_BYTES);
	bench_add_setting(b, "weird", "-a off -l error -m as the keys need; "
	    "not waited for: %d times what a run stores", ASYNC_POOL_PARTS);
	compare_sync(b, draw(b, SYNC_BYTES, draws));
	try_async(b, draw(b, ASYNC_BYTES, ASYNC_STORES));
	try_async(b, draw(b, SYNC_BYTES, ASYNC_LARGE_STORES));
	bench_add_limit(b, "Clients that do not wait try again while their "
	    "ring is full; after each run they read every key they stored.");
	bench_add_limit(b, "Two clients and two cores: servers and clients "
	    "share them.");
	return bench_finish(b);
}
