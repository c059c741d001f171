/* SPDX-License-Identifier: ISC */

/*
 * Origins without a control segment.
 */
#include "origins_fixture.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static struct origin origins[FIXTURE_ORIGINS];
static void *memory[FIXTURE_ORIGINS];

struct origin *
origins_fixture_create(void)
{
	static const char *const names[FIXTURE_ORIGINS] = {
		"default", "web",
	};
	const struct origin_door door = { .arg = NULL };
	struct origin_config config;
	size_t bytes;

	origin_config_init(&config);
	origin_config_derive(&config);
	bytes = origin_bytes(&config);
	cr_assert_neq(bytes, 0);
	for (uint32_t i = 0; i < FIXTURE_ORIGINS; i++) {
		memory[i] = aligned_alloc(64, bytes);
		cr_assert_not_null(memory[i]);
		memset(memory[i], 0, bytes);
		cr_assert_eq(origin_create(memory[i], names[i], &config), OK);
		cr_assert(origin_bind(&origins[i], memory[i], bytes, i,
		    &door));
	}
	return origins;
}

void
origins_fixture_destroy(void)
{
	for (uint32_t i = 0; i < FIXTURE_ORIGINS; i++) {
		free(memory[i]);
		memory[i] = NULL;
	}
}

bool
origins_fixture_call(struct origin *origin, uint64_t owner,
    struct boot_ms now, struct origin_ticket *ticket)
{
	const struct origin_request request = {
		.owner = owner,
		.class = LIMITER_FOREGROUND,
		.wait_ms = 0,
	};

	return origin_acquire(origin, &request, owner * 7919, now,
	    ticket) == ORIGIN_GRANTED;
}
