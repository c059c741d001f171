/* SPDX-License-Identifier: ISC */

/*
 * The part of Criterion that our unit tests use, for builds that Criterion
 * cannot serve: it maps its arena where ThreadSanitizer keeps its shadow,
 * and it has no arm64 library here.  Each test runs in a forked process;
 * main() is in standin.c and prints pass, fail and skip lines.
 */
#ifndef STANDIN_CRITERION_H
#define STANDIN_CRITERION_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Members have the names of Criterion's options. */
struct standin_test {
	const char		*suite;
	const char		*name;		/* NULL: options of a suite */
	void			(*run)(void);
	void			(*init)(void);
	void			(*fini)(void);
	const char		*description;
	double			timeout;	/* seconds; 0: the default */
	int			signal;		/* expected to end it */
	int			exit_code;	/* expected */
	bool			disabled;
	struct standin_test	*next;
};

void	standin_register(struct standin_test *test);

/* Prints what did not hold; ends the test unless `goes_on`. */
void	standin_check(bool ok, bool goes_on, const char *file, int line,
    const char *what, const char *format, ...)
    __attribute__((format(printf, 6, 7)));
_Noreturn void	standin_skip(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

#define STANDIN_ENTRY(id, ...)						\
	static struct standin_test id##_entry = { __VA_ARGS__ };	\
	__attribute__((constructor)) static void			\
	id##_register(void)						\
	{								\
		standin_register(&id##_entry);				\
	}

#define Test(suite_, name_, ...)					\
	static void suite_##_##name_##_impl(void);			\
	STANDIN_ENTRY(suite_##_##name_, .suite = #suite_, .name = #name_, \
	    .run = suite_##_##name_##_impl, __VA_ARGS__)		\
	static void suite_##_##name_##_impl(void)

#define TestSuite(suite_, ...)						\
	STANDIN_ENTRY(suite_##_suite, .suite = #suite_, __VA_ARGS__)	\
	struct standin_test

#define STANDIN_CHECK(goes_on, ok, what, ...)				\
	standin_check((ok), (goes_on), __FILE__, __LINE__, what,	\
	    " " __VA_ARGS__)

#define STANDIN_OP(goes_on, a, op, b, ...)				\
	STANDIN_CHECK(goes_on, (a) op (b), #a " " #op " " #b, __VA_ARGS__)
#define STANDIN_STR(goes_on, a, op, b, ...)				\
	STANDIN_CHECK(goes_on, strcmp((a), (b)) op 0,			\
	    #a " " #op " " #b, __VA_ARGS__)
#define STANDIN_ARR(goes_on, a, op, b, n, ...)				\
	STANDIN_CHECK(goes_on, memcmp((a), (b), (n)) op 0,		\
	    #a " " #op " " #b, __VA_ARGS__)
#define STANDIN_NEAR(goes_on, a, b, by, ...)				\
	STANDIN_CHECK(goes_on, fabs((double)((a) - (b))) <= (by),	\
	    #a " is near " #b, __VA_ARGS__)

#define cr_assert(c, ...)	STANDIN_CHECK(false, (c), #c, __VA_ARGS__)
#define cr_expect(c, ...)	STANDIN_CHECK(true, (c), #c, __VA_ARGS__)
#define cr_assert_not(c, ...)						\
	STANDIN_CHECK(false, !(c), "not " #c, __VA_ARGS__)
#define cr_expect_not(c, ...)						\
	STANDIN_CHECK(true, !(c), "not " #c, __VA_ARGS__)
#define cr_assert_fail(...)	STANDIN_CHECK(false, false, "fail", __VA_ARGS__)
#define cr_expect_fail(...)	STANDIN_CHECK(true, false, "fail", __VA_ARGS__)
#define cr_skip(...)	standin_skip(" " __VA_ARGS__)
#define cr_skip_test(...)	standin_skip(" " __VA_ARGS__)

#define cr_assert_eq(a, b, ...)	STANDIN_OP(false, a, ==, b, __VA_ARGS__)
#define cr_expect_eq(a, b, ...)	STANDIN_OP(true, a, ==, b, __VA_ARGS__)
#define cr_assert_neq(a, b, ...) STANDIN_OP(false, a, !=, b, __VA_ARGS__)
#define cr_expect_neq(a, b, ...) STANDIN_OP(true, a, !=, b, __VA_ARGS__)
#define cr_assert_lt(a, b, ...)	STANDIN_OP(false, a, <, b, __VA_ARGS__)
#define cr_expect_lt(a, b, ...)	STANDIN_OP(true, a, <, b, __VA_ARGS__)
#define cr_assert_leq(a, b, ...) STANDIN_OP(false, a, <=, b, __VA_ARGS__)
#define cr_expect_leq(a, b, ...) STANDIN_OP(true, a, <=, b, __VA_ARGS__)
#define cr_assert_gt(a, b, ...)	STANDIN_OP(false, a, >, b, __VA_ARGS__)
#define cr_expect_gt(a, b, ...)	STANDIN_OP(true, a, >, b, __VA_ARGS__)
#define cr_assert_geq(a, b, ...) STANDIN_OP(false, a, >=, b, __VA_ARGS__)
#define cr_expect_geq(a, b, ...) STANDIN_OP(true, a, >=, b, __VA_ARGS__)
#define cr_assert_null(a, ...)	STANDIN_OP(false, a, ==, NULL, __VA_ARGS__)
#define cr_expect_null(a, ...)	STANDIN_OP(true, a, ==, NULL, __VA_ARGS__)
#define cr_assert_not_null(a, ...) STANDIN_OP(false, a, !=, NULL, __VA_ARGS__)
#define cr_expect_not_null(a, ...) STANDIN_OP(true, a, !=, NULL, __VA_ARGS__)
#define cr_assert_str_eq(a, b, ...) STANDIN_STR(false, a, ==, b, __VA_ARGS__)
#define cr_expect_str_eq(a, b, ...) STANDIN_STR(true, a, ==, b, __VA_ARGS__)
#define cr_assert_str_neq(a, b, ...) STANDIN_STR(false, a, !=, b, __VA_ARGS__)
#define cr_expect_str_neq(a, b, ...) STANDIN_STR(true, a, !=, b, __VA_ARGS__)
#define cr_assert_str_empty(a, ...) STANDIN_STR(false, a, ==, "", __VA_ARGS__)
#define cr_expect_str_empty(a, ...) STANDIN_STR(true, a, ==, "", __VA_ARGS__)
#define cr_assert_str_not_empty(a, ...)					\
	STANDIN_STR(false, a, !=, "", __VA_ARGS__)
#define cr_assert_arr_eq(a, b, n, ...)					\
	STANDIN_ARR(false, a, ==, b, n, __VA_ARGS__)
#define cr_expect_arr_eq(a, b, n, ...)					\
	STANDIN_ARR(true, a, ==, b, n, __VA_ARGS__)
#define cr_assert_arr_neq(a, b, n, ...)					\
	STANDIN_ARR(false, a, !=, b, n, __VA_ARGS__)
#define cr_expect_arr_neq(a, b, n, ...)					\
	STANDIN_ARR(true, a, !=, b, n, __VA_ARGS__)
#define cr_assert_float_eq(a, b, by, ...)				\
	STANDIN_NEAR(false, a, b, by, __VA_ARGS__)
#define cr_expect_float_eq(a, b, by, ...)				\
	STANDIN_NEAR(true, a, b, by, __VA_ARGS__)

#define cr_log_info(...)	((void)fprintf(stderr, __VA_ARGS__))

#endif
