/* SPDX-License-Identifier: ISC */

/*
 * Starting a daemon and asking about it.  The test's first process calls.
 */
#include "scene.h"

#include "wait_until.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TEXT_BYTES	4096
#define OUTPUT_BYTES	65536
#define CHILDREN_MAX	80

uint64_t
scene_now_us(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static void
program_path(char *out, size_t size, const char *name)
{
	const char *build = getenv("BUILD");

	(void)snprintf(out, size, "%s/%s", build != NULL ? build : "build",
	    name);
}

/* A text of the kernel's; "" if it is not to be had. */
static void
read_proc(pid_t pid, const char *file, char *out, size_t size)
{
	char path[64];
	ssize_t length;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	length = fd < 0 ? -1 : read(fd, out, size - 1);
	if (fd >= 0) {
		(void)close(fd);
	}
	out[length > 0 ? length : 0] = '\0';
}

static _Noreturn void
become_daemon(const struct scene *scene, pid_t parent)
{
	char path[SCENE_PATH_BYTES * 4];
	char log[SCENE_PATH_BYTES + 8];
	char workers[16];
	int fd;

	program_path(path, sizeof(path), "weird");
	(void)snprintf(log, sizeof(log), "%s/log", scene->dir);
	(void)snprintf(workers, sizeof(workers), "%u", scene->workers);
	if (scene->uid != 0 && (setresgid(scene->uid, scene->uid,
	    scene->uid) < 0 || setresuid(scene->uid, scene->uid,
	    scene->uid) < 0)) {
		_exit(126);
	}
	/* After the change of user, which clears it. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (getppid() != parent || fd < 0 || dup2(fd, STDOUT_FILENO) < 0 ||
	    dup2(fd, STDERR_FILENO) < 0) {
		_exit(126);
	}
	(void)execl(path, "weird", "-s", scene->dir, "-a", "off", "-m",
	    scene->memory, "-w", workers, (char *)NULL);
	_exit(127);
}

bool
scene_can_run(const struct scene *scene)
{
	char path[SCENE_PATH_BYTES * 4];
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		program_path(path, sizeof(path), "weird");
		_exit((scene->uid == 0 || setresuid(scene->uid, scene->uid,
		    scene->uid) == 0) && access(path, X_OK) == 0 ? 0 : 1);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

struct start {
	struct scene	*scene;
	struct weir	*handle;
};

static bool
is_ready(void *argument)
{
	struct start *start = argument;
	struct scene *scene = start->scene;

	if (waitpid(scene->pid, NULL, WNOHANG) == scene->pid) {
		scene->pid = 0;
		return true;
	}
	if (weir_connect(start->handle) != WEIR_OK ||
	    scene_child(scene, "keeper") == 0) {
		return false;
	}
	/* One worker answers: the others may not have a title yet. */
	for (unsigned i = 0; i < scene->workers; i++) {
		char title[32];

		(void)snprintf(title, sizeof(title), "worker %u", i);
		if (scene_child(scene, title) == 0) {
			return false;
		}
	}
	return true;
}

bool
scene_start(struct scene *scene)
{
	struct start start = { .scene = scene };
	pid_t parent = getpid();
	bool ready;

	if (scene->dir[0] == '\0') {
		(void)snprintf(scene->dir, sizeof(scene->dir),
		    "/tmp/weir-scene.XXXXXX");
		if (mkdtemp(scene->dir) == NULL ||
		    chmod(scene->dir, 0755) < 0 || (scene->uid != 0 &&
		    chown(scene->dir, scene->uid, scene->uid) < 0)) {
			return false;
		}
		(void)snprintf(scene->socket, sizeof(scene->socket),
		    "%s/weird.sock", scene->dir);
	}
	scene->pid = fork();
	if (scene->pid == 0) {
		become_daemon(scene, parent);
	}
	start.handle = scene_open(scene);
	ready = wait_until(is_ready, &start, SCENE_DEADLINE_MS) &&
	    scene->pid != 0;
	weir_close(start.handle);
	return ready;
}

void
scene_kill(struct scene *scene)
{
	if (scene->pid != 0) {
		(void)kill(scene->pid, SIGKILL);
		(void)waitpid(scene->pid, NULL, 0);
		scene->pid = 0;
	}
}

static void
remove_files(const struct scene *scene)
{
	static const char *const names[] = {
		"weird.sock", "admin.sock", "weird.lock", "log",
	};
	char path[SCENE_PATH_BYTES + 16];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", scene->dir,
		    names[i]);
		(void)unlink(path);
	}
	(void)rmdir(scene->dir);
}

bool
scene_end(struct scene *scene)
{
	int status = -1;
	bool ended = false;

	if (scene->pid != 0) {
		(void)kill(scene->pid, SIGTERM);
		ended = wait_until_exit(scene->pid, SCENE_DEADLINE_MS,
		    &status);
		scene->pid = 0;
	}
	remove_files(scene);
	return ended && status == 0;
}

static size_t
list_children(pid_t parent, pid_t *out)
{
	char path[64];
	char text[TEXT_BYTES];
	size_t count = 0;
	char *at = text;

	(void)snprintf(path, sizeof(path), "task/%d/children", (int)parent);
	read_proc(parent, path, text, sizeof(text));
	while (count < CHILDREN_MAX) {
		char *end;
		long pid = strtol(at, &end, 10);

		if (end == at) {
			break;
		}
		out[count++] = (pid_t)pid;
		at = end;
	}
	return count;
}

pid_t
scene_child(const struct scene *scene, const char *title)
{
	pid_t children[CHILDREN_MAX];
	size_t count = scene->pid == 0 ? 0 :
	    list_children(scene->pid, children);
	char want[64];
	char text[TEXT_BYTES];

	(void)snprintf(want, sizeof(want), "weird: %s", title);
	for (size_t i = 0; i < count; i++) {
		read_proc(children[i], "cmdline", text, sizeof(text));
		if (strncmp(text, want, strlen(want)) == 0) {
			return children[i];
		}
	}
	return 0;
}

struct child_wait {
	const struct scene *scene;
	const char	*title;
	pid_t		old;
	pid_t		now;
};

static bool
is_another(void *argument)
{
	struct child_wait *wait = argument;

	wait->now = scene_child(wait->scene, wait->title);
	return wait->now != 0 && wait->now != wait->old;
}

pid_t
scene_wait_child(const struct scene *scene, const char *title, pid_t old)
{
	struct child_wait wait = {
		.scene = scene,
		.title = title,
		.old = old,
	};

	return wait_until(is_another, &wait, SCENE_DEADLINE_MS) ? wait.now :
	    0;
}

uint64_t
scene_status_number(pid_t pid, const char *name)
{
	char text[TEXT_BYTES];
	const char *line;

	read_proc(pid, "status", text, sizeof(text));
	line = strstr(text, name);
	return line == NULL ? 0 : strtoull(line + strlen(name), NULL, 10);
}

uint64_t
scene_private_kib(const struct scene *scene)
{
	pid_t children[CHILDREN_MAX];
	size_t count = list_children(scene->pid, children);
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++) {
		sum += scene_status_number(children[i], "RssAnon:");
	}
	return sum;
}

bool
scene_ctl(const struct scene *scene, const char *command, char *out,
    size_t size)
{
	char path[SCENE_PATH_BYTES * 4];
	int ends[2];
	size_t length = 0;
	ssize_t got = 1;
	int status;
	pid_t pid;

	program_path(path, sizeof(path), "weir-ctl");
	if (pipe2(ends, O_CLOEXEC) < 0) {
		return false;
	}
	pid = fork();
	if (pid == 0) {
		(void)dup2(ends[1], STDOUT_FILENO);
		(void)dup2(ends[1], STDERR_FILENO);
		(void)execl(path, "weir-ctl", "-j", "-s", scene->dir, "-c",
		    command, (char *)NULL);
		_exit(127);
	}
	(void)close(ends[1]);
	while (got > 0 || (got < 0 && errno == EINTR)) {
		char spare[512];
		bool full = length + 1 >= size;

		got = full ? read(ends[0], spare, sizeof(spare)) :
		    read(ends[0], out + length, size - 1 - length);
		length += got > 0 && !full ? (size_t)got : 0;
	}
	out[length] = '\0';
	(void)close(ends[0]);
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

uint64_t
scene_counter(const struct scene *scene, const char *name)
{
	static char text[OUTPUT_BYTES];
	char want[64];
	const char *at;

	if (!scene_ctl(scene, "stats", text, sizeof(text))) {
		return UINT64_MAX;
	}
	(void)snprintf(want, sizeof(want), "\"name\": \"%s\", \"value\": ",
	    name);
	at = strstr(text, want);
	return at == NULL ? UINT64_MAX :
	    strtoull(at + strlen(want), NULL, 10);
}

bool
scene_check_clean(struct plain_test *test, const struct scene *scene,
    const char *name)
{
	static char text[OUTPUT_BYTES];
	bool done = scene_ctl(scene, "verify", text, sizeof(text));

	return plain_check(test, name, done &&
	    strstr(text, "\"faults\": 0,") != NULL, "%.300s", text);
}

struct weir *
scene_open(const struct scene *scene)
{
	struct weir_options options = WEIR_OPTIONS_INIT;
	struct weir *handle;

	options.socket_path = scene->socket;
	if (weir_open(&handle, &options) != WEIR_OK) {
		abort();
	}
	return handle;
}
