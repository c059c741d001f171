/* SPDX-License-Identifier: ISC */

#include "wait_until.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* Long beside any hold-up of the machine. */
#define LONG_MS		20000

static bool
count_down(void *argument)
{
	int *left = argument;

	return --*left == 0;
}

static bool
never(void *argument)
{
	(void)argument;
	return false;
}

Test(wait_until, looks_again_until_it_is_so)
{
	int left = 5;

	cr_assert(wait_until(count_down, &left, LONG_MS));
	cr_assert_eq(left, 0);
}

Test(wait_until, gives_up_at_the_deadline)
{
	cr_assert_not(wait_until(never, NULL, 5));
}

Test(wait_until, reaps_a_child_and_tells_its_status)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		_exit(7);
	}
	cr_assert(wait_until_exit(child, LONG_MS, &status));
	cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

Test(wait_until, kills_a_child_that_does_not_end)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		for (;;) {
			pause();
		}
	}
	cr_assert_not(wait_until_exit(child, 5, &status));
	cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

Test(wait_until, sees_a_stopped_child)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		for (;;) {
			pause();
		}
	}
	cr_assert_not(wait_until_stopped(child, 5));
	(void)kill(child, SIGSTOP);
	cr_assert(wait_until_stopped(child, LONG_MS));
	(void)kill(child, SIGKILL);
	cr_assert(wait_until_exit(child, LONG_MS, &status));
}
