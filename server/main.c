/* SPDX-License-Identifier: ISC */

/*
 * weird: reads its options and configuration, then checks, prints, or runs.
 */
#include <bsd/unistd.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config_load.h"
#include "log.h"
#include "memory_budget.h"
#include "options.h"
#include "supervisor.h"
#include "weir.h"

/* Exit status for a command line that makes no sense, as weir-ctl's. */
#define EXIT_USAGE	2

static void
print_errors(const struct config_draft *draft)
{
	for (uint32_t i = 0; i < draft->error_count; i++) {
		fprintf(stderr, "weird: %s\n", draft->errors[i].text);
	}
	if (draft->errors_dropped != 0) {
		fprintf(stderr, "weird: and %u errors more\n",
		    draft->errors_dropped);
	}
}

/* -t: all that can be known without changing anything. */
static int
check(const struct config_draft *draft)
{
	char error[MEMORY_BUDGET_ERROR_BYTES];
	struct memory_limits limits;
	struct memory_budget sum;

	if (memory_budget_compute(&sum, &draft->config) != OK) {
		fputs("weird: a pool cannot be laid out\n", stderr);
		return EXIT_FAILURE;
	}
	memory_limits_read(&limits, "");
	memory_budget_print(&sum, &draft->config, stderr);
	memory_limits_print(&limits, stderr);
	if (!memory_limits_allow(&limits, &sum, error)) {
		fprintf(stderr, "weird: %s\n", error);
		return EXIT_FAILURE;
	}
	fputs("the configuration is good\n", stderr);
	return EXIT_SUCCESS;
}

/* -T: what is printed is a configuration file again. */
struct printer {
	char		section[POOL_NAME_BYTES + 16]; /* "": the top level */
};

static void
enter_section(struct printer *printer, const char *section)
{
	if (strcmp(printer->section, section) == 0) {
		return;
	}
	if (printer->section[0] != '\0') {
		puts("}");
	}
	if (section[0] != '\0') {
		printf("%s {\n", section);
	}
	(void)snprintf(printer->section, sizeof(printer->section), "%s",
	    section);
}

/* The section of "kind.name.option" is "kind name". */
static void
print_option(void *arg, const char *name, const char *value,
    const char *source)
{
	struct printer *printer = arg;
	char section[sizeof(printer->section)] = "";
	const char *option = strrchr(name, '.');

	if (option != NULL) {
		(void)snprintf(section, sizeof(section), "%.*s",
		    (int)(option - name), name);
		section[strcspn(section, ".")] = ' ';
	}
	enter_section(printer, section);
	if (option != NULL) {
		putchar('\t');
	}
	option = option == NULL ? name : option + 1;
	if (value[0] == '\0') {
		printf("# %s is not set\t# %s\n", option, source);
	} else {
		printf("%s = %s\t# %s\n", option, value, source);
	}
}

static int
print_config(const struct config_draft *draft)
{
	struct printer printer = { .section = "" };

	config_print(draft, print_option, &printer);
	enter_section(&printer, "");
	return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/*
 * A descriptor below 3 that is closed would become a socket's, and what
 * somebody prints would go to a client.
 */
static void
open_standard_streams(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd > STDERR_FILENO) {
		close(fd);
	}
}

int
main(int argc, char **argv, char **envp)
{
	/* Static: all errors of a file are too much for a stack. */
	static struct config_draft draft;
	struct options options;

	open_standard_streams();
	if (!options_parse(&options, argc, argv)) {
		options_print_usage(stderr);
		return EXIT_USAGE;
	}
	if (options.mode == OPTIONS_HELP) {
		options_print_usage(stdout);
		return EXIT_SUCCESS;
	}
	if (options.mode == OPTIONS_VERSION) {
		puts("weird " WEIR_VERSION_STRING);
		return EXIT_SUCCESS;
	}
	if (!config_load(&draft, &options)) {
		print_errors(&draft);
		return EXIT_FAILURE;
	}
	if (options.mode == OPTIONS_CHECK) {
		return check(&draft);
	}
	if (options.mode == OPTIONS_PRINT) {
		return print_config(&draft);
	}
	if (sodium_init() < 0) {
		fputs("weird: no source of random numbers\n", stderr);
		return EXIT_FAILURE;
	}
	log_init();
	setproctitle_init(argc, argv, envp);
	return supervisor_run(&draft, &options);
}
