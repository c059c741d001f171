/* SPDX-License-Identifier: ISC */

/*
 * What the command line says, as text: values are judged with those of the
 * file.  The supervisor alone.
 */
#include "options.h"

#include <string.h>
#include <unistd.h>

void
options_print_usage(FILE *stream)
{
	fputs(
	    "usage: weird [-hTtV] [-a ADDRESS:PORT | -a off] [-f FILE] "
	    "[-l LEVEL]\n"
	    "             [-m SIZE] [-s DIR] [-w NUMBER]\n"
	    "\n"
	    "  -a ADDRESS:PORT  listen for metrics there, or off\n"
	    "  -c FILE, -f FILE the configuration file\n"
	    "  -h               this text\n"
	    "  -l LEVEL         log error, warning, info or debug\n"
	    "  -m SIZE          memory of the built-in pool (64M)\n"
	    "  -s DIR           directory of the sockets\n"
	    "  -T               print the configuration in effect\n"
	    "  -t               check the configuration, change nothing\n"
	    "  -V               print the version\n"
	    "  -w NUMBER        worker processes\n"
	    "\n"
	    "It stays in the foreground.  weird(8), weird.conf(5).\n",
	    stream);
}

static bool
set_text(const char **field, const char *value, int option)
{
	if (*field != NULL) {
		fprintf(stderr, "weird: -%c is given twice\n", option);
		return false;
	}
	/* A copy: the process title is written over the arguments. */
	*field = strdup(value);
	if (*field == NULL) {
		fputs("weird: out of memory\n", stderr);
		return false;
	}
	return true;
}

static const char **
field_of(struct options *options, int option)
{
	switch (option) {
	case 'a':
		return &options->admin_listen;
	case 'c':
	case 'f':
		return &options->file;
	case 'l':
		return &options->log_level;
	case 'm':
		return &options->memory;
	case 's':
		return &options->socket_dir;
	case 'w':
		return &options->workers;
	default:
		return NULL;
	}
}

bool
options_parse(struct options *options, int argc, char **argv)
{
	int option;

	memset(options, 0, sizeof(*options));
	while ((option = getopt(argc, argv, "a:c:f:hl:m:s:TtVw:")) != -1) {
		const char **field = field_of(options, option);

		if (field != NULL) {
			if (!set_text(field, optarg, option)) {
				return false;
			}
		} else if (option == 'h') {
			options->mode = OPTIONS_HELP;
		} else if (option == 'T') {
			options->mode = OPTIONS_PRINT;
		} else if (option == 't') {
			options->mode = OPTIONS_CHECK;
		} else if (option == 'V') {
			options->mode = OPTIONS_VERSION;
		} else {
			return false;
		}
	}
	if (optind != argc) {
		fprintf(stderr, "weird: '%s' is no option\n", argv[optind]);
		return false;
	}
	return true;
}
