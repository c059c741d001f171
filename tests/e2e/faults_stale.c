/* SPDX-License-Identifier: ISC */

/*
 * What is served when leaders fail, when keys are written meanwhile, when a
 * value may not be shared.  The origin counts its calls itself.
 */
#include "crowd.h"

#include <pthread.h>
#include <string.h>

#include "wait_until.h"

#define ALONE_THREADS	25u
#define ALONE_PROCESSES	8u

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
	(void)crowd_fetch(stage, handle, number, &options, fail_with_7);
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

	crowd_key = "failing";
	crowd_clear(stage);
	crowd_start(stage, 0, 10, want_failing);
	fine = wait_until_word(&crowd->ready, 10, SCENE_DEADLINE_MS);
	crowd_set(&crowd->go, 1);
	fine = crowd_end(stage, 0, 10) && fine;
	failed = crowd_count(stage, 0, 10, WEIR_FAILED);
	for (uint32_t i = 0; i < 10; i++) {
		codes += atomic_load_explicit(&crowd->member[i].code,
		    memory_order_relaxed) == 7;
	}
	again = crowd_fetch(stage, handle, 11, &options, crowd_compute);
	(void)plain_check(&stage->test, "all_who_wait_get_the_failure",
	    fine && failed == 10 && codes == 10 &&
	    crowd_get(&crowd->calls) == 1 && again == WEIR_BACKING_OFF,
	    "set up %d, %u failed, %u codes, %u calls, then %s", fine, failed,
	    codes, crowd_get(&crowd->calls), weir_errname(again));
	for (later = again; later == WEIR_BACKING_OFF;) {
		crowd_pause_ms(10);
		later = crowd_fetch(stage, handle, 11, &options, crowd_compute);
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

	crowd_key = "stale";
	crowd_clear(stage);
	options.ttl_ms = 50;
	options.stale_if_error_ms = 600;
	stored = crowd_fetch(stage, handle, 0, &options, crowd_compute);
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
