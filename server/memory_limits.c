/* SPDX-License-Identifier: ISC */

/*
 * What the machine and the control group have left, by the files of the
 * kernel.  A file that is missing is a limit that is not there.
 */
#include "memory_budget.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config_value.h"

#define PATH_BYTES	1024
#define FILE_BYTES	8192

/* The text of a small file; false if it cannot be read. */
static bool
read_text(const char *path, char *text)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t done;

	if (fd < 0) {
		return false;
	}
	done = read(fd, text, FILE_BYTES - 1);
	close(fd);
	if (done < 0) {
		return false;
	}
	text[done] = '\0';
	return true;
}

/* The number behind a word at the begin of a line; "" is the first line. */
static uint64_t
find_number(const char *text, const char *word)
{
	size_t length = strlen(word);

	for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, word, length) == 0) {
			const char *at = line + length;
			char *end;
			unsigned long long number;

			at += strspn(at, ": \t");
			number = strtoull(at, &end, 10);
			return end == at ? UINT64_MAX : number;
		}
	}
	return UINT64_MAX;
}

static uint64_t
read_number(const char *root, const char *directory, const char *group,
    const char *file, const char *word)
{
	char path[PATH_BYTES];
	char text[FILE_BYTES];
	int length = snprintf(path, sizeof(path), "%s%s%s/%s", root,
	    directory, group, file);

	if (length < 0 || (size_t)length >= sizeof(path) ||
	    !read_text(path, text)) {
		return UINT64_MAX;
	}
	return find_number(text, word);
}

/* Names of the same things in the two versions of control groups. */
struct hierarchy {
	const char	*directory;
	const char	*limit;
	const char	*usage;
	const char	*inactive;
};

static const struct hierarchy unified = {
	"/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file",
};
static const struct hierarchy legacy = {
	"/sys/fs/cgroup/memory", "memory.limit_in_bytes",
	"memory.usage_in_bytes", "total_inactive_file",
};

/* Version 1 says "no limit" by a number no machine has. */
#define NO_LIMIT_BYTES	(1ull << 60)

/* The tightest limit of a group and all above it. */
static void
look_at_group(struct memory_limits *limits, const char *root,
    const struct hierarchy *h, char *group)
{
	for (;;) {
		uint64_t limit = read_number(root, h->directory, group,
		    h->limit, "");
		char *slash = strrchr(group, '/');

		if (limit < NO_LIMIT_BYTES) {
			uint64_t used = read_number(root, h->directory, group,
			    h->usage, "");
			uint64_t cache = read_number(root, h->directory,
			    group, "memory.stat", h->inactive);
			uint64_t room = limit;

			if (used != UINT64_MAX) {
				/* Cache that nobody uses makes room. */
				used -= cache < used ? cache : 0;
				room = used < limit ? limit - used : 0;
			}
			if (limit < limits->group_bytes) {
				limits->group_bytes = limit;
			}
			if (room < limits->group_room_bytes) {
				limits->group_room_bytes = room;
			}
		}
		if (slash == NULL) {
			return;
		}
		*slash = '\0';
	}
}

/* Copy the group of a line of /proc/self/cgroup; "" if it is the root. */
static bool
find_group(const char *text, const char *controller, char *group)
{
	const char *found = strstr(text, controller);
	size_t length;

	/* "0::" stands at the begin of a line, ":memory:" inside one. */
	if (found == NULL || (controller[0] != ':' && found != text &&
	    found[-1] != '\n')) {
		return false;
	}
	found += strlen(controller);
	length = strcspn(found, "\n");
	if (length >= PATH_BYTES / 2) {
		return false;
	}
	memcpy(group, found, length);
	group[length] = '\0';
	if (strcmp(group, "/") == 0) {
		group[0] = '\0';
	}
	return true;
}

void
memory_limits_read(struct memory_limits *limits, const char *root)
{
	char text[FILE_BYTES];
	char group[PATH_BYTES / 2];
	char path[PATH_BYTES];

	limits->group_bytes = UINT64_MAX;
	limits->group_room_bytes = UINT64_MAX;
	limits->available_bytes = read_number(root, "/proc", "", "meminfo",
	    "MemAvailable");
	if (limits->available_bytes != UINT64_MAX) {
		limits->available_bytes *= 1024;	/* the file's unit */
	}
	(void)snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
	if (!read_text(path, text)) {
		return;
	}
	if (find_group(text, "0::", group)) {
		look_at_group(limits, root, &unified, group);
	}
	if (find_group(text, ":memory:", group)) {
		look_at_group(limits, root, &legacy, group);
	}
}

void
memory_limits_print(const struct memory_limits *limits, FILE *stream)
{
	char text[32];

	fprintf(stream, "the machine has %s available\n",
	    limits->available_bytes == UINT64_MAX ? "an unknown size" :
	    config_value_round_size(limits->available_bytes, text,
	    sizeof(text)));
	if (limits->group_bytes == UINT64_MAX) {
		fputs("the control group has no limit\n", stream);
		return;
	}
	fprintf(stream, "the control group has a limit of %s, ",
	    config_value_round_size(limits->group_bytes, text,
	    sizeof(text)));
	fprintf(stream, "%s of it free\n", config_value_round_size(
	    limits->group_room_bytes, text, sizeof(text)));
}

bool
memory_limits_allow(const struct memory_limits *limits,
    const struct memory_budget *budget, char *error)
{
	char need[32];
	char have[32];

	(void)config_value_round_size(budget->start_bytes, need, sizeof(need));
	if (budget->start_bytes > limits->available_bytes) {
		(void)snprintf(error, MEMORY_BUDGET_ERROR_BYTES,
		    "the pools need %s with all that belongs to them, the "
		    "machine has %s available", need, config_value_round_size(
		    limits->available_bytes, have, sizeof(have)));
		return false;
	}
	if (budget->start_bytes > limits->group_room_bytes) {
		(void)snprintf(error, MEMORY_BUDGET_ERROR_BYTES,
		    "the pools need %s with all that belongs to them, the "
		    "control group has %s free below its limit", need,
		    config_value_round_size(limits->group_room_bytes, have,
		    sizeof(have)));
		return false;
	}
	return true;
}
