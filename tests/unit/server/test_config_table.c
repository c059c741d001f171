/* SPDX-License-Identifier: ISC */

#include "config_table.h"

#include <criterion/criterion.h>

Test(config_suggest, finds_the_option_that_was_meant)
{
	cr_assert_str_eq(config_suggest("worker", CONFIG_LEVEL_TOP), "workers");
	cr_assert_str_eq(config_suggest("max_cleints", CONFIG_LEVEL_TOP),
	    "max_clients");
	cr_assert_str_eq(config_suggest("pol", CONFIG_LEVEL_TOP), "pool");
	cr_assert_str_eq(config_suggest("memroy", CONFIG_LEVEL_POOL),
	    "memory");
	cr_assert_str_eq(config_suggest("orgin", CONFIG_LEVEL_TOP), "origin");
	cr_assert_str_eq(config_suggest("breaker_opne", CONFIG_LEVEL_ORIGIN),
	    "breaker_open");
}

Test(config_suggest, says_nothing_about_what_is_far_from_all)
{
	cr_assert_null(config_suggest("colour", CONFIG_LEVEL_TOP));
	cr_assert_null(config_suggest("workers", CONFIG_LEVEL_POOL));
	cr_assert_null(config_suggest("", CONFIG_LEVEL_TOP));
	cr_assert_null(config_suggest(
	    "workersworkersworkersworkersworkersworkers",
	    CONFIG_LEVEL_TOP));
	cr_assert_null(config_suggest("memory", CONFIG_LEVEL_ORIGIN));
}

/* What a program without a file gets, and what a file's section begins with. */
Test(config_origin_options, built_in_values_are_within_their_bounds)
{
	for (int i = 0; i < CONFIG_ORIGIN_OPTIONS; i++) {
		const struct config_option *option =
		    &config_origin_options[i];

		cr_assert_str_neq(option->builtin, "", "%s", option->name);
		cr_assert(option->reload, "%s", option->name);
		cr_assert_leq(option->min, option->max, "%s", option->name);
		cr_assert_leq(option->offset + option->field_bytes,
		    sizeof(struct config_origin), "%s", option->name);
	}
}
