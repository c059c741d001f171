/* SPDX-License-Identifier: ISC */

/*
 * Starting, filling, moving and stopping of peers.
 */
#include "peer.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A server that does not answer after that long is taken for broken. */
#define START_TRIES	2500
#define START_PAUSE_NS	2000000

static pid_t
start_server(const struct peer *p)
{
	pid_t pid = fork();
	int null;

	if (pid != 0) {
		return pid;
	}
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	null = open("/dev/null", O_RDWR);
	/* What a server prints would stand in the report. */
	(void)dup2(null, STDIN_FILENO);
	(void)dup2(null, STDOUT_FILENO);
	(void)dup2(null, STDERR_FILENO);
	p->ops->execute(p->folder);
	_exit(127);
}

static void *
wait_for_server(struct peer *p)
{
	const struct timespec pause = { .tv_nsec = START_PAUSE_NS };

	for (unsigned i = 0; i < START_TRIES; i++) {
		void *handle = p->ops->open(p->folder, true);

		if (handle != NULL) {
			return handle;
		}
		if (p->server == 0 ||
		    waitpid(p->server, NULL, WNOHANG) == p->server) {
			p->server = 0;
			return NULL;
		}
		(void)nanosleep(&pause, NULL);
	}
	return NULL;
}

static bool
store_all(const struct peer *p, void *handle)
{
	static uint8_t value[WORKLOAD_VALUE_MAX];
	char key[WORKLOAD_KEY_BYTES + 1];

	for (uint32_t number = 0; number < p->w->key_count; number++) {
		workload_make_key(key, number);
		workload_make_value(p->w, value, number);
		if (!p->ops->store(handle, key, value, p->w->value_bytes)) {
			return false;
		}
	}
	return p->ops->finish(handle);
}

struct client {
	void		*handle;
	const struct peer *peer;
};

static double
run(void *client, uint32_t order)
{
	const struct client *c = client;

	return workload_pass(c->peer->w, order, c->peer->ops->get, c->handle);
}

static void
serve_client(void *peer, int fd)
{
	struct client client = { .peer = peer };

	client.handle = client.peer->ops->open(client.peer->folder, false);
	if (client.handle != NULL) {
		side_serve(fd, run, &client);
	}
}

const char *
peer_start(struct peer *p, const struct peer_ops *ops,
    const struct workload *w, const char *folder)
{
	void *handle;

	memset(p, 0, sizeof(*p));
	p->ops = ops;
	p->w = w;
	p->folder = folder;
	if (ops->open == NULL) {
		return "built without its client library";
	}
	if (ops->execute != NULL) {
		p->server = start_server(p);
	}
	handle = wait_for_server(p);
	if (handle == NULL) {
		peer_stop(p);
		return "it is not installed or does not start";
	}
	ops->version(handle, p->version, sizeof(p->version));
	if (!store_all(p, handle)) {
		peer_stop(p);
		return "it does not store the workload";
	}
	if (!side_fork(&p->client, 0, serve_client, p)) {
		peer_stop(p);
		return "no process for its client";
	}
	return NULL;
}

void
peer_move_server(const struct peer *p, unsigned core)
{
	char path[64];
	DIR *tasks;
	const struct dirent *entry;
	cpu_set_t before, one;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)p->server);
	tasks = p->server == 0 ? NULL : opendir(path);
	if (tasks == NULL) {
		return;
	}
	/* Which core is the nth, measure.h knows: ask it by going there. */
	(void)sched_getaffinity(0, sizeof(before), &before);
	(void)measure_pin_core(core);
	(void)sched_getaffinity(0, sizeof(one), &one);
	(void)sched_setaffinity(0, sizeof(before), &before);
	while ((entry = readdir(tasks)) != NULL) {
		int task = atoi(entry->d_name);

		if (task > 0) {
			(void)sched_setaffinity(task, sizeof(one), &one);
		}
	}
	closedir(tasks);
}

void
peer_stop(struct peer *p)
{
	side_stop(&p->client);
	if (p->server > 0) {
		(void)kill(p->server, SIGKILL);
		(void)waitpid(p->server, NULL, 0);
		p->server = 0;
	}
}
