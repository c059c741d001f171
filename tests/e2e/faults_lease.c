/* SPDX-License-Identifier: ISC */

/*
 * Leases, when leaders die, stop, fail or come too late, and when keys are
 * written meanwhile.  The origin counts its calls itself.
 */
#include "crowd.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "wait_until.h"

#define WAITERS		50u
#define LEADER		WAITERS		/* its number */
/* 20 times the bar of 10 ms. */
#define HAND_OVER_US	200000u
#define COMPUTE_MS	20u
#define ALONE_THREADS	25u
#define ALONE_PROCESSES	8u

static const char *key_now = "key";

static int
compute(void *arg, struct weir_computed *computed)
{
	struct crowd *crowd = arg;

	crowd_call(crowd, COMPUTE_MS);
	computed->value = "value";
	computed->length = 5;
	return WEIR_OK;
}

static int
fetch_plainly(struct crowd_stage *stage, struct weir *handle, uint32_t number,
    const struct weir_fetch_options *options, weir_compute_fn fn)
{
	struct crowd_member *member = &stage->crowd->member[number];
	struct weir_fetched fetched = { 0 };
	char value[64];
	int result = weir_fetch(handle, key_now, strlen(key_now), value,
	    sizeof(value), options, fn, stage->crowd, &fetched);

	if (result == WEIR_OK && (fetched.length != 5 ||
	    memcmp(value, "value", 5) != 0)) {
		result = WEIR_CORRUPT;
	}
	/* Relaxed: published by done. */
	atomic_store_explicit(&member->result, result, memory_order_relaxed);
	atomic_store_explicit(&member->code, fetched.code,
	    memory_order_relaxed);
	crowd_set(&member->done, 1);
	return result;
}

static void
wait_for_value(struct crowd_stage *stage, struct weir *handle,
    uint32_t number)
{
	struct weir_fetch_options options = WEIR_FETCH_OPTIONS_INIT;

	options.ttl_ms = 60000;
	(void)fetch_plainly(stage, handle, number, &options, compute);
}

/* Takes the lease and sleeps until it is killed. */
static void
lead_for_ever(struct crowd_stage *stage, struct weir *handle, uint32_t number)
{
	struct weir_lease lease;

	if (weir_lease(handle, key_now, strlen(key_now), 0, NULL, &lease) ==
	    WEIR_LEAD) {
		crowd_set(&stage->crowd->go, 1);
	}
	(void)number;
	for (;;) {
		(void)pause();
	}
}

/* The same, with a child that keeps the socket open. */
static void
lead_with_a_child(struct crowd_stage *stage, struct weir *handle,
    uint32_t number)
{
	struct weir_lease lease;

	if (weir_lease(handle, key_now, strlen(key_now), 0, NULL, &lease) ==
	    WEIR_LEAD) {
		pid_t pid = fork();

		if (pid == 0) {
			(void)prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0);
			crowd_set(&stage->crowd->go, 1);
			/* Until the test is over, or somebody cleared it. */
			for (int i = 0; i < 400 && crowd_get(
			    &stage->crowd->go) == 1; i++) {
				crowd_pause_ms(5);
			}
			_exit(0);
		}
	}
	(void)number;
	for (;;) {
		(void)pause();
	}
}

static uint32_t
count_results(const struct crowd_stage *stage, uint32_t first, uint32_t count,
    int result)
{
	uint32_t n = 0;

	for (uint32_t i = first; i < first + count; i++) {
		const struct crowd_member *member = &stage->crowd->member[i];

		n += crowd_get(&member->done) != 0 && atomic_load_explicit(
		    &member->result, memory_order_relaxed) == result;
	}
	return n;
}

static void
kill_a_leader(struct crowd_stage *stage, const char *name, crowd_fn *leader,
    uint32_t waiters)
{
	struct crowd *crowd = stage->crowd;
	uint64_t joined, killed_us, first_us;
	bool fine;

	crowd_clear(stage);
	joined = scene_counter(&stage->scene, "leases_joined");
	crowd_start(stage, LEADER, 1, leader);
	fine = wait_until_word(&crowd->go, 1, SCENE_DEADLINE_MS);
	crowd_start(stage, 0, waiters, wait_for_value);
	fine = fine && crowd_wait_counter(stage, "leases_joined",
	    joined + waiters);
	killed_us = scene_now_us();
	crowd_kill(stage, LEADER);
	fine = crowd_end(stage, 0, waiters) && fine;
	crowd_set(&crowd->go, 2);
	first_us = atomic_load_explicit(&crowd->first_call_us,
	    memory_order_relaxed);
	(void)plain_check(&stage->test, name, fine && count_results(stage, 0,
	    waiters, WEIR_OK) == waiters && crowd_get(&crowd->calls) >= 1 &&
	    crowd_get(&crowd->calls) <= 2 && first_us < killed_us +
	    HAND_OVER_US, "set up %d, %u of %u have it, %u calls, the first "
	    "%lld us after the death", fine, count_results(stage, 0, waiters,
	    WEIR_OK), waiters, crowd_get(&crowd->calls),
	    (long long)(first_us - killed_us));
}

static void
test_leader_deaths(struct crowd_stage *stage)
{
	static char names[2][16];
	uint64_t rounds = plain_amount(&stage->test, 24, 500);

	key_now = "killed";
	kill_a_leader(stage, "a_killed_leader_with_50_waiters",
	    lead_for_ever, WAITERS);
	key_now = "forked";
	kill_a_leader(stage, "a_killed_leader_with_a_living_child",
	    lead_with_a_child, WAITERS);
	for (uint64_t i = 0; i < rounds; i++) {
		(void)snprintf(names[i % 2], sizeof(names[0]), "round-%u",
		    (unsigned)i);
		key_now = names[i % 2];
		kill_a_leader(stage, "many_killed_leaders", lead_for_ever,
		    1 + (uint32_t)(i % 5));
		if (stage->test.failed_count > 0) {
			break;
		}
	}
}

static void
lead_and_come_late(struct crowd_stage *stage, struct weir *handle,
    uint32_t number)
{
	struct weir_fetch_options options = WEIR_FETCH_OPTIONS_INIT;
	struct crowd_member *member = &stage->crowd->member[number];
	struct weir_lease lease;

	options.lease_ms = 200;
	if (weir_lease(handle, "late", 4, 0, &options, &lease) == WEIR_LEAD) {
		crowd_set(&stage->crowd->go, 1);
		/* It is stopped here, past its time. */
		while (crowd_get(&stage->crowd->go) != 2) {
			crowd_pause_ms(1);
		}
		/* Relaxed: published by done. */
		atomic_store_explicit(&member->result, weir_lease_fill(handle,
		    &lease, "late", 4, "stale", 5, NULL, NULL),
		    memory_order_relaxed);
	}
	crowd_set(&member->done, 1);
}

static void
test_late_fill(struct crowd_stage *stage)
{
	struct weir *handle;
	char value[16] = "";
	size_t length = 0;
	bool fine;
	int got;

	crowd_clear(stage);
	crowd_start(stage, LEADER, 1, lead_and_come_late);
	fine = wait_until_word(&stage->crowd->go, 1, SCENE_DEADLINE_MS);
	(void)kill(stage->pids[LEADER], SIGSTOP);
	key_now = "late";
	crowd_start(stage, 0, 1, wait_for_value);
	fine = crowd_end(stage, 0, 1) && fine;
	crowd_set(&stage->crowd->go, 2);
	(void)kill(stage->pids[LEADER], SIGCONT);
	fine = crowd_end(stage, LEADER, 1) && fine;
	handle = scene_open(&stage->scene);
	got = weir_get(handle, "late", 4, value, sizeof(value), &length,
	    NULL);
	weir_close(handle);
	(void)plain_check(&stage->test, "a_stopped_leader_fills_too_late",
	    fine && count_results(stage, 0, 1, WEIR_OK) == 1 &&
	    count_results(stage, LEADER, 1, WEIR_LEASE_LOST) == 1 &&
	    got == WEIR_OK && memcmp(value, "value", 5) == 0,
	    "set up %d, waiter %d, late %d, value %.5s", fine,
	    stage->crowd->member[0].result,
	    stage->crowd->member[LEADER].result, value);
}

static int
fail_with_7(void *arg, struct weir_computed *computed)
{
	crowd_call(arg, 50);
	computed->code = 7;
	return WEIR_FAILED;
}

static void
want_failing(struct crowd_stage *stage, struct weir *handle, uint32_t number)
{
	struct weir_fetch_options options = WEIR_FETCH_OPTIONS_INIT;

	options.back_off_ms = 300;
	(void)weir_connect(handle);
	(void)crowd_add(&stage->crowd->ready, 1);
	(void)wait_until_word(&stage->crowd->go, 1, SCENE_DEADLINE_MS);
	(void)fetch_plainly(stage, handle, number, &options, fail_with_7);
}

static void
test_failing_leader(struct crowd_stage *stage)
{
	struct weir_fetch_options options = WEIR_FETCH_OPTIONS_INIT;
	struct weir *handle = scene_open(&stage->scene);
	struct crowd *crowd = stage->crowd;
	uint32_t failed, codes = 0;
	bool fine;
	int again, later;

	key_now = "failing";
	crowd_clear(stage);
	crowd_start(stage, 0, 10, want_failing);
	fine = wait_until_word(&crowd->ready, 10, SCENE_DEADLINE_MS);
	crowd_set(&crowd->go, 1);
	fine = crowd_end(stage, 0, 10) && fine;
	failed = count_results(stage, 0, 10, WEIR_FAILED);
	for (uint32_t i = 0; i < 10; i++) {
		codes += atomic_load_explicit(&crowd->member[i].code,
		    memory_order_relaxed) == 7;
	}
	again = fetch_plainly(stage, handle, 11, &options, compute);
	(void)plain_check(&stage->test, "all_who_wait_get_the_failure",
	    fine && failed == 10 && codes == 10 &&
	    crowd_get(&crowd->calls) == 1 && again == WEIR_BACKING_OFF,
	    "set up %d, %u failed, %u codes, %u calls, then %s", fine, failed,
	    codes, crowd_get(&crowd->calls), weir_errname(again));
	for (later = again; later == WEIR_BACKING_OFF;) {
		crowd_pause_ms(10);
		later = fetch_plainly(stage, handle, 11, &options, compute);
	}
	(void)plain_check(&stage->test, "it_is_tried_again_after_the_back_off",
	    later == WEIR_OK, "%s", weir_errname(later));
	weir_close(handle);
}

static void
test_stale_rules(struct crowd_stage *stage)
{
	struct weir_fetch_options options = WEIR_FETCH_OPTIONS_INIT;
	struct weir *handle = scene_open(&stage->scene);
	struct weir_lease stuck;
	struct weir_fetched fetched;
	char value[16];
	uint64_t start_us = scene_now_us();
	int stored, failing, hard;

	key_now = "stale";
	crowd_clear(stage);
	options.ttl_ms = 50;
	options.stale_if_error_ms = 600;
	stored = fetch_plainly(stage, handle, 0, &options, compute);
	crowd_pause_ms(60);
	failing = weir_fetch(handle, "stale", 5, value, sizeof(value),
	    &options, fail_with_7, stage->crowd, &fetched);
	(void)plain_check(&stage->test, "stale_is_served_when_it_fails",
	    stored == WEIR_OK && failing == WEIR_STALE &&
	    fetched.why == WEIR_FAILED && fetched.code == 7, "%s, %s, why %s",
	    weir_errname(stored), weir_errname(failing),
	    weir_errname(fetched.why));
	/* A refresh that never ends does not keep it beyond its hard end. */
	while (weir_lease(handle, "stale", 5, 0, &options, &stuck) ==
	    WEIR_BACKING_OFF) {
		crowd_pause_ms(10);
	}
	do {
		hard = weir_get(handle, "stale", 5, value, sizeof(value),
		    NULL, NULL);
		crowd_pause_ms(5);
	} while (hard != WEIR_MISS && scene_now_us() < start_us + 5000000);
	(void)plain_check(&stage->test, "the_hard_end_beats_a_stuck_refresh",
	    hard == WEIR_MISS && scene_now_us() >= start_us + 640000, "%s "
	    "after %llu us", weir_errname(hard),
	    (unsigned long long)(scene_now_us() - start_us));
	(void)weir_lease_fail(handle, &stuck, "stale", 5, WEIR_NEUTRAL, 0, 1);
	weir_close(handle);
}

static void
test_delete_during_load(struct crowd_stage *stage)
{
	struct weir *handle = scene_open(&stage->scene);
	struct weir_lease lease;
	int led = weir_lease(handle, "gone", 4, 0, NULL, &lease);
	int deleted = weir_delete(handle, "gone", 4, 0);
	int filled = weir_lease_fill(handle, &lease, "gone", 4, "x", 1, NULL,
	    NULL);
	int got = weir_get(handle, "gone", 4, NULL, 0, NULL, NULL);

	(void)plain_check(&stage->test, "a_delete_beats_the_late_fill",
	    led == WEIR_LEAD && deleted == WEIR_MISS &&
	    filled == WEIR_CHANGED && got == WEIR_MISS, "%s %s %s %s",
	    weir_errname(led), weir_errname(deleted), weir_errname(filled),
	    weir_errname(got));
	led = weir_lease(handle, "gone", 4, 0, NULL, &lease);
	deleted = weir_purge_all(handle, WEIR_PURGE_HARD);
	filled = weir_lease_fill(handle, &lease, "gone", 4, "x", 1, NULL,
	    NULL);
	got = weir_get(handle, "gone", 4, NULL, 0, NULL, NULL);
	(void)plain_check(&stage->test, "a_purge_beats_the_late_fill",
	    led == WEIR_LEAD && deleted == WEIR_OK && filled == WEIR_OK &&
	    got == WEIR_MISS, "%s %s %s %s", weir_errname(led),
	    weir_errname(deleted), weir_errname(filled), weir_errname(got));
	weir_close(handle);
}

static int
compute_alone(void *arg, struct weir_computed *computed)
{
	crowd_call(arg, 50);
	computed->value = "value";
	computed->length = 5;
	computed->uncacheable_ms = 400;
	return WEIR_OK;
}

struct alone {
	struct crowd_stage *stage;
	struct weir	*handle;
	int		result;
};

static void *
fetch_alone(void *arg)
{
	struct alone *alone = arg;
	char value[16];

	alone->result = weir_fetch(alone->handle, "private", 7, value,
	    sizeof(value), NULL, compute_alone, alone->stage->crowd, NULL);
	return NULL;
}

/* 25 threads over one handle, which all wait at once. */
static void
want_uncacheable(struct crowd_stage *stage, struct weir *handle,
    uint32_t number)
{
	struct alone alone[ALONE_THREADS];
	pthread_t threads[ALONE_THREADS];
	uint32_t fine = 0;

	(void)weir_connect(handle);
	(void)crowd_add(&stage->crowd->ready, 1);
	(void)wait_until_word(&stage->crowd->go, 1, SCENE_DEADLINE_MS);
	for (uint32_t i = 0; i < ALONE_THREADS; i++) {
		alone[i] = (struct alone){ stage, handle, WEIR_INVALID };
		(void)pthread_create(&threads[i], NULL, fetch_alone,
		    &alone[i]);
	}
	for (uint32_t i = 0; i < ALONE_THREADS; i++) {
		(void)pthread_join(threads[i], NULL);
		fine += alone[i].result == WEIR_OK;
	}
	/* Relaxed: published by done. */
	atomic_store_explicit(&stage->crowd->member[number].code,
	    (int32_t)fine, memory_order_relaxed);
	crowd_set(&stage->crowd->member[number].done, 1);
}

static void
test_uncacheable(struct crowd_stage *stage)
{
	struct weir *handle = scene_open(&stage->scene);
	struct crowd *crowd = stage->crowd;
	struct weir_fetch_options options = WEIR_FETCH_OPTIONS_INIT;
	uint32_t fine = 0;
	bool ended;
	int later = WEIR_BUSY;

	crowd_clear(stage);
	crowd_start(stage, 0, ALONE_PROCESSES, want_uncacheable);
	ended = wait_until_word(&crowd->ready, ALONE_PROCESSES,
	    SCENE_DEADLINE_MS);
	crowd_set(&crowd->go, 1);
	ended = crowd_end(stage, 0, ALONE_PROCESSES) && ended;
	for (uint32_t i = 0; i < ALONE_PROCESSES; i++) {
		fine += (uint32_t)atomic_load_explicit(&crowd->member[i].code,
		    memory_order_relaxed);
	}
	(void)plain_check(&stage->test, "200_who_may_not_share_go_in_parallel",
	    ended && fine == ALONE_THREADS * ALONE_PROCESSES &&
	    crowd_get(&crowd->calls) == ALONE_THREADS * ALONE_PROCESSES &&
	    crowd_get(&crowd->at_once_max) > 8 &&
	    crowd_get(&crowd->at_once_max) <= 64, "%u fine, %u calls, %u at "
	    "once", fine, crowd_get(&crowd->calls),
	    crowd_get(&crowd->at_once_max));
	/* The mark is gone after its time: it is shared again. */
	for (int i = 0; i < 500 && later != WEIR_LEAD; i++) {
		struct weir_lease lease;

		later = weir_lease(handle, "private", 7, 0, &options, &lease);
		if (later == WEIR_ALONE) {
			(void)weir_lease_uncacheable(handle, &lease,
			    "private", 7, 0);
			crowd_pause_ms(10);
		} else if (later == WEIR_LEAD) {
			(void)weir_lease_fill(handle, &lease, "private", 7,
			    "value", 5, NULL, NULL);
		}
	}
	(void)plain_check(&stage->test, "the_mark_goes_after_its_time",
	    later == WEIR_LEAD, "%s", weir_errname(later));
	weir_close(handle);
}

static int
fetch_the_same(void *arg, struct weir_computed *computed)
{
	struct weir *handle = arg;

	computed->code = weir_fetch(handle, "self", 4, NULL, 0, NULL,
	    fetch_the_same, handle, NULL);
	return WEIR_FAILED;
}

static void
test_deadlock(struct crowd_stage *stage)
{
	struct weir *handle = scene_open(&stage->scene);
	struct weir_fetched fetched;
	int result = weir_fetch(handle, "self", 4, NULL, 0, NULL,
	    fetch_the_same, handle, &fetched);

	(void)plain_check(&stage->test, "its_own_key_is_a_deadlock",
	    result == WEIR_FAILED && fetched.code == WEIR_WOULD_DEADLOCK,
	    "%s, code %d", weir_errname(result), fetched.code);
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
		{ "leader_deaths", test_leader_deaths },
		{ "late_fill", test_late_fill },
		{ "failing_leader", test_failing_leader },
		{ "stale_rules", test_stale_rules },
		{ "delete_during_load", test_delete_during_load },
		{ "uncacheable", test_uncacheable },
		{ "deadlock", test_deadlock },
	};

	if (!crowd_open(&stage, argc, argv)) {
		return plain_end(&stage.test);
	}
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		if (plain_wants(&stage.test, tests[i].name)) {
			tests[i].fn(&stage);
		}
	}
	(void)scene_check_clean(&stage.test, &stage.scene, "verify_is_clean");
	return crowd_close(&stage);
}
