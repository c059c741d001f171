/* SPDX-License-Identifier: ISC */

/*
 * The renderer for programs: one object on one line for each result,
 *
 *	{"version": 1, "rows": [{NAME: VALUE, ...}, ...]}
 *
 * A text that is not UTF-8 becomes {"base64": "..."}.  A result that is an
 * object already is printed as it is, on one line.
 */
#include "output.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "byte_text.h"

#define FORM_VERSION	1
#define REAL_DIGITS	9

struct json_state {
	FILE		*stream;
	const char *const *names;
	size_t		column_count;
	json_t		*rows;		/* NULL: no result begun */
};

static bool
begin(void *opaque, enum output_layout layout, const char *const *names,
    size_t count)
{
	struct json_state *state = opaque;

	(void)layout;		/* for people */
	json_decref(state->rows);
	state->rows = json_array();
	state->names = names;
	state->column_count = count;
	return state->rows != NULL;
}

static json_t *
encode_bytes(const char *text)
{
	json_t *value = json_object();

	/* Not UTF-8, so that the member is the one with 64 in its name. */
	if (!byte_text_to_json(value, "base", text, strlen(text))) {
		json_decref(value);
		return NULL;
	}
	return value;
}

static json_t *
encode_cell(const struct cell *cell)
{
	json_t *value = NULL;

	switch (cell->kind) {
	case CELL_TEXT:
		value = json_string(cell->text);
		return value != NULL ? value : encode_bytes(cell->text);
	case CELL_COUNT:
	case CELL_BYTES:
	case CELL_MS:
		/* JSON integers are signed here: what is above is a real. */
		return cell->count <= INT64_MAX ?
		    json_integer((json_int_t)cell->count) :
		    json_real((double)cell->count);
	case CELL_RATIO:
	case CELL_PERCENT:
		return json_real(cell->ratio);
	case CELL_NONE:
		return json_null();
	}
	return value;
}

static bool
row(void *opaque, const struct cell *cells)
{
	struct json_state *state = opaque;
	json_t *object = json_object();

	if (object == NULL) {
		return false;
	}
	for (size_t i = 0; i < state->column_count; i++) {
		if (json_object_set_new(object, state->names[i],
		    encode_cell(&cells[i])) != 0) {
			json_decref(object);
			return false;
		}
	}
	return json_array_append_new(state->rows, object) == 0;
}

static bool
document(void *opaque, const json_t *object)
{
	struct json_state *state = opaque;
	bool written = json_dumpf(object, state->stream,
	    JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(REAL_DIGITS)) == 0;

	fputc('\n', state->stream);
	return fflush(state->stream) == 0 && !ferror(state->stream) &&
	    written;
}

static bool
end(void *opaque)
{
	struct json_state *state = opaque;
	json_t *result = json_pack("{s:i, s:o}", "version", FORM_VERSION,
	    "rows", state->rows);
	bool written;

	state->rows = NULL;	/* json_pack took it, even if it failed */
	written = result != NULL && document(state, result);
	json_decref(result);
	return written;
}

static void
destroy(void *opaque)
{
	struct json_state *state = opaque;

	json_decref(state->rows);
	free(state);
}

static const struct output_ops json_ops = {
	.begin = begin,
	.row = row,
	.end = end,
	.document = document,
	.destroy = destroy,
};

bool
output_json_init(struct output *out, FILE *stream)
{
	struct json_state *state = calloc(1, sizeof(*state));

	if (state == NULL) {
		return false;
	}
	state->stream = stream;
	out->ops = &json_ops;
	out->state = state;
	return true;
}
