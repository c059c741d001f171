/* SPDX-License-Identifier: ISC */

#include "config_table.h"

#include <criterion/criterion.h>

Test(config_suggest, finds_the_option_that_was_meant)
{
	cr_assert_str_eq(config_suggest("worker", false), "workers");
	cr_assert_str_eq(config_suggest("max_cleints", false), "max_clients");
	cr_assert_str_eq(config_suggest("pol", false), "pool");
	cr_assert_str_eq(config_suggest("memroy", true), "memory");
}

Test(config_suggest, says_nothing_about_what_is_far_from_all)
{
	cr_assert_null(config_suggest("colour", false));
	cr_assert_null(config_suggest("workers", true));
	cr_assert_null(config_suggest("", false));
	cr_assert_null(config_suggest(
	    "workersworkersworkersworkersworkersworkers", false));
}
