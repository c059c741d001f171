/* SPDX-License-Identifier: ISC */

/*
 * The little of HTTP/1 that the admin port understands: GET and HEAD of a
 * path, no body.  Pure; workers call.
 */
#ifndef HTTP_PARSE_H
#define HTTP_PARSE_H

#include <stdbool.h>
#include <stddef.h>

/* A request longer than this is refused. */
#define HTTP_REQUEST_MAX	4096u
#define HTTP_PATH_MAX		128u

enum http_parse {
	HTTP_PARSE_MORE,		/* its end is not there yet */
	HTTP_PARSE_OK,
	HTTP_PARSE_BAD,			/* 400 */
	HTTP_PARSE_METHOD,		/* 405 */
	HTTP_PARSE_TOO_LONG,		/* 431 */
};

struct http_request {
	char	path[HTTP_PATH_MAX];	/* without the query */
	bool	head;			/* HEAD: no body in the answer */
};

enum http_parse http_parse_request(const char *bytes, size_t length,
    struct http_request *request);

#endif
