/* SPDX-License-Identifier: ISC */

/*
 * Clients read and write while processes are killed at random: workers, the
 * keeper, clients, the supervisor.  No read stalls, no value is torn or
 * somebody else's or older than what was acknowledged, all is back
 * afterwards by itself, and the segment is sound.
 */
#include "scene.h"

#include "prng.h"
#include "wait_until.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define CLIENTS		4u
/* The last one only reads what the others store. */
#define READER		(CLIENTS - 1)
#define KEYS		100u		/* of each client */
/* Reads of all clients between two kills, at least. */
#define READS_BETWEEN	200u

struct client {
	_Atomic uint64_t reads;
	_Atomic uint64_t hits;
	_Atomic uint64_t stored;
	_Atomic uint64_t torn;
	_Atomic uint64_t older;
	_Atomic uint64_t slowest_us;
	_Atomic uint64_t fresh;		/* reads of values above the mark */
};

struct load {
	_Atomic uint32_t stop;
	struct client	clients[CLIENTS];
	/* by the clients, each for its keys; they outlive a killed one */
	_Atomic uint64_t tried[CLIENTS][KEYS];
	_Atomic uint64_t stored[CLIENTS][KEYS];	/* acknowledged */
	/* by the parent: what was tried when it looked last */
	_Atomic uint64_t mark[CLIENTS][KEYS];
};

struct stage {
	struct plain_test test;
	struct scene	scene;
	struct prng	prng;
	struct load	*load;
	pid_t		pids[CLIENTS];
	unsigned	lives[CLIENTS];
};

/* Relaxed, all: counts and marks of one writer, read by the parent. */
static uint64_t
get(const _Atomic uint64_t *word)
{
	return atomic_load_explicit(word, memory_order_relaxed);
}

static void
put(_Atomic uint64_t *word, uint64_t value)
{
	atomic_store_explicit(word, value, memory_order_relaxed);
}

static void
read_one(struct weir *handle, struct load *load, unsigned number,
    unsigned owner, unsigned slot, uint8_t *value)
{
	struct client *client = &load->clients[number];
	uint64_t key = owner * 1000u + slot;
	/* A reader may still look at what another daemon left behind. */
	uint64_t least = owner == number ? get(&load->stored[owner][slot]) :
	    0;
	uint64_t start_us = scene_now_us();
	uint64_t took_us, seen;
	size_t length;
	int result = weir_get(handle, &key, sizeof(key), value,
	    SCENE_VALUE_MAX, &length, NULL);

	took_us = scene_now_us() - start_us;
	if (took_us > get(&client->slowest_us)) {
		put(&client->slowest_us, took_us);
	}
	put(&client->reads, get(&client->reads) + 1);
	if (result != WEIR_OK) {
		return;
	}
	put(&client->hits, get(&client->hits) + 1);
	if (!scene_value_read(value, length, key, &seen)) {
		put(&client->torn, get(&client->torn) + 1);
	} else if (seen < least || seen > get(&load->tried[owner][slot])) {
		put(&client->older, get(&client->older) + 1);
	} else if (seen > get(&load->mark[owner][slot])) {
		put(&client->fresh, get(&client->fresh) + 1);
	}
}

static void
write_one(struct weir *handle, struct load *load, unsigned number,
    unsigned slot, uint8_t *value)
{
	struct client *client = &load->clients[number];
	uint64_t key = number * 1000u + slot;
	uint64_t sequence = get(&load->tried[number][slot]) + 1;
	size_t length = scene_value_make(value, key, sequence);
	int result;

	put(&load->tried[number][slot], sequence);
	result = weir_set(handle, &key, sizeof(key), value, length, NULL,
	    NULL);
	if (result == WEIR_OK) {
		put(&load->stored[number][slot], sequence);
		put(&client->stored, get(&client->stored) + 1);
	}
}

static _Noreturn void
run_client(struct stage *stage, unsigned number, pid_t parent)
{
	static uint8_t value[SCENE_VALUE_MAX];
	struct load *load = stage->load;
	struct weir *handle = scene_open(&stage->scene);
	struct prng prng;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	prng_init(&prng, stage->test.seed * 1000 + number * 100 +
	    stage->lives[number]);
	/* The first call connects, which is no read. */
	(void)weir_connect(handle);
	while (getppid() == parent && atomic_load_explicit(&load->stop,
	    memory_order_relaxed) == 0) {
		unsigned slot = prng_below(&prng, KEYS);

		if (number == READER) {
			read_one(handle, load, number,
			    prng_below(&prng, READER), slot, value);
		} else if (prng_one_in(&prng, 8)) {
			write_one(handle, load, number, slot, value);
		} else {
			read_one(handle, load, number, number, slot, value);
		}
	}
	weir_close(handle);
	_exit(0);
}

static void
start_client(struct stage *stage, unsigned number)
{
	pid_t parent = getpid();

	stage->lives[number]++;
	stage->pids[number] = fork();
	if (stage->pids[number] == 0) {
		run_client(stage, number, parent);
	}
}

struct progress {
	const struct stage *stage;
	uint64_t	reads[CLIENTS];
	uint64_t	fresh[CLIENTS];
	uint64_t	stored[CLIENTS];
};

static struct progress
progress_from(const struct stage *stage)
{
	struct progress from = { .stage = stage };

	for (unsigned i = 0; i < CLIENTS; i++) {
		from.reads[i] = get(&stage->load->clients[i].reads);
		from.fresh[i] = get(&stage->load->clients[i].fresh);
		from.stored[i] = get(&stage->load->clients[i].stored);
	}
	return from;
}

static bool
all_have_read(void *argument)
{
	const struct progress *from = argument;

	for (unsigned i = 0; i < CLIENTS; i++) {
		if (get(&from->stage->load->clients[i].reads) <
		    from->reads[i] + READS_BETWEEN) {
			return false;
		}
	}
	return true;
}

static bool
all_read_what_is_new(void *argument)
{
	const struct progress *from = argument;

	for (unsigned i = 0; i < CLIENTS; i++) {
		const struct client *client = &from->stage->load->clients[i];

		if (get(&client->fresh) == from->fresh[i] || (i != READER &&
		    get(&client->stored) == from->stored[i])) {
			return false;
		}
	}
	return true;
}

/* False: it did not come back. */
static bool
kill_child(struct stage *stage, const char *title)
{
	pid_t old = scene_child(&stage->scene, title);

	/* It may be between two lives. */
	if (old != 0) {
		(void)kill(old, SIGKILL);
	}
	return scene_wait_child(&stage->scene, title, old) != 0;
}

static bool
kill_client(struct stage *stage)
{
	unsigned number = prng_below(&stage->prng, CLIENTS);

	(void)kill(stage->pids[number], SIGKILL);
	(void)waitpid(stage->pids[number], NULL, 0);
	start_client(stage, number);
	return true;
}

static bool
kill_one(struct stage *stage)
{
	switch (prng_below(&stage->prng, 8)) {
	case 0:
	case 1:
		return kill_child(stage, "worker 0");
	case 2:
	case 3:
		return kill_child(stage, "worker 1");
	case 4:
		return kill_child(stage, "keeper");
	case 5:
		scene_kill(&stage->scene);
		return scene_start(&stage->scene);
	default:
		return kill_client(stage);
	}
}

static void
judge_reads(struct stage *stage)
{
	struct client sum = { 0 };

	for (unsigned i = 0; i < CLIENTS; i++) {
		struct client *client = &stage->load->clients[i];

		put(&sum.reads, get(&sum.reads) + get(&client->reads));
		put(&sum.hits, get(&sum.hits) + get(&client->hits));
		put(&sum.torn, get(&sum.torn) + get(&client->torn));
		put(&sum.older, get(&sum.older) + get(&client->older));
		if (get(&client->slowest_us) > get(&sum.slowest_us)) {
			put(&sum.slowest_us, get(&client->slowest_us));
		}
	}
	plain_check(&stage->test, "killing_tears_no_value",
	    get(&sum.torn) == 0, "%lu of %lu", get(&sum.torn),
	    get(&sum.hits));
	plain_check(&stage->test, "killing_brings_no_older_value_back",
	    get(&sum.older) == 0, "%lu of %lu", get(&sum.older),
	    get(&sum.hits));
	plain_check(&stage->test, "killing_stalls_no_reader",
	    get(&sum.slowest_us) < SCENE_LATENCY_MAX_US, "%lu us",
	    get(&sum.slowest_us));
}

/* From here on it counts who reads what was not stored yet. */
static void
set_marks(struct load *load)
{
	for (unsigned i = 0; i < CLIENTS; i++) {
		for (unsigned slot = 0; slot < KEYS; slot++) {
			/* One more may be tried and not be counted yet. */
			put(&load->mark[i][slot],
			    get(&load->tried[i][slot]) + 1);
		}
	}
}

/* One of each first, so that a short run has met them all. */
static void
kill_at_random(struct stage *stage)
{
	uint64_t end_us = scene_now_us() +
	    plain_amount(&stage->test, 3, 60) * 1000000;
	struct progress from = progress_from(stage);
	unsigned kills = 0;
	bool back = kill_child(stage, "worker 0") &&
	    kill_child(stage, "keeper") && kill_client(stage);

	scene_kill(&stage->scene);
	from = progress_from(stage);
	/* Old values are read on, out of what is still mapped. */
	plain_check(&stage->test, "readers_go_on_without_a_daemon",
	    wait_until(all_have_read, &from, SCENE_DEADLINE_MS),
	    "a reader stands still");
	back = scene_start(&stage->scene) && back;
	while (back && scene_now_us() < end_us) {
		from = progress_from(stage);
		if (!wait_until(all_have_read, &from, SCENE_DEADLINE_MS)) {
			plain_fail(&stage->test, "readers_go_on",
			    "after %u kills", kills);
			return;
		}
		back = kill_one(stage);
		kills++;
	}
	plain_check(&stage->test, "killed_processes_are_back", back,
	    "after %u kills", kills);
	set_marks(stage->load);
	from = progress_from(stage);
	plain_check(&stage->test, "clients_attach_again_by_themselves",
	    wait_until(all_read_what_is_new, &from, SCENE_DEADLINE_MS),
	    "after %u kills", kills);
}

static void
stop_clients(struct stage *stage)
{
	bool ended = true;

	atomic_store_explicit(&stage->load->stop, 1, memory_order_relaxed);
	for (unsigned i = 0; i < CLIENTS; i++) {
		int status = -1;

		ended = wait_until_exit(stage->pids[i], SCENE_DEADLINE_MS,
		    &status) && status == 0 && ended;
	}
	plain_check(&stage->test, "clients_end_well", ended,
	    "one crashed or hung");
}

/* What a worker counted is the pool's, not the worker's. */
static void
judge_metrics(struct stage *stage)
{
	uint64_t before = scene_counter(&stage->scene, "sets");
	bool back = kill_child(stage, "worker 0") &&
	    kill_child(stage, "worker 1");
	uint64_t after = scene_counter(&stage->scene, "sets");

	plain_check(&stage->test, "metrics_survive_the_worker", back &&
	    before != UINT64_MAX && after != UINT64_MAX && before > 0 &&
	    after == before, "sets %lu, then %lu", before, after);
}

int
main(int argc, char **argv)
{
	static struct stage stage = {
		.scene = { .memory = "16M", .workers = 2 },
	};

	plain_start(&stage.test, argc, argv);
	prng_init(&stage.prng, stage.test.seed);
	stage.load = mmap(NULL, sizeof(*stage.load), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (stage.load == MAP_FAILED || !scene_start(&stage.scene)) {
		plain_fail(&stage.test, "killing", "the daemon does not "
		    "start");
		return plain_end(&stage.test);
	}
	for (unsigned i = 0; i < CLIENTS; i++) {
		start_client(&stage, i);
	}
	kill_at_random(&stage);
	stop_clients(&stage);
	judge_reads(&stage);
	judge_metrics(&stage);
	scene_check_clean(&stage.test, &stage.scene,
	    "segment_is_sound_after_kills");
	plain_check(&stage.test, "daemon_ends_well_after_kills",
	    scene_end(&stage.scene), "see its log");
	return plain_end(&stage.test);
}
