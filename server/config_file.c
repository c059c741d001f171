/* SPDX-License-Identifier: ISC */

/*
 * The file of the configuration as a text.
 */
#include "config_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file above this is no configuration. */
#define FILE_MAX_BYTES	(1u << 20)

char *
config_file_read(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	char *text = NULL;
	ssize_t done = -1;

	if (fd < 0) {
		return NULL;
	}
	if (fstat(fd, &st) == 0 && !S_ISREG(st.st_mode)) {
		errno = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
	} else if (st.st_size > FILE_MAX_BYTES) {
		errno = EFBIG;
	} else {
		text = calloc(1, (size_t)st.st_size + 1);
		if (text != NULL) {
			done = read(fd, text, (size_t)st.st_size);
		}
		/* The parser would take a zero byte for the end. */
		if (done > 0 && memchr(text, '\0', (size_t)done) != NULL) {
			errno = EILSEQ;
			done = -1;
		}
	}
	if (done < 0) {
		int error = errno;

		free(text);
		text = NULL;
		errno = error;
	}
	close(fd);
	return text;
}
