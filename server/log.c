/* SPDX-License-Identifier: ISC */

/*
 * Lines of the log, each written by one write(), so that those of several
 * processes do not mix.
 */
#include "log.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "log_limit.h"

/* Below PIPE_BUF: a write of this into a pipe is not torn. */
#define LINE_BYTES	1024
#define PROCESS_BYTES	32

/* Priorities of syslog, in the order of our levels. */
static const int priorities[] = { 3, 4, 6, 7 };

static struct {
	bool		prefix;
	enum log_level	level;
	char		process[PROCESS_BYTES];
	struct log_limit limit;
} state = { .level = LOG_LEVEL_INFO };

void
log_init(void)
{
	state.prefix = getenv("JOURNAL_STREAM") != NULL ||
	    isatty(STDERR_FILENO) == 0;
}

void
log_set_process(const char *name)
{
	(void)snprintf(state.process, sizeof(state.process), "%s", name);
	memset(&state.limit, 0, sizeof(state.limit));
}

void
log_set_level(enum log_level level)
{
	state.level = level;
}

/* Copy the text behind at, control bytes as \xNN; answers the new length. */
static size_t
append_visible(char *line, size_t at, const char *text)
{
	for (; *text != '\0' && at + 5 < LINE_BYTES; text++) {
		unsigned char byte = (unsigned char)*text;

		if (byte < 0x20 || byte == 0x7f) {
			at += (size_t)snprintf(line + at, LINE_BYTES - at,
			    "\\x%02x", byte);
		} else {
			line[at++] = *text;
		}
	}
	return at;
}

static void
write_line(enum log_level level, const char *event, const char *text)
{
	char line[LINE_BYTES];
	size_t at = 0;
	ssize_t done;

	if (state.prefix) {
		at = (size_t)snprintf(line, sizeof(line), "<%d>",
		    priorities[level]);
	}
	at = append_visible(line, at, event);
	if (state.process[0] != '\0') {
		at = append_visible(line, at, " process=");
		at = append_visible(line, at, state.process);
	}
	if (text[0] != '\0') {
		at = append_visible(line, at, " ");
		at = append_visible(line, at, text);
	}
	line[at++] = '\n';
	done = write(STDERR_FILENO, line, at);
	/* There is nobody to tell that the log cannot be written. */
	(void)done;
}

static void
write_format(enum log_level level, const char *event, const char *format,
    va_list args)
{
	char text[LINE_BYTES];

	(void)vsnprintf(text, sizeof(text), format, args);
	write_line(level, event, text);
}

static void
write_counts(bool all)
{
	char event[LOG_EVENT_BYTES];
	char text[64];
	uint32_t held;

	while ((held = log_limit_collect(&state.limit, clock_boot_now(), all,
	    event)) != 0) {
		(void)snprintf(text, sizeof(text),
		    "repeated=%u text=\"repeated %u times\"", held, held);
		write_line(LOG_LEVEL_WARNING, event, text);
	}
}

void
log_line(enum log_level level, const char *event, const char *format, ...)
{
	va_list args;

	if (level > state.level ||
	    !log_limit_take(&state.limit, event, clock_boot_now())) {
		return;
	}
	va_start(args, format);
	write_format(level, event, format, args);
	va_end(args);
}

void
log_audit(const char *event, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	write_format(LOG_LEVEL_WARNING, event, format, args);
	va_end(args);
}

void
log_tick(void)
{
	write_counts(false);
}

void
log_flush(void)
{
	write_counts(true);
}
