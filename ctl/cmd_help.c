/* SPDX-License-Identifier: ISC */

#include "cmd_help.h"

static enum ctl_exit
finish(struct command_context *context, const struct command *command,
    bool fine)
{
	if (!fine || !output_end(context->out)) {
		command_complain(context, command, "cannot print the result");
		return CTL_FAILED;
	}
	return CTL_OK;
}

static enum ctl_exit
list_commands(struct command_context *context, const struct command *command)
{
	static const char *const names[] = { "verb", "help" };
	const struct command *each;
	bool fine = output_begin(context->out, LAYOUT_TABLE, names, 2);

	for (size_t i = 0; (each = command_at(i)) != NULL; i++) {
		struct cell cells[] = {
			cell_text(each->verb),
			cell_text(each->help),
		};

		fine = fine && output_row(context->out, cells);
	}
	return finish(context, command, fine);
}

enum ctl_exit
cmd_help(struct command_context *context, const struct command *command,
    int argc, char **argv)
{
	static const char *const names[] = {
		"verb", "usage", "help", "example",
	};
	const struct command *about;
	size_t used;
	bool fine;

	if (argc == 0) {
		return list_commands(context, command);
	}
	about = command_find(argv, (size_t)argc, &used);
	if (about == NULL || used != (size_t)argc) {
		command_complain(context, command, "no such verb; 'help' "
		    "alone lists them");
		return CTL_NOT_FOUND;
	}
	fine = output_begin(context->out, LAYOUT_RECORD, names, 4) &&
	    output_row(context->out, (struct cell[]){
		cell_text(about->verb),
		cell_text(about->usage),
		cell_text(about->help),
		cell_text(about->example),
	    });
	return finish(context, command, fine);
}

enum ctl_exit
cmd_quit(struct command_context *context, const struct command *command,
    int argc, char **argv)
{
	(void)argv;		/* there are none */
	if (argc != 0) {
		command_complain(context, command, "takes no arguments");
		return CTL_USAGE;
	}
	context->quit = true;
	return CTL_OK;
}
