/* SPDX-License-Identifier: ISC */

/*
 * Permits and the breaker, when clients and workers are killed, when the
 * origin is down, when more want to call than may.  The limit is counted by
 * the test itself, never by Weir.
 */
#include "crowd.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "prng.h"
#include "wait_until.h"

/* The supervisor waits for longer each time, up to ten seconds. */
#define WORKER_KILLS_MAX 24u
#define CALLERS		24u
#define LIMIT		8u
#define DOWN_PROCESSES	32u
#define DOWN_MS		100u

static bool
ctl(const struct crowd_stage *stage, const char *command)
{
	static char text[4096];

	return scene_ctl(&stage->scene, command, text, sizeof(text));
}

/* Calls until it is told to end, each under a permit. */
static void
call_for_ever(struct crowd_stage *stage, struct weir *handle, uint32_t number)
{
	struct crowd *crowd = stage->crowd;

	while (crowd_get(&crowd->go) == 0) {
		struct weir_permit permit;
		int result = weir_permit_acquire(handle, NULL, 5000, &permit);

		if (result != WEIR_OK) {
			(void)crowd_add(&crowd->refused[0], 1);
			continue;
		}
		crowd_hold(crowd, number, true);
		(void)crowd_add(&crowd->calls, 1);
		crowd_pause_ms(2 + number % 5);
		crowd_hold(crowd, number, false);
		(void)weir_permit_release(handle, &permit, WEIR_SUCCESS);
	}
}

/* The counted calls move on by so many. */
struct progress {
	const struct crowd *crowd;
	uint32_t	wanted;
};

static bool
has_progressed(void *argument)
{
	const struct progress *progress = argument;

	return (int32_t)(crowd_get(&progress->crowd->calls) -
	    progress->wanted) >= 0;
}

static bool
goes_on(const struct crowd_stage *stage, uint32_t by)
{
	struct progress progress = { stage->crowd,
	    crowd_get(&stage->crowd->calls) + by };

	return wait_until(has_progressed, &progress, SCENE_DEADLINE_MS);
}

static void
kill_worker(struct crowd_stage *stage, unsigned number)
{
	char title[16];
	pid_t old;

	(void)snprintf(title, sizeof(title), "worker %u", number);
	old = scene_child(&stage->scene, title);
	if (old > 0) {
		(void)kill(old, SIGKILL);
		(void)scene_wait_child(&stage->scene, title, old);
	}
}

static void
test_deaths(struct crowd_stage *stage)
{
	uint64_t kills = plain_amount(&stage->test, 26, 500);
	struct crowd *crowd = stage->crowd;
	struct prng prng;
	bool fine = true;

	prng_init(&prng, stage->test.seed);
	crowd_clear(stage);
	(void)plain_check(&stage->test, "the_limit_is_set", ctl(stage,
	    "limiter set default 8"), "weir-ctl failed");
	crowd_set(&crowd->most, LIMIT);
	crowd_start(stage, 0, CALLERS, call_for_ever);
	for (uint64_t i = 0; i < kills && fine; i++) {
		uint32_t victim = prng_below(&prng, CALLERS);

		fine = goes_on(stage, 20);
		if (i % 4 == 3 && i / 4 < WORKER_KILLS_MAX) {
			kill_worker(stage, (unsigned)(i / 4 % 2));
			continue;
		}
		crowd_kill(stage, victim);
		crowd_set(&crowd->member[victim].doomed, 0);
		crowd_start(stage, victim, 1, call_for_ever);
	}
	crowd_set(&crowd->go, 1);
	fine = crowd_end(stage, 0, CALLERS) && fine;
	(void)plain_check(&stage->test, "the_limit_holds_whoever_dies", fine &&
	    crowd_get(&crowd->over) == 0 && crowd_get(&crowd->refused[0]) ==
	    0, "went on %d, over the limit %u times, %u refused", fine,
	    crowd_get(&crowd->over), crowd_get(&crowd->refused[0]));
	(void)plain_check(&stage->test, "nothing_leaks",
	    crowd_wait_origin(stage, "\"in_flight\": ", 0) &&
	    crowd_wait_origin(stage, "\"waiting\": ", 0), "%llu in flight, "
	    "%llu wait", (unsigned long long)crowd_origin_number(stage,
	    "\"in_flight\": "), (unsigned long long)crowd_origin_number(
	    stage, "\"waiting\": "));
}

static void
hold_one(struct crowd_stage *stage, struct weir *handle, uint32_t number)
{
	struct weir_permit permit;
	int result = weir_permit_acquire(handle, NULL, 1000, &permit);
	struct crowd_member *member = &stage->crowd->member[number];

	crowd_set(&stage->crowd->ready, 1);
	(void)wait_until_word(&stage->crowd->go, 1, SCENE_DEADLINE_MS);
	if (result == WEIR_OK) {
		result = weir_permit_release(handle, &permit, WEIR_SUCCESS);
	}
	/* Relaxed: published by done. */
	atomic_store_explicit(&member->result, result, memory_order_relaxed);
	crowd_set(&member->done, 1);
}

static void
test_worker_deaths(struct crowd_stage *stage)
{
	struct crowd *crowd = stage->crowd;
	bool fine, during;

	crowd_clear(stage);
	crowd_start(stage, 0, 1, hold_one);
	fine = wait_until_word(&crowd->ready, 1, SCENE_DEADLINE_MS);
	kill_worker(stage, 0);
	kill_worker(stage, 1);
	/* Both looked at what the dead ones left, and a second goes by. */
	crowd_pause_ms(1200);
	/* Once there is somebody to say so. */
	during = crowd_wait_origin(stage, "\"in_flight\": ", 1);
	crowd_set(&crowd->go, 1);
	fine = crowd_end(stage, 0, 1) && fine;
	(void)plain_check(&stage->test, "a_permit_outlives_its_worker", fine &&
	    during && atomic_load_explicit(&crowd->member[0].result,
	    memory_order_relaxed) == WEIR_OK && crowd_wait_origin(stage,
	    "\"in_flight\": ", 0), "set up %d, in flight %d, release %s",
	    fine, during, weir_errname(crowd->member[0].result));
}

/* The origin does not answer within its time-out. */
static void
call_what_is_down(struct crowd_stage *stage, struct weir *handle,
    uint32_t number)
{
	struct crowd *crowd = stage->crowd;

	(void)number;
	(void)weir_connect(handle);
	(void)crowd_add(&crowd->ready, 1);
	(void)wait_until_word(&crowd->go, 1, SCENE_DEADLINE_MS);
	for (int i = 0; i < 10; i++) {
		struct weir_permit permit;
		int result = weir_permit_acquire(handle, NULL, 5000, &permit);

		if (result == WEIR_OK) {
			crowd_call(crowd, DOWN_MS);
			(void)weir_permit_release(handle, &permit,
			    WEIR_FAILURE);
		} else if (result == WEIR_CIRCUIT_OPEN &&
		    permit.retry_after_ms > 0) {
			(void)crowd_add(&crowd->refused[0], 1);
		} else {
			(void)crowd_add(&crowd->refused[1], 1);
		}
	}
}

static void
test_outage(struct crowd_stage *stage)
{
	struct crowd *crowd = stage->crowd;
	struct weir *handle = scene_open(&stage->scene);
	struct weir_permit permit;
	bool fine;
	int after;

	crowd_clear(stage);
	fine = ctl(stage, "limiter set default 64") &&
	    ctl(stage, "breaker reset default");
	crowd_start(stage, 0, DOWN_PROCESSES, call_what_is_down);
	fine = wait_until_word(&crowd->ready, DOWN_PROCESSES,
	    SCENE_DEADLINE_MS) && fine;
	crowd_set(&crowd->go, 1);
	fine = crowd_end(stage, 0, DOWN_PROCESSES) && fine;
	/* 20 outcomes open it; who called by then called at most twice. */
	(void)plain_check(&stage->test, "the_breaker_opens_once_for_all",
	    fine && crowd_get(&crowd->calls) <= 2 * DOWN_PROCESSES &&
	    crowd_get(&crowd->refused[0]) + crowd_get(&crowd->calls) ==
	    10 * DOWN_PROCESSES && crowd_get(&crowd->refused[1]) == 0 &&
	    crowd_origin_number(stage, "\"opened\": ") == 1, "set up %d, %u "
	    "calls, %u refused, %u otherwise, opened %llu times", fine,
	    crowd_get(&crowd->calls), crowd_get(&crowd->refused[0]),
	    crowd_get(&crowd->refused[1]), (unsigned long long)
	    crowd_origin_number(stage, "\"opened\": "));
	kill_worker(stage, 0);
	kill_worker(stage, 1);
	after = weir_permit_acquire(handle, NULL, 0, &permit);
	(void)plain_check(&stage->test, "a_new_worker_sees_it_open",
	    after == WEIR_CIRCUIT_OPEN, "%s", weir_errname(after));
	fine = ctl(stage, "breaker reset default");
	after = weir_permit_acquire(handle, NULL, 0, &permit);
	(void)plain_check(&stage->test, "a_reset_closes_it",
	    fine && after == WEIR_OK && weir_permit_release(handle, &permit,
	    WEIR_SUCCESS) == WEIR_OK, "%d, %s", fine, weir_errname(after));
	weir_close(handle);
}

static int
call_partition(struct weir *handle, const char *partition,
    enum weir_outcome outcome)
{
	struct weir_origin origin = {
		.partition = partition,
		.partition_length = strlen(partition),
	};
	struct weir_permit permit;
	int result = weir_permit_acquire(handle, &origin, 0, &permit);

	if (result == WEIR_OK) {
		result = weir_permit_release(handle, &permit, outcome);
	}
	return result;
}

static void
test_partitions(struct crowd_stage *stage)
{
	struct weir *handle = scene_open(&stage->scene);
	int worst = WEIR_OK;
	bool fine = ctl(stage, "breaker reset default");

	for (int i = 0; i < 100 && worst == WEIR_OK; i++) {
		worst = call_partition(handle, "bad", WEIR_FAILURE);
		if (worst == WEIR_OK && i % 10 == 0) {
			worst = call_partition(handle, "good", WEIR_SUCCESS);
		}
	}
	(void)plain_check(&stage->test, "one_failing_partition_opens_nothing",
	    fine && worst == WEIR_OK, "%s", weir_errname(worst));
	weir_close(handle);
}

/* One refusal, its code and its reason; and its counter. */
static void
check_refusal(struct crowd_stage *stage, const char *name,
    struct weir *handle, const struct weir_origin *origin, uint32_t wait_ms,
    const char *reason)
{
	char member[64];
	struct weir_permit permit;
	uint64_t before, after;
	int result;

	(void)snprintf(member, sizeof(member), "\"%s\": ", reason);
	before = crowd_origin_number(stage, member);
	result = weir_permit_acquire(handle, origin, wait_ms, &permit);
	after = crowd_origin_number(stage, member);
	(void)plain_check(&stage->test, name, result == WEIR_SHED &&
	    strcmp(permit.reason, reason) == 0 && after == before + 1 &&
	    permit.retry_after_ms > 0, "%s, reason %s, retry after %llu, "
	    "counted %llu to %llu", weir_errname(result), permit.reason,
	    (unsigned long long)permit.retry_after_ms,
	    (unsigned long long)before, (unsigned long long)after);
}

static void
test_refusals(struct crowd_stage *stage)
{
	static const struct weir_origin background = { .background = 1 };
	struct weir *handle = scene_open(&stage->scene);
	struct weir_permit held;
	bool fine = ctl(stage, "breaker reset default") &&
	    ctl(stage, "limiter set default 1");
	int got = weir_permit_acquire(handle, NULL, 0, &held);

	(void)plain_check(&stage->test, "the_only_permit_is_had", fine &&
	    got == WEIR_OK, "%d %s", fine, weir_errname(got));
	check_refusal(stage, "no_wait_is_told", handle, NULL, 0, "no_wait");
	check_refusal(stage, "background_is_shed", handle, &background, 1000,
	    "background_shed");
	check_refusal(stage, "a_wait_in_vain_is_told", handle, NULL, 50,
	    "queue_timeout");
	(void)weir_permit_release(handle, &held, WEIR_NEUTRAL);
	(void)ctl(stage, "limiter set default 64");
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
		/* First: a breaker is open for less long than a worker that
		 * died time and again is away. */
		{ "outage", test_outage },
		{ "partitions", test_partitions },
		{ "refusals", test_refusals },
		{ "deaths", test_deaths },
		{ "worker_deaths", test_worker_deaths },
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
