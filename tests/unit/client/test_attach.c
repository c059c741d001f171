/* SPDX-License-Identifier: ISC */

/*
 * The daemon goes and comes back: hits go on, misses say so, and readers
 * find the new one by themselves.
 */
#include "weir.h"

#include "fake_daemon.h"
#include "wait_until.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

struct expectation {
	struct weir	*handle;
	const char	*key;
	int		result;
};

static bool
get_gives(void *argument)
{
	struct expectation *e = argument;
	char buffer[8];

	return weir_get(e->handle, e->key, strlen(e->key), buffer,
	    sizeof(buffer), NULL, NULL) == e->result;
}

Test(attach, hits_go_on_without_a_daemon_and_misses_say_no_server)
{
	static struct fake_daemon daemon;
	struct expectation hit = { .key = "k", .result = WEIR_OK };
	struct expectation miss = { .key = "n", .result = WEIR_NO_SERVER };

	fake_daemon_start(&daemon, NULL, 1);
	hit.handle = miss.handle = fake_daemon_open(&daemon, 0);
	cr_assert_eq(weir_set(hit.handle, "k", 1, "v", 1, NULL, NULL), 0);
	fake_daemon_beat(&daemon, 60000);
	fake_daemon_stop(&daemon);
	cr_assert(wait_until(get_gives, &miss, 5000));
	cr_assert(get_gives(&hit));
	weir_close(hit.handle);
}

Test(attach, an_old_heartbeat_with_a_living_socket_changes_nothing)
{
	static struct fake_daemon daemon;
	struct expectation miss = { .key = "n", .result = WEIR_MISS };

	fake_daemon_start(&daemon, NULL, 1);
	miss.handle = fake_daemon_open(&daemon, 0);
	cr_assert_eq(weir_ping(miss.handle), WEIR_OK);
	fake_daemon_beat(&daemon, 60000);
	for (int i = 0; i < 100; i++) {
		cr_assert(get_gives(&miss));
	}
	weir_close(miss.handle);
	cr_assert_eq(atomic_load(&daemon.hellos), 1);
	fake_daemon_stop(&daemon);
}

Test(attach, readers_find_the_next_daemon_by_themselves)
{
	static struct fake_daemon daemon, next;
	struct expectation hit = { .key = "k", .result = WEIR_OK };
	struct expectation old = { .key = "old", .result = WEIR_MISS };
	struct weir *writer;
	char path[96];

	fake_daemon_start(&daemon, NULL, 1);
	(void)snprintf(path, sizeof(path), "%s", daemon.path);
	old.handle = hit.handle = fake_daemon_open(&daemon, 0);
	cr_assert_eq(weir_set(hit.handle, "old", 3, "v", 1, NULL, NULL), 0);
	fake_daemon_beat(&daemon, 60000);
	fake_daemon_stop(&daemon);

	fake_daemon_start(&next, path, 2);
	writer = fake_daemon_open(&next, 0);
	cr_assert_eq(weir_set(writer, "k", 1, "v", 1, NULL, NULL), 0);
	cr_assert(wait_until(get_gives, &hit, 5000));
	cr_assert(get_gives(&old));
	weir_close(writer);
	weir_close(hit.handle);
	fake_daemon_stop(&next);
}

struct reader {
	struct weir	*handle;
	_Atomic bool	stop;
	_Atomic uint64_t wrong;
	_Atomic uint64_t reads;
};

static void *
read_on(void *arg)
{
	struct reader *reader = arg;
	char buffer[8];
	size_t length;

	while (!atomic_load(&reader->stop)) {
		int result = weir_get(reader->handle, "k", 1, buffer, 8,
		    &length, NULL);

		if (result == WEIR_OK && (length != 1 || buffer[0] != 'v')) {
			atomic_fetch_add(&reader->wrong, 1);
		}
		atomic_fetch_add(&reader->reads, 1);
	}
	return NULL;
}

Test(attach, threads_read_while_one_daemon_follows_another)
{
	static struct fake_daemon daemon, next;
	struct reader reader = { .handle = NULL };
	struct expectation hit = { .key = "k", .result = WEIR_OK };
	pthread_t threads[2];
	char path[96];

	fake_daemon_start(&daemon, NULL, 1);
	(void)snprintf(path, sizeof(path), "%s", daemon.path);
	reader.handle = hit.handle = fake_daemon_open(&daemon, 0);
	cr_assert_eq(weir_set(reader.handle, "k", 1, "v", 1, NULL, NULL), 0);
	for (int i = 0; i < 2; i++) {
		pthread_create(&threads[i], NULL, read_on, &reader);
	}
	for (uint8_t boot = 2; boot < 10; boot++) {
		fake_daemon_beat(&daemon, 60000);
		fake_daemon_stop(&daemon);
		fake_daemon_start(&next, path, boot);
		cr_assert(wait_until(get_gives, &(struct expectation){
		    reader.handle, "none", WEIR_MISS }, 5000));
		cr_assert_eq(weir_set(reader.handle, "k", 1, "v", 1, NULL,
		    NULL), WEIR_OK);
		cr_assert(get_gives(&hit));
		fake_daemon_beat(&next, 60000);
		fake_daemon_stop(&next);
		fake_daemon_start(&daemon, path, (uint8_t)(boot + 100));
		cr_assert_eq(weir_ping(reader.handle), WEIR_OK);
	}
	atomic_store(&reader.stop, true);
	for (int i = 0; i < 2; i++) {
		pthread_join(threads[i], NULL);
	}
	cr_assert_eq(atomic_load(&reader.wrong), 0);
	cr_assert_gt(atomic_load(&reader.reads), 0);
	weir_close(reader.handle);
	fake_daemon_stop(&daemon);
}
