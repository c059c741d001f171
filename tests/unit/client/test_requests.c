/* SPDX-License-Identifier: ISC */

/*
 * Calls that change something, and their outcomes.
 */
#include "weir.h"

#include "fake_daemon.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct fake_daemon daemon;
static struct weir *handle;

static void
setup(void)
{
	fake_daemon_start(&daemon, NULL, 1);
	handle = fake_daemon_open(&daemon, 0);
}

static void
teardown(void)
{
	weir_close(handle);
	fake_daemon_stop(&daemon);
}

static bool
count_item(const struct weir_scan_item *item, void *arg)
{
	char buffer[4];

	cr_assert_eq(item->info.value_bytes, 1);
	/* A read inside the walk. */
	cr_assert_eq(weir_get(handle, item->key, item->key_length, buffer, 4,
	    NULL, NULL), WEIR_OK);
	++*(unsigned *)arg;
	return true;
}

static bool
stop_at_once(const struct weir_scan_item *item, void *arg)
{
	(void)item;
	++*(unsigned *)arg;
	return false;
}

static void
sum_sets(const char *name, uint64_t value, const char *help, void *arg)
{
	cr_assert_gt(strlen(help), 0);
	if (strcmp(name, "sets") == 0) {
		*(uint64_t *)arg += value;
	}
}

TestSuite(requests, .init = setup, .fini = teardown);

Test(requests, set_obeys_if_absent_and_if_version)
{
	struct weir_set_options options = WEIR_SET_OPTIONS_INIT;
	uint64_t version, second;

	options.when = WEIR_IF_ABSENT;
	cr_assert_eq(weir_set(handle, "k", 1, "1", 1, &options, &version), 0);
	cr_assert_eq(weir_set(handle, "k", 1, "2", 1, &options, NULL),
	    WEIR_EXISTS);
	options.when = WEIR_IF_VERSION;
	options.version = version;
	cr_assert_eq(weir_set(handle, "k", 1, "3", 1, &options, &second), 0);
	cr_assert_neq(version, second);
	cr_assert_eq(weir_set(handle, "k", 1, "4", 1, &options, NULL),
	    WEIR_CHANGED);
	options.when = (enum weir_when)9;
	cr_assert_eq(weir_set(handle, "k", 1, "5", 1, &options, NULL),
	    WEIR_INVALID);
}

Test(requests, set_refuses_bad_tags_and_values_without_asking)
{
	struct weir_set_options options = WEIR_SET_OPTIONS_INIT;
	struct weir_tag tags[33] = { { "t", 1 } };
	unsigned before;

	cr_assert_eq(weir_connect(handle), 0);
	before = atomic_load(&daemon.requests);
	options.tags = tags;
	options.tag_count = 33;
	cr_assert_eq(weir_set(handle, "k", 1, "v", 1, &options, NULL),
	    WEIR_TOO_MANY_TAGS);
	options.tag_count = 2;
	cr_assert_eq(weir_set(handle, "k", 1, "v", 1, &options, NULL),
	    WEIR_INVALID);
	cr_assert_eq(weir_set(handle, "k", 1, NULL, 1, NULL, NULL),
	    WEIR_INVALID);
	cr_assert_eq(weir_set(handle, "k", 1, "v",
	    weir_value_max(handle) + 1, NULL, NULL), WEIR_TOO_LARGE);
	cr_assert_eq(atomic_load(&daemon.requests), before);
}

Test(requests, delete_and_touch_find_the_key_or_miss)
{
	struct weir_info info;
	uint64_t version;

	cr_assert_eq(weir_delete(handle, "k", 1, 0), WEIR_MISS);
	cr_assert_eq(weir_touch(handle, "k", 1, 1000, 0), WEIR_MISS);
	cr_assert_eq(weir_set(handle, "k", 1, "v", 1, NULL, &version), 0);
	cr_assert_eq(weir_touch(handle, "k", 1, 50000, 40000), WEIR_OK);
	cr_assert_eq(weir_get(handle, "k", 1, NULL, 0, NULL, &info),
	    WEIR_TOO_LARGE);
	cr_assert_leq(info.ttl_ms, 50000);
	cr_assert_leq(info.soft_ttl_ms, 40000);
	cr_assert_eq(weir_delete(handle, "k", 1, version + 1), WEIR_CHANGED);
	cr_assert_eq(weir_delete(handle, "k", 1, version), WEIR_OK);
	cr_assert_eq(weir_delete(handle, "k", 1, 0), WEIR_MISS);
}

Test(requests, counters_count_and_keep_within_their_range)
{
	struct weir_counter_options options = WEIR_COUNTER_OPTIONS_INIT;
	struct weir_info info;
	int64_t value, read;

	options.no_create = 1;
	cr_assert_eq(weir_counter_add(handle, "n", 1, 1, &options, &value),
	    WEIR_MISS);
	options.no_create = 0;
	options.initial = 40;
	cr_assert_eq(weir_counter_add(handle, "n", 1, 2, &options, &value), 0);
	cr_assert_eq(value, 42);
	cr_assert_eq(weir_counter_add(handle, "n", 1, -100, NULL, &value), 0);
	cr_assert_eq(value, -58);
	cr_assert_eq(weir_get(handle, "n", 1, &read, sizeof(read), NULL,
	    &info), 0);
	cr_assert_eq(read, -58);
	cr_assert_eq(info.is_counter, 1);
	cr_assert_eq(weir_counter_add(handle, "n", 1, INT64_MIN, NULL,
	    &value), WEIR_COUNTER_RANGE);
	cr_assert_eq(value, -58);
	cr_assert_eq(weir_set(handle, "s", 1, "v", 1, NULL, NULL), 0);
	cr_assert_eq(weir_counter_add(handle, "s", 1, 1, NULL, NULL),
	    WEIR_WRONG_TYPE);
}

Test(requests, scan_meets_every_key_with_the_prefix)
{
	unsigned met = 0;
	uint64_t cursor = 0;
	char key[24];

	for (int i = 0; i < 300; i++) {
		(void)snprintf(key, sizeof(key), "%s:%d",
		    i % 3 == 0 ? "a" : "b", i);
		cr_assert_eq(weir_set(handle, key, strlen(key), "v", 1, NULL,
		    NULL), 0);
	}
	do {
		cr_assert_eq(weir_scan(handle, &cursor, "a:", 2, 10,
		    count_item, &met), 0);
	} while (cursor != 0);
	cr_assert_eq(met, 100);
	cr_assert_eq(weir_scan(handle, &cursor, NULL, 0, 0, count_item,
	    &met), WEIR_INVALID);
}

Test(requests, scan_stops_when_told_and_meets_the_key_again)
{
	unsigned met = 0;
	uint64_t cursor = 0;

	cr_assert_eq(weir_set(handle, "k", 1, "v", 1, NULL, NULL), 0);
	cr_assert_eq(weir_scan(handle, &cursor, NULL, 0, 10, stop_at_once,
	    &met), 0);
	cr_assert_eq(met, 1);
	do {
		cr_assert_eq(weir_scan(handle, &cursor, NULL, 0, 10,
		    count_item, &met), 0);
	} while (cursor != 0);
	cr_assert_eq(met, 2);
}

Test(requests, stats_give_the_counters_of_the_pool)
{
	uint64_t sets = 0;

	cr_assert_eq(weir_set(handle, "k", 1, "v", 1, NULL, NULL), 0);
	cr_assert_eq(weir_set(handle, "l", 1, "v", 1, NULL, NULL), 0);
	cr_assert_eq(weir_stats(handle, sum_sets, &sets), 0);
	cr_assert_eq(sets, 2);
}
