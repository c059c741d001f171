/* SPDX-License-Identifier: ISC */

/*
 * weir-ctl: reads the options, picks a renderer, and runs the lines it was
 * given with -c, from a script, or typed at a terminal.
 */
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "connect.h"
#include "daemon_names.h"
#include "duration.h"
#include "interrupt.h"
#include "output.h"
#include "shell.h"

struct options {
	struct shell_options shell;
	struct connect	link;
	bool		json;
	bool		help;
	const char	*script;	/* NULL: none */
	char		**lines;	/* of -c, in order */
	size_t		line_count;
};

static void
print_usage(FILE *stream)
{
	fputs(
	    "usage: weir-ctl [-hjk] [--no-history] [-s DIRECTORY] "
	    "[-t DURATION]\n"
	    "                [-c COMMAND]... [-f SCRIPT]\n"
	    "\n"
	    "  -c, --command COMMAND  run COMMAND and leave (repeatable)\n"
	    "  -f, --file SCRIPT      run the lines of SCRIPT; - is stdin\n"
	    "  -h, --help             this text\n"
	    "  -j, --json             results as one JSON object each\n"
	    "  -k, --keep-going       go on after a line that failed\n"
	    "  -s, --socket-directory DIRECTORY\n"
	    "                         where the daemon's sockets are\n"
	    "  -t, --timeout DURATION of each request, as 500ms; 5s if not "
	    "given\n"
	    "      --no-history       do not read or write the history\n"
	    "\n"
	    "Without -c and -f lines are read from the terminal or from "
	    "stdin.\n"
	    "'weir-ctl -c help' lists the commands; weir-ctl(1) has all.\n",
	    stream);
}

/* False on a bad option; getopt has said which. */
static bool
parse_options(struct options *options, int argc, char **argv)
{
	static const struct option known[] = {
		{ "command", required_argument, NULL, 'c' },
		{ "file", required_argument, NULL, 'f' },
		{ "help", no_argument, NULL, 'h' },
		{ "json", no_argument, NULL, 'j' },
		{ "keep-going", no_argument, NULL, 'k' },
		{ "socket-directory", required_argument, NULL, 's' },
		{ "timeout", required_argument, NULL, 't' },
		{ "no-history", no_argument, NULL, 'H' },
		{ NULL, 0, NULL, 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "c:f:hjks:t:", known,
	    NULL)) != -1) {
		switch (option) {
		case 'c':
			options->lines[options->line_count++] = optarg;
			break;
		case 'f':
			options->script = optarg;
			break;
		case 'h':
			options->help = true;
			break;
		case 'j':
			options->json = true;
			break;
		case 'k':
			options->shell.keep_going = true;
			break;
		case 's':
			options->link.directory = optarg;
			break;
		case 't':
			if (!duration_parse(optarg,
			    &options->link.timeout_ms) ||
			    options->link.timeout_ms == 0) {
				fprintf(stderr, "weir-ctl: '%s' is no "
				    "time-out, such as 500ms or 10s\n",
				    optarg);
				return false;
			}
			break;
		case 'H':
			options->shell.keep_history = false;
			break;
		default:
			return false;
		}
	}
	if (optind != argc) {
		fprintf(stderr, "weir-ctl: '%s' is no option; a command goes "
		    "into -c\n", argv[optind]);
		return false;
	}
	if (options->script != NULL && options->line_count != 0) {
		fputs("weir-ctl: -c and -f exclude each other\n", stderr);
		return false;
	}
	return true;
}

static enum ctl_exit
run_file(struct command_context *context, const struct options *options)
{
	FILE *script;
	enum ctl_exit result;

	if (strcmp(options->script, "-") == 0) {
		return shell_run_script(context, &options->shell, stdin,
		    "stdin");
	}
	script = fopen(options->script, "re");
	if (script == NULL) {
		int error = errno;

		command_complain(context, NULL, "%s: %s", options->script,
		    strerror(error));
		return error == ENOENT ? CTL_NOT_FOUND :
		    error == EACCES ? CTL_REFUSED : CTL_FAILED;
	}
	result = shell_run_script(context, &options->shell, script,
	    options->script);
	(void)fclose(script);		/* it was only read */
	return result;
}

static enum ctl_exit
run(struct options *options)
{
	struct output out;
	struct command_context context = {
		.out = &out,
		.messages = stderr,
		.link = &options->link,
		.stop = interrupt_flag(),
	};
	enum ctl_exit result;

	if (!(options->json ? output_json_init : output_text_init)(&out,
	    stdout)) {
		command_complain(&context, NULL, "out of memory");
		return CTL_FAILED;
	}
	interrupt_init();
	options->link.stop = context.stop;
	daemon_names_use(&options->link);
	if (options->line_count != 0) {
		result = shell_run_lines(&context, &options->shell,
		    options->lines, options->line_count);
	} else if (options->script != NULL) {
		result = run_file(&context, options);
	} else if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)) {
		result = shell_run_terminal(&context, &options->shell);
	} else {
		result = shell_run_script(&context, &options->shell, stdin,
		    "stdin");
	}
	daemon_names_use(NULL);
	connect_fini(&options->link);
	output_fini(&out);
	return result;
}

int
main(int argc, char **argv)
{
	struct options options = { .shell = { .keep_history = true } };
	enum ctl_exit result = CTL_USAGE;

	connect_init(&options.link);
	options.lines = calloc((size_t)argc + 1, sizeof(*options.lines));
	if (options.lines == NULL) {
		fputs("weir-ctl: out of memory\n", stderr);
		return CTL_FAILED;
	}
	if (!parse_options(&options, argc, argv)) {
		print_usage(stderr);
	} else if (options.help) {
		print_usage(stdout);
		result = CTL_OK;
	} else {
		result = run(&options);
	}
	free(options.lines);
	return (int)result;
}
