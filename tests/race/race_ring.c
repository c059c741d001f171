/* SPDX-License-Identifier: ISC */

/*
 * A ring between a producer and a consumer that sleeps whenever it may, the
 * doorbell being an eventfd: every record comes, whole and in order, and no
 * wake-up is lost.
 */
#include "actors.h"
#include "ring.h"
#include "stage.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define CAPACITY	2048u
#define BODY_MAX	400u
#define TYPE_RECORD	1u
#define TYPE_END	2u
/* How long a lost wake-up hangs. */
#define SLEEP_MS	10000

struct ring_scene {
	struct stage	stage;
	void		*memory;	/* shared */
	int		bell;
};

enum tally {
	SLEEPS = STAGE_OWN,
	RECORDS,
	FULL_TIMES,
};

static uint8_t
body_byte(uint64_t number, uint32_t at)
{
	return (uint8_t)(number * 31 + at * 7 + (number >> 8));
}

static uint32_t
body_length(uint64_t number)
{
	return (uint32_t)(number * UINT64_C(2654435761) % (BODY_MAX + 1));
}

/* False: the consumer is gone. */
static bool
push(struct actor *actor, struct ring_producer *producer, uint32_t type,
    uint64_t number)
{
	struct ring_scene *scene = actor->scene;
	uint32_t length = body_length(number);
	struct iovec parts[2] = {
		{ actor->buffer, length / 2 },
		{ actor->buffer + length / 2, length - length / 2 },
	};
	const uint64_t one = 1;
	enum result result;
	bool rings;

	for (uint32_t at = 0; at < length; at++) {
		actor->buffer[at] = body_byte(number, at);
	}
	while ((result = ring_push(producer, type, parts, 2, &rings)) ==
	    FULL) {
		if (atomic_load(&actor->board->failed) != 0) {
			return false;
		}
		actor_count(actor, FULL_TIMES);
		actor_linger(actor, 2000);
	}
	if (result != OK) {
		actor_fail(actor, "a push says %d", result);
	} else if (rings && write(scene->bell, &one, sizeof(one)) !=
	    sizeof(one)) {
		actor_fail(actor, "the bell is broken");
	}
	return true;
}

static void
play_producer(struct actor *actor)
{
	struct ring_scene *scene = actor->scene;
	struct ring_producer producer;
	uint64_t number = 0;

	if (ring_producer_attach(&producer, scene->memory,
	    ring_bytes(CAPACITY)) != OK) {
		actor_fail(actor, "the producer cannot attach");
		return;
	}
	while (actor_goes_on(actor) &&
	    push(actor, &producer, TYPE_RECORD, number)) {
		number++;
		if (prng_one_in(&actor->prng, 4)) {
			actor_linger(actor, 4000);
		}
	}
	(void)push(actor, &producer, TYPE_END, number);
}

/* Sleeps if the ring says that it may. */
static void
sleep_if_empty(struct actor *actor, struct ring_consumer *consumer)
{
	struct ring_scene *scene = actor->scene;
	struct pollfd bell = { .fd = scene->bell, .events = POLLIN };
	uint64_t rings;

	if (!ring_arm(consumer)) {
		return;
	}
	actor_count(actor, SLEEPS);
	if (poll(&bell, 1, SLEEP_MS) != 1) {
		actor_fail(actor, "a wake-up was lost");
	} else if (read(scene->bell, &rings, sizeof(rings)) !=
	    sizeof(rings)) {
		actor_fail(actor, "the bell is broken");
	}
}

static bool
record_is_right(const struct actor *actor, uint64_t number, uint32_t length)
{
	if (length != body_length(number)) {
		return false;
	}
	for (uint32_t at = 0; at < length; at++) {
		if (actor->buffer[at] != body_byte(number, at)) {
			return false;
		}
	}
	return true;
}

static void
play_consumer(struct actor *actor)
{
	struct ring_scene *scene = actor->scene;
	struct ring_consumer consumer;
	uint64_t number = 0;

	if (ring_consumer_attach(&consumer, scene->memory, CAPACITY) != OK) {
		actor_fail(actor, "the consumer cannot attach");
		return;
	}
	/* Until the last record, whatever the clock says. */
	while (atomic_load(&actor->board->failed) == 0) {
		uint32_t type = 0, length = 0;
		enum result result = ring_pop(&consumer, actor->buffer,
		    sizeof(actor->buffer), &type, &length);

		if (result == MISS) {
			sleep_if_empty(actor, &consumer);
		} else if (result != OK ||
		    !record_is_right(actor, number, length)) {
			actor_fail(actor, "record %llu: %d",
			    (unsigned long long)number, result);
		} else if (type == TYPE_END) {
			break;
		} else {
			number++;
			actor_count(actor, RECORDS);
		}
	}
}

static bool
showed(const void *arg)
{
	const struct ring_scene *scene = arg;

	return actors_tally(scene->stage.board, RECORDS) != 0 &&
	    actors_tally(scene->stage.board, SLEEPS) != 0;
}

int
main(int argc, char **argv)
{
	static const char name[] = "records_come_whole_and_sleepers_are_woken";
	static struct ring_scene scene;
	const struct actors_part parts[] = {
		{ play_producer, 1, false, 16, 2000 },
		{ play_consumer, 1, false, 16, 2000 },
	};
	struct actors_play play = {
		.scene = &scene, .parts = parts, .part_count = 2,
		.showed = showed,
	};
	struct plain_test test;
	const struct actors_board *board;
	bool played;

	plain_start(&test, argc, argv);
	if (!plain_wants(&test, name)) {
		return plain_end(&test);
	}
	stage_open(&scene.stage, 1, UINT32_MAX);
	scene.memory = actors_share(ring_bytes(CAPACITY));
	scene.bell = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (scene.bell < 0 || ring_init(scene.memory, CAPACITY) != OK) {
		perror("ring");
		return 1;
	}
	board = scene.stage.board;
	play.pool = &scene.stage.pool;
	play.board = scene.stage.board;
	play.seed = test.seed;
	play.run_ms = (uint32_t)plain_amount(&test, 1000, 120000);
	played = actors_run(&play);
	printf("# %llu records, %llu sleeps, %llu times full\n",
	    (unsigned long long)actors_tally(board, RECORDS),
	    (unsigned long long)actors_tally(board, SLEEPS),
	    (unsigned long long)actors_tally(board, FULL_TIMES));
	if (played && !showed(&scene)) {
		plain_fail(&test, name, "nobody met anybody");
	} else {
		(void)stage_report(&test, name, &scene.stage, played);
	}
	stage_close(&scene.stage);
	close(scene.bell);
	return plain_end(&test);
}
