/* SPDX-License-Identifier: ISC */

/*
 * Common arguments.
 */
#include "admin_args.h"

#include <stdio.h>
#include <stdlib.h>

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
