/* SPDX-License-Identifier: ISC */

#include "pool_names.h"

#include <jansson.h>
#include <string.h>

#include "connect.h"

/* Whoever presses the tab key does not wait longer. */
#define COMPLETION_TIMEOUT_MS	300u

static struct connect *asked;
static json_t *last_answer;

void
pool_names_use(struct connect *link)
{
	asked = link;
	json_decref(last_answer);
	last_answer = NULL;
}

static void
ask_again(void)
{
	uint64_t timeout_ms = asked->timeout_ms;

	json_decref(last_answer);
	asked->timeout_ms = COMPLETION_TIMEOUT_MS;
	/* NULL unless it is fine: then there are no names. */
	(void)connect_call(asked, "pools", NULL, &last_answer);
	asked->timeout_ms = timeout_ms;
}

const char *
pool_names_at(size_t number)
{
	if (asked == NULL) {
		return NULL;
	}
	if (number == 0) {
		ask_again();
	}
	return json_string_value(json_object_get(json_array_get(
	    json_object_get(last_answer, "pools"), number), "name"));
}

const char *
pool_names_value(const char *option, size_t number)
{
	return strcmp(option, "--pool") == 0 ? pool_names_at(number) : NULL;
}
