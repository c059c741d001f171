/* SPDX-License-Identifier: ISC */

#include "byte_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>
#include <jansson.h>

static void
expect_escaped(const void *bytes, size_t length, const char *want)
{
	char *text = byte_text_escape(bytes, length);

	cr_assert_str_eq(text, want, "%s, not %s", text, want);
	cr_assert_eq(byte_text_unescape(text), length);
	cr_assert_arr_eq(text, bytes, length, "%s does not come back", want);
	free(text);
}

Test(byte_text, escapes_what_is_no_harmless_text_and_back)
{
	expect_escaped("", 0, "");
	expect_escaped("a b", 3, "a b");
	expect_escaped("a\0b\n", 4, "a\\x00b\\x0a");
	expect_escaped("\\x41", 4, "\\x5cx41");
	expect_escaped("\x7f\x1b[2J", 5, "\\x7f\\x1b[2J");
	expect_escaped("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 9,
	    "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
	expect_escaped("\xc2\x9b", 2, "\\xc2\\x9b");	/* C1 control */
	expect_escaped("\xc0\xaf", 2, "\\xc0\\xaf");	/* overlong */
	expect_escaped("\xed\xa0\x80", 3, "\\xed\\xa0\\x80"); /* surrogate */
	expect_escaped("\xf4\x90\x80\x80", 4, "\\xf4\\x90\\x80\\x80");
	expect_escaped("\xc3", 1, "\\xc3");		/* cut */
	expect_escaped("\xff\x80", 2, "\\xff\\x80");
}

Test(byte_text, leaves_backslashes_that_begin_nothing)
{
	char text[] = "\\ \\x \\x4 \\xg1 \\x4A\\";

	cr_assert_eq(byte_text_unescape(text), strlen("\\ \\x \\x4 \\xg1 J\\"));
	cr_assert_str_eq(text, "\\ \\x \\x4 \\xg1 J\\", "%s", text);
}

/* Every byte value, at every length modulo three. */
Test(byte_text, json_gives_back_the_same_bytes)
{
	uint8_t bytes[256];

	for (size_t i = 0; i < sizeof(bytes); i++) {
		bytes[i] = (uint8_t)i;
	}
	for (size_t length = 0; length <= sizeof(bytes); length++) {
		json_t *object = json_object();
		size_t back_length;
		uint8_t *back;

		cr_assert(byte_text_to_json(object, "key", bytes, length));
		back = byte_text_from_json(object, "key", &back_length);
		cr_assert_not_null(back, "%zu bytes", length);
		cr_assert_eq(back_length, length);
		cr_assert_arr_eq(back, bytes, length, "%zu bytes", length);
		cr_assert_eq(back[length], 0);
		free(back);
		json_decref(object);
	}
}

Test(byte_text, json_has_text_as_text_and_the_rest_as_base64)
{
	json_t *object = json_object();

	cr_assert(byte_text_to_json(object, "a", "caf\xc3\xa9", 5));
	cr_assert(byte_text_to_json(object, "b", "x\0", 2));
	cr_assert(byte_text_to_json(object, "c", "\xff", 1));
	cr_assert_str_eq(json_string_value(json_object_get(object, "a")),
	    "caf\xc3\xa9");
	cr_assert_str_eq(json_string_value(json_object_get(object, "b64")),
	    "eAA=");
	cr_assert_str_eq(json_string_value(json_object_get(object, "c64")),
	    "/w==");
	cr_assert_eq(json_object_size(object), 3u);
	json_decref(object);
}

Test(byte_text, json_that_makes_no_sense_is_refused)
{
	static const char *const bad[] = {
		"{}", "{\"k\": 1}", "{\"k64\": \"YQ=\"}", "{\"k64\": \"Y*==\"}",
		"{\"k64\": \"=YQ=\"}", "{\"k64\": \"====\"}", "{\"k64\": []}",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		json_t *object = json_loads(bad[i], 0, NULL);
		size_t length;

		cr_assert_not_null(object);
		cr_assert_null(byte_text_from_json(object, "k", &length),
		    "%s", bad[i]);
		json_decref(object);
	}
}
