/* SPDX-License-Identifier: ISC */

#include "complete.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

/* The candidates for the end of line, parted by blanks. */
static const char *
complete(const char *line)
{
	static char found[256];
	size_t start = strlen(line);
	size_t number = 0;
	size_t used = 0;
	char *one;

	while (start > 0 && strchr(" ,=", line[start - 1]) == NULL) {
		start--;
	}
	found[0] = '\0';
	while ((one = complete_word(line, start, line + start,
	    &number)) != NULL) {
		used += (size_t)snprintf(found + used, sizeof(found) - used,
		    "%s%s", used == 0 ? "" : " ", one);
		free(one);
	}
	return found;
}

Test(complete, offers_verbs_word_by_word)
{
	cr_assert_str_eq(complete(""), "breaker clients del get help inspect "
	    "leases limiter mem mode origins ping pools purge quit scan set "
	    "stats status touch trace verify version workers");
	cr_assert_str_eq(complete("tr"), "trace");
	cr_assert_str_eq(complete("p"), "ping pools purge");
	cr_assert_str_eq(complete("trace "), "replay");
	cr_assert_str_eq(complete("trace re"), "replay");
	cr_assert_str_eq(complete("breaker "), "hold list reset trip");
	cr_assert_str_eq(complete("nope "), "");
	cr_assert_str_eq(complete("x"), "");
}

Test(complete, offers_options_and_their_values)
{
	cr_assert_str_eq(complete("trace replay f --"), "--policy --size");
	cr_assert_str_eq(complete("trace replay f --po"), "--policy");
	cr_assert_str_eq(complete("trace replay f --policy s"),
	    "sieve s3fifo");
	cr_assert_str_eq(complete("trace replay f --policy=lru,w"), "weir");
	cr_assert_str_eq(complete("trace replay f --size "), "");
	cr_assert_str_eq(complete("set k v --t"), "--tag --ttl");
	cr_assert_str_eq(complete("purge --all --how "), "hard invalid soft");
	/* Nobody was named who knows the pools. */
	cr_assert_str_eq(complete("get k --pool "), "");
}

Test(complete, offers_words_by_their_place)
{
	cr_assert_str_eq(complete("mode o "), "bypass normal stale-on-error");
	cr_assert_str_eq(complete("mode o s"), "stale-on-error");
	cr_assert_str_eq(complete("mode o bypass "), "");
	cr_assert_str_eq(complete("breaker hold o "), "closed end open");
	/* Options, and their values, have no place. */
	cr_assert_str_eq(complete("mode --yes --reason why o b"), "bypass");
	cr_assert_str_eq(complete("mode --reason=why o b"), "bypass");
	cr_assert_str_eq(complete("mode o --reason "), "");
	cr_assert_str_eq(complete("mode o --"), "--reason --yes");
	/* Nobody was named who knows the origins. */
	cr_assert_str_eq(complete("mode "), "");
	cr_assert_str_eq(complete("origins "), "");
	cr_assert_str_eq(complete("origins -"), "");
}

Test(complete, leaves_files_and_broken_lines_alone)
{
	cr_assert_str_eq(complete("trace replay f"), "");
	cr_assert_str_eq(complete("quit "), "");
	cr_assert_str_eq(complete("trace 'replay "), "");
}
