/* SPDX-License-Identifier: ISC */

/*
 * A request line and the end of the fields; the fields themselves decide
 * nothing here, but no byte may be a control character, and a CR comes before
 * an LF alone.
 */
#include "http_parse.h"

#include <string.h>

/* Behind the empty line that ends the fields, or NULL. */
static const char *
find_end(const char *bytes, size_t length)
{
	for (size_t i = 0; i + 1 < length; i++) {
		if (bytes[i] != '\n') {
			continue;
		}
		if (bytes[i + 1] == '\n') {
			return bytes + i + 2;
		}
		if (bytes[i + 1] == '\r' && i + 2 < length &&
		    bytes[i + 2] == '\n') {
			return bytes + i + 3;
		}
	}
	return NULL;
}

static bool
has_control_bytes(const char *bytes, const char *end)
{
	for (; bytes < end; bytes++) {
		unsigned char c = (unsigned char)*bytes;

		if (c == '\r' && bytes + 1 < end && bytes[1] == '\n') {
			continue;
		}
		if (c == 0x7f || (c < 0x20 && c != '\n' && c != '\t')) {
			return true;
		}
	}
	return false;
}

static bool
is_version(const char *bytes, size_t length)
{
	return length == 8 && memcmp(bytes, "HTTP/1.", 7) == 0 &&
	    (bytes[7] == '0' || bytes[7] == '1');
}

/* The line without its end: METHOD SP TARGET SP VERSION. */
static enum http_parse
parse_line(const char *line, size_t length, struct http_request *request)
{
	const char *end = line + length;
	const char *target = memchr(line, ' ', length);
	const char *version, *query;
	size_t method_length, path_length;

	if (target == NULL || target == line) {
		return HTTP_PARSE_BAD;
	}
	method_length = (size_t)(target - line);
	target++;
	version = memchr(target, ' ', (size_t)(end - target));
	if (version == NULL || *target != '/' ||
	    !is_version(version + 1, (size_t)(end - version - 1))) {
		return HTTP_PARSE_BAD;
	}
	query = memchr(target, '?', (size_t)(version - target));
	path_length = (size_t)((query != NULL ? query : version) - target);
	if (path_length >= HTTP_PATH_MAX) {
		return HTTP_PARSE_TOO_LONG;
	}
	memcpy(request->path, target, path_length);
	request->path[path_length] = '\0';
	request->head = method_length == 4 && memcmp(line, "HEAD", 4) == 0;
	if (!request->head &&
	    !(method_length == 3 && memcmp(line, "GET", 3) == 0)) {
		return HTTP_PARSE_METHOD;
	}
	return HTTP_PARSE_OK;
}

enum http_parse
http_parse_request(const char *bytes, size_t length,
    struct http_request *request)
{
	const char *end = find_end(bytes, length);
	const char *line_end;
	size_t line_length;

	if (end == NULL) {
		return length >= HTTP_REQUEST_MAX ? HTTP_PARSE_TOO_LONG :
		    HTTP_PARSE_MORE;
	}
	if (has_control_bytes(bytes, end)) {
		return HTTP_PARSE_BAD;
	}
	line_end = memchr(bytes, '\n', (size_t)(end - bytes));
	line_length = (size_t)(line_end - bytes);
	if (line_length > 0 && bytes[line_length - 1] == '\r') {
		line_length--;
	}
	return parse_line(bytes, line_length, request);
}
