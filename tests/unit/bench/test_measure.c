/* SPDX-License-Identifier: ISC */

#include "measure.h"

#include <criterion/criterion.h>
#include <sched.h>

struct script {
	const double	*values;
	unsigned	at;
	char		letter;
	char		*log;		/* shared by the sides */
	size_t		*log_len;
};

static double
run_script(void *argument)
{
	struct script *script = argument;

	script->log[(*script->log_len)++] = script->letter;
	return script->values[script->at++];
}

Test(measure, alternates_sides_and_takes_medians)
{
	static const double a_values[] = { 10, 30, 20 };
	static const double b_values[] = { 5, 5, 40 };
	char log[16] = "";
	size_t log_len = 0;
	struct script a = { a_values, 0, 'a', log, &log_len };
	struct script b = { b_values, 0, 'b', log, &log_len };
	struct measure_side sides[] = {
		{ .name = "a", .run = run_script, .argument = &a },
		{ .name = "b", .run = run_script, .argument = &b },
	};

	measure_alternate(sides, 2, 3);
	cr_assert_str_eq(log, "abbaab");
	cr_assert_float_eq(sides[0].median, 20, 1e-9);
	cr_assert_float_eq(sides[0].min, 10, 1e-9);
	cr_assert_float_eq(sides[0].max, 30, 1e-9);
	/* ratios 2, 6, 0.5 */
	cr_assert_float_eq(measure_ratio(&sides[0], &sides[1]), 2, 1e-9);
}

Test(measure, median_of_an_even_count_is_between_the_middle_two)
{
	const double values[] = { 4, 1, 3, 2 };

	cr_assert_float_eq(measure_median(values, 4), 2.5, 1e-9);
	cr_assert_float_eq(values[0], 4, 1e-9);
}

Test(measure, pins_to_a_core_it_may_use_and_wraps)
{
	unsigned cores = measure_count_cores();
	int first;

	cr_assert(measure_pin_core(0));
	first = sched_getcpu();
	cr_assert(measure_pin_core(cores));
	cr_assert_eq(sched_getcpu(), first);
	cr_assert_eq(measure_count_cores(), cores,
	    "pinning must not hide the other cores");
}
