/* SPDX-License-Identifier: ISC */

/*
 * Leases, when leaders die, stop or come too late.  The origin counts its calls
 * itself.
 */
#include "crowd.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "wait_until.h"

#define WAITERS		50u
#define LEADER		WAITERS		/* its number */
/* 20 times the bar of 10 ms. */
#define HAND_OVER_US	200000u

static void
wait_for_value(struct crowd_stage *stage, struct weir *handle,
    uint32_t number)
{
	struct weir_fetch_options options = WEIR_FETCH_OPTIONS_INIT;

	options.ttl_ms = 60000;
	(void)crowd_fetch(stage, handle, number, &options, crowd_compute);
}

/* Takes the lease and sleeps until it is killed. */
static void
lead_for_ever(struct crowd_stage *stage, struct weir *handle, uint32_t number)
{
	struct weir_lease lease;

	if (weir_lease(handle, crowd_key, strlen(crowd_key), 0, NULL, &lease) ==
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

	if (weir_lease(handle, crowd_key, strlen(crowd_key), 0, NULL, &lease) ==
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
	(void)plain_check(&stage->test, name, fine && crowd_count(stage, 0,
	    waiters, WEIR_OK) == waiters && crowd_get(&crowd->calls) >= 1 &&
	    crowd_get(&crowd->calls) <= 2 && first_us < killed_us +
	    HAND_OVER_US, "set up %d, %u of %u have it, %u calls, the first "
	    "%lld us after the death", fine, crowd_count(stage, 0, waiters,
	    WEIR_OK), waiters, crowd_get(&crowd->calls),
	    (long long)(first_us - killed_us));
}

static void
test_leader_deaths(struct crowd_stage *stage)
{
	static char names[2][16];
	uint64_t rounds = plain_amount(&stage->test, 24, 500);

	crowd_key = "killed";
	kill_a_leader(stage, "a_killed_leader_with_50_waiters",
	    lead_for_ever, WAITERS);
	crowd_key = "forked";
	kill_a_leader(stage, "a_killed_leader_with_a_living_child",
	    lead_with_a_child, WAITERS);
	for (uint64_t i = 0; i < rounds; i++) {
		(void)snprintf(names[i % 2], sizeof(names[0]), "round-%u",
		    (unsigned)i);
		crowd_key = names[i % 2];
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
	crowd_key = "late";
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
	    fine && crowd_count(stage, 0, 1, WEIR_OK) == 1 &&
	    crowd_count(stage, LEADER, 1, WEIR_LEASE_LOST) == 1 &&
	    got == WEIR_OK && memcmp(value, "value", 5) == 0,
	    "set up %d, waiter %d, late %d, value %.5s", fine,
	    stage->crowd->member[0].result,
	    stage->crowd->member[LEADER].result, value);
}

/* It is refused before it is sent: nobody may wait for it all the same. */
static void
test_unsent_fill(struct crowd_stage *stage)
{
	struct weir *handle = scene_open(&stage->scene);
	struct weir_fetch_options options = WEIR_FETCH_OPTIONS_INIT;
	struct weir_lease lease, next;
	size_t length = 1;
	void *value;
	int led, filled, asked;

	options.no_wait = 1;
	led = weir_lease(handle, "huge", 4, 0, &options, &lease);
	length += (size_t)weir_value_max(handle);
	value = calloc(1, length);
	filled = value == NULL ? WEIR_NO_MEMORY : weir_lease_fill(handle,
	    &lease, "huge", 4, value, length, NULL, NULL);
	asked = weir_lease(handle, "huge", 4, 0, &options, &next);
	(void)weir_lease_uncacheable(handle, &next, "huge", 4, 0);
	free(value);
	weir_close(handle);
	(void)plain_check(&stage->test, "a_value_too_large_to_send_ends_it",
	    led == WEIR_LEAD && filled == WEIR_TOO_LARGE &&
	    asked == WEIR_ALONE, "lease %d, fill %d, then %d", led, filled,
	    asked);
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
		{ "unsent_fill", test_unsent_fill },
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
