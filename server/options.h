/* SPDX-License-Identifier: ISC */

/*
 * The command line of weird.  The supervisor alone.
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdbool.h>
#include <stdio.h>

enum options_mode {
	OPTIONS_RUN,
	OPTIONS_CHECK,		/* -t */
	OPTIONS_PRINT,		/* -T */
	OPTIONS_VERSION,	/* -V */
	OPTIONS_HELP,		/* -h */
};

/* Texts are NULL where the option was not given; they live for ever. */
struct options {
	enum options_mode mode;
	const char	*file;		/* -f, -c */
	const char	*socket_dir;	/* -s */
	const char	*workers;	/* -w */
	const char	*memory;	/* -m */
	const char	*admin_listen;	/* -a */
	const char	*log_level;	/* -l */
};

/* False if it makes no sense; stderr says why. */
bool	options_parse(struct options *options, int argc, char **argv);

void	options_print_usage(FILE *stream);

#endif
