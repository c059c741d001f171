/* SPDX-License-Identifier: ISC */

/*
 * Cuts a command line into words.  Blanks part words; "..." and '...' hold
 * blanks together; a backslash takes the next byte as it is, but not inside
 * '...', and \xHH stays for the verb to decode; a # at the start of a word
 * begins a comment.
 */
#ifndef WORDS_H
#define WORDS_H

#include <stddef.h>

#define WORDS_MAX	256	/* a line with more is refused */

enum words_fault {
	WORDS_FINE,
	WORDS_OPEN_QUOTE,
	WORDS_TOO_MANY,
};

struct words {
	size_t		count;
	char		*at[WORDS_MAX + 1];	/* NULL after the last */
};

/* The words are cut out of line, which they stay part of. */
enum words_fault words_split(struct words *words, char *line);

const char *words_fault_text(enum words_fault fault);

#endif
