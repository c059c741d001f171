/* SPDX-License-Identifier: ISC */

#include "sim_ids.h"

#include <criterion/criterion.h>

#define MANY	200000u

static uint32_t
number_of(struct sim_ids *ids, uint64_t id)
{
	uint32_t number = 0;

	cr_assert(sim_ids_number(ids, id, sim_ids_hash(id), &number));
	return number;
}

Test(sim_ids, numbers_objects_in_order_of_first_request)
{
	struct sim_ids ids;

	cr_assert(sim_ids_init(&ids));
	cr_assert_eq(number_of(&ids, 42), 0u);
	cr_assert_eq(number_of(&ids, 0), 1u, "0 is an id like others");
	cr_assert_eq(number_of(&ids, UINT64_MAX), 2u);
	cr_assert_eq(number_of(&ids, 42), 0u);
	cr_assert_eq(ids.count, 3u);
	sim_ids_fini(&ids);
}

Test(sim_ids, keeps_numbers_while_it_grows)
{
	struct sim_ids ids;

	cr_assert(sim_ids_init(&ids));
	for (uint64_t i = 0; i < MANY; i++) {
		cr_assert_eq(number_of(&ids, i << 20), i);
	}
	for (uint64_t i = 0; i < MANY; i++) {
		cr_assert_eq(number_of(&ids, i << 20), i);
	}
	cr_assert_eq(ids.count, MANY);
	sim_ids_fini(&ids);
}

Test(sim_ids, tells_ids_of_one_hash_apart)
{
	struct sim_ids ids;
	uint32_t number;

	cr_assert(sim_ids_init(&ids));
	for (uint64_t i = 0; i < 1000; i++) {
		cr_assert(sim_ids_number(&ids, i, 5, &number));
		cr_assert_eq(number, i);
	}
	for (uint64_t i = 0; i < 1000; i++) {
		cr_assert(sim_ids_number(&ids, i, 5, &number));
		cr_assert_eq(number, i);
	}
	sim_ids_fini(&ids);
}
