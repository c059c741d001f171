/* SPDX-License-Identifier: ISC */

/*
 * The pool of the verify tests; used by them alone.
 */
#include "verify_fixture.h"

#include <criterion/criterion.h>

#include <stdio.h>

#define CROWD_FROM	200u

char verify_fixture_texts[VERIFY_FIXTURE_KEYS][TEST_KEY_BYTES];

struct pool
verify_fixture_make(void)
{
	static const struct boot_ms now = { 5000 };
	static uint8_t value[40000];
	struct pool pool = test_pool_one_shard();
	struct key key;
	struct entry_spec spec;
	uint64_t version;

	for (unsigned i = 0; i < VERIFY_FIXTURE_KEYS; i++) {
		key = test_pool_number_key(&pool, verify_fixture_texts[i], i);
		if (i >= CROWD_FROM) {
			key.hash = (uint64_t)i << SLOT_TAG_SHIFT | 5;
		}
		cr_assert_eq(test_pool_set(&pool, &key, "value", now), OK);
	}
	key = test_pool_key(&pool, "chained");
	spec = test_pool_spec(&pool, &key, value, sizeof(value));
	cr_assert_eq(write_set(&pool, &spec, now, &version), OK);
	cr_assert_eq(test_pool_set(&pool, &key, "in main", now), OK);
	cr_assert_eq(write_set(&pool, &spec, now, &version), OK);
	return pool;
}
