/* SPDX-License-Identifier: ISC */

/*
 * The daemon's life, and what is told of it: by the kernel, by its client
 * library and by the shell that is built beside it.
 */
#include "daemon.h"

#include "peer_files.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MS_PER_SECOND	1000.0
#define SCAN_LIMIT	10000u

void
daemon_start(const struct bench *b, struct daemon *d, const char *config)
{
	const char *why = "no temporary folder";
	FILE *file = NULL;

	*d = (struct daemon){ .peer.config_path = d->config_path };
	if (peer_folder_create(d->folder, sizeof(d->folder))) {
		(void)snprintf(d->config_path, sizeof(d->config_path),
		    "%s/weird.conf", d->folder);
		file = fopen(d->config_path, "we");
	}
	if (file != NULL) {
		bool written = fputs(config, file) >= 0;

		why = fclose(file) != 0 || !written ?
		    "its configuration cannot be written" :
		    peer_start_empty(&d->peer, &peer_weir, d->folder);
	}
	if (why != NULL) {
		peer_folder_remove(d->folder);
		bench_fail(b, "weird: %s", why);
	}
}

void
daemon_stop(struct daemon *d)
{
	peer_stop(&d->peer);
	peer_folder_remove(d->folder);
}

struct weir *
daemon_open(const struct daemon *d)
{
	return d->peer.ops->open(d->folder, true);
}

static bool
count_one(const struct weir_scan_item *item, void *arg)
{
	uint64_t *count = arg;

	(void)item;
	(*count)++;
	return true;
}

uint64_t
daemon_count_entries(const struct daemon *d)
{
	struct weir *weir = daemon_open(d);
	uint64_t cursor = 0, count = 0;

	do {
		if (weir == NULL || weir_scan(weir, &cursor, "", 0,
		    SCAN_LIMIT, count_one, &count) != WEIR_OK) {
			count = 0;
			break;
		}
	} while (cursor != 0);
	weir_close(weir);
	return count;
}

/* utime and stime of a process, fields 14 and 15, in ticks. */
static double
read_ticks(int pid)
{
	char path[64], line[1024];
	unsigned long user = 0, system = 0;
	const char *behind_name;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	if (file == NULL) {
		return 0;
	}
	/* The name, in parentheses, may hold anything. */
	if (fgets(line, sizeof(line), file) != NULL &&
	    (behind_name = strrchr(line, ')')) != NULL) {
		(void)sscanf(behind_name, ") %*c %*d %*d %*d %*d %*d %*u %*u "
		    "%*u %*u %*u %lu %lu", &user, &system);
	}
	fclose(file);
	return (double)user + (double)system;
}

double
daemon_cpu_ms(const struct daemon *d)
{
	char path[64];
	FILE *children;
	double ticks = read_ticks((int)d->peer.server);
	int child;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children",
	    (int)d->peer.server, (int)d->peer.server);
	children = fopen(path, "re");
	while (children != NULL && fscanf(children, "%d", &child) == 1) {
		ticks += read_ticks(child);
	}
	if (children != NULL) {
		fclose(children);
	}
	return ticks * MS_PER_SECOND / (double)sysconf(_SC_CLK_TCK);
}

/* What the shell, build/weir-ctl for build/bench/NAME, answers to a command. */
static json_t *
ask_shell(const struct daemon *d, const char *command)
{
	char own[2048], line[8192];
	ssize_t length = readlink("/proc/self/exe", own, sizeof(own) - 1);
	json_t *answer = NULL;
	FILE *pipe;

	for (int steps = 0; length > 0 && steps < 2; steps++) {
		while (length > 0 && own[--length] != '/') {
		}
	}
	if (length <= 0) {
		return NULL;
	}
	own[length] = '\0';
	(void)snprintf(line, sizeof(line), "'%s/weir-ctl' --no-history -j "
	    "-s '%s' -c '%s' 2>/dev/null", own, d->folder, command);
	pipe = popen(line, "re");
	if (pipe != NULL) {
		answer = json_loadf(pipe, 0, NULL);
		(void)pclose(pipe);
	}
	return answer;
}

bool
daemon_look_breaker(const struct daemon *d, uint64_t *opened,
    bool *is_closed)
{
	json_t *answer = ask_shell(d, "breaker list default");
	const json_t *breaker = json_array_get(json_object_get(answer,
	    "breakers"), 0);
	const json_t *count = json_object_get(breaker, "opened");
	const char *state = json_string_value(json_object_get(breaker,
	    "state"));
	bool told = json_is_integer(count) && state != NULL;

	if (told) {
		*opened = (uint64_t)json_integer_value(count);
		*is_closed = strcmp(state, "closed") == 0;
	}
	json_decref(answer);
	return told;
}
