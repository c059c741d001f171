/* SPDX-License-Identifier: ISC */

/*
 * Calls that are out while the daemon is restarted, by a kill or in good
 * order: the next daemon counts them until they end.
 */
#include "crowd.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "wait_until.h"

/* The built-in limit, and what one connection may hold. */
#define LIMIT	64u

/* Holds all permits; gives them back in another life of the daemon. */
static void
hold_all(struct crowd_stage *stage, struct weir *handle, uint32_t number)
{
	static struct weir_permit permits[LIMIT];
	struct crowd *crowd = stage->crowd;
	int worst = WEIR_OK;

	for (unsigned i = 0; i < LIMIT; i++) {
		int result = weir_permit_acquire(handle, NULL, 1000,
		    &permits[i]);

		worst = result != WEIR_OK ? result : worst;
	}
	crowd_set(&crowd->ready, worst == WEIR_OK ? 1 : 2);
	(void)wait_until_word(&crowd->go, 1, SCENE_DEADLINE_MS);
	for (unsigned i = 0; i < LIMIT && worst == WEIR_OK; i++) {
		worst = weir_permit_release(handle, &permits[i],
		    WEIR_SUCCESS);
	}
	/* Relaxed: published by done. */
	atomic_store_explicit(&crowd->member[number].result, worst,
	    memory_order_relaxed);
	crowd_set(&crowd->member[number].done, 1);
}

static bool
stop_in_order(struct scene *scene)
{
	int status = -1;
	bool fine = kill(scene->pid, SIGTERM) == 0 &&
	    wait_until_exit(scene->pid, SCENE_DEADLINE_MS, &status);

	scene->pid = 0;
	return fine && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* A restart while somebody holds everything. */
static bool
begin(struct crowd_stage *stage, bool in_order)
{
	bool fine;

	crowd_clear(stage);
	crowd_start(stage, 0, 1, hold_all);
	fine = wait_until_word(&stage->crowd->ready, 1, SCENE_DEADLINE_MS);
	if (in_order) {
		fine = stop_in_order(&stage->scene) && fine;
	} else {
		scene_kill(&stage->scene);
	}
	return scene_start(&stage->scene) && fine;
}

static void
test_restart(struct crowd_stage *stage, bool in_order, const char *counted,
    const char *given_back)
{
	struct crowd *crowd = stage->crowd;
	bool fine = begin(stage, in_order);
	struct weir *other = scene_open(&stage->scene);
	struct weir_permit permit;
	int refused = weir_permit_acquire(other, NULL, 0, &permit);
	uint64_t out = crowd_origin_number(stage, "\"in_flight\": ");
	int result;

	(void)plain_check(&stage->test, counted, fine && out == LIMIT &&
	    refused == WEIR_SHED, "set up %d, %llu in flight, %s", fine,
	    (unsigned long long)out, weir_errname(refused));
	crowd_set(&crowd->go, 1);
	fine = crowd_end(stage, 0, 1);
	/* Relaxed: its process has ended. */
	result = atomic_load_explicit(&crowd->member[0].result,
	    memory_order_relaxed);
	(void)plain_check(&stage->test, given_back, fine &&
	    result == WEIR_OK && crowd_origin_number(stage,
	    "\"in_flight\": ") == 0 && crowd_origin_number(stage,
	    "\"successes\": ") == LIMIT, "%d, %s, %llu in flight, %llu "
	    "results", fine, weir_errname(result), (unsigned long long)
	    crowd_origin_number(stage, "\"in_flight\": "),
	    (unsigned long long)crowd_origin_number(stage,
	    "\"successes\": "));
	weir_close(other);
}

static void
test_killed(struct crowd_stage *stage)
{
	test_restart(stage, false, "calls_count_after_a_kill",
	    "a_client_claims_after_a_kill");
}

static void
test_stopped(struct crowd_stage *stage)
{
	test_restart(stage, true, "calls_count_after_a_stop",
	    "a_client_claims_after_a_stop");
}

/* Nobody comes back for them: their process ends. */
static void
test_gone(struct crowd_stage *stage)
{
	bool fine = begin(stage, false);
	uint64_t out = crowd_origin_number(stage, "\"in_flight\": ");

	crowd_kill(stage, 0);
	(void)plain_check(&stage->test, "a_process_that_ends_frees_its_calls",
	    fine && out == LIMIT && crowd_wait_origin(stage,
	    "\"in_flight\": ", 0), "set up %d, %llu in flight, then %llu",
	    fine, (unsigned long long)out, (unsigned long long)
	    crowd_origin_number(stage, "\"in_flight\": "));
	crowd_clear(stage);
	crowd_start(stage, 0, 1, hold_all);
	fine = wait_until_word(&stage->crowd->ready, 1, SCENE_DEADLINE_MS);
	scene_kill(&stage->scene);
	crowd_kill(stage, 0);
	fine = scene_start(&stage->scene) && fine;
	out = crowd_origin_number(stage, "\"in_flight\": ");
	(void)plain_check(&stage->test, "one_that_has_ended_holds_nothing",
	    fine && out == 0, "set up %d, %llu in flight", fine,
	    (unsigned long long)out);
}

int
main(int argc, char **argv)
{
	static struct crowd_stage stage;
	static const struct {
		const char	*name;
		void		(*fn)(struct crowd_stage *stage);
	} tests[] = {
		{ "killed", test_killed },
		{ "stopped", test_stopped },
		{ "gone", test_gone },
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
