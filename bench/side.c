/* SPDX-License-Identifier: ISC */

/*
 * Orders and answers over a pair of sockets.
 */
#include "side.h"

#include "measure.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATH_BYTES	4096

static bool
receive(int fd, void *buffer, size_t bytes)
{
	ssize_t got;

	do {
		got = recv(fd, buffer, bytes, MSG_WAITALL);
	} while (got < 0 && errno == EINTR);
	return got == (ssize_t)bytes;
}

/* The child answers 0; it dies with its parent and stays on its core. */
static pid_t
start(struct side *side, unsigned core, int *child_fd)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
		return -1;
	}
	/* The child must not print again what is in the parent's buffer. */
	(void)fflush(NULL);
	side->fd = pair[0];
	side->pid = fork();
	if (side->pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)measure_pin_core(core);
		close(pair[0]);
		*child_fd = pair[1];
		return 0;
	}
	close(pair[1]);
	if (side->pid < 0) {
		close(pair[0]);
	}
	return side->pid;
}

bool
side_fork(struct side *side, unsigned core, side_body_fn *body,
    void *argument)
{
	int fd = -1;
	pid_t pid = start(side, core, &fd);

	if (pid == 0) {
		body(argument, fd);
		_exit(0);
	}
	return pid > 0;
}

static void
execute(const char *name, int orders_fd, int given_fd)
{
	char path[PATH_BYTES];
	ssize_t length = readlink("/proc/self/exe", path,
	    sizeof(path) - strlen(name) - 1);
	char *slash;
	/* Above both places, so that neither is overwritten before its turn. */
	int orders = fcntl(orders_fd, F_DUPFD_CLOEXEC, SIDE_GIVEN_FD + 1);
	int given = fcntl(given_fd, F_DUPFD_CLOEXEC, SIDE_GIVEN_FD + 1);

	if (length <= 0 || dup2(orders, SIDE_ORDERS_FD) < 0 ||
	    dup2(given, SIDE_GIVEN_FD) < 0) {
		return;
	}
	path[length] = '\0';
	slash = strrchr(path, '/');
	if (slash != NULL) {
		(void)strcpy(slash + 1, name);
		(void)execl(path, name, "--serve", (char *)NULL);
	}
}

bool
side_exec(struct side *side, unsigned core, const char *name, int given_fd)
{
	int fd = -1;
	pid_t pid = start(side, core, &fd);

	if (pid == 0) {
		execute(name, fd, given_fd);
		_exit(1);
	}
	return pid > 0;
}

void
side_serve(int fd, side_run_fn *run, void *argument)
{
	uint32_t order;

	while (receive(fd, &order, sizeof(order))) {
		double figure = run(argument, order);

		if (send(fd, &figure, sizeof(figure), MSG_NOSIGNAL) !=
		    (ssize_t)sizeof(figure)) {
			return;
		}
	}
}

void
side_send(const struct side *side, uint32_t order)
{
	/* A side that died shows in its answer. */
	(void)send(side->fd, &order, sizeof(order), MSG_NOSIGNAL);
}

double
side_answer(const struct side *side)
{
	double figure;

	return receive(side->fd, &figure, sizeof(figure)) ? figure :
	    (double)NAN;
}

double
side_ask(const struct side *side, uint32_t order)
{
	side_send(side, order);
	return side_answer(side);
}

double
side_ask_all(const struct side *sides, size_t count, uint32_t order)
{
	double per_ns = 0;

	for (size_t i = 0; i < count; i++) {
		side_send(&sides[i], order);
	}
	for (size_t i = 0; i < count; i++) {
		per_ns += 1 / side_answer(&sides[i]);
	}
	return 1 / per_ns;
}

void
side_stop(struct side *side)
{
	if (side->pid > 0) {
		/* Closing alone would not do: later sides hold copies. */
		(void)shutdown(side->fd, SHUT_RDWR);
		close(side->fd);
		(void)waitpid(side->pid, NULL, 0);
		side->pid = 0;
	}
}
