/* SPDX-License-Identifier: ISC */

/*
 * Common arguments.
 */
#include "admin_args.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json_key.h"
#include "request_parse.h"

enum result
admin_args_pool(struct admin *admin)
{
	if (admin->pool == NULL) {
		(void)snprintf(admin->text, sizeof(admin->text),
		    "there are several pools: name one");
		return INVALID;
	}
	return OK;
}

enum result
admin_args_key(struct admin *admin, struct key *key, uint8_t **bytes)
{
	enum result result = admin_args_pool(admin);
	size_t length;
	bool found;

	*bytes = NULL;
	if (result != OK) {
		return result;
	}
	*bytes = json_key_get(admin->args, "key", &length, &found);
	if (*bytes == NULL) {
		(void)snprintf(admin->text, sizeof(admin->text), found ?
		    "\"key\" is not a text, or \"key64\" no base64" :
		    "a \"key\" is needed");
		return INVALID;
	}
	result = key_init(key, admin->pool, *bytes, length);
	if (result != OK) {
		free(*bytes);
		*bytes = NULL;
	}
	return result;
}

enum result
admin_args_origin(struct admin *admin, struct origin **origin)
{
	const char *name = json_string_value(json_object_get(admin->args,
	    "origin"));

	if (name == NULL) {
		(void)snprintf(admin->text, sizeof(admin->text),
		    "the name of an \"origin\" is needed");
		return INVALID;
	}
	for (uint32_t i = 0; i < admin->origin_count; i++) {
		if (strcmp(origin_name(&admin->origins[i]), name) == 0) {
			*origin = &admin->origins[i];
			return OK;
		}
	}
	(void)snprintf(admin->text, sizeof(admin->text),
	    "there is no origin of that name");
	return MISS;
}

enum result
admin_args_reason(struct admin *admin)
{
	const json_t *value = json_object_get(admin->args, "reason");
	const char *text = json_string_value(value);
	size_t at = 0;

	if (value == NULL || json_is_null(value)) {
		return OK;
	}
	if (text == NULL || json_string_length(value) > ADMIN_REASON_BYTES ||
	    strlen(text) != json_string_length(value)) {
		(void)snprintf(admin->text, sizeof(admin->text), "\"reason\" "
		    "is not a text of up to %u bytes", ADMIN_REASON_BYTES);
		return INVALID;
	}
	for (; *text != '\0'; text++) {
		if (*text == '"' || *text == '\\') {
			admin->reason[at++] = '\\';
		}
		admin->reason[at++] = *text;
	}
	admin->reason[at] = '\0';
	return OK;
}

bool
admin_args_times(struct admin *admin, uint64_t *soft_ms, uint64_t *hard_ms)
{
	uint64_t ttl, soft;

	if (!admin_get_number(admin, "ttl_ms", 0, &ttl) ||
	    !admin_get_number(admin, "soft_ttl_ms", 0, &soft)) {
		return false;
	}
	*hard_ms = request_expiry_ms(admin->now, ttl);
	*soft_ms = request_expiry_ms(admin->now, soft);
	return true;
}
