/* SPDX-License-Identifier: ISC */

#include "lease_send.h"

#include "attach.h"
#include "fake_lease.h"
#include "fetch_fixture.h"
#include "handle.h"
#include "lane.h"
#include "wait_until.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

TestSuite(lease_send, .init = fetch_begin, .fini = fetch_end);

static int
fetch_key(const char *key, struct source *source)
{
	return weir_fetch(fetch_handle, key, strlen(key), fetch_buffer,
	    sizeof(fetch_buffer), NULL, fetch_compute_source, source,
	    &fetch_said);
}

static unsigned
under_way(void)
{
	return atomic_load(&fetch_handle->fills_sent);
}

static int
get_key(const char *key)
{
	size_t length;

	memset(fetch_buffer, 0, sizeof(fetch_buffer));
	return weir_get(fetch_handle, key, strlen(key), fetch_buffer,
	    sizeof(fetch_buffer), &length, NULL);
}

Test(lease_send, a_fetch_does_not_wait_for_the_fill)
{
	struct source source = fetch_source("value");
	struct fake_asked asked;

	cr_assert_eq(fetch_key("k", &source), WEIR_OK);
	fetch_expect(5, WEIR_FROM_COMPUTED, WEIR_OK, WEIR_OK);
	fake_lease_wait(&fetch_daemon, 2, &asked);
	cr_assert_eq(asked.type, FRAME_FILL);
	cr_assert_eq(asked.end.permit.number, 1);
	cr_assert_eq(under_way(), 1);
}

Test(lease_send, a_get_finds_what_a_fetch_before_it_computed)
{
	struct source source = fetch_source("value");
	char key[] = "k0";

	for (; key[1] < '8'; key[1]++) {
		cr_assert_eq(fetch_key(key, &source), WEIR_OK);
		cr_assert_eq(get_key(key), WEIR_OK);
		cr_assert_str_eq(fetch_buffer, "value");
	}
	cr_assert_eq(get_key("never stored"), WEIR_MISS);
	cr_assert_eq(under_way(), 0);
}

Test(lease_send, views_and_copies_find_it_too)
{
	struct source source = fetch_source("value");
	struct weir_view view;
	void *copy;

	cr_assert_eq(fetch_key("a", &source), WEIR_OK);
	cr_assert_eq(weir_get_dup(fetch_handle, "a", 1, &copy, NULL, NULL),
	    WEIR_OK);
	free(copy);
	cr_assert_eq(fetch_key("b", &source), WEIR_OK);
	cr_assert_eq(weir_view(fetch_handle, "b", 1, 0, &view, NULL),
	    WEIR_OK);
}

Test(lease_send, a_lost_connection_sends_it_once_more)
{
	struct source source = fetch_source("value");
	struct fake_asked asked;

	fake_lease_tell_end(&fetch_daemon, 0, FAKE_NEVER);
	cr_assert_eq(fetch_key("k", &source), WEIR_OK);
	fake_lease_wait(&fetch_daemon, 2, &asked);
	/* It is found out by the next call, whatever that one does. */
	cr_assert_eq(get_key("k"), WEIR_OK);
	cr_assert_str_eq(fetch_buffer, "value");
	cr_assert_eq(fake_lease_count(&fetch_daemon, FRAME_FILL), 2);
	cr_assert_eq(fake_lease_count(&fetch_daemon, FRAME_CLAIM), 1);
	cr_assert_eq(under_way(), 0);
}

Test(lease_send, a_connection_that_is_lost_twice_ends_it)
{
	struct source source = fetch_source("value");
	struct fake_asked asked;

	fake_lease_tell_end(&fetch_daemon, 0, FAKE_NEVER);
	fake_lease_tell_end(&fetch_daemon, 0, FAKE_NEVER);
	cr_assert_eq(fetch_key("k", &source), WEIR_OK);
	fake_lease_wait(&fetch_daemon, 2, &asked);
	for (int i = 0; i < 3; i++) {
		(void)get_key("k");
	}
	cr_assert_eq(under_way(), 0);
	cr_assert_eq(fake_lease_count(&fetch_daemon, FRAME_FILL), 2);
	cr_assert_eq(get_key("k"), WEIR_MISS);
}

Test(lease_send, tags_go_with_the_second_one_too)
{
	static const struct weir_tag tags[] = {
		{ "tag of the first", 16 }, { "another", 7 },
	};
	struct weir_fetch_options options = WEIR_FETCH_OPTIONS_INIT;
	struct source source = fetch_source("value");
	struct fake_asked asked;

	options.tags = tags;
	options.tag_count = 2;
	fake_lease_tell_end(&fetch_daemon, 0, FAKE_NEVER);
	cr_assert_eq(weir_fetch(fetch_handle, "key", 3, fetch_buffer,
	    sizeof(fetch_buffer), &options, fetch_compute_source, &source,
	    NULL), WEIR_OK);
	fake_lease_wait(&fetch_daemon, 2, &asked);
	cr_assert_eq(get_key("key"), WEIR_OK);
	/* Lease, fill, claim, and that fill. */
	asked = fake_lease_asked(&fetch_daemon, 3);
	cr_assert_eq(asked.type, FRAME_FILL);
	cr_assert_eq(asked.set.tag_count, 2);
	cr_assert_str_eq(asked.key, "key");
}

Test(lease_send, long_values_are_waited_for)
{
	static char large[LEASE_SEND_MAX + 2];
	struct source source;

	memset(large, 'x', sizeof(large) - 1);
	source = fetch_source(large);
	cr_assert_eq(fetch_key("k", &source), WEIR_TOO_LARGE);
	cr_assert_eq(under_way(), 0);
	cr_assert_eq(fake_lease_count(&fetch_daemon, FRAME_FILL), 1);
}

Test(lease_send, a_child_waits_for_none_of_its_parents)
{
	struct source source = fetch_source("value");
	int status;
	pid_t child;

	cr_assert_eq(fetch_key("k", &source), WEIR_OK);
	child = fork();
	if (child == 0) {
		_exit(get_key("absent") == WEIR_MISS && under_way() == 0 ?
		    0 : 1);
	}
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert_eq(status, 0);
	cr_assert_eq(under_way(), 1);
}

Test(lease_send, many_are_under_way_at_once)
{
	struct source source = fetch_source("value");
	char key[] = "k00";
	struct fake_asked asked;

	for (int i = 0; i < 20; i++) {
		key[1] = (char)('0' + i / 10);
		key[2] = (char)('0' + i % 10);
		fake_lease_tell_end(&fetch_daemon, WEIR_OK, FAKE_AT_ONCE);
		cr_assert_eq(fetch_key(key, &source), WEIR_OK);
	}
	fake_lease_wait(&fetch_daemon, 40, &asked);
	(void)lease_settle(fetch_handle);
	cr_assert_eq(under_way(), 0);
	cr_assert_eq(get_key("k00"), WEIR_OK);
	cr_assert_eq(get_key("k19"), WEIR_OK);
}

/* Whoever fetched may not call the library again for long. */
Test(lease_send, all_of_it_is_sent_when_the_fetch_is_over)
{
	static char value[LEASE_SEND_MAX];
	static char copy[LEASE_SEND_MAX];
	const int few_bytes = 1;	/* the least that the kernel has */
	struct source source = fetch_source("");
	struct fake_asked asked;

	source.said.value = value;
	source.said.length = sizeof(value);
	cr_assert_eq(setsockopt(weir_fd(fetch_handle), SOL_SOCKET, SO_SNDBUF,
	    &few_bytes, sizeof(few_bytes)), 0);
	cr_assert_eq(weir_fetch(fetch_handle, "k", 1, copy, sizeof(copy),
	    NULL, fetch_compute_source, &source, NULL), WEIR_OK);
	cr_assert(!weir_wants_write(fetch_handle), "a part of it waits");
	fake_lease_wait(&fetch_daemon, 2, &asked);
	cr_assert_eq(asked.type, FRAME_FILL);
	cr_assert_eq(asked.set.value_length, sizeof(value));
}

static bool
look_and_see(void *arg)
{
	(void)arg;
	atomic_store(&fetch_handle->next_look_ms, 0);
	attach_look(fetch_handle, lane_of(fetch_handle));
	return fake_lease_count(&fetch_daemon, FRAME_FILL) == 2 &&
	    under_way() == 0;
}

/* Whoever has hits alone makes no call that would find out. */
Test(lease_send, a_look_sends_again_what_was_lost)
{
	struct source source = fetch_source("value");
	struct fake_asked asked;

	fake_lease_tell_end(&fetch_daemon, 0, FAKE_NEVER);
	cr_assert_eq(fetch_key("k", &source), WEIR_OK);
	fake_lease_wait(&fetch_daemon, 2, &asked);
	cr_assert(wait_until(look_and_see, NULL, 5000));
	cr_assert_eq(get_key("k"), WEIR_OK);
}
