/* SPDX-License-Identifier: ISC */

#include "answer.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "byte_text.h"
#include "connect.h"
#include "result.h"

#define MEMBER_BYTES	32u	/* of an object's name; ours are shorter */

/* The exit status for what the daemon says no with. */
static enum ctl_exit
exit_of_status(int32_t status)
{
	switch (status) {
	case MISS:
		return CTL_NOT_FOUND;
	case DENIED:
		return CTL_REFUSED;
	case TIMEOUT:
		return CTL_TIMEOUT;
	case INVALID:
	case KEY_INVALID:
	case TOO_MANY_TAGS:
		return CTL_USAGE;
	case NO_SERVER:
	case CLOSED:
		return CTL_NO_CONNECTION;
	default:
		return CTL_FAILED;
	}
}

static enum ctl_exit
exit_of_outcome(enum connect_outcome outcome, int32_t status)
{
	switch (outcome) {
	case CONNECT_FINE:
		return CTL_OK;
	case CONNECT_UNREACHABLE:
		return CTL_NO_CONNECTION;
	case CONNECT_NO_RIGHTS:
		return CTL_REFUSED;
	case CONNECT_TIMEOUT:
		return CTL_TIMEOUT;
	case CONNECT_REFUSED:
		return exit_of_status(status);
	case CONNECT_NO_MEMORY:
	case CONNECT_STOPPED:
	case CONNECT_NONSENSE:
		break;
	}
	return CTL_FAILED;
}

enum ctl_exit
answer_ask_as(const struct command_context *context,
    const struct command *command, const char *verb, json_t *args,
    json_t **answer)
{
	enum connect_outcome outcome = connect_call(context->link, verb,
	    args, answer);

	if (outcome != CONNECT_FINE) {
		command_complain(context, command, "%s", context->link->text);
	}
	return exit_of_outcome(outcome, context->link->status);
}

enum ctl_exit
answer_ask(const struct command_context *context,
    const struct command *command, json_t *args, json_t **answer)
{
	return answer_ask_as(context, command, command->verb, args, answer);
}

static enum ctl_exit
printed(const struct command_context *context, const struct command *command,
    bool fine)
{
	if (!fine) {
		command_complain(context, command, "cannot print the result");
	}
	return fine ? CTL_OK : CTL_FAILED;
}

bool
answer_print_document(const struct command_context *context,
    const struct command *command, const json_t *answer,
    enum ctl_exit *result)
{
	if (!output_wants_document(context->out)) {
		return false;
	}
	if (printed(context, command, output_document(context->out,
	    answer)) != CTL_OK) {
		*result = CTL_FAILED;
	}
	return true;
}

bool
answer_flag(const json_t *object, const char *member)
{
	return json_is_true(json_object_get(object, member));
}

/* What JSON's signed integers cannot hold was sent as a real, or as -1. */
static uint64_t
number_of(const json_t *value)
{
	if (json_is_real(value)) {
		double real = json_real_value(value);

		return real < 0 ? 0 : real >= 0x1p64 ? UINT64_MAX :
		    (uint64_t)real;
	}
	return json_integer_value(value) < 0 ? UINT64_MAX :
	    (uint64_t)json_integer_value(value);
}

uint64_t
answer_number(const json_t *object, const char *member, uint64_t fallback)
{
	const json_t *value = json_object_get(object, member);

	return json_is_number(value) ? number_of(value) : fallback;
}

static enum cell_tone
tone_of_state(const char *state)
{
	static const struct {
		const char	*state;
		enum cell_tone	tone;
	} tones[] = {
		{ "ready", TONE_GOOD },
		{ "running", TONE_GOOD },
		{ "starting", TONE_WARN },
		{ "draining", TONE_WARN },
		{ "degraded", TONE_BAD },
		{ "dead", TONE_BAD },
		{ "closed", TONE_GOOD },
		{ "half-open", TONE_WARN },
		{ "open", TONE_BAD },
		{ "stale-on-error", TONE_WARN },
		{ "bypass", TONE_WARN },
		{ "back-off", TONE_WARN },
	};

	for (size_t i = 0; i < sizeof(tones) / sizeof(tones[0]); i++) {
		if (strcmp(tones[i].state, state) == 0) {
			return tones[i].tone;
		}
	}
	return TONE_PLAIN;
}

/* The texts and numbers of an array, with commas; NULL without memory. */
static char *
join(const json_t *array)
{
	char *text = NULL;
	size_t length = 0;
	FILE *stream = open_memstream(&text, &length);
	size_t i;
	json_t *each;

	if (stream == NULL) {
		return NULL;
	}
	json_array_foreach(array, i, each) {
		fputs(i == 0 ? "" : ", ", stream);
		if (json_is_integer(each)) {
			fprintf(stream, "%" JSON_INTEGER_FORMAT,
			    json_integer_value(each));
		} else if (json_is_string(each)) {
			fputs(json_string_value(each), stream);
		}
	}
	if (fclose(stream) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

/* Any bytes as a text; *kept must live until the cell was printed. */
static struct cell
data_cell(const json_t *object, const char *member, char **kept)
{
	size_t length;
	uint8_t *bytes = byte_text_from_json(object, member, &length);

	*kept = bytes == NULL ? NULL : byte_text_escape(bytes, length);
	free(bytes);
	return *kept == NULL ? (struct cell){ .kind = CELL_NONE } :
	    cell_text(*kept);
}

static struct cell
number_cell(const json_t *value, enum answer_kind kind)
{
	uint64_t number = number_of(value);

	switch (kind) {
	case ANSWER_CAP:
		return number == 0 ? cell_text("none") : cell_count(number);
	case ANSWER_VERSION:
		return cell_count((uint64_t)json_integer_value(value));
	case ANSWER_BYTES:
		return cell_number(CELL_BYTES, number);
	case ANSWER_MS:
		return cell_number(CELL_MS, number);
	case ANSWER_LEFT_MS:
		return number > INT64_MAX ? cell_text("never") :
		    cell_number(CELL_MS, number);
	case ANSWER_PERCENT:
		return (struct cell){
			.kind = CELL_PERCENT,
			.ratio = json_number_value(value),
		};
	default:
		return cell_count(number);
	}
}

/* A member, or "object.member" of one. */
static const json_t *
find_member(const json_t *object, const char *path)
{
	size_t length = strcspn(path, ".");
	char name[MEMBER_BYTES];

	if (path[length] == '\0') {
		return json_object_get(object, path);
	}
	(void)snprintf(name, sizeof(name), "%.*s", (int)length, path);
	return json_object_get(json_object_get(object, name),
	    path + length + 1);
}

static struct cell
make_cell(const json_t *object, const struct answer_column *column,
    char **kept)
{
	const json_t *value = find_member(object, column->member);

	*kept = NULL;
	if (column->kind == ANSWER_DATA) {
		return data_cell(object, column->member, kept);
	}
	if (column->kind == ANSWER_LIST && json_array_size(value) > 0) {
		*kept = join(value);
		return *kept == NULL ? (struct cell){ .kind = CELL_NONE } :
		    cell_text(*kept);
	}
	if (column->kind == ANSWER_LEFT_MS && json_is_null(value)) {
		return cell_text("never");
	}
	if (column->kind == ANSWER_YES_NO && json_is_boolean(value)) {
		return cell_text(json_is_true(value) ? "yes" : "no");
	}
	if (json_is_number(value)) {
		return number_cell(value, column->kind);
	}
	if (json_is_string(value)) {
		const char *text = json_string_value(value);

		return cell_toned(text, column->kind == ANSWER_STATE ?
		    tone_of_state(text) : TONE_PLAIN);
	}
	return (struct cell){ .kind = CELL_NONE };
}

static bool
print_row(struct output *out, const json_t *object,
    const struct answer_column *columns, size_t count)
{
	struct cell cells[ANSWER_COLUMNS_MAX] = { { .kind = CELL_NONE } };
	char *kept[ANSWER_COLUMNS_MAX];
	bool fine;

	for (size_t i = 0; i < count; i++) {
		cells[i] = make_cell(object, &columns[i], &kept[i]);
	}
	fine = output_row(out, cells);
	for (size_t i = 0; i < count; i++) {
		free(kept[i]);
	}
	return fine;
}

static enum ctl_exit
print(const struct command_context *context, const struct command *command,
    enum output_layout layout, const json_t *value,
    const struct answer_column *columns, size_t count)
{
	const char *names[ANSWER_COLUMNS_MAX];
	size_t i;
	json_t *each;
	bool fine;

	for (i = 0; i < count; i++) {
		names[i] = columns[i].title;
	}
	fine = output_begin(context->out, layout, names, count);
	if (!json_is_array(value)) {
		fine = fine && print_row(context->out, value, columns, count);
	}
	json_array_foreach(value, i, each) {
		fine = fine && print_row(context->out, each, columns, count);
	}
	return printed(context, command, fine && output_end(context->out));
}

enum ctl_exit
answer_print_record(const struct command_context *context,
    const struct command *command, const json_t *object,
    const struct answer_column *columns, size_t count)
{
	return print(context, command, LAYOUT_RECORD, object, columns, count);
}

enum ctl_exit
answer_print_table(const struct command_context *context,
    const struct command *command, const json_t *array,
    const struct answer_column *columns, size_t count)
{
	/* Without an array there are no rows. */
	json_t *none = json_is_array(array) ? NULL : json_array();
	enum output_layout layout = columns[count - 1].kind == ANSWER_PROSE ?
	    LAYOUT_PROSE : LAYOUT_TABLE;
	enum ctl_exit result = print(context, command, layout,
	    none != NULL ? none : array, columns, count);

	json_decref(none);
	return result;
}
