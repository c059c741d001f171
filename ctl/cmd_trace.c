/* SPDX-License-Identifier: ISC */

#include "cmd_trace.h"

#include <string.h>

#include "sim_run.h"
#include "size.h"

#define POLICIES_MAX	16u	/* more than there are */
#define SIZES_MAX	64u

/* What the arguments ask for. */
struct request {
	const char	*file;
	const struct sim_ops *policies[POLICIES_MAX];
	size_t		policy_count;
	uint64_t	sizes[SIZES_MAX];
	size_t		size_count;
	struct sim_row	rows[POLICIES_MAX * SIZES_MAX];
	size_t		row_count;
};

const char *const cmd_trace_replay_options[] = {
	"--policy",
	"--size",
	NULL,
};

const char *
cmd_trace_replay_value(const char *option, size_t number)
{
	const struct sim_ops *policy;

	if (strcmp(option, "--policy") != 0) {
		return NULL;
	}
	policy = sim_policy_at(number);
	return policy == NULL ? NULL : policy->name;
}

/* One that was named before is not run twice. */
static bool
add_policy(struct request *request, const struct sim_ops *policy)
{
	for (size_t i = 0; i < request->policy_count; i++) {
		if (request->policies[i] == policy) {
			return true;
		}
	}
	if (request->policy_count == POLICIES_MAX) {
		return false;
	}
	request->policies[request->policy_count++] = policy;
	return true;
}

static void
add_all_policies(struct request *request)
{
	const struct sim_ops *policy;

	for (size_t i = 0; (policy = sim_policy_at(i)) != NULL; i++) {
		(void)add_policy(request, policy);	/* there is room */
	}
}

static bool
parse_policy(const struct command_context *context,
    const struct command *command, struct request *request, const char *name)
{
	const struct sim_ops *policy = sim_policy_find(name);

	if (policy == NULL) {
		command_complain(context, command, "'%s' is no policy; there "
		    "are lru, fifo, sieve, s3fifo, belady and weir", name);
		return false;
	}
	return add_policy(request, policy);
}

static bool
parse_size(const struct command_context *context,
    const struct command *command, struct request *request, const char *text)
{
	uint64_t size;

	if (!size_parse(text, &size)) {
		command_complain(context, command, "'%s' is no size: want a "
		    "whole number above 0, with k, m, g or t after it or not",
		    text);
		return false;
	}
	if (request->size_count == SIZES_MAX) {
		command_complain(context, command, "more than %u sizes",
		    SIZES_MAX);
		return false;
	}
	request->sizes[request->size_count++] = size;
	return true;
}

typedef bool (*parse_item_fn)(const struct command_context *context,
    const struct command *command, struct request *request,
    const char *item);

static bool
parse_list(const struct command_context *context,
    const struct command *command, struct request *request, char *list,
    parse_item_fn parse_item)
{
	char *item;

	while ((item = strsep(&list, ",")) != NULL) {
		if (!parse_item(context, command, request, item)) {
			return false;
		}
	}
	return true;
}

/*
 * The value of the option at *argv, in the same word after '=' or in the
 * next one, which *argv is then moved to.  NULL if it is not this option.
 */
static char *
option_value(char ***argv, const char *option)
{
	static char none[] = "";
	char *word = **argv;
	size_t length = strlen(option);

	if (strncmp(word, option, length) != 0) {
		return NULL;
	}
	if (word[length] == '=') {
		return word + length + 1;
	}
	if (word[length] != '\0') {
		return NULL;
	}
	if ((*argv)[1] == NULL) {
		return none;
	}
	++*argv;
	return **argv;
}

static bool
parse_word(const struct command_context *context,
    const struct command *command, struct request *request, char ***argv)
{
	char *word = **argv;
	char *value;

	if ((value = option_value(argv, "--policy")) != NULL) {
		return parse_list(context, command, request, value,
		    parse_policy);
	}
	if ((value = option_value(argv, "--size")) != NULL) {
		return parse_list(context, command, request, value,
		    parse_size);
	}
	if (word[0] == '-' && word[1] != '\0') {
		command_complain(context, command, "no option '%s'; usage: "
		    "%s %s", word, command->verb, command->usage);
		return false;
	}
	if (request->file != NULL) {
		command_complain(context, command, "one FILE at a time; '%s' "
		    "is a second one", word);
		return false;
	}
	request->file = word;
	return true;
}

static bool
parse_arguments(const struct command_context *context,
    const struct command *command, struct request *request, char **argv)
{
	for (; *argv != NULL; argv++) {
		if (!parse_word(context, command, request, &argv)) {
			return false;
		}
	}
	if (request->file == NULL || request->size_count == 0) {
		command_complain(context, command, "%s is missing; usage: "
		    "%s %s", request->file == NULL ? "FILE" : "--size",
		    command->verb, command->usage);
		return false;
	}
	if (request->policy_count == 0) {
		add_all_policies(request);
	}
	return true;
}

static void
make_rows(struct request *request)
{
	for (size_t i = 0; i < request->size_count; i++) {
		for (size_t j = 0; j < request->policy_count; j++) {
			request->rows[request->row_count++] =
			    (struct sim_row){
				.policy = request->policies[j],
				.capacity = request->sizes[i],
			};
		}
	}
}

static enum ctl_exit
complain_of_trace(const struct command_context *context,
    const struct command *command, const struct request *request,
    const struct trace_reader *reader)
{
	command_complain(context, command, "%s: %s", request->file,
	    trace_fault_text(reader));
	switch (trace_fault(reader)) {
	case TRACE_NOT_FOUND:
		return CTL_NOT_FOUND;
	case TRACE_NO_RIGHTS:
		return CTL_REFUSED;
	default:
		return CTL_FAILED;
	}
}

static enum ctl_exit
replay_file(const struct command_context *context,
    const struct command *command, struct request *request)
{
	struct trace_reader *reader = trace_open(request->file);
	enum sim_outcome outcome = SIM_NO_MEMORY;
	enum ctl_exit result = CTL_FAILED;

	if (reader != NULL) {
		outcome = trace_fault(reader) != TRACE_FINE ? SIM_BAD_TRACE :
		    sim_run(reader, request->rows, request->row_count,
		    context->stop);
	}
	switch (outcome) {
	case SIM_DONE:
		result = CTL_OK;
		break;
	case SIM_BAD_TRACE:
		result = complain_of_trace(context, command, request, reader);
		break;
	case SIM_NO_MEMORY:
		command_complain(context, command, "out of memory");
		break;
	case SIM_STOPPED:
		command_complain(context, command, "interrupted");
		break;
	}
	trace_close(reader);
	return result;
}

static enum ctl_exit
print_rows(const struct command_context *context,
    const struct command *command, const struct request *request)
{
	static const char *const names[] = {
		"policy", "size", "requests", "miss_ratio",
	};
	bool fine = output_begin(context->out, LAYOUT_TABLE, names, 4);

	for (size_t i = 0; i < request->row_count; i++) {
		const struct sim_row *row = &request->rows[i];
		struct cell cells[] = {
			cell_text(row->policy->name),
			cell_count(row->capacity),
			cell_count(row->requests),
			/* A trace that was read has a request. */
			cell_ratio((double)row->misses /
			    (double)row->requests),
		};

		fine = fine && output_row(context->out, cells);
	}
	if (!fine || !output_end(context->out)) {
		command_complain(context, command, "cannot print the result");
		return CTL_FAILED;
	}
	return CTL_OK;
}

enum ctl_exit
cmd_trace_replay(struct command_context *context,
    const struct command *command, int argc, char **argv)
{
	struct request request = { .file = NULL };
	enum ctl_exit result;

	(void)argc;		/* argv ends in NULL */
	if (!parse_arguments(context, command, &request, argv)) {
		return CTL_USAGE;
	}
	make_rows(&request);
	result = replay_file(context, command, &request);
	if (result != CTL_OK) {
		return result;
	}
	return print_rows(context, command, &request);
}
