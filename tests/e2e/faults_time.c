/* SPDX-License-Identifier: ISC */

/*
 * Time that stands, jumps and passes: the wall clock is set back and forth,
 * the supervisor is stopped, nobody does anything.  And what a hit takes:
 * no system call, no allocation.
 */
#include "scene.h"

#include "wait_until.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define YEARS_S(years)	((int64_t)(years) * 366 * 86400)
#define TTL_MS		600000u
#define SOFT_TTL_MS	300000u
/* A jump of the wall clock would move them by years. */
#define TTL_SLACK_MS	60000u
/* A reader's clock may be so much behind the writer's, see clock.h. */
#define TICK_MS		10u
#define HITS		1000000u
/* Of a million; the hit's clock is read without one. */
#define CALLS_PER_MILLION	10u
/* A hit's count is full after 3 hints. */
#define HITS_BEFORE	1000u

/*
 * In the place of the libc's, which are still there by these names: what
 * this program allocates is counted.
 */
void	*__libc_malloc(size_t size);
void	*__libc_calloc(size_t count, size_t size);
void	*__libc_realloc(void *old, size_t size);

static _Atomic uint64_t allocations;

static void
count_allocation(void)
{
	/* Relaxed: a count. */
	atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
}

void *
malloc(size_t size)
{
	count_allocation();
	return __libc_malloc(size);
}

void *
calloc(size_t count, size_t size)
{
	count_allocation();
	return __libc_calloc(count, size);
}

void *
realloc(void *old, size_t size)
{
	count_allocation();
	return __libc_realloc(old, size);
}

/* ---- the wall clock ---- */

static bool
is_about(uint64_t left_ms, uint64_t ttl_ms)
{
	return left_ms <= ttl_ms + TICK_MS &&
	    left_ms > ttl_ms - TTL_SLACK_MS;
}

/* A short one ends by time that passes, not by the clock's. */
static const char *
let_one_expire(struct weir *handle)
{
	struct weir_set_options options = WEIR_SET_OPTIONS_INIT;
	uint64_t end_us = scene_now_us() + 5000000;
	int result;

	options.ttl_ms = 1;
	if (weir_set(handle, "short", 5, "v", 1, &options, NULL) != WEIR_OK) {
		return "a short one is not stored";
	}
	do {
		result = weir_get(handle, "short", 5, NULL, 0, NULL, NULL);
	} while (result != WEIR_MISS && scene_now_us() < end_us);
	return result == WEIR_MISS ? NULL : "a short one does not end";
}

/* NULL, or what is wrong. */
static const char *
judge_ttls(struct weir *handle, int64_t shift)
{
	struct weir_set_options options = WEIR_SET_OPTIONS_INIT;
	struct weir_info info = { 0 };
	char value[8];

	options.ttl_ms = TTL_MS;
	options.soft_ttl_ms = SOFT_TTL_MS;
	if (weir_get(handle, "before", 6, value, sizeof(value), NULL,
	    &info) != WEIR_OK || !is_about(info.ttl_ms, TTL_MS) ||
	    !is_about(info.soft_ttl_ms, SOFT_TTL_MS) ||
	    info.age_ms > TTL_SLACK_MS) {
		return "one from before the jump has moved";
	}
	if (weir_set(handle, &shift, sizeof(shift), "v", 1, &options,
	    NULL) != WEIR_OK) {
		return "one after the jump is not stored";
	}
	if (weir_get(handle, &shift, sizeof(shift), value, sizeof(value),
	    NULL, &info) != WEIR_OK || !is_about(info.ttl_ms, TTL_MS) ||
	    info.age_ms > TTL_SLACK_MS) {
		return "one after the jump has moved";
	}
	return let_one_expire(handle);
}

static void
set_wall_clock(struct plain_test *test, _Atomic int64_t *shift)
{
	static const int64_t shifts[] = {
		YEARS_S(10), -YEARS_S(10), YEARS_S(30), 1, -1, 0,
	};
	struct scene scene = { .memory = "8M", .workers = 1 };
	struct weir_set_options options = WEIR_SET_OPTIONS_INIT;
	time_t now = time(NULL);
	struct weir *handle;
	const char *wrong = "the daemon does not start";
	size_t at = 0;

	if (scene_start(&scene)) {
		wrong = NULL;
	}
	handle = scene_open(&scene);
	options.ttl_ms = TTL_MS;
	options.soft_ttl_ms = SOFT_TTL_MS;
	if (wrong == NULL && weir_set(handle, "before", 6, "v", 1, &options,
	    NULL) != WEIR_OK) {
		wrong = weir_detail(handle);
	}
	while (wrong == NULL && at < sizeof(shifts) / sizeof(shifts[0])) {
		/* Any order will do: a number by itself. */
		atomic_store(shift, shifts[at]);
		wrong = llabs((long long)(time(NULL) - now - shifts[at])) <=
		    60 ? judge_ttls(handle, shifts[at]) :
		    "the wall clock was not set";
		at += wrong == NULL;
	}
	plain_check(test, "wall_clock_moves_no_ttl", wrong == NULL,
	    "jump %zu: %s", at, wrong);
	atomic_store(shift, 0);
	weir_close(handle);
	(void)scene_end(&scene);
}

static void
wall_clock(struct plain_test *test)
{
	int fd = open(getenv("WEIR_TEST_WALL"), O_RDWR | O_CLOEXEC);
	void *map = MAP_FAILED;

	if (fd >= 0 && ftruncate(fd, sizeof(int64_t)) == 0) {
		map = mmap(NULL, sizeof(int64_t), PROT_READ | PROT_WRITE,
		    MAP_SHARED, fd, 0);
	}
	if (map == MAP_FAILED) {
		plain_fail(test, "wall_clock_moves_no_ttl",
		    "run the script, it prepares the clock");
		return;
	}
	set_wall_clock(test, map);
	(void)munmap(map, sizeof(int64_t));
	(void)close(fd);
}

/* ---- the supervisor stands still ---- */

static void
stop_supervisor(struct plain_test *test, const struct scene *scene)
{
	uint64_t end_us = scene_now_us() + plain_amount(test, 2, 30) *
	    1000000;
	struct weir *handle = scene_open(scene);
	uint64_t hits = 0;
	uint64_t misses = 0;
	uint64_t slowest_us = 0;
	bool stored = weir_set(handle, "key", 3, "value", 5, NULL, NULL) ==
	    WEIR_OK;
	char value[8];

	(void)kill(scene->pid, SIGSTOP);
	stored = wait_until_stopped(scene->pid, SCENE_DEADLINE_MS) && stored;
	while (scene_now_us() < end_us) {
		uint64_t start_us = scene_now_us();

		if (weir_get(handle, "key", 3, value, sizeof(value), NULL,
		    NULL) == WEIR_OK) {
			hits++;
		} else {
			misses++;
		}
		start_us = scene_now_us() - start_us;
		slowest_us = start_us > slowest_us ? start_us : slowest_us;
	}
	/* Workers need it no more than readers do. */
	stored = weir_set(handle, "key", 3, "other", 5, NULL, NULL) ==
	    WEIR_OK && stored;
	(void)kill(scene->pid, SIGCONT);
	plain_check(test, "hits_go_on_while_the_supervisor_stands_still",
	    stored && misses == 0 && hits > 0 &&
	    slowest_us < SCENE_LATENCY_MAX_US,
	    "stored %d, hits %lu, misses %lu, slowest %lu us", stored, hits,
	    misses, slowest_us);
	weir_close(handle);
	/* It is at work again, and let everybody live. */
	plain_check(test, "supervisor_goes_on_after_a_stop",
	    scene_counter(scene, "sets") == 2, "no answer, or not 2 sets");
}

/* ---- nobody does anything ---- */

static uint64_t
switches(pid_t pid)
{
	return scene_status_number(pid, "\nvoluntary_ctxt_switches:");
}

static bool
time_is_over(void *argument)
{
	return scene_now_us() >= *(uint64_t *)argument;
}

static void
be_idle(struct plain_test *test, const struct scene *scene)
{
	/* What was read and written before has its busy second. */
	uint64_t settle_us = scene_now_us() + 3000000;
	uint64_t span_s = plain_amount(test, 4, 30);
	pid_t pids[3] = {
		scene->pid, scene_child(scene, "worker 0"),
		scene_child(scene, "keeper"),
	};
	uint64_t from[3], to[3], end_us;

	(void)wait_until(time_is_over, &settle_us, SCENE_DEADLINE_MS);
	end_us = scene_now_us() + span_s * 1000000;
	for (size_t i = 0; i < 3; i++) {
		from[i] = switches(pids[i]);
	}
	(void)wait_until(time_is_over, &end_us, 2 * SCENE_DEADLINE_MS);
	for (size_t i = 0; i < 3; i++) {
		to[i] = switches(pids[i]) - from[i];
	}
	/* One more for where the span begins. */
	plain_check(test, "idle_daemon_wakes_once_a_second", from[0] > 0 &&
	    to[0] <= span_s + 1 && to[1] <= span_s + 1 && to[2] <= span_s + 1,
	    "in %lu s: supervisor %lu, worker %lu, keeper %lu", span_s, to[0],
	    to[1], to[2]);
}

/* ---- what a hit takes ---- */

struct hits {
	const struct scene *scene;
	uint64_t	count;
};

/* A child that stops itself around its hits; exit 0: all were hits. */
static _Noreturn void
hit_traced(const struct hits *hits)
{
	struct weir *handle = scene_open(hits->scene);
	bool fine = weir_set(handle, "hit", 3, "value", 5, NULL, NULL) ==
	    WEIR_OK;
	uint64_t before;
	char value[8];

	for (unsigned i = 0; i < HITS_BEFORE; i++) {
		fine = weir_get(handle, "hit", 3, value, sizeof(value), NULL,
		    NULL) == WEIR_OK && fine;
	}
	(void)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	(void)raise(SIGSTOP);
	/* Relaxed: this is the only thread. */
	before = atomic_load_explicit(&allocations, memory_order_relaxed);
	for (uint64_t i = 0; i < hits->count; i++) {
		fine = weir_get(handle, "hit", 3, value, sizeof(value), NULL,
		    NULL) == WEIR_OK && fine;
	}
	if (atomic_load_explicit(&allocations, memory_order_relaxed) !=
	    before) {
		_exit(2);
	}
	_exit(fine ? 0 : 1);
}

/* Its stops for system calls, until it ends; -1: it cannot be traced. */
static int64_t
count_calls(pid_t pid, int *status)
{
	int64_t stops = 0;

	if (waitpid(pid, status, 0) != pid || !WIFSTOPPED(*status)) {
		return -1;
	}
	(void)ptrace(PTRACE_SETOPTIONS, pid, NULL,
	    (void *)(PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL));
	for (;;) {
		if (ptrace(PTRACE_SYSCALL, pid, NULL, NULL) < 0 ||
		    waitpid(pid, status, 0) != pid) {
			return -1;
		}
		if (WIFEXITED(*status) || WIFSIGNALED(*status)) {
			/* The exit itself is a stop that does not return. */
			return stops / 2;
		}
		stops += WSTOPSIG(*status) == (SIGTRAP | 0x80);
	}
}

static void
count_a_hit(struct plain_test *test, const struct scene *scene)
{
	struct hits hits = { .scene = scene, .count = HITS };
	int status = -1;
	pid_t pid = fork();
	int64_t calls;

	if (pid == 0) {
		hit_traced(&hits);
	}
	calls = count_calls(pid, &status);
	if (calls < 0) {
		plain_skip(test, "hit_makes_no_system_call",
		    "tracing is not allowed");
		return;
	}
	plain_check(test, "hit_makes_no_system_call", WIFEXITED(status) &&
	    WEXITSTATUS(status) != 1 && calls <= CALLS_PER_MILLION,
	    "%ld in %u hits, status %#x", (long)calls, HITS,
	    (unsigned)status);
	plain_check(test, "hit_allocates_nothing", WIFEXITED(status) &&
	    WEXITSTATUS(status) == 0 && allocations > 0, "status %#x, %lu "
	    "allocations seen at all", (unsigned)status, allocations);
}

int
main(int argc, char **argv)
{
	struct plain_test test;
	struct scene scene = { .memory = "8M", .workers = 1 };

	plain_start(&test, argc, argv);
	/* The others in the clock as it is, without the detour. */
	if (getenv("WEIR_TEST_WALL") != NULL) {
		wall_clock(&test);
		return plain_end(&test);
	}
	if (!scene_start(&scene)) {
		plain_fail(&test, "time", "the daemon does not start");
		return plain_end(&test);
	}
	stop_supervisor(&test, &scene);
	be_idle(&test, &scene);
	count_a_hit(&test, &scene);
	scene_check_clean(&test, &scene, "segment_is_sound_after_time");
	(void)scene_end(&scene);
	return plain_end(&test);
}
