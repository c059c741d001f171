/* SPDX-License-Identifier: ISC */

/*
 * The peers' settings in bench/peers of the source tree, and a folder for
 * what they leave behind.
 */
#ifndef PEER_FILES_H
#define PEER_FILES_H

#include <stdbool.h>
#include <stddef.h>

/* Where a file of bench/peers lies; false if it does not. */
bool	peer_file_path(const char *name, char *path, size_t bytes);

/*
 * The words of such a file but for lines that begin with #: at most max
 * pointers into buffer go to words.  Returns how many.
 */
int	peer_file_words(const char *name, char *buffer, size_t bytes,
	    char **words, int max);

/* A new folder, its name in path; false if refused. */
bool	peer_folder_create(char *path, size_t bytes);

/* The folder and the files in it. */
void	peer_folder_remove(const char *path);

#endif
