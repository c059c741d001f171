/* SPDX-License-Identifier: ISC */

#include "http_parse.h"

#include <criterion/criterion.h>
#include <string.h>

static enum http_parse
parse(const char *text, struct http_request *request)
{
	return http_parse_request(text, strlen(text), request);
}

Test(http_parse, finds_the_path)
{
	struct http_request request;

	cr_assert_eq(parse("GET /metrics?x=1 HTTP/1.1\r\nHost: a\r\n\r\n",
	    &request), HTTP_PARSE_OK);
	cr_assert_str_eq(request.path, "/metrics");
	cr_assert_not(request.head);
	cr_assert_eq(parse("HEAD / HTTP/1.0\n\n", &request), HTTP_PARSE_OK);
	cr_assert(request.head);
}

Test(http_parse, waits_for_the_end_at_every_length)
{
	const char *text = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
	struct http_request request;

	for (size_t i = 0; i < strlen(text); i++) {
		cr_assert_eq(http_parse_request(text, i, &request),
		    HTTP_PARSE_MORE, "length %zu", i);
	}
}

Test(http_parse, refuses_what_is_no_request)
{
	static const char *const texts[] = {
		"\r\n\r\n", "GET\r\n\r\n", "GET /\r\n\r\n",
		"GET / HTTP/2.0\r\n\r\n", "GET / HTTP/1.12\r\n\r\n",
		"GET x HTTP/1.1\r\n\r\n", " / HTTP/1.1\r\n\r\n",
		"GET / HTTP/1.1\r\nA: \x01\r\n\r\n",
		"GET /\rmetrics HTTP/1.1\r\n\r\n",
	};
	struct http_request request;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		cr_assert_eq(parse(texts[i], &request), HTTP_PARSE_BAD,
		    "number %zu", i);
	}
	cr_assert_eq(parse("POST / HTTP/1.1\r\n\r\n", &request),
	    HTTP_PARSE_METHOD);
}

Test(http_parse, bounds_the_request_and_the_path)
{
	static char text[HTTP_REQUEST_MAX];
	struct http_request request;

	memset(text, 'a', sizeof(text));
	cr_assert_eq(http_parse_request(text, sizeof(text), &request),
	    HTTP_PARSE_TOO_LONG);
	memcpy(text, "GET /", 5);
	memcpy(text + 200, " HTTP/1.1\r\n\r\n", 13);
	cr_assert_eq(http_parse_request(text, 213, &request),
	    HTTP_PARSE_TOO_LONG);
}
