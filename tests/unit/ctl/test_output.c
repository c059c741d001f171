/* SPDX-License-Identifier: ISC */

#include "output.h"

#include <stdlib.h>

#include <criterion/criterion.h>
#include <jansson.h>

static const char *const names[] = { "name", "count", "ratio" };

typedef bool (*init_fn)(struct output *out, FILE *stream);

/* What a renderer prints for two rows; the caller frees it. */
static char *
render(init_fn init, enum output_layout layout, const char *text)
{
	struct output out;
	char *printed = NULL;
	size_t length = 0;
	FILE *stream = open_memstream(&printed, &length);

	cr_assert_not_null(stream);
	cr_assert(init(&out, stream));
	cr_assert(output_begin(&out, layout, names, 3));
	cr_assert(output_row(&out, (struct cell[]){
		cell_text(text), cell_count(12345), cell_ratio(0.5),
	}));
	cr_assert(output_row(&out, (struct cell[]){
		cell_text("b"), cell_count(UINT64_MAX), cell_ratio(1.0 / 3),
	}));
	cr_assert(output_end(&out));
	output_fini(&out);
	cr_assert_eq(fclose(stream), 0);
	return printed;
}

Test(output, text_aligns_a_table)
{
	char *printed = render(output_text_init, LAYOUT_TABLE, "longer");

	cr_assert_str_eq(printed,
	    "name                   count     ratio\n"
	    "longer                 12345  0.500000\n"
	    "b       18446744073709551615  0.333333\n", "%s", printed);
	free(printed);
}

Test(output, text_shows_a_record_line_by_line)
{
	char *printed = render(output_text_init, LAYOUT_RECORD, "");

	cr_assert_str_eq(printed,
	    "name\n"
	    "count  12345\n"
	    "ratio  0.500000\n"
	    "\n"
	    "name   b\n"
	    "count  18446744073709551615\n"
	    "ratio  0.333333\n", "%s", printed);
	free(printed);
}

Test(output, text_shows_no_control_bytes)
{
	char *printed = render(output_text_init, LAYOUT_RECORD,
	    "a\x1b[2J\n\x7f" "b");

	cr_assert_not_null(strstr(printed, "name   a\\x1b[2J\\x0a\\x7fb\n"),
	    "%s", printed);
	free(printed);
}

static json_t *
render_json(const char *text)
{
	char *printed = render(output_json_init, LAYOUT_TABLE, text);
	json_t *result = json_loads(printed, 0, NULL);

	cr_assert_not_null(result, "%s", printed);
	free(printed);
	return result;
}

Test(output, json_is_one_versioned_object)
{
	json_t *result = render_json("quote\" back\\ new\n");
	json_t *row = json_array_get(json_object_get(result, "rows"), 0);

	cr_assert_eq(json_integer_value(json_object_get(result, "version")),
	    1);
	cr_assert_eq(json_array_size(json_object_get(result, "rows")), 2u);
	cr_assert_str_eq(json_string_value(json_object_get(row, "name")),
	    "quote\" back\\ new\n");
	cr_assert_eq(json_integer_value(json_object_get(row, "count")),
	    12345);
	cr_assert_eq(json_real_value(json_object_get(row, "ratio")), 0.5);
	json_decref(result);
}

Test(output, json_shows_what_is_no_utf_8_in_base64)
{
	static const struct {
		const char *bytes;
		const char *coded;
	} cases[] = {
		{ "\xff", "/w==" }, { "\xff\xfe", "//4=" },
		{ "\xff\xfe\xfd", "//79" }, { "a\x80" "bc", "YYBiYw==" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		json_t *result = render_json(cases[i].bytes);
		json_t *name = json_object_get(json_array_get(
		    json_object_get(result, "rows"), 0), "name");

		cr_expect_str_eq(json_string_value(json_object_get(name,
		    "base64")), cases[i].coded);
		json_decref(result);
	}
}

Test(output, a_result_that_was_not_ended_is_dropped)
{
	static const init_fn inits[] = { output_text_init, output_json_init };

	for (size_t i = 0; i < 2; i++) {
		struct output out;
		char *printed = NULL;
		size_t length = 0;
		FILE *stream = open_memstream(&printed, &length);

		cr_assert(inits[i](&out, stream));
		cr_assert(output_begin(&out, LAYOUT_TABLE, names, 1));
		cr_assert(output_row(&out, (struct cell[]){
			cell_text("dropped"),
		}));
		cr_assert(output_begin(&out, LAYOUT_TABLE, names, 1));
		cr_assert(output_row(&out, (struct cell[]){
			cell_text("kept"),
		}));
		cr_assert(output_end(&out));
		output_fini(&out);
		cr_assert_eq(fclose(stream), 0);
		cr_expect_not_null(strstr(printed, "kept"));
		cr_expect_null(strstr(printed, "dropped"));
		free(printed);
	}
}

Test(output, a_stream_that_fails_is_reported)
{
	static const init_fn inits[] = { output_text_init, output_json_init };

	for (size_t i = 0; i < 2; i++) {
		struct output out;
		FILE *stream = fopen("/dev/full", "w");

		cr_assert_not_null(stream);
		cr_assert(inits[i](&out, stream));
		cr_assert(output_begin(&out, LAYOUT_TABLE, names, 1));
		cr_expect_not(output_end(&out));
		output_fini(&out);
		(void)fclose(stream);	/* the device is full */
	}
}

/* The text of one row of a table of two columns. */
static char *
render_row(enum output_layout layout, struct cell first, struct cell second)
{
	static const char *const two[] = { "a", "b" };
	struct output out;
	char *printed = NULL;
	size_t length = 0;
	FILE *stream = open_memstream(&printed, &length);

	cr_assert_not_null(stream);
	cr_assert(output_text_init(&out, stream));
	cr_assert(output_begin(&out, layout, two, 2));
	cr_assert(output_row(&out, (struct cell[]){ first, second }));
	cr_assert(output_end(&out));
	output_fini(&out);
	cr_assert_eq(fclose(stream), 0);
	return printed;
}

Test(output, text_shows_units_for_people)
{
	char *printed = render_row(LAYOUT_TABLE,
	    cell_number(CELL_BYTES, 3 << 20), cell_number(CELL_MS, 61000));

	cr_assert_str_eq(printed, "      a          b\n"
	    "3.0 MiB  1 min 1 s\n", "%s", printed);
	free(printed);
	printed = render_row(LAYOUT_RECORD, (struct cell){
		.kind = CELL_PERCENT, .ratio = 0.925,
	    }, (struct cell){ .kind = CELL_NONE });
	cr_assert_str_eq(printed, "a  92.5%\nb  -\n", "%s", printed);
	free(printed);
}

Test(output, text_has_no_colours_in_a_file)
{
	char *printed = render_row(LAYOUT_TABLE, cell_toned("x", TONE_BAD),
	    cell_text("y"));

	cr_assert_str_eq(printed, "a  b\nx  y\n", "%s", printed);
	free(printed);
}

Test(output, text_wraps_prose_at_blanks)
{
	char *printed = render_row(LAYOUT_PROSE, cell_count(1),
	    cell_text("0123456789 0123456789 0123456789 0123456789 "
	    "0123456789 0123456789 0123456789 end"));

	cr_assert_str_eq(printed, "a  b\n"
	    "1  0123456789 0123456789 0123456789 0123456789 0123456789 "
	    "0123456789 0123456789\n   end\n", "%s", printed);
	free(printed);
}

Test(output, json_prints_a_document_as_it_is)
{
	struct output out;
	char *printed = NULL;
	size_t length = 0;
	FILE *stream = open_memstream(&printed, &length);
	json_t *document = json_pack("{s:i, s:n}", "z", 1, "a");

	cr_assert(output_json_init(&out, stream));
	cr_assert(output_wants_document(&out));
	cr_assert(output_document(&out, document));
	cr_assert_str_eq(printed, "{\"z\": 1, \"a\": null}\n", "%s", printed);
	output_fini(&out);
	cr_assert_eq(fclose(stream), 0);
	json_decref(document);
	free(printed);
}
