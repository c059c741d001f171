/* SPDX-License-Identifier: ISC */

#include "json_key.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static void
check_decode(const char *text, const char *bytes)
{
	uint8_t out[64];
	size_t length;
	bool ok = json_key_base64_decode(out, &length, text, strlen(text));

	if (bytes == NULL) {
		cr_assert_not(ok, "%s", text);
		return;
	}
	cr_assert(ok, "%s", text);
	cr_assert_eq(length, strlen(bytes));
	cr_assert_eq(memcmp(out, bytes, length), 0);
}

Test(json_key, decodes_base64_strictly)
{
	check_decode("", "");
	check_decode("Zg==", "f");
	check_decode("Zm8=", "fo");
	check_decode("Zm9v", "foo");
	check_decode("Zm9vYg==", "foob");
	check_decode("Zg=", NULL);
	check_decode("Zh==", NULL);
	check_decode("Z===", NULL);
	check_decode("====", NULL);
	check_decode("Zg==Zg==", NULL);
	check_decode("Zm9*", NULL);
	check_decode("Z=9v", NULL);
}

Test(json_key, brings_every_byte_there_and_back)
{
	uint8_t bytes[256], *back;
	size_t length;
	bool found;

	for (int i = 0; i < 256; i++) {
		bytes[i] = (uint8_t)i;
	}
	for (size_t n = 0; n <= 256; n++) {
		json_t *object = json_object();

		json_key_put(object, "key", bytes, n);
		back = json_key_get(object, "key", &length, &found);
		cr_assert_not_null(back, "length %zu", n);
		cr_assert_eq(length, n);
		cr_assert_eq(memcmp(back, bytes, n), 0);
		free(back);
		json_decref(object);
	}
}

Test(json_key, is_text_where_that_is_possible)
{
	json_t *object = json_object();

	json_key_put(object, "a", "text\0nul", 8);
	json_key_put(object, "b", "\xff", 1);
	cr_assert_not_null(json_object_get(object, "a"));
	cr_assert_null(json_object_get(object, "b"));
	cr_assert_str_eq(json_string_value(json_object_get(object, "b64")),
	    "/w==");
	json_decref(object);
}

Test(json_key, refuses_both_forms_at_once)
{
	json_t *object = json_pack("{s:s, s:s}", "key", "a", "key64", "YQ==");
	size_t length;
	bool found;

	cr_assert_null(json_key_get(object, "key", &length, &found));
	cr_assert(found);
	cr_assert_null(json_key_get(object, "other", &length, &found));
	cr_assert_not(found);
	json_decref(object);
}
