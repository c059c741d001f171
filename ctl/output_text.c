/* SPDX-License-Identifier: ISC */

/*
 * The renderer for people: aligned columns, numbers to the right.  It keeps
 * a result's cells until the end, because the widest sets the width.
 */
#include "output.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "duration.h"
#include "size.h"

#define NUMBER_TEXT_BYTES	32
_Static_assert(SIZE_TEXT_BYTES <= NUMBER_TEXT_BYTES &&
    DURATION_TEXT_BYTES <= NUMBER_TEXT_BYTES, "all numbers fit");
#define COLUMN_GAP		2
#define LINE_WIDTH		80

/* Escape sequences of the tones, and of titles. */
static const char *const tone_on[] = {
	[TONE_PLAIN] = "",
	[TONE_GOOD] = "\033[32m",
	[TONE_WARN] = "\033[33m",
	[TONE_BAD] = "\033[31m",
};
static const char title_on[] = "\033[1m";
static const char tone_off[] = "\033[0m";

struct kept_cell {
	char		*text;
	bool		right;
	enum cell_tone	tone;
};

struct text_state {
	FILE		*stream;
	bool		coloured;
	enum output_layout layout;
	const char *const *names;
	size_t		column_count;
	struct kept_cell *cells;
	size_t		cell_count;
	size_t		cell_room;
};

static void
drop_cells(struct text_state *state)
{
	for (size_t i = 0; i < state->cell_count; i++) {
		free(state->cells[i].text);
	}
	state->cell_count = 0;
}

static bool
begin(void *opaque, enum output_layout layout, const char *const *names,
    size_t count)
{
	struct text_state *state = opaque;

	drop_cells(state);
	state->layout = layout;
	state->names = names;
	state->column_count = count;
	return true;
}

/* Bytes that would move a terminal's cursor are shown as \xNN. */
static char *
escape_text(const char *text)
{
	size_t room = strlen(text) * 4 + 1;
	char *copy = malloc(room);
	char *to = copy;

	if (copy == NULL) {
		return NULL;
	}
	for (; *text != '\0'; text++) {
		unsigned char byte = (unsigned char)*text;

		if (byte < 0x20 || byte == 0x7f) {
			to += snprintf(to, room - (size_t)(to - copy),
			    "\\x%02x", byte);
		} else {
			*to++ = *text;
		}
	}
	*to = '\0';
	return copy;
}

static char *
format_cell(const struct cell *cell)
{
	char number[NUMBER_TEXT_BYTES];

	switch (cell->kind) {
	case CELL_TEXT:
		return escape_text(cell->text);
	case CELL_COUNT:
		(void)snprintf(number, sizeof(number), "%" PRIu64,
		    cell->count);	/* 20 digits fit */
		break;
	case CELL_RATIO:
		(void)snprintf(number, sizeof(number), "%.6f",
		    cell->ratio);	/* a ratio fits; else it is cut */
		break;
	case CELL_PERCENT:
		(void)snprintf(number, sizeof(number), "%.1f%%",
		    cell->ratio * 100);
		break;
	case CELL_BYTES:
		size_format(number, cell->count);
		break;
	case CELL_MS:
		duration_format(number, cell->count);
		break;
	case CELL_NONE:
		return strdup("-");
	}
	return strdup(number);
}

static bool
row(void *opaque, const struct cell *cells)
{
	struct text_state *state = opaque;

	for (size_t i = 0; i < state->column_count; i++) {
		struct kept_cell *kept;

		if (state->cell_count == state->cell_room) {
			size_t room = state->cell_room * 2 + 32;
			struct kept_cell *more = reallocarray(state->cells,
			    room, sizeof(*more));

			if (more == NULL) {
				return false;
			}
			state->cells = more;
			state->cell_room = room;
		}
		kept = &state->cells[state->cell_count];
		kept->right = cells[i].kind != CELL_TEXT;
		kept->tone = cells[i].tone;
		kept->text = format_cell(&cells[i]);
		if (kept->text == NULL) {
			return false;
		}
		state->cell_count++;
	}
	return true;
}

static int
column_width(const struct text_state *state, size_t column)
{
	size_t width = strlen(state->names[column]);

	for (size_t i = column; i < state->cell_count;
	    i += state->column_count) {
		size_t length = strlen(state->cells[i].text);

		width = length > width ? length : width;
	}
	return (int)width;
}

static void
print_toned(const struct text_state *state, const char *on, const char *text)
{
	if (state->coloured && on[0] != '\0') {
		fprintf(state->stream, "%s%s%s", on, text, tone_off);
	} else {
		fputs(text, state->stream);
	}
}

/* A text that begins at column, with line ends in the place of blanks. */
static void
print_wrapped(const struct text_state *state, const char *text, int column)
{
	int at = column;

	while (*text != '\0') {
		int length = (int)strcspn(text, " ");

		if (at > column && at + 1 + length > LINE_WIDTH) {
			fprintf(state->stream, "\n%*s", column, "");
			at = column;
		}
		fprintf(state->stream, "%s%.*s", at > column ? " " : "",
		    length, text);
		at += length + (at > column);
		text += length;
		text += *text == ' ';
	}
}

/* Where the last column of a table begins. */
static int
last_column_start(const struct text_state *state)
{
	int start = 0;

	for (size_t i = 0; i + 1 < state->column_count; i++) {
		start += column_width(state, i) + COLUMN_GAP;
	}
	return start;
}

/*
 * The last column is not padded, so that no line ends in blanks.  Padding is
 * printed apart, as the bytes of a colour have no width.
 */
static void
print_cell(const struct text_state *state, size_t column, const char *text,
    bool right, const char *on)
{
	bool last = column + 1 == state->column_count;
	int pad = column_width(state, column) - (int)strlen(text);

	fprintf(state->stream, "%*s", right ? pad : 0, "");
	print_toned(state, on, text);
	fprintf(state->stream, "%*s", last ? 0 :
	    COLUMN_GAP + (right ? 0 : pad), "");
	if (last) {
		fputc('\n', state->stream);
	}
}

static void
print_table(const struct text_state *state)
{
	int start = last_column_start(state);

	for (size_t i = 0; i < state->column_count; i++) {
		print_cell(state, i, state->names[i],
		    state->cell_count > i && state->cells[i].right,
		    title_on);
	}
	for (size_t i = 0; i < state->cell_count; i++) {
		const struct kept_cell *cell = &state->cells[i];
		size_t column = i % state->column_count;

		if (state->layout == LAYOUT_PROSE &&
		    column + 1 == state->column_count) {
			print_wrapped(state, cell->text, start);
			fputc('\n', state->stream);
			continue;
		}
		print_cell(state, column, cell->text, cell->right,
		    tone_on[cell->tone]);
	}
}

static void
print_records(const struct text_state *state)
{
	int width = 0;

	for (size_t i = 0; i < state->column_count; i++) {
		int length = (int)strlen(state->names[i]);

		width = length > width ? length : width;
	}
	for (size_t i = 0; i < state->cell_count; i++) {
		const struct kept_cell *cell = &state->cells[i];
		const char *name = state->names[i % state->column_count];

		if (i % state->column_count == 0 && i > 0) {
			fputc('\n', state->stream);
		}
		print_toned(state, title_on, name);
		if (cell->text[0] != '\0') {
			fprintf(state->stream, "%*s", width + COLUMN_GAP -
			    (int)strlen(name), "");
			print_toned(state, tone_on[cell->tone], cell->text);
		}
		fputc('\n', state->stream);
	}
}

static bool
end(void *opaque)
{
	struct text_state *state = opaque;

	if (state->layout == LAYOUT_RECORD) {
		print_records(state);
	} else {
		print_table(state);
	}
	drop_cells(state);
	return fflush(state->stream) == 0 && !ferror(state->stream);
}

static void
gap(void *opaque)
{
	struct text_state *state = opaque;

	fputc('\n', state->stream);	/* the next end sees what failed */
}

static void
destroy(void *opaque)
{
	struct text_state *state = opaque;

	drop_cells(state);
	free(state->cells);
	free(state);
}

static const struct output_ops text_ops = {
	.begin = begin,
	.row = row,
	.end = end,
	.gap = gap,
	.destroy = destroy,
};

static bool
takes_colour(FILE *stream)
{
	const char *refused = getenv("NO_COLOR");
	const char *terminal = getenv("TERM");

	return isatty(fileno(stream)) &&
	    (refused == NULL || refused[0] == '\0') &&
	    terminal != NULL && strcmp(terminal, "dumb") != 0;
}

bool
output_text_init(struct output *out, FILE *stream)
{
	struct text_state *state = calloc(1, sizeof(*state));

	if (state == NULL) {
		return false;
	}
	state->stream = stream;
	state->coloured = takes_colour(stream);
	out->ops = &text_ops;
	out->state = state;
	return true;
}
