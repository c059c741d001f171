/* SPDX-License-Identifier: ISC */

#include "sim_policy.h"

#include <string.h>

static const struct sim_ops *const policies[] = {
	&sim_lru,
	&sim_fifo,
	&sim_sieve,
	&sim_s3fifo,
	&sim_belady,
	&sim_weir,
};

#define POLICY_COUNT	(sizeof(policies) / sizeof(policies[0]))

const struct sim_ops *
sim_policy_at(size_t number)
{
	return number < POLICY_COUNT ? policies[number] : NULL;
}

const struct sim_ops *
sim_policy_find(const char *name)
{
	for (size_t i = 0; i < POLICY_COUNT; i++) {
		if (strcmp(policies[i]->name, name) == 0) {
			return policies[i];
		}
	}
	return NULL;
}
