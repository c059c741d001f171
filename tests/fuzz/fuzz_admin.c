/* SPDX-License-Identifier: ISC */

/*
 * An admin request, served for real on a small pool.
 */
#include "fuzz_target.h"

#include <stdlib.h>
#include <string.h>

#include "admin.h"

const char fuzz_name[] = "admin";

static struct heritage heritage;

static void
set_up(void)
{
	struct pool_params params = {
		.name = "default", .pool_bytes = POOL_MIN_BYTES,
		.worker_count = 1, .now = { .ms = 1000 },
	};

	heritage.control = calloc(1, sizeof(*heritage.control) +
	    sizeof(struct control_client));
	FUZZ_CHECK(heritage.control != NULL);
	heritage.control->worker_count = 1;
	heritage.control->client_capacity = 1;
	heritage.config.workers = 1;
	heritage.config.pool_count = 1;
	memcpy(heritage.config.pools[0].name, "default", 8);
	FUZZ_CHECK(pool_create(&heritage.pools[0], &params) == OK);
	pool_become_worker(&heritage.pools[0], 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	/* A user that may change nothing writes no line to the log. */
	static const struct peer peer = { .uid = 1 };
	struct admin admin = {
		.heritage = &heritage, .peer = &peer,
		.level = PEER_LEVEL_READ, .now = { .ms = 2000 },
	};
	enum result status = OK;
	json_t *answer;
	char *text;

	if (heritage.control == NULL) {
		set_up();
	}
	answer = admin_serve(&admin, (const char *)bytes, length, &status);
	FUZZ_CHECK(answer != NULL);
	FUZZ_CHECK((json_object_get(answer, "error") != NULL) ==
	    (status != OK));
	text = json_dumps(answer, JSON_COMPACT);
	FUZZ_CHECK(text != NULL);
	free(text);
	json_decref(answer);
	return 0;
}
