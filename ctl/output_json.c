/* SPDX-License-Identifier: ISC */

/*
 * The renderer for programs: one object on one line for each result,
 *
 *	{"version": 1, "rows": [{NAME: VALUE, ...}, ...]}
 *
 * A text that is not UTF-8 becomes {"base64": "..."}.
 */
#include "output.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

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
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	    "abcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t length = strlen(text);
	char *coded = malloc(length / 3 * 4 + 5);
	char *to = coded;
	json_t *value;

	if (coded == NULL) {
		return NULL;
	}
	for (size_t i = 0; i < length; i += 3) {
		unsigned word = 0;

		for (size_t j = 0; j < 3; j++) {
			word = word << 8 | (i + j < length ?
			    (unsigned char)text[i + j] : 0u);
		}
		*to++ = digits[word >> 18];
		*to++ = digits[word >> 12 & 63];
		*to++ = i + 1 < length ? digits[word >> 6 & 63] : '=';
		*to++ = i + 2 < length ? digits[word & 63] : '=';
	}
	*to = '\0';
	value = json_pack("{s:s}", "base64", coded);
	free(coded);
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
		/* JSON integers are signed here: what is above is a real. */
		return cell->count <= INT64_MAX ?
		    json_integer((json_int_t)cell->count) :
		    json_real((double)cell->count);
	case CELL_RATIO:
		return json_real(cell->ratio);
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
end(void *opaque)
{
	struct json_state *state = opaque;
	json_t *result = json_pack("{s:i, s:o}", "version", FORM_VERSION,
	    "rows", state->rows);
	bool written;

	state->rows = NULL;	/* json_pack took it, even if it failed */
	if (result == NULL) {
		return false;
	}
	written = json_dumpf(result, state->stream,
	    JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(REAL_DIGITS)) == 0;
	json_decref(result);
	fputc('\n', state->stream);
	return fflush(state->stream) == 0 && !ferror(state->stream) &&
	    written;
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
