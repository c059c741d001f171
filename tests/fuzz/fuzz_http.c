/* SPDX-License-Identifier: ISC */

/*
 * A request to the admin port.
 */
#include "fuzz_target.h"

#include <string.h>

#include "http_parse.h"

const char fuzz_name[] = "http";

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct http_request request;

	if (http_parse_request((const char *)bytes, length, &request) ==
	    HTTP_PARSE_OK) {
		FUZZ_CHECK(request.path[0] == '/');
		FUZZ_CHECK(memchr(request.path, '\0', HTTP_PATH_MAX) !=
		    NULL);
		FUZZ_CHECK(strpbrk(request.path, " ?\r\n") == NULL);
	}
	return 0;
}
