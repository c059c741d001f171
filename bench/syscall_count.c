/* SPDX-License-Identifier: ISC */

/*
 * The traced child stops itself by a signal before and after its work; every
 * stop for a system call between the two is half of one.  What the signals
 * themselves cost is counted once with no work between, and taken off.
 */
#include "syscall_count.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define MARK		SIGUSR1
#define SYSCALL_STOP	(SIGTRAP | 0x80)	/* PTRACE_O_TRACESYSGOOD */
#define MARKS		2

static _Noreturn void
be_traced(void (*set_up)(void *argument), bool (*work)(void *argument),
    void *argument)
{
	bool fine;

	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) {
		_exit(1);
	}
	(void)raise(SIGSTOP);
	set_up(argument);
	(void)raise(MARK);
	fine = work == NULL || work(argument);
	(void)raise(MARK);
	_exit(fine ? 0 : 1);
}

/*
 * Follows the child to its end.  The signals are not passed on: they mark
 * and nothing else.
 */
static int64_t
follow(pid_t child)
{
	int64_t stops = 0;
	unsigned marks = 0;
	int status;

	while (waitpid(child, &status, 0) == child) {
		if (WIFEXITED(status)) {
			return WEXITSTATUS(status) == 0 && marks == MARKS ?
			    stops / 2 : -1;
		}
		if (WIFSIGNALED(status)) {
			return -1;
		}
		if (WSTOPSIG(status) == MARK) {
			marks++;
		} else if (WSTOPSIG(status) == SYSCALL_STOP) {
			stops += marks == 1;
		} else if (WSTOPSIG(status) == SIGSTOP) {
			(void)ptrace(PTRACE_SETOPTIONS, child, NULL,
			    (void *)(PTRACE_O_TRACESYSGOOD |
			    PTRACE_O_EXITKILL));
		} else {
			/* A fault of the child's own ends it. */
			(void)kill(child, SIGKILL);
		}
		if (ptrace(marks == 1 ? PTRACE_SYSCALL : PTRACE_CONT, child,
		    NULL, NULL) != 0) {
			(void)kill(child, SIGKILL);
		}
	}
	return -1;
}

static int64_t
count(void (*set_up)(void *argument), bool (*work)(void *argument),
    void *argument)
{
	pid_t child = fork();

	if (child == 0) {
		be_traced(set_up, work, argument);
	}
	return child < 0 ? -1 : follow(child);
}

int64_t
syscall_count(void (*set_up)(void *argument), bool (*work)(void *argument),
    void *argument)
{
	int64_t marks = count(set_up, NULL, argument);
	int64_t all = count(set_up, work, argument);

	return marks < 0 || all < 0 ? -1 : all - marks;
}
