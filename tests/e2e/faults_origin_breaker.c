/* SPDX-License-Identifier: ISC */

/*
 * What was done to a breaker by hand outlives the workers and ends in its
 * time; a probe outlives its worker and not its caller; a queue that is full
 * says so, with a reason of its own.
 */
#include "crowd.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "wait_until.h"

/* 20 times what a hand-over may take. */
#define AT_ONCE_US		200000u
#define HOLD_MS			1000u
/* The built-in queue, and what of it one partition may have. */
#define QUEUE			8192u
#define QUEUE_OF_PARTITION	2048u
/* What one connection may wait for. */
#define WAITS_OF_A_HANDLE	1024u
#define HANDLES			(QUEUE / WAITS_OF_A_HANDLE)

static bool
ctl(const struct crowd_stage *stage, const char *command)
{
	static char text[4096];

	return scene_ctl(&stage->scene, command, text, sizeof(text));
}

static void
kill_workers(struct crowd_stage *stage)
{
	for (unsigned i = 0; i < stage->scene.workers; i++) {
		char title[32];
		pid_t old;

		(void)snprintf(title, sizeof(title), "worker %u", i);
		old = scene_child(&stage->scene, title);
		if (old > 0) {
			(void)kill(old, SIGKILL);
			(void)scene_wait_child(&stage->scene, title, old);
		}
	}
}

/* One call without waiting, given back at once. */
static int
call(struct weir *handle, enum weir_outcome outcome)
{
	struct weir_permit permit;
	int result = weir_permit_acquire(handle, NULL, 0, &permit);

	return result == WEIR_OK ? weir_permit_release(handle, &permit,
	    outcome) : result;
}

struct attempt {
	struct weir	*handle;
	int		result;
};

static bool
is_let_through(void *arg)
{
	struct attempt *attempt = arg;

	attempt->result = call(attempt->handle, WEIR_NEUTRAL);
	return attempt->result == WEIR_OK;
}

static void
test_holds(struct crowd_stage *stage)
{
	struct attempt attempt = { .handle = scene_open(&stage->scene) };
	uint64_t start_us;
	bool fine = ctl(stage, "breaker hold default open 10m --yes");
	int before = call(attempt.handle, WEIR_SUCCESS), after;

	kill_workers(stage);
	after = call(attempt.handle, WEIR_SUCCESS);
	(void)plain_check(&stage->test, "a_hold_outlives_the_workers", fine &&
	    before == WEIR_CIRCUIT_OPEN && after == WEIR_CIRCUIT_OPEN,
	    "%d, %s, then %s", fine, weir_errname(before),
	    weir_errname(after));
	fine = ctl(stage, "breaker hold default end");
	after = call(attempt.handle, WEIR_SUCCESS);
	(void)plain_check(&stage->test, "a_hold_is_ended_by_hand", fine &&
	    after == WEIR_OK, "%d, %s", fine, weir_errname(after));
	start_us = scene_now_us();
	fine = ctl(stage, "breaker hold default open 1s --yes");
	kill_workers(stage);
	fine = wait_until(is_let_through, &attempt, 20 * HOLD_MS) && fine;
	(void)plain_check(&stage->test, "a_hold_ends_in_its_time", fine &&
	    scene_now_us() >= start_us + HOLD_MS * 1000, "%d, %s after %llu "
	    "us", fine, weir_errname(attempt.result),
	    (unsigned long long)(scene_now_us() - start_us));
	weir_close(attempt.handle);
}

/* Takes the probe as soon as there is one, and keeps it. */
static void
take_the_probe(struct crowd_stage *stage, struct weir *handle,
    uint32_t number)
{
	struct weir_permit permit;

	(void)number;
	while (weir_permit_acquire(handle, NULL, 0, &permit) != WEIR_OK) {
		crowd_pause_ms(5);
	}
	crowd_set(&stage->crowd->ready, 1);
	(void)wait_until_word(&stage->crowd->go, 1, SCENE_DEADLINE_MS);
}

static void
test_probe(struct crowd_stage *stage)
{
	struct attempt attempt = { .handle = scene_open(&stage->scene) };
	uint64_t refused = crowd_origin_number(stage, "\"breaker_open\": ");
	uint64_t start_us, took_us;
	bool fine = ctl(stage, "breaker trip default --yes");
	int after;

	crowd_clear(stage);
	kill_workers(stage);
	after = call(attempt.handle, WEIR_SUCCESS);
	(void)plain_check(&stage->test, "a_trip_outlives_the_workers", fine &&
	    after == WEIR_CIRCUIT_OPEN && crowd_origin_number(stage,
	    "\"breaker_open\": ") == refused + 1, "%d, %s, %llu refused",
	    fine, weir_errname(after), (unsigned long long)
	    (crowd_origin_number(stage, "\"breaker_open\": ") - refused));
	crowd_start(stage, 0, 1, take_the_probe);
	fine = wait_until_word(&stage->crowd->ready, 1, SCENE_DEADLINE_MS);
	after = call(attempt.handle, WEIR_SUCCESS);
	kill_workers(stage);
	(void)plain_check(&stage->test, "a_probe_is_one_and_outlives_a_worker",
	    fine && after == WEIR_CIRCUIT_OPEN && call(attempt.handle,
	    WEIR_SUCCESS) == WEIR_CIRCUIT_OPEN, "%d, %s", fine,
	    weir_errname(after));
	start_us = scene_now_us();
	crowd_kill(stage, 0);
	do {
		after = call(attempt.handle, WEIR_SUCCESS);
		took_us = scene_now_us() - start_us;
	} while (after == WEIR_CIRCUIT_OPEN && took_us < 20000000);
	(void)plain_check(&stage->test, "the_probe_of_a_dead_one_is_the_next",
	    after == WEIR_OK && took_us <= AT_ONCE_US, "%s after %llu us",
	    weir_errname(after), (unsigned long long)took_us);
	after = call(attempt.handle, WEIR_SUCCESS);
	(void)plain_check(&stage->test, "a_probe_that_succeeds_closes_it",
	    after == WEIR_OK && crowd_wait_origin(stage, "\"in_flight\": ",
	    0), "%s", weir_errname(after));
	weir_close(attempt.handle);
}

static void
forget(void *arg, int result, uint64_t number)
{
	(void)arg;
	(void)result;
	(void)number;
}

/* Waiters that nobody waits for: their handle's end takes them away. */
static struct weir *
queue_up(struct crowd_stage *stage, const struct weir_origin *origin)
{
	static struct weir_permit permits[WAITS_OF_A_HANDLE];
	struct weir *handle = scene_open(&stage->scene);

	(void)weir_connect(handle);
	for (unsigned i = 0; i < WAITS_OF_A_HANDLE; i++) {
		/* Busy: what was started before is to be sent first. */
		while (weir_start_permit_acquire(handle, origin, 4000,
		    &permits[i], forget, NULL) == WEIR_BUSY) {
			(void)weir_step(handle);
		}
	}
	while (weir_wants_write(handle)) {
		(void)weir_step(handle);
	}
	return handle;
}

static void
check_refusal(struct crowd_stage *stage, const char *name,
    struct weir *handle, const struct weir_origin *origin,
    const char *reason)
{
	char member[64];
	struct weir_permit permit;
	uint64_t before, after;
	int result;

	(void)snprintf(member, sizeof(member), "\"%s\": ", reason);
	before = crowd_origin_number(stage, member);
	result = weir_permit_acquire(handle, origin, 1000, &permit);
	after = crowd_origin_number(stage, member);
	(void)plain_check(&stage->test, name, result == WEIR_SHED &&
	    strcmp(permit.reason, reason) == 0 && after == before + 1 &&
	    permit.retry_after_ms > 0, "%s, reason %s, counted %llu to %llu",
	    weir_errname(result), permit.reason, (unsigned long long)before,
	    (unsigned long long)after);
}

static void
test_queues(struct crowd_stage *stage)
{
	static const struct weir_origin busy = {
		.partition = "busy", .partition_length = 4,
	};
	struct weir *handle = scene_open(&stage->scene);
	struct weir *others[HANDLES];
	struct weir_permit held;
	unsigned count = 0;
	bool fine = ctl(stage, "limiter set default 1") &&
	    weir_permit_acquire(handle, NULL, 0, &held) == WEIR_OK;

	while (count < QUEUE_OF_PARTITION / WAITS_OF_A_HANDLE) {
		others[count++] = queue_up(stage, &busy);
	}
	fine = crowd_wait_origin(stage, "\"waiting\": ",
	    QUEUE_OF_PARTITION) && fine;
	check_refusal(stage, "a_full_share_of_the_queue_is_told", handle,
	    &busy, "partition_queue_full");
	while (count < HANDLES) {
		others[count++] = queue_up(stage, NULL);
	}
	fine = crowd_wait_origin(stage, "\"waiting\": ", QUEUE) && fine;
	check_refusal(stage, "a_full_queue_is_told", handle, NULL,
	    "queue_full");
	while (count > 0) {
		weir_close(others[--count]);
	}
	(void)plain_check(&stage->test, "the_queues_are_filled_and_emptied",
	    fine && crowd_wait_origin(stage, "\"waiting\": ", 0), "%d, %llu "
	    "wait", fine, (unsigned long long)crowd_origin_number(stage,
	    "\"waiting\": "));
	(void)weir_permit_release(handle, &held, WEIR_NEUTRAL);
	(void)ctl(stage, "limiter set default 64");
	(void)plain_check(&stage->test, "nothing_is_left", crowd_wait_origin(
	    stage, "\"in_flight\": ", 0), "%llu in flight",
	    (unsigned long long)crowd_origin_number(stage,
	    "\"in_flight\": "));
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
		{ "holds", test_holds },
		{ "probe", test_probe },
		{ "queues", test_queues },
	};

	if (!crowd_open(&stage, argc, argv)) {
		return plain_end(&stage.test);
	}
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		if (plain_wants(&stage.test, tests[i].name)) {
			tests[i].fn(&stage);
		}
	}
	return crowd_close(&stage);
}
