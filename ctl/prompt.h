/* SPDX-License-Identifier: ISC */

/*
 * The line editor of the interactive shell: the only file that sees
 * readline.  Completion comes from the command table.  The history file
 * lies in the XDG state directory, readable by its owner alone; lines that
 * begin with a blank are left out of it.
 */
#ifndef PROMPT_H
#define PROMPT_H

#include <stdbool.h>

void	prompt_init(bool keep_history);

/* The caller frees the line.  NULL at the end of input. */
char	*prompt_read_line(void);

/* Saves the history. */
void	prompt_fini(void);

#endif
