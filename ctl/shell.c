/* SPDX-License-Identifier: ISC */

#include "shell.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "interrupt.h"
#include "prompt.h"

static bool
was_interrupted(void)
{
	/* Relaxed: the flag stands alone and orders nothing. */
	return atomic_load_explicit(interrupt_flag(), memory_order_relaxed);
}

/* Whether to go on after a line that ended with result. */
static bool
goes_on(const struct command_context *context,
    const struct shell_options *options, enum ctl_exit result)
{
	return !context->quit && !was_interrupted() &&
	    (result == CTL_OK || options->keep_going);
}

enum ctl_exit
shell_run_lines(struct command_context *context,
    const struct shell_options *options, char *const *lines, size_t count)
{
	enum ctl_exit first = CTL_OK;

	for (size_t i = 0; i < count; i++) {
		enum ctl_exit result = command_run_line(context, lines[i]);

		first = first != CTL_OK ? first : result;
		if (!goes_on(context, options, result)) {
			break;
		}
	}
	return first;
}

enum ctl_exit
shell_run_script(struct command_context *context,
    const struct shell_options *options, FILE *script, const char *name)
{
	enum ctl_exit first = CTL_OK;
	char *line = NULL;
	size_t room = 0;
	unsigned long number = 0;

	while (getline(&line, &room, script) >= 0) {
		enum ctl_exit result = command_run_line(context, line);

		number++;
		if (result != CTL_OK) {
			command_complain(context, NULL, "%s: line %lu failed",
			    name, number);
		}
		first = first != CTL_OK ? first : result;
		if (!goes_on(context, options, result)) {
			break;
		}
	}
	if (ferror(script)) {
		command_complain(context, NULL, "%s: %s", name,
		    was_interrupted() ? "interrupted" : strerror(errno));
		first = first != CTL_OK ? first : CTL_FAILED;
	}
	free(line);
	return first;
}

enum ctl_exit
shell_run_terminal(struct command_context *context,
    const struct shell_options *options)
{
	char *line;

	prompt_init(options->keep_history);
	while (!context->quit && (line = prompt_read_line()) != NULL) {
		interrupt_clear();
		(void)command_run_line(context, line);	/* it complained */
		free(line);
	}
	prompt_fini();
	return CTL_OK;
}
