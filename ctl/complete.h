/* SPDX-License-Identifier: ISC */

/*
 * Completion from the command table: verbs word by word, then options, then
 * the known values of an option.  Knows nothing of the line editor.
 */
#ifndef COMPLETE_H
#define COMPLETE_H

#include <stddef.h>

/*
 * The next candidate for the word that begins at start of line and of which
 * text is there so far.  *number is 0 at first and moves on; the caller
 * frees what is returned.  NULL if there are no more.
 */
char	*complete_word(const char *line, size_t start, const char *text,
	    size_t *number);

#endif
