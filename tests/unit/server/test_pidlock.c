/* SPDX-License-Identifier: ISC */

#include "pidlock.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static char path[] = "/tmp/weir-test-XXXXXX";

static void
make_file(void)
{
	int fd = mkstemp(path);

	cr_assert_geq(fd, 0);
	close(fd);
}

static void
remove_file(void)
{
	cr_assert_eq(unlink(path), 0);
}

/* In another process: does it get the lock, and whom does it see? */
static bool
other_sees(enum result expected, pid_t holder)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		pid_t seen = 0;
		int fd;
		enum result result = pidlock_acquire(path, &fd, &seen);

		_exit(result == expected &&
		    (result != BUSY || seen == holder) ? 0 : 1);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	return status == 0;
}

Test(pidlock, a_second_process_learns_who_holds_it, .init = make_file,
    .fini = remove_file)
{
	pid_t holder;
	int fd;

	cr_assert_eq(pidlock_acquire(path, &fd, &holder), OK);
	cr_assert(other_sees(BUSY, getpid()));
	close(fd);
	cr_assert(other_sees(OK, 0));
}

Test(pidlock, a_dead_holder_holds_nothing, .init = make_file,
    .fini = remove_file)
{
	pid_t holder;
	int fd;

	cr_assert(other_sees(OK, 0));
	cr_assert_eq(pidlock_acquire(path, &fd, &holder), OK);
}

Test(pidlock, a_directory_that_is_missing_is_told)
{
	pid_t holder;
	int fd;

	cr_assert_eq(pidlock_acquire("/nonexistent/lock", &fd, &holder),
	    SYSTEM);
	cr_assert_eq(errno, ENOENT);
}
