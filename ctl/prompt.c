/* SPDX-License-Identifier: ISC */

#include "prompt.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <readline/history.h>
#include <readline/readline.h>

#include "complete.h"
#include "interrupt.h"

#define PROMPT_TEXT		"weir> "
#define HISTORY_LINES_MAX	1000
#define HISTORY_PATH_BYTES	4096

static bool history_is_kept;
static char history_path[HISTORY_PATH_BYTES];

/* Readline calls it when a signal came while it waited: a fresh prompt. */
static int
drop_line(void)
{
	/* Relaxed: the flag stands alone and orders nothing. */
	if (atomic_load_explicit(interrupt_flag(), memory_order_relaxed)) {
		interrupt_clear();
		rl_replace_line("", 0);
		rl_crlf();
		rl_on_new_line();
		rl_redisplay();
	}
	return 0;
}

static char *
next_candidate(const char *text, int state)
{
	static size_t number;

	if (state == 0) {
		number = 0;
	}
	return complete_word(rl_line_buffer, (size_t)(rl_point -
	    (int)strlen(text)), text, &number);
}

static char **
complete_line(const char *text, int start, int end)
{
	char **found = rl_completion_matches(text, next_candidate);

	(void)start;		/* the candidates look at the line itself */
	(void)end;
	/* A word the table does not know may be a file. */
	rl_attempted_completion_over = found != NULL;
	return found;
}

/* Make the folders of path that are missing. */
static void
make_folders(const char *path)
{
	char folder[HISTORY_PATH_BYTES];

	(void)snprintf(folder, sizeof(folder), "%s", path);
	for (char *at = strchr(folder + 1, '/'); at != NULL;
	    at = strchr(at + 1, '/')) {
		*at = '\0';
		(void)mkdir(folder, 0700);	/* open() tells if it failed */
		*at = '/';
	}
}

/* False if no place for the file is known. */
static bool
find_history(void)
{
	const char *state = getenv("XDG_STATE_HOME");
	const char *home = getenv("HOME");
	int length;

	if (state != NULL && state[0] == '/') {
		length = snprintf(history_path, sizeof(history_path),
		    "%s/weir/history", state);
	} else if (home != NULL && home[0] == '/') {
		length = snprintf(history_path, sizeof(history_path),
		    "%s/.local/state/weir/history", home);
	} else {
		return false;
	}
	return length > 0 && (size_t)length < sizeof(history_path);
}

void
prompt_init(bool keep_history)
{
	rl_readline_name = "weir-ctl";
	rl_attempted_completion_function = complete_line;
	rl_completer_word_break_characters = " \t\n,=";
	rl_signal_event_hook = drop_line;
	using_history();
	stifle_history(HISTORY_LINES_MAX);
	history_is_kept = keep_history && find_history();
	if (history_is_kept) {
		(void)read_history(history_path);	/* none yet: empty */
	}
}

char *
prompt_read_line(void)
{
	char *line = readline(PROMPT_TEXT);

	if (line != NULL && line[0] != '\0' && line[0] != ' ' &&
	    line[0] != '\t') {
		add_history(line);
	}
	return line;
}

void
prompt_fini(void)
{
	int fd;

	if (!history_is_kept) {
		return;
	}
	make_folders(history_path);
	/* Made here, so that it is never readable by others. */
	fd = open(history_path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
	    0600);
	if (fd < 0) {
		return;
	}
	if (fchmod(fd, 0600) == 0) {
		(void)write_history(history_path);	/* a lost comfort */
	}
	(void)close(fd);
}
