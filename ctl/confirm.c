/* SPDX-License-Identifier: ISC */

#include "confirm.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum ctl_exit
confirm_ask(const struct command_context *context,
    const struct command *command, const char *question)
{
	char *line = NULL;
	size_t room = 0;
	enum ctl_exit result = CTL_FAILED;

	if (!isatty(STDIN_FILENO)) {
		command_complain(context, command, "wants --yes where nobody "
		    "can be asked");
		return CTL_USAGE;
	}
	fprintf(context->messages, "%s? [y/N] ", question);
	(void)fflush(context->messages);	/* the question, if it can */
	if (getline(&line, &room, stdin) > 0 &&
	    (line[0] == 'y' || line[0] == 'Y')) {
		result = CTL_OK;
	} else {
		command_complain(context, command, "nothing was done");
	}
	clearerr(stdin);	/* Ctrl-D is a no, not the end */
	free(line);
	return result;
}
