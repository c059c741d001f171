/* SPDX-License-Identifier: ISC */

#include "byte_text.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ESCAPE_LENGTH	4u	/* of \xHH */
#define NAME_BYTES	32u	/* of a member's name with its 64 */

static const char base64_digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    "abcdefghijklmnopqrstuvwxyz0123456789+/";

/* -1 if it is no hexadecimal digit. */
static int
hex_value(char digit)
{
	if (digit >= '0' && digit <= '9') {
		return digit - '0';
	}
	digit |= 0x20;
	return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

size_t
byte_text_unescape(char *text)
{
	char *to = text;

	for (const char *in = text; *in != '\0'; in++) {
		int high, low;

		if (in[0] == '\\' && in[1] == 'x' &&
		    (high = hex_value(in[2])) >= 0 &&
		    (low = hex_value(in[3])) >= 0) {
			*to++ = (char)(high << 4 | low);
			in += ESCAPE_LENGTH - 1;
		} else {
			*to++ = *in;
		}
	}
	*to = '\0';
	return (size_t)(to - text);
}

/*
 * The length of the character at bytes if a terminal may be shown it, else
 * 0: no control character of ASCII or of U+0080 to U+009f, no backslash, no
 * overlong form, no surrogate, nothing above U+10ffff.
 */
static size_t
shown_length(const uint8_t *bytes, size_t left)
{
	static const uint32_t smallest[] = { 0, 0, 0xa0, 0x800, 0x10000 };
	uint32_t code = bytes[0];
	size_t length;

	if (code < 0x80) {
		return code >= 0x20 && code != 0x7f && code != '\\';
	}
	length = code >= 0xf0 ? 4 : code >= 0xe0 ? 3 : 2;
	if (code < 0xc0 || code > 0xf4 || length > left) {
		return 0;
	}
	code &= 0x7fu >> length;
	for (size_t i = 1; i < length; i++) {
		if ((bytes[i] & 0xc0) != 0x80) {
			return 0;
		}
		code = code << 6 | (bytes[i] & 0x3fu);
	}
	return code < smallest[length] || code > 0x10ffff ||
	    (code >= 0xd800 && code <= 0xdfff) ? 0 : length;
}

char *
byte_text_escape(const void *bytes, size_t length)
{
	static const char digits[] = "0123456789abcdef";
	const uint8_t *in = bytes;
	char *text = reallocarray(NULL, length + 1, ESCAPE_LENGTH);
	char *to = text;

	if (text == NULL) {
		return NULL;
	}
	for (size_t i = 0; i < length; ) {
		size_t shown = shown_length(in + i, length - i);

		if (shown != 0) {
			memcpy(to, in + i, shown);
			to += shown;
			i += shown;
			continue;
		}
		*to++ = '\\';
		*to++ = 'x';
		*to++ = digits[in[i] >> 4];
		*to++ = digits[in[i] & 15];
		i++;
	}
	*to = '\0';
	return text;
}

static char *
encode_base64(const uint8_t *bytes, size_t length)
{
	char *coded = malloc(length / 3 * 4 + 5);
	char *to = coded;

	for (size_t i = 0; coded != NULL && i < length; i += 3) {
		unsigned word = 0;

		for (size_t j = 0; j < 3; j++) {
			word = word << 8 |
			    (i + j < length ? bytes[i + j] : 0u);
		}
		*to++ = base64_digits[word >> 18];
		*to++ = base64_digits[word >> 12 & 63];
		*to++ = i + 1 < length ? base64_digits[word >> 6 & 63] : '=';
		*to++ = i + 2 < length ? base64_digits[word & 63] : '=';
	}
	if (coded != NULL) {
		*to = '\0';
	}
	return coded;
}

static uint8_t *
decode_base64(const char *coded, size_t coded_length, size_t *length)
{
	uint8_t *bytes = malloc(coded_length / 4 * 3 + 1);
	uint8_t *to = bytes;
	size_t pads = 0;

	if (bytes == NULL || coded_length % 4 != 0) {
		free(bytes);
		return NULL;
	}
	while (pads < 2 && pads < coded_length &&
	    coded[coded_length - 1 - pads] == '=') {
		pads++;
	}
	for (size_t i = 0; i < coded_length; i += 4) {
		unsigned word = 0;

		for (size_t j = i; j < i + 4; j++) {
			const char *digit = j >= coded_length - pads ?
			    base64_digits : memchr(base64_digits, coded[j],
			    sizeof(base64_digits) - 1);

			if (digit == NULL) {
				free(bytes);
				return NULL;
			}
			word = word << 6 |
			    (unsigned)(digit - base64_digits);
		}
		*to++ = (uint8_t)(word >> 16);
		*to++ = (uint8_t)(word >> 8);
		*to++ = (uint8_t)word;
	}
	*length = (size_t)(to - bytes) - pads;
	bytes[*length] = '\0';
	return bytes;
}

bool
byte_text_to_json(json_t *object, const char *name, const void *bytes,
    size_t length)
{
	json_t *text = memchr(bytes, '\0', length) != NULL ? NULL :
	    json_stringn(bytes, length);
	char name64[NAME_BYTES];
	char *coded;
	bool fine;

	if (text != NULL) {
		return json_object_set_new(object, name, text) == 0;
	}
	coded = encode_base64(bytes, length);
	(void)snprintf(name64, sizeof(name64), "%s64", name);	/* fits */
	fine = coded != NULL &&
	    json_object_set_new(object, name64, json_string(coded)) == 0;
	free(coded);
	return fine;
}

uint8_t *
byte_text_from_json(const json_t *object, const char *name, size_t *length)
{
	const json_t *value = json_object_get(object, name);
	char name64[NAME_BYTES];
	uint8_t *copy;

	if (json_is_string(value)) {
		*length = json_string_length(value);
		copy = malloc(*length + 1);
		if (copy != NULL) {
			memcpy(copy, json_string_value(value), *length);
			copy[*length] = '\0';
		}
		return copy;
	}
	(void)snprintf(name64, sizeof(name64), "%s64", name);	/* fits */
	value = json_object_get(object, name64);
	return !json_is_string(value) ? NULL :
	    decode_base64(json_string_value(value),
	    json_string_length(value), length);
}
