/* SPDX-License-Identifier: ISC */

/*
 * Paths: a program lies in build/bench, three steps below the source tree.
 */
#include "peer_files.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STEPS_TO_SOURCE	3

bool
peer_file_path(const char *name, char *path, size_t bytes)
{
	char own[4096];
	ssize_t length = readlink("/proc/self/exe", own, sizeof(own) - 1);

	if (length <= 0) {
		return false;
	}
	own[length] = '\0';
	for (int i = 0; i < STEPS_TO_SOURCE; i++) {
		char *slash = strrchr(own, '/');

		if (slash == NULL) {
			return false;
		}
		*slash = '\0';
	}
	(void)snprintf(path, bytes, "%s/bench/peers/%s", own, name);
	return access(path, R_OK) == 0;
}

int
peer_file_words(const char *name, char *buffer, size_t bytes, char **words,
    int max)
{
	char path[4096];
	FILE *file;
	int count = 0;

	if (!peer_file_path(name, path, sizeof(path))) {
		return 0;
	}
	file = fopen(path, "re");
	while (file != NULL && fgets(buffer, (int)bytes, file) != NULL) {
		size_t length = strlen(buffer);
		char *rest = buffer;
		char *word;

		if (buffer[0] == '#') {
			continue;
		}
		while (count < max &&
		    (word = strsep(&rest, " \t\n")) != NULL) {
			if (*word != '\0') {
				words[count++] = word;
			}
		}
		/* The words stay; the next line goes behind them. */
		buffer += length + 1;
		bytes -= length + 1;
		if (bytes < 2) {
			break;
		}
	}
	if (file != NULL) {
		fclose(file);
	}
	return count;
}

bool
peer_folder_create(char *path, size_t bytes)
{
	const char *above = getenv("TMPDIR");

	(void)snprintf(path, bytes, "%s/weir-bench-XXXXXX",
	    above != NULL ? above : "/tmp");
	return mkdtemp(path) != NULL;
}

void
peer_folder_remove(const char *path)
{
	DIR *folder = opendir(path);
	const struct dirent *entry;

	while (folder != NULL && (entry = readdir(folder)) != NULL) {
		(void)unlinkat(dirfd(folder), entry->d_name, 0);
	}
	if (folder != NULL) {
		closedir(folder);
	}
	(void)rmdir(path);
}
