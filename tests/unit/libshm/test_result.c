/* SPDX-License-Identifier: ISC */

/*
 * The table of result codes.
 */
#include "result.h"

#include <criterion/criterion.h>
#include <string.h>

static const enum result all_results[] = {
#define RESULT(name, value, text) name,
#include "result.def"
#undef RESULT
};
#define RESULT_COUNT	(sizeof(all_results) / sizeof(all_results[0]))

Test(result, values_that_travel_in_frames_stay_as_they_are)
{
	cr_assert_eq(OK, 0);
	cr_assert_eq(MISS, 1);
	cr_assert_eq(STALE, 2);
	cr_assert_eq(GROWING, 5);
	cr_assert_eq(BUSY, -1);
	cr_assert_eq(CORRUPT, -7);
	cr_assert_eq(CLOSED, -17);
}

Test(result, every_code_has_its_own_value_name_and_text)
{
	for (size_t i = 0; i < RESULT_COUNT; i++) {
		cr_assert_gt(strlen(result_text(all_results[i])), 0);
		for (size_t j = i + 1; j < RESULT_COUNT; j++) {
			cr_assert_neq(all_results[i], all_results[j]);
			cr_assert_str_neq(result_name(all_results[i]),
			    result_name(all_results[j]));
			cr_assert_str_neq(result_text(all_results[i]),
			    result_text(all_results[j]));
		}
	}
}

Test(result, name_is_the_word_of_the_source)
{
	cr_assert_str_eq(result_name(OK), "OK");
	cr_assert_str_eq(result_name(LAYOUT_MISMATCH), "LAYOUT_MISMATCH");
}

Test(result, a_code_from_a_newer_peer_has_a_name_and_a_text)
{
	cr_assert_str_eq(result_name((enum result)-100), "UNKNOWN");
	cr_assert_str_eq(result_name((enum result)100), "UNKNOWN");
	cr_assert_gt(strlen(result_text((enum result)100)), 0);
}
