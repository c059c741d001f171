/* SPDX-License-Identifier: ISC */

/*
 * Base64 of RFC 4648 section 4, strict: padding is there, unused bits are 0.
 */
#include "json_key.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES	32

static const char alphabet[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

size_t
json_key_base64_length(size_t length)
{
	return (length + 2) / 3 * 4;
}

void
json_key_base64_encode(char *out, const uint8_t *bytes, size_t length)
{
	for (size_t i = 0; i < length; i += 3) {
		size_t left = length - i;
		uint32_t bits = (uint32_t)bytes[i] << 16;

		if (left > 1) {
			bits |= (uint32_t)bytes[i + 1] << 8;
		}
		if (left > 2) {
			bits |= bytes[i + 2];
		}
		*out++ = alphabet[bits >> 18];
		*out++ = alphabet[bits >> 12 & 63];
		*out++ = left > 1 ? alphabet[bits >> 6 & 63] : '=';
		*out++ = left > 2 ? alphabet[bits & 63] : '=';
	}
}

/* The six bits of a character, or -1. */
static int
bits_of(char c)
{
	const char *at = c == '\0' ? NULL : strchr(alphabet, c);

	return at == NULL ? -1 : (int)(at - alphabet);
}

/* One group of four characters.  Bytes that it makes, or 0. */
static size_t
decode_group(uint8_t *out, const char *text)
{
	size_t count = text[3] != '=' ? 3 : text[2] != '=' ? 2 : 1;
	uint32_t bits = 0;

	for (size_t i = 0; i < 4; i++) {
		int six = i <= count ? bits_of(text[i]) : 0;

		if (six < 0) {
			return 0;
		}
		bits = bits << 6 | (uint32_t)six;
	}
	for (size_t i = 0; i < count; i++) {
		out[i] = (uint8_t)(bits >> (16 - 8 * i));
	}
	return (bits & (0xffffffu >> (8 * count))) == 0 ? count : 0;
}

bool
json_key_base64_decode(uint8_t *out, size_t *out_length, const char *text,
    size_t length)
{
	*out_length = 0;
	if (length % 4 != 0) {
		return false;
	}
	for (size_t i = 0; i < length; i += 4) {
		size_t count = decode_group(out + *out_length, text + i);

		if (count == 0 || (count < 3 && i + 4 < length)) {
			return false;
		}
		*out_length += count;
	}
	return true;
}

void
json_key_put(json_t *object, const char *name, const void *bytes,
    size_t length)
{
	/* NULL unless the bytes are valid UTF-8. */
	json_t *text = json_stringn(bytes, length);
	char name64[NAME_BYTES];
	char *encoded;

	if (text != NULL) {
		(void)json_object_set_new(object, name, text);
		return;
	}
	encoded = malloc(json_key_base64_length(length) + 1);
	if (encoded == NULL) {
		return;
	}
	json_key_base64_encode(encoded, bytes, length);
	(void)snprintf(name64, sizeof(name64), "%s64", name);
	(void)json_object_set_new(object, name64, json_stringn(encoded,
	    json_key_base64_length(length)));
	free(encoded);
}

uint8_t *
json_key_get(const json_t *object, const char *name, size_t *length,
    bool *found)
{
	char name64[NAME_BYTES];
	const json_t *text, *encoded, *which;
	uint8_t *bytes;

	(void)snprintf(name64, sizeof(name64), "%s64", name);
	text = json_object_get(object, name);
	encoded = json_object_get(object, name64);
	which = text != NULL ? text : encoded;
	*found = which != NULL;
	if (which == NULL || (text != NULL && encoded != NULL) ||
	    !json_is_string(which)) {
		return NULL;
	}
	bytes = malloc(json_string_length(which) + 1);
	if (bytes == NULL) {
		return NULL;
	}
	if (which == text) {
		*length = json_string_length(text);
		memcpy(bytes, json_string_value(text), *length);
	} else if (!json_key_base64_decode(bytes, length,
	    json_string_value(encoded), json_string_length(encoded))) {
		free(bytes);
		return NULL;
	}
	return bytes;
}
