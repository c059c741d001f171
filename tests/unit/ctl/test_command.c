/* SPDX-License-Identifier: ISC */

#include "command.h"

#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "interrupt.h"
#include "shell.h"
#include "trace_file.h"

/* A shell whose output and messages are kept in memory. */
struct fixture {
	struct command_context context;
	struct output	out;
	FILE		*stream;
	char		*printed;
	size_t		printed_length;
	char		*said;
	size_t		said_length;
	atomic_bool	stop;
	struct trace_file trace;
};

static void
open_shell(struct fixture *f)
{
	static const uint64_t objects[] = { 1, 2, 3, 1, 2, 3, 4, 1 };
	uint8_t *bytes = trace_file_encode_all(objects, 8, 1);

	memset(f, 0, sizeof(*f));
	trace_file_create(&f->trace, bytes, sizeof(objects) * 3);
	free(bytes);
	f->stream = open_memstream(&f->printed, &f->printed_length);
	f->context.messages = open_memstream(&f->said, &f->said_length);
	cr_assert_not_null(f->stream);
	cr_assert_not_null(f->context.messages);
	cr_assert(output_text_init(&f->out, f->stream));
	f->context.out = &f->out;
	f->context.stop = &f->stop;
}

static void
close_shell(struct fixture *f)
{
	output_fini(&f->out);
	cr_assert_eq(fclose(f->stream), 0);
	cr_assert_eq(fclose(f->context.messages), 0);
	free(f->printed);
	free(f->said);
	trace_file_remove(&f->trace);
}

/* Run a line in which @ stands for the trace's path. */
static enum ctl_exit
run_line(struct fixture *f, const char *line)
{
	const char *at = strchr(line, '@');
	char *whole;
	enum ctl_exit result;

	cr_assert_gt(asprintf(&whole, "%.*s%s%s",
	    at == NULL ? (int)strlen(line) : (int)(at - line), line,
	    at == NULL ? "" : f->trace.path, at == NULL ? "" : at + 1), -1);
	result = command_run_line(&f->context, whole);
	free(whole);
	(void)fflush(f->context.messages);	/* to memory */
	return result;
}

Test(command, replays_a_trace)
{
	struct fixture f;

	open_shell(&f);
	cr_assert_eq(run_line(&f, "trace replay @ --policy lru --size 3,2"),
	    CTL_OK);
	cr_assert_str_eq(f.printed,
	    "policy  size  requests  miss_ratio\n"
	    "lru        3         8    0.625000\n"
	    "lru        2         8    1.000000\n", "%s", f.printed);
	cr_assert_eq(f.said_length, 0u);
	close_shell(&f);
}

static size_t
count_lines(const char *text)
{
	size_t count = 0;

	for (; *text != '\0'; text++) {
		count += *text == '\n';
	}
	return count;
}

Test(command, takes_lists_repeats_and_all_policies)
{
	struct fixture f;

	open_shell(&f);
	cr_assert_eq(run_line(&f, "trace replay --size=1k --size 2,3m "
	    "--policy=lru,fifo --policy weir --policy lru @"), CTL_OK);
	cr_assert_eq(count_lines(f.printed), 1 + 3 * 3u, "%s", f.printed);
	cr_assert_eq(run_line(&f, "trace replay @ --size 8"), CTL_OK);
	cr_assert_eq(count_lines(f.printed), 10 + 1 + 6u, "%s", f.printed);
	close_shell(&f);
}

Test(command, answers_bad_usage_with_2_and_prints_no_result)
{
	static const char *const lines[] = {
		"nope", "trace", "trace nope", "quit now", "help 'x",
		"trace replay", "trace replay @", "trace replay --size 9",
		"trace replay @ --size", "trace replay @ --size 0",
		"trace replay @ --size 1,,2", "trace replay @ --size -1",
		"trace replay @ --size 9 --policy arc",
		"trace replay @ --size 9 --policy",
		"trace replay @ --size 9 --polic lru",
		"trace replay @ --sizes 9", "trace replay @ b --size 9",
		"breaker", "breaker nope", "origins a b", "limiter set o",
		"limiter set o x", "limiter set o -1", "breaker trip --yes",
		"breaker hold o", "breaker hold o open --yes",
		"breaker hold o shut 1m", "breaker hold o open 25h --yes",
		"breaker hold o open 0 --yes", "breaker hold o end 1m",
		"mode o", "mode o nope 1m", "mode o bypass --yes",
		"mode o normal 1m", "mode o stale-on-error 10",
		"mode o stale-on-error 86400001ms", "leases x",
		"leases --limit x", "limiter set o 1 --yes",
	};
	struct fixture f;

	open_shell(&f);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		size_t said = f.said_length;

		cr_expect_eq(run_line(&f, lines[i]), CTL_USAGE, "%s",
		    lines[i]);
		cr_expect_gt(f.said_length, said, "no message: %s", lines[i]);
	}
	cr_assert_eq(f.printed_length, 0u, "%s", f.printed);
	close_shell(&f);
}

Test(command, names_the_verbs_that_begin_with_a_word)
{
	struct fixture f;

	open_shell(&f);
	cr_assert_eq(run_line(&f, "limiter nope"), CTL_USAGE);
	cr_assert_str_eq(f.said, "weir-ctl: 'limiter nope' is no verb, but "
	    "these are:\n  limiter set\n  limiter show\n", "%s", f.said);
	close_shell(&f);
}

Test(command, tells_a_missing_from_a_bad_trace)
{
	struct fixture f;

	open_shell(&f);
	cr_assert_eq(run_line(&f, "trace replay /nonexistent --size 9"),
	    CTL_NOT_FOUND);
	cr_assert_eq(run_line(&f, "trace replay /dev/null --size 9"),
	    CTL_FAILED);
	cr_assert_not_null(strstr(f.said, "/dev/null: no record 1"), "%s",
	    f.said);
	close_shell(&f);
}

Test(command, ends_when_it_is_interrupted)
{
	struct fixture f;

	open_shell(&f);
	atomic_store(&f.stop, true);
	cr_assert_eq(run_line(&f, "trace replay @ --size 9"), CTL_FAILED);
	cr_assert_not_null(strstr(f.said, "interrupted"), "%s", f.said);
	cr_assert_eq(f.printed_length, 0u);
	close_shell(&f);
}

Test(command, explains_every_verb)
{
	struct fixture f;
	const struct command *command;

	open_shell(&f);
	cr_assert_eq(run_line(&f, "help"), CTL_OK);
	for (size_t i = 0; (command = command_at(i)) != NULL; i++) {
		char line[128];

		cr_expect_not_null(strstr(f.printed, command->verb));
		(void)snprintf(line, sizeof(line), "help %s", command->verb);
		cr_expect_eq(run_line(&f, line), CTL_OK, "%s", line);
		cr_expect_not_null(strstr(f.printed, command->example), "%s",
		    line);
	}
	cr_assert_eq(run_line(&f, "help nope"), CTL_NOT_FOUND);
	cr_assert_eq(run_line(&f, "help trace"), CTL_NOT_FOUND);
	close_shell(&f);
}

Test(command, an_empty_line_and_a_comment_are_fine)
{
	struct fixture f;

	open_shell(&f);
	cr_assert_eq(run_line(&f, ""), CTL_OK);
	cr_assert_eq(run_line(&f, "  # nothing"), CTL_OK);
	cr_assert_eq(f.printed_length + f.said_length, 0u);
	close_shell(&f);
}

/* Runs help, a bad verb, help; returns the lines that were printed. */
static size_t
run_three(struct fixture *f, bool keep_going, enum ctl_exit *result)
{
	char first[] = "help quit";
	char second[] = "nope";
	char third[] = "help quit";
	char *lines[] = { first, second, third };
	struct shell_options options = { .keep_going = keep_going };

	interrupt_clear();
	*result = shell_run_lines(&f->context, &options, lines, 3);
	return count_lines(f->printed);
}

Test(command, lines_stop_at_the_first_failure_unless_told_to_go_on)
{
	struct fixture f;
	enum ctl_exit result;

	open_shell(&f);
	cr_assert_eq(run_three(&f, false, &result), 4u);
	cr_assert_eq(result, CTL_USAGE);
	cr_assert_eq(run_three(&f, true, &result), 4u + 8u);
	cr_assert_eq(result, CTL_USAGE, "the failure is not forgotten");
	close_shell(&f);
}

Test(command, a_script_ends_at_quit_and_names_the_failing_line)
{
	static char script[] = "# a comment\nhelp quit\nquit\nnope\n";
	static char bad[] = "\nhelp quit\nnope\nhelp quit";
	struct shell_options options = { .keep_going = false };
	struct fixture f;
	FILE *stream = fmemopen(script, sizeof(script) - 1, "r");

	open_shell(&f);
	interrupt_clear();
	cr_assert_eq(shell_run_script(&f.context, &options, stream, "s"),
	    CTL_OK);
	cr_assert_eq(fclose(stream), 0);
	cr_assert_eq(count_lines(f.printed), 4u, "%s", f.printed);

	f.context.quit = false;
	stream = fmemopen(bad, sizeof(bad) - 1, "r");
	cr_assert_eq(shell_run_script(&f.context, &options, stream, "s"),
	    CTL_USAGE);
	cr_assert_eq(fclose(stream), 0);
	(void)fflush(f.context.messages);	/* to memory */
	cr_assert_not_null(strstr(f.said, "s: line 3 failed"), "%s", f.said);
	cr_assert_eq(count_lines(f.printed), 8u, "%s", f.printed);
	close_shell(&f);
}
