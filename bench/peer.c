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

/*
 * A server that does not answer after 30 s is taken for broken: memory that
 * a machine has not used before comes slowly, and pools take theirs at once.
 */
#define START_TRIES	15000
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
	p->ops->execute(p);
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
	const struct peer_ops *ops = c->peer->ops;

	return (order & WORKLOAD_SETS) != 0 ?
	    workload_set_pass(c->peer->w, order, ops->set, c->handle) :
	    workload_pass(c->peer->w, order, ops->get, c->handle);
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

bool
peer_start_client(struct peer *p, struct side *side, unsigned core)
{
	return side_fork(side, core, serve_client, p);
}

/* What it says of itself, with a handle of its own. */
static uint64_t
count_bytes(const struct peer *p)
{
	void *handle = p->ops->count_bytes == NULL ? NULL :
	    p->ops->open(p->folder, true);
	uint64_t bytes = 0;

	if (handle != NULL && !p->ops->count_bytes(handle, &bytes)) {
		bytes = 0;
	}
	return handle != NULL && p->ops->finish(handle) ? bytes : 0;
}

/* The server answers: a handle to it.  NULL: *why says what is wrong. */
static void *
launch(struct peer *p, const struct peer_ops *ops, const struct workload *w,
    const char *folder, const char **why)
{
	void *handle;

	*p = (struct peer){
		.memory_bytes = p->memory_bytes,
		.config_path = p->config_path,
		.ops = ops,
		.w = w,
		.folder = folder,
	};
	if (ops->open == NULL) {
		*why = "built without its client library";
		return NULL;
	}
	if (ops->execute != NULL) {
		p->server = start_server(p);
	}
	handle = wait_for_server(p);
	if (handle == NULL) {
		peer_stop(p);
		*why = "it is not installed or does not start";
		return NULL;
	}
	ops->version(handle, p->version, sizeof(p->version));
	return handle;
}

const char *
peer_start(struct peer *p, const struct peer_ops *ops,
    const struct workload *w, const char *folder)
{
	const char *why = NULL;
	void *handle = launch(p, ops, w, folder, &why);

	if (handle == NULL) {
		return why;
	}
	p->bytes_empty = count_bytes(p);
	if (!store_all(p, handle)) {
		peer_stop(p);
		return "it does not store the workload";
	}
	p->bytes_filled = count_bytes(p);
	if (!peer_start_client(p, &p->client, 0)) {
		peer_stop(p);
		return "no process for its client";
	}
	return NULL;
}

const char *
peer_start_empty(struct peer *p, const struct peer_ops *ops,
    const char *folder)
{
	const char *why = NULL;
	void *handle = launch(p, ops, NULL, folder, &why);

	if (handle != NULL && !ops->finish(handle)) {
		peer_stop(p);
		why = "it does not answer";
	}
	return why;
}

static void	move_process(pid_t pid, const cpu_set_t *to);

/* One thread, and the children that it has. */
static void
move_task(pid_t pid, const char *task, const cpu_set_t *to)
{
	char path[64];
	FILE *children;
	int child;

	(void)sched_setaffinity(atoi(task), sizeof(*to), to);
	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children",
	    (int)pid, atoi(task));
	children = fopen(path, "re");
	while (children != NULL && fscanf(children, "%d", &child) == 1) {
		move_process(child, to);
	}
	if (children != NULL) {
		fclose(children);
	}
}

static void
move_process(pid_t pid, const cpu_set_t *to)
{
	char path[64];
	DIR *tasks;
	const struct dirent *entry;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	tasks = opendir(path);
	while (tasks != NULL && (entry = readdir(tasks)) != NULL) {
		if (atoi(entry->d_name) > 0) {
			move_task(pid, entry->d_name, to);
		}
	}
	if (tasks != NULL) {
		closedir(tasks);
	}
}

void
peer_move_server(const struct peer *p, unsigned core)
{
	cpu_set_t before, to;

	if (p->server == 0) {
		return;
	}
	/* Which core is the nth, measure.h knows: ask it by going there. */
	(void)sched_getaffinity(0, sizeof(before), &before);
	to = before;
	if (core != PEER_ANY_CORE) {
		(void)measure_pin_core(core);
		(void)sched_getaffinity(0, sizeof(to), &to);
		(void)sched_setaffinity(0, sizeof(before), &before);
	}
	move_process(p->server, &to);
}

/* A server has children and files to clear away, if it is let. */
static bool
stops_in_time(pid_t server)
{
	const struct timespec pause = { .tv_nsec = START_PAUSE_NS };

	(void)kill(server, SIGTERM);
	for (unsigned i = 0; i < START_TRIES; i++) {
		if (waitpid(server, NULL, WNOHANG) == server) {
			return true;
		}
		(void)nanosleep(&pause, NULL);
	}
	return false;
}

void
peer_stop(struct peer *p)
{
	side_stop(&p->client);
	if (p->server > 0 && !stops_in_time(p->server)) {
		(void)kill(p->server, SIGKILL);
		(void)waitpid(p->server, NULL, 0);
	}
	p->server = 0;
}
