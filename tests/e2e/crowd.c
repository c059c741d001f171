/* SPDX-License-Identifier: ISC */

/*
 * Crowds, and the origin that counts.
 */
#include "crowd.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "wait_until.h"

#define DEADLINE_MS	30000u
#define TEXT_BYTES	(256u << 10)

/* Acquire and release: a number that is seen brings what was done before. */
uint32_t
crowd_get(const _Atomic uint32_t *word)
{
	return atomic_load_explicit(word, memory_order_acquire);
}

void
crowd_set(_Atomic uint32_t *word, uint32_t value)
{
	atomic_store_explicit(word, value, memory_order_release);
}

uint32_t
crowd_add(_Atomic uint32_t *word, uint32_t by)
{
	return atomic_fetch_add_explicit(word, by, memory_order_acq_rel);
}

void
crowd_pause_ms(uint32_t ms)
{
	struct timespec span = {
		.tv_sec = ms / 1000,
		.tv_nsec = (long)(ms % 1000) * 1000000,
	};

	(void)nanosleep(&span, NULL);
}

bool
crowd_open(struct crowd_stage *stage, int argc, char **argv)
{
	memset(stage, 0, sizeof(*stage));
	plain_start(&stage->test, argc, argv);
	stage->scene.workers = 2;
	stage->scene.memory = "16M";
	stage->crowd = mmap(NULL, sizeof(*stage->crowd),
	    PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (stage->crowd == MAP_FAILED || !scene_start(&stage->scene)) {
		plain_fail(&stage->test, "set_up", "no memory or no daemon");
		return false;
	}
	return true;
}

int
crowd_close(struct crowd_stage *stage)
{
	(void)plain_check(&stage->test, "the_daemon_ends_well",
	    scene_end(&stage->scene), "it did not");
	return plain_end(&stage->test);
}

void
crowd_clear(struct crowd_stage *stage)
{
	memset(stage->crowd, 0, sizeof(*stage->crowd));
}

void
crowd_start(struct crowd_stage *stage, uint32_t first, uint32_t count,
    crowd_fn *fn)
{
	for (uint32_t i = first; i < first + count; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			struct weir *handle;

			(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
			handle = scene_open(&stage->scene);
			fn(stage, handle, i);
			weir_close(handle);
			_exit(0);
		}
		stage->pids[i] = pid;
	}
}

bool
crowd_end(struct crowd_stage *stage, uint32_t first, uint32_t count)
{
	bool fine = true;

	for (uint32_t i = first; i < first + count; i++) {
		int status;

		if (stage->pids[i] > 0) {
			fine = wait_until_exit(stage->pids[i], DEADLINE_MS,
			    &status) && fine;
			stage->pids[i] = 0;
		}
	}
	return fine;
}

void
crowd_kill(struct crowd_stage *stage, uint32_t number)
{
	crowd_set(&stage->crowd->member[number].doomed, 1);
	(void)crowd_add(&stage->crowd->turns, 1);
	(void)kill(stage->pids[number], SIGKILL);
	(void)waitpid(stage->pids[number], NULL, 0);
	stage->pids[number] = 0;
	crowd_set(&stage->crowd->member[number].holds, 0);
}

void
crowd_call(struct crowd *crowd, uint32_t ms)
{
	uint64_t none = 0;
	uint32_t now = crowd_add(&crowd->at_once, 1) + 1;
	uint32_t most = crowd_get(&crowd->at_once_max);

	/* Relaxed: a time and a maximum, read when all is over. */
	(void)atomic_compare_exchange_strong_explicit(&crowd->first_call_us,
	    &none, scene_now_us(), memory_order_relaxed,
	    memory_order_relaxed);
	while (now > most && !atomic_compare_exchange_weak_explicit(
	    &crowd->at_once_max, &most, now, memory_order_relaxed,
	    memory_order_relaxed)) {
	}
	(void)crowd_add(&crowd->calls, 1);
	crowd_pause_ms(ms);
	(void)crowd_add(&crowd->at_once, (uint32_t)-1);
}

/*
 * How many hold at one moment: a count during which one let go and another
 * took over, who is seen as well, is made again.  Who lets go says so before
 * it gives its permit back.
 */
static uint32_t
count_holders(const struct crowd *crowd)
{
	uint32_t before, count;

	do {
		before = crowd_get(&crowd->turns);
		count = 0;
		for (uint32_t i = 0; i < CROWD_MAX; i++) {
			count += crowd_get(&crowd->member[i].holds) != 0 &&
			    crowd_get(&crowd->member[i].doomed) == 0;
		}
	} while (crowd_get(&crowd->turns) != before);
	return count;
}

void
crowd_hold(struct crowd *crowd, uint32_t number, bool holds)
{
	uint32_t most = crowd_get(&crowd->most);

	crowd_set(&crowd->member[number].holds, holds);
	(void)crowd_add(&crowd->turns, 1);
	if (holds && most != 0 && count_holders(crowd) > most) {
		(void)crowd_add(&crowd->over, 1);
	}
}

uint64_t
crowd_origin_number(const struct crowd_stage *stage, const char *member)
{
	static char text[TEXT_BYTES];
	const char *at;

	if (!scene_ctl(&stage->scene, "origins default", text,
	    sizeof(text))) {
		return UINT64_MAX;
	}
	at = strstr(text, member);
	return at == NULL ? UINT64_MAX :
	    strtoull(at + strlen(member), NULL, 10);
}

/* What a poll is about. */
struct wanted {
	const struct crowd_stage *stage;
	const char	*name;
	uint64_t	value;
};

static bool
counter_is_there(void *argument)
{
	const struct wanted *wanted = argument;
	uint64_t value = scene_counter(&wanted->stage->scene, wanted->name);

	return value != UINT64_MAX && value >= wanted->value;
}

bool
crowd_wait_counter(const struct crowd_stage *stage, const char *name,
    uint64_t least)
{
	struct wanted wanted = { stage, name, least };

	return wait_until(counter_is_there, &wanted, DEADLINE_MS);
}

static bool
origin_is_there(void *argument)
{
	const struct wanted *wanted = argument;

	return crowd_origin_number(wanted->stage, wanted->name) ==
	    wanted->value;
}

bool
crowd_wait_origin(const struct crowd_stage *stage, const char *member,
    uint64_t value)
{
	struct wanted wanted = { stage, member, value };

	return wait_until(origin_is_there, &wanted, DEADLINE_MS);
}

const char *crowd_key = "key";

int
crowd_compute(void *arg, struct weir_computed *computed)
{
	struct crowd *crowd = arg;

	crowd_call(crowd, CROWD_COMPUTE_MS);
	computed->value = "value";
	computed->length = 5;
	return WEIR_OK;
}

int
crowd_fetch(struct crowd_stage *stage, struct weir *handle, uint32_t number,
    const struct weir_fetch_options *options, weir_compute_fn fn)
{
	struct crowd_member *member = &stage->crowd->member[number];
	struct weir_fetched fetched = { 0 };
	char value[64];
	int result = weir_fetch(handle, crowd_key, strlen(crowd_key), value,
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

uint32_t
crowd_count(const struct crowd_stage *stage, uint32_t first, uint32_t count,
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
