/* SPDX-License-Identifier: ISC */

#include "connection.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "read.h"
#include "wired_fixture.h"

/* Together more than is read at once. */
#define SETS		40u
#define VALUE_BYTES	2500u
#define KEY_BYTES	3u

static void
open_workers(void)
{
	struct origin_config config;

	origin_config_init(&config);
	wired_create(&config);
}

static void
close_workers(void)
{
	wired_destroy();
}

TestSuite(connection, .init = open_workers, .fini = close_workers);

static void
key_text(char key[KEY_BYTES + 1], unsigned number)
{
	(void)snprintf(key, KEY_BYTES + 1, "k%02u", number % 100);
}

static void
send_set(int fd, unsigned number)
{
	static uint8_t body[WIRE_SET_BYTES + KEY_BYTES + VALUE_BYTES];
	const struct wire_set set = {
		.key_length = KEY_BYTES, .value_length = VALUE_BYTES,
	};
	char key[KEY_BYTES + 1];

	wire_set_encode(body, &set);
	key_text(key, number);
	memcpy(body + WIRE_SET_BYTES, key, KEY_BYTES);
	wired_send(fd, FRAME_SET, 2 + number, body, sizeof(body));
}

static bool
is_stored(unsigned number)
{
	static uint8_t copy[VALUE_BYTES];
	const struct pool *pool = &wired_worker(0)->heritage->pools[0];
	struct read_hit hit;
	char text[KEY_BYTES + 1];
	struct key key;

	key_text(text, number);
	return key_init(&key, pool, text, KEY_BYTES) == OK &&
	    read_copy(pool, &key, clock_boot_now(), copy, sizeof(copy),
	    &hit) == OK;
}

Test(connection, does_all_that_a_client_sent_before_it_hung_up)
{
	int fd = wired_connect(0, NULL);

	for (unsigned i = 0; i < SETS; i++) {
		send_set(fd, i);
	}
	wired_hang_up(fd);
	for (unsigned i = 0; i < SETS; i++) {
		cr_assert(is_stored(i), "set %u of %u is lost", i, SETS);
	}
	cr_assert(LIST_EMPTY(&wired_worker(0)->connections),
	    "the connection did not end");
}
