/* SPDX-License-Identifier: ISC */

/*
 * What every child does before its own code: it gives up what it is not to
 * have.  Descriptors that heritage.h does not name are closed, so that one
 * opened by a library in the supervisor cannot be reached from a worker.
 */
#include "child.h"

#include <bsd/unistd.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"

/* Standard streams, two of each pool, three sockets. */
#define KEPT_MAX	(3 + 2 * CONFIG_POOLS_MAX + 3 + WORKERS_MAX)

const char *
child_name(const struct heritage *heritage, uint32_t index, char *out,
    size_t room)
{
	if (index == heritage->config.workers) {
		(void)snprintf(out, room, "keeper");
	} else {
		(void)snprintf(out, room, "worker-%u", index);
	}
	return out;
}

static int
compare_fds(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static void
close_others(const struct heritage *heritage)
{
	int kept[KEPT_MAX] = { STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO };
	size_t count = 3;
	int next = 0;

	for (uint32_t i = 0; i < heritage->config.pool_count; i++) {
		kept[count++] = heritage->pools[i].segment.fd;
		kept[count++] = heritage->pools[i].private_segment.fd;
	}
	kept[count++] = heritage->client_socket;
	kept[count++] = heritage->admin_socket;
	kept[count++] = heritage->http_socket;
	for (uint32_t i = 0; i < heritage->config.workers; i++) {
		kept[count++] = heritage->wake_fds[i];
	}
	qsort(kept, count, sizeof(kept[0]), compare_fds);
	for (size_t i = 0; i < count; i++) {
		if (kept[i] > next) {
			/* There may be none open in between. */
			(void)close_range((unsigned)next,
			    (unsigned)kept[i] - 1, 0);
		}
		if (kept[i] >= next) {
			next = kept[i] + 1;
		}
	}
	(void)close_range((unsigned)next, ~0u, 0);
}

/*
 * Nothing of the supervisor's handling is left.  What is meant for the
 * supervisor alone, though a terminal sends it to all, does nothing; what the
 * supervisor sends waits until the child is prepared for it.
 */
static void
reset_signals(void)
{
	static const int ignored[] = {
		SIGHUP, SIGINT, SIGPIPE, SIGUSR1,
	};
	struct sigaction action = { .sa_handler = SIG_DFL };
	sigset_t waiting;

	for (int i = 1; i < NSIG; i++) {
		/* SIGKILL, SIGSTOP and the libc's own refuse. */
		(void)sigaction(i, &action, NULL);
	}
	action.sa_handler = SIG_IGN;
	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++) {
		(void)sigaction(ignored[i], &action, NULL);
	}
	(void)sigemptyset(&waiting);
	(void)sigaddset(&waiting, SIGTERM);
	(void)sigaddset(&waiting, SIGUSR2);
	(void)sigprocmask(SIG_SETMASK, &waiting, NULL);
}

static int
run_child(struct heritage *heritage, uint32_t index,
    const struct privilege_identity *identity, pid_t parent)
{
	bool keeper = index == heritage->config.workers;
	char name[32];

	reset_signals();
	close_others(heritage);
	log_set_process(child_name(heritage, index, name, sizeof(name)));
	if (keeper) {
		setproctitle("keeper");
	} else {
		setproctitle("worker %u", index);
	}
	if (privilege_drop_child(identity, parent) < 0) {
		if (errno != ESRCH) {
			log_line(LOG_LEVEL_ERROR, "privilege_drop_failed",
			    "uid=%u gid=%u error=\"%s\"", identity->uid,
			    identity->gid, strerror(errno));
		}
		return EXIT_FAILURE;
	}
	for (uint32_t i = 0; i < heritage->config.pool_count; i++) {
		pool_become_worker(&heritage->pools[i], index);
	}
	heritage->process = index;
	/* Relaxed: the supervisor's own store came before the fork. */
	heritage->incarnation = atomic_load_explicit(
	    &heritage->control->processes[index].incarnation,
	    memory_order_relaxed);
	return keeper ? keeper_main(heritage) : worker_main(heritage);
}

pid_t
child_start(struct heritage *heritage, uint32_t index,
    const struct privilege_identity *identity)
{
	pid_t parent = getpid();
	pid_t pid = fork();
	int status;

	if (pid != 0) {
		return pid;
	}
	status = run_child(heritage, index, identity, parent);
	log_flush();
	/* Not exit(): what the supervisor registered there is not ours. */
	_exit(status);
}
