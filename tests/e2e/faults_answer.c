/* SPDX-License-Identifier: ISC */

/*
 * A worker is killed between what a client asked for and its answer: a lease,
 * a permit, a fill.  Whoever asks again has it at once, and nothing stays
 * given to nobody.  preload_answer.c kills.
 */
#include "crowd.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "protocol.h"
#include "wait_until.h"

/*
 * 20 times what coming back to another worker takes at most; a lease that
 * nobody can end is another's after 30 s, a permit too.
 */
#define AGAIN_US	1000000u

static _Atomic uint32_t *wanted;

static bool
map_wanted(void)
{
	const char *path = getenv("WEIR_TEST_ANSWER");
	int fd = path == NULL ? -1 : open(path, O_RDWR | O_CLOEXEC);
	void *map = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(*wanted),
	    PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (fd >= 0) {
		(void)close(fd);
	}
	wanted = map == MAP_FAILED ? NULL : map;
	return wanted != NULL;
}

static bool
workers_are_there(void *arg)
{
	const struct scene *scene = arg;

	return scene_child(scene, "worker 0") != 0 &&
	    scene_child(scene, "worker 1") != 0;
}

/* Both workers, a handle that is connected, and the next one dies. */
static struct weir *
arm(struct crowd_stage *stage, enum frame_type type, bool *fine)
{
	struct weir *handle = scene_open(&stage->scene);

	*fine = wait_until(workers_are_there, &stage->scene,
	    SCENE_DEADLINE_MS) && weir_connect(handle) == WEIR_OK;
	crowd_set(wanted, (uint32_t)type);
	return handle;
}

static bool
is_idle(struct crowd_stage *stage)
{
	return crowd_wait_origin(stage, "\"in_flight\": ", 0);
}

static void
test_lease(struct crowd_stage *stage)
{
	uint64_t rounds = plain_amount(&stage->test, 4, 40);

	for (uint64_t i = 0; i < rounds && stage->test.failed_count == 0;
	    i++) {
		struct weir_lease lease;
		char key[24];
		bool fine;
		struct weir *handle = arm(stage, FRAME_LEASE, &fine);
		size_t length = (size_t)snprintf(key, sizeof(key), "lost-%u",
		    (unsigned)i);
		uint64_t since_us = scene_now_us(), took_us, out;
		int led, filled;

		led = weir_lease(handle, key, length, 0, NULL, &lease);
		took_us = scene_now_us() - since_us;
		out = crowd_origin_number(stage, "\"in_flight\": ");
		filled = weir_lease_fill(handle, &lease, key, length, "v", 1,
		    NULL, NULL);
		(void)plain_check(&stage->test, "a_lease_whose_answer_is_lost",
		    fine && crowd_get(wanted) == 0 && led == WEIR_LEAD &&
		    took_us < AGAIN_US && out == 1 && filled == WEIR_OK &&
		    is_idle(stage), "set up %d, killed %d, %s after %llu us, "
		    "%llu calls out, fill %s", fine, crowd_get(wanted) == 0,
		    weir_errname(led), (unsigned long long)took_us,
		    (unsigned long long)out, weir_errname(filled));
		weir_close(handle);
	}
}

static void
wait_for_value(struct crowd_stage *stage, struct weir *handle,
    uint32_t number)
{
	struct weir_fetch_options options = WEIR_FETCH_OPTIONS_INIT;

	options.ttl_ms = 60000;
	(void)crowd_fetch(stage, handle, number, &options, crowd_compute);
}

/* Others wait for the flight that nobody knows to lead. */
static void
test_waiters(struct crowd_stage *stage)
{
	struct crowd *crowd = stage->crowd;
	uint64_t since_us;
	bool fine, ended;

	crowd_clear(stage);
	crowd_key = "crowded";
	fine = wait_until(workers_are_there, &stage->scene,
	    SCENE_DEADLINE_MS);
	crowd_set(wanted, FRAME_LEASE);
	since_us = scene_now_us();
	crowd_start(stage, 0, 20, wait_for_value);
	ended = crowd_end(stage, 0, 20);
	(void)plain_check(&stage->test, "a_crowd_whose_leader_was_not_told",
	    fine && ended && crowd_get(wanted) == 0 && crowd_count(stage, 0,
	    20, WEIR_OK) == 20 && crowd_get(&crowd->calls) == 1 &&
	    scene_now_us() - since_us < 2 * AGAIN_US, "set up %d, ended %d, "
	    "%u of 20 have it, %u calls, %llu us", fine, ended,
	    crowd_count(stage, 0, 20, WEIR_OK), crowd_get(&crowd->calls),
	    (unsigned long long)(scene_now_us() - since_us));
}

static void
test_permit(struct crowd_stage *stage)
{
	struct weir_permit permit;
	bool fine;
	struct weir *handle = arm(stage, FRAME_PERMIT, &fine);
	uint64_t since_us = scene_now_us(), took_us, out;
	int got = weir_permit_acquire(handle, NULL, 5000, &permit);
	int released;

	took_us = scene_now_us() - since_us;
	out = crowd_origin_number(stage, "\"in_flight\": ");
	released = weir_permit_release(handle, &permit, WEIR_SUCCESS);
	(void)plain_check(&stage->test, "a_permit_whose_answer_is_lost",
	    fine && crowd_get(wanted) == 0 && got == WEIR_OK && took_us <
	    AGAIN_US && out == 1 && released == WEIR_OK && is_idle(stage),
	    "set up %d, killed %d, %s after %llu us, %llu calls out, "
	    "release %s", fine, crowd_get(wanted) == 0, weir_errname(got),
	    (unsigned long long)took_us, (unsigned long long)out,
	    weir_errname(released));
	weir_close(handle);
}

static void
was_answered(void *arg, int result, uint64_t number)
{
	(void)number;
	*(int *)arg = result;
}

/* In steps nobody repeats it: its caller does, or does not. */
static void
test_steps(struct crowd_stage *stage)
{
	struct weir_lease lost, lease;
	bool fine;
	struct weir *handle = arm(stage, FRAME_LEASE, &fine);
	uint64_t since_us = scene_now_us(), took_us;
	int said = WEIR_TIMEOUT, started, led;

	started = weir_start_lease(handle, "steps", 5, 0, NULL, &lost,
	    was_answered, &said);
	while (said == WEIR_TIMEOUT && scene_now_us() - since_us <
	    AGAIN_US) {
		struct pollfd in = {
			.fd = weir_fd(handle), .events = POLLIN,
		};

		(void)poll(&in, 1, 10);
		(void)weir_step(handle);
	}
	since_us = scene_now_us();
	led = weir_lease(handle, "steps", 5, 0, NULL, &lease);
	took_us = scene_now_us() - since_us;
	(void)weir_lease_fail(handle, &lease, "steps", 5, WEIR_NEUTRAL, 0, 0);
	(void)plain_check(&stage->test, "a_started_lease_whose_answer_is_lost",
	    fine && crowd_get(wanted) == 0 && started == WEIR_OK &&
	    said == WEIR_CLOSED && led == WEIR_LEAD && took_us < AGAIN_US &&
	    is_idle(stage), "set up %d, killed %d, %s, %s, then %s after "
	    "%llu us", fine, crowd_get(wanted) == 0,
	    weir_errname(started), weir_errname(said),
	    weir_errname(led), (unsigned long long)took_us);
	weir_close(handle);
}

/* It is stored, and the one who repeats it is told that it is over. */
static void
test_fill(struct crowd_stage *stage)
{
	struct weir_lease lease, next;
	char value[8] = "";
	size_t length = 0;
	bool fine;
	struct weir *handle = arm(stage, FRAME_FILL, &fine);
	int led = weir_lease(handle, "filled", 6, 0, NULL, &lease);
	int filled = weir_lease_fill(handle, &lease, "filled", 6, "value", 5,
	    NULL, NULL);
	int got = weir_get(handle, "filled", 6, value, sizeof(value), &length,
	    NULL);
	int asked = weir_lease(handle, "filled", 6, 0, NULL, &next);

	(void)plain_check(&stage->test, "a_fill_whose_answer_is_lost",
	    fine && crowd_get(wanted) == 0 && led == WEIR_LEAD &&
	    filled == WEIR_LEASE_LOST && got == WEIR_OK && length == 5 &&
	    asked == WEIR_OK && is_idle(stage), "set up %d, killed %d, %s, "
	    "%s, get %s, then %s", fine, crowd_get(wanted) == 0,
	    weir_errname(led), weir_errname(filled),
	    weir_errname(got), weir_errname(asked));
	weir_close(handle);
}

int
main(int argc, char **argv)
{
	static struct crowd_stage stage;
	static const struct {
		const char	*name;
		void		(*fn)(struct crowd_stage *stage);
	} tests[] = {
		{ "lease", test_lease },
		{ "waiters", test_waiters },
		{ "permit", test_permit },
		{ "steps", test_steps },
		{ "fill", test_fill },
	};

	if (!crowd_open(&stage, argc, argv)) {
		return plain_end(&stage.test);
	}
	if (!map_wanted()) {
		plain_fail(&stage.test, "set_up",
		    "WEIR_TEST_ANSWER names no file");
		return crowd_close(&stage);
	}
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		if (plain_wants(&stage.test, tests[i].name)) {
			tests[i].fn(&stage);
		}
	}
	(void)scene_check_clean(&stage.test, &stage.scene, "verify_is_clean");
	return crowd_close(&stage);
}
