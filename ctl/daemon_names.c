/* SPDX-License-Identifier: ISC */

#include "daemon_names.h"

#include <jansson.h>
#include <string.h>

#include "connect.h"

/* Whoever presses the tab key does not wait longer. */
#define COMPLETION_TIMEOUT_MS	300u

static struct connect *asked;
static json_t *last_answer;

void
daemon_names_use(struct connect *link)
{
	asked = link;
	json_decref(last_answer);
	last_answer = NULL;
}

static void
ask_again(const char *verb)
{
	uint64_t timeout_ms = asked->timeout_ms;

	json_decref(last_answer);
	last_answer = NULL;
	asked->timeout_ms = COMPLETION_TIMEOUT_MS;
	/* NULL unless it is fine: then there are no names. */
	(void)connect_call(asked, verb, NULL, &last_answer);
	asked->timeout_ms = timeout_ms;
}

/* The name of the number-th row of what the verb answers with. */
static const char *
name_at(const char *verb, const char *member, size_t number)
{
	if (asked == NULL) {
		return NULL;
	}
	if (number == 0) {
		ask_again(verb);
	}
	return json_string_value(json_object_get(json_array_get(
	    json_object_get(last_answer, member), number), "name"));
}

const char *
daemon_names_pool(size_t number)
{
	return name_at("pools", "pools", number);
}

const char *
daemon_names_origin(size_t number)
{
	return name_at("breaker_list", "breakers", number);
}

const char *
daemon_names_value(const char *option, size_t number)
{
	return strcmp(option, "--pool") == 0 ? daemon_names_pool(number) :
	    NULL;
}

const char *
daemon_names_word(size_t position, size_t number)
{
	return position == 0 ? daemon_names_origin(number) : NULL;
}
