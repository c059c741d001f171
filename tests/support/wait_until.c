/* SPDX-License-Identifier: ISC */

/*
 * The polling loop of tests, over CLOCK_MONOTONIC.
 */
#include "wait_until.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

/* Short beside any deadline, long beside what a look costs. */
#define LOOK_EVERY_NS	100000

#define NS_PER_MS	1000000
#define NS_PER_S	1000000000

struct word_wait {
	const _Atomic uint32_t	*word;
	uint32_t		value;
};

struct exit_wait {
	pid_t	child;
	int	status;
	bool	reaped;
};

static int64_t
now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

static bool
word_has_value(void *argument)
{
	const struct word_wait *wait = argument;

	/* Acquire: what was written before the word is seen after it. */
	return atomic_load_explicit(wait->word, memory_order_acquire) ==
	    wait->value;
}

static bool
child_is_reaped(void *argument)
{
	struct exit_wait *wait = argument;
	pid_t pid = waitpid(wait->child, &wait->status, WNOHANG);

	wait->reaped = pid == wait->child;
	return wait->reaped || (pid < 0 && errno != EINTR);
}

static bool
child_is_stopped(void *argument)
{
	const pid_t *child = argument;
	char path[64];
	char line[512];
	const char *state;
	FILE *file;
	bool read;

	(void)snprintf(path, sizeof(path), "/proc/%ld/stat", (long)*child);
	file = fopen(path, "re");
	if (file == NULL) {
		return true;
	}
	read = fgets(line, sizeof(line), file) != NULL;
	fclose(file);
	/* The state letter follows the name, which may hold brackets. */
	state = read ? strrchr(line, ')') : NULL;
	return state != NULL && state[1] == ' ' &&
	    strchr("TtZX", state[2]) != NULL;
}

bool
wait_until(wait_condition_fn *condition, void *argument, uint32_t deadline_ms)
{
	const struct timespec pause = { .tv_nsec = LOOK_EVERY_NS };
	int64_t end_ns = now_ns() + (int64_t)deadline_ms * NS_PER_MS;

	while (!condition(argument)) {
		if (now_ns() >= end_ns) {
			/* The machine may have held us up: one last look. */
			return condition(argument);
		}
		(void)nanosleep(&pause, NULL);
	}
	return true;
}

bool
wait_until_word(const _Atomic uint32_t *word, uint32_t value,
    uint32_t deadline_ms)
{
	struct word_wait wait = { .word = word, .value = value };

	return wait_until(word_has_value, &wait, deadline_ms);
}

bool
wait_until_exit(pid_t child, uint32_t deadline_ms, int *status)
{
	struct exit_wait wait = { .child = child };

	if (wait_until(child_is_reaped, &wait, deadline_ms)) {
		*status = wait.status;
		return wait.reaped;
	}
	(void)kill(child, SIGKILL);
	while (waitpid(child, status, 0) < 0 && errno == EINTR) {
		continue;
	}
	return false;
}

bool
wait_until_stopped(pid_t child, uint32_t deadline_ms)
{
	return wait_until(child_is_stopped, &child, deadline_ms);
}
