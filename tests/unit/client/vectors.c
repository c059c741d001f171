/* SPDX-License-Identifier: ISC */

/*
 * Reading the vectors, and comparing.
 */
#include "vectors.h"

#include <criterion/criterion.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FILE *
open_vectors(void)
{
	char path[512];
	const char *end = strstr(__FILE__, "unit/client/");
	FILE *file = fopen("tests/vectors/protocol.txt", "r");

	if (file == NULL && end != NULL) {
		(void)snprintf(path, sizeof(path), "%.*svectors/protocol.txt",
		    (int)(end - __FILE__), __FILE__);
		file = fopen(path, "r");
	}
	cr_assert_not_null(file, "no tests/vectors/protocol.txt");
	return file;
}

/* The bytes of the line, if all of it is hex. */
static size_t
take_hex(const char *line, uint8_t *out, size_t room)
{
	size_t length = strcspn(line, "\n"), count = length / 2;

	if (length == 0 || length % 2 != 0 || count > room ||
	    strspn(line, "0123456789abcdef") != length) {
		return 0;
	}
	for (size_t i = 0; i < count; i++) {
		char digits[3] = { line[2 * i], line[2 * i + 1], '\0' };

		out[i] = (uint8_t)strtoul(digits, NULL, 16);
	}
	return count;
}

size_t
vector_read(const char *name, uint8_t bytes[VECTOR_BYTES_MAX])
{
	FILE *file = open_vectors();
	char line[128];
	bool here = false;
	size_t count = 0;

	while (fgets(line, sizeof(line), file) != NULL) {
		if (line[0] == '\n') {
			here = false;
		} else if (strncmp(line, name, strlen(name)) == 0 &&
		    line[strlen(name)] == '\n') {
			here = true;
		} else if (here) {
			count += take_hex(line, bytes + count,
			    VECTOR_BYTES_MAX - count);
		}
	}
	(void)fclose(file);
	cr_assert_gt(count, 0, "no vector %s", name);
	return count;
}

void
vector_expect(const char *name, const uint8_t *made, size_t length)
{
	uint8_t frozen[VECTOR_BYTES_MAX];

	cr_assert_eq(vector_read(name, frozen), length, "%s", name);
	cr_assert_eq(memcmp(frozen, made, length), 0, "%s", name);
}

void
vector_expect_request(const char *name, const struct request *request,
    uint64_t id, uint64_t ring_tail)
{
	struct encoded encoded;
	uint8_t made[VECTOR_BYTES_MAX];
	size_t length = 0;

	cr_assert_eq(request_check(request, NULL), OK);
	request_encode(request, NULL, &encoded);
	request_address(request, id, ring_tail, &encoded);
	for (int i = 0; i < 3; i++) {
		if (encoded.part[i].iov_len > 0) {
			memcpy(made + length, encoded.part[i].iov_base,
			    encoded.part[i].iov_len);
			length += encoded.part[i].iov_len;
		}
	}
	vector_expect(name, made, length);
}

void
vector_expect_answer(const char *name, enum frame_type type, uint64_t id,
    int status, const void *body, size_t length)
{
	struct frame frame = {
		.type = (uint8_t)type, .flags = FRAME_ANSWER,
		.status = status, .id = id, .length = length,
	};
	uint8_t made[VECTOR_BYTES_MAX];

	frame_encode(made, &frame);
	memcpy(made + FRAME_HEADER_BYTES, body, length);
	vector_expect(name, made, FRAME_HEADER_BYTES + length);
}
