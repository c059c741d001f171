/* SPDX-License-Identifier: ISC */

/*
 * Names and texts of results.
 */
#include "weir.h"

#include <criterion/criterion.h>

Test(error, names_are_those_of_the_header)
{
	cr_assert_str_eq(weir_errname(WEIR_OK), "WEIR_OK");
	cr_assert_str_eq(weir_errname(WEIR_MISS), "WEIR_MISS");
	cr_assert_str_eq(weir_errname(WEIR_CLOSED), "WEIR_CLOSED");
	cr_assert_str_eq(weir_errname(-99), "WEIR_UNKNOWN");
}

Test(error, every_number_has_a_text)
{
	for (int result = WEIR_CLOSED; result <= WEIR_GROWING; result++) {
		cr_assert_gt(strlen(weir_strerror(result)), 0);
	}
	cr_assert_not_null(weir_strerror(12345));
	cr_assert_str_eq(weir_version(), WEIR_VERSION_STRING);
}
