/* SPDX-License-Identifier: ISC */

/*
 * The renderer for people: aligned columns, numbers to the right.  It keeps
 * a result's cells until the end, because the widest sets the width.
 */
#include "output.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_TEXT_BYTES	32
#define COLUMN_GAP		2

struct kept_cell {
	char		*text;
	bool		right;
};

struct text_state {
	FILE		*stream;
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

/* The last column is not padded, so that no line ends in blanks. */
static void
print_cell(const struct text_state *state, size_t column, const char *text,
    bool right)
{
	bool last = column + 1 == state->column_count;
	int width = column_width(state, column);

	if (right) {
		fprintf(state->stream, "%*s", width, text);
	} else {
		fprintf(state->stream, "%-*s", last ? 0 : width, text);
	}
	fprintf(state->stream, "%*s", last ? 0 : COLUMN_GAP, "");
	if (last) {
		fputc('\n', state->stream);
	}
}

static void
print_table(const struct text_state *state)
{
	for (size_t i = 0; i < state->column_count; i++) {
		print_cell(state, i, state->names[i],
		    state->cell_count > i && state->cells[i].right);
	}
	for (size_t i = 0; i < state->cell_count; i++) {
		print_cell(state, i % state->column_count,
		    state->cells[i].text, state->cells[i].right);
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
		size_t column = i % state->column_count;

		if (column == 0 && i > 0) {
			fputc('\n', state->stream);
		}
		if (state->cells[i].text[0] == '\0') {
			fprintf(state->stream, "%s\n",
			    state->names[column]);
			continue;
		}
		fprintf(state->stream, "%-*s%*s%s\n", width,
		    state->names[column], COLUMN_GAP, "",
		    state->cells[i].text);
	}
}

static bool
end(void *opaque)
{
	struct text_state *state = opaque;

	if (state->layout == LAYOUT_TABLE) {
		print_table(state);
	} else {
		print_records(state);
	}
	drop_cells(state);
	return fflush(state->stream) == 0 && !ferror(state->stream);
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
	.destroy = destroy,
};

bool
output_text_init(struct output *out, FILE *stream)
{
	struct text_state *state = calloc(1, sizeof(*state));

	if (state == NULL) {
		return false;
	}
	state->stream = stream;
	out->ops = &text_ops;
	out->state = state;
	return true;
}
