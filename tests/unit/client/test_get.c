/* SPDX-License-Identifier: ISC */

/*
 * Reading what was stored.
 */
#include "weir.h"

#include "fake_daemon.h"

#include <criterion/criterion.h>
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

TestSuite(get, .init = setup, .fini = teardown);

Test(get, returns_what_set_stored)
{
	struct weir_info info;
	uint64_t version;
	char buffer[8];
	size_t length;

	cr_assert_eq(weir_get(handle, "k\0\n", 3, buffer, 8, &length, NULL),
	    WEIR_MISS);
	cr_assert_eq(length, 0);
	cr_assert_eq(weir_set(handle, "k\0\n", 3, "value", 5, NULL,
	    &version), WEIR_OK);
	cr_assert_eq(weir_get(handle, "k\0\n", 3, buffer, 8, &length, &info),
	    WEIR_OK);
	cr_assert_eq(length, 5);
	cr_assert_arr_eq(buffer, "value", 5);
	cr_assert_eq(info.version, version);
	cr_assert_eq(info.value_bytes, 5);
	cr_assert_eq(info.ttl_ms, UINT64_MAX);
	cr_assert_lt(info.age_ms, 10000);
	cr_assert_eq(info.is_counter, 0);
}

Test(get, keys_of_0_and_1025_bytes_are_invalid_and_1024_is_not)
{
	static char key[1025];

	cr_assert_eq(weir_set(handle, key, 1024, "v", 1, NULL, NULL),
	    WEIR_OK);
	cr_assert_eq(weir_get(handle, key, 1024, NULL, 0, NULL, NULL),
	    WEIR_TOO_LARGE);
	cr_assert_eq(weir_get(handle, key, 1025, NULL, 0, NULL, NULL),
	    WEIR_KEY_INVALID);
	cr_assert_eq(weir_get(handle, key, 0, NULL, 0, NULL, NULL),
	    WEIR_KEY_INVALID);
	cr_assert_eq(weir_set(handle, key, 1025, "v", 1, NULL, NULL),
	    WEIR_KEY_INVALID);
	cr_assert_eq(weir_set(handle, NULL, 3, "v", 1, NULL, NULL),
	    WEIR_KEY_INVALID);
}

Test(get, a_small_buffer_is_too_large_with_the_length_it_needs)
{
	char buffer[3];
	size_t length;

	cr_assert_eq(weir_set(handle, "k", 1, "12345", 5, NULL, NULL), 0);
	cr_assert_eq(weir_get(handle, "k", 1, buffer, 3, &length, NULL),
	    WEIR_TOO_LARGE);
	cr_assert_eq(length, 5);
	cr_assert_eq(weir_set(handle, "e", 1, NULL, 0, NULL, NULL), 0);
	cr_assert_eq(weir_get(handle, "e", 1, NULL, 0, &length, NULL), 0);
	cr_assert_eq(length, 0);
}

Test(get, dup_gives_values_of_any_length_with_a_zero_behind)
{
	size_t length, bytes;
	void *value;
	char *big;

	cr_assert_eq(weir_connect(handle), 0);
	bytes = (size_t)weir_value_max(handle);
	big = malloc(bytes);
	memset(big, 'b', bytes);
	cr_assert_eq(weir_get_dup(handle, "big", 3, &value, &length, NULL),
	    WEIR_MISS);
	cr_assert_null(value);
	cr_assert_eq(weir_set(handle, "big", 3, big, bytes, NULL, NULL), 0,
	    "%s", weir_detail(handle));
	cr_assert_eq(weir_get_dup(handle, "big", 3, &value, &length, NULL),
	    WEIR_OK);
	cr_assert_eq(length, bytes);
	cr_assert_eq(memcmp(value, big, bytes), 0);
	cr_assert_eq(((char *)value)[bytes], 0);
	free(value);
	free(big);
}

Test(get, many_gives_each_item_its_own_result)
{
	char a[4], b[4];
	struct weir_get_item items[3] = {
		{ .key = "a", .key_length = 1, .buffer = a, .size = 4 },
		{ .key = "none", .key_length = 4, .buffer = b, .size = 4 },
		{ .key = "", .key_length = 0 },
	};

	cr_assert_eq(weir_set(handle, "a", 1, "A", 1, NULL, NULL), 0);
	cr_assert_eq(weir_get_many(handle, items, 3), WEIR_KEY_INVALID);
	cr_assert_eq(items[0].result, WEIR_OK);
	cr_assert_eq(items[0].length, 1);
	cr_assert_eq(a[0], 'A');
	cr_assert_eq(items[1].result, WEIR_MISS);
	cr_assert_eq(items[2].result, WEIR_KEY_INVALID);
}

Test(get, a_soft_purge_makes_stale_and_a_hard_one_a_miss)
{
	struct weir_set_options options = WEIR_SET_OPTIONS_INIT;
	struct weir_tag tag = { "tag", 3 };
	struct weir_info info;
	char buffer[4];

	options.tags = &tag;
	options.tag_count = 1;
	cr_assert_eq(weir_set(handle, "k", 1, "v", 1, &options, NULL), 0);
	cr_assert_eq(weir_purge_tag(handle, "tag", 3, WEIR_PURGE_SOFT), 0);
	cr_assert_eq(weir_get(handle, "k", 1, buffer, 4, NULL, &info),
	    WEIR_STALE);
	cr_assert_eq(info.invalid, 0);
	cr_assert_eq(info.soft_ttl_ms, 0);
	cr_assert_eq(weir_purge_tag(handle, "tag", 3, WEIR_PURGE_INVALID), 0);
	cr_assert_eq(weir_get(handle, "k", 1, buffer, 4, NULL, &info),
	    WEIR_STALE);
	cr_assert_eq(info.invalid, 1);
	cr_assert_eq(weir_purge_tag(handle, "tag", 3, WEIR_PURGE_HARD), 0);
	cr_assert_eq(weir_get(handle, "k", 1, buffer, 4, NULL, NULL),
	    WEIR_MISS);
	cr_assert_eq(weir_set(handle, "k", 1, "v", 1, NULL, NULL), 0);
	cr_assert_eq(weir_purge_all(handle, WEIR_PURGE_HARD), 0);
	cr_assert_eq(weir_get(handle, "k", 1, buffer, 4, NULL, NULL),
	    WEIR_MISS);
	cr_assert_eq(weir_purge_all(handle, (enum weir_purge_how)3),
	    WEIR_INVALID);
}

Test(get, a_daemon_with_another_boot_clock_gives_the_same_ages)
{
	struct weir_set_options options = WEIR_SET_OPTIONS_INIT;
	struct weir_info info;
	struct weir *other;
	char buffer[4];

	/* As a daemon in another time namespace. */
	daemon.clock_offset_ms = 1000000000;
	fake_daemon_beat(&daemon, 0);
	other = fake_daemon_open(&daemon, 0);
	options.ttl_ms = 60000;
	cr_assert_eq(weir_set(other, "k", 1, "v", 1, &options, NULL), 0);
	cr_assert_eq(weir_get(other, "k", 1, buffer, 4, NULL, &info), 0);
	cr_assert_lt(info.age_ms, 30000);
	cr_assert_gt(info.ttl_ms, 30000);
	cr_assert_leq(info.ttl_ms, 61000);
	weir_close(other);
}
