/* SPDX-License-Identifier: ISC */

/*
 * The tables of a daemon.
 */
#include "daemon_fixture.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "epoch.h"
#include "write.h"

static struct heritage fixture;

struct heritage *
fixture_create(void)
{
	struct pool_params params = {
		.name = "default",
		.pool_bytes = FIXTURE_POOL_BYTES,
		.worker_count = 2,
		.now = fixture_at(0),
	};
	struct control *control = calloc(1, sizeof(*control) +
	    FIXTURE_CLIENTS * sizeof(struct control_client));

	memset(&fixture, 0, sizeof(fixture));
	cr_assert_not_null(control);
	cr_assert_eq(lock_init(&control->clients_lock), OK);
	cr_assert_eq(lock_init(&control->settings_lock), OK);
	control->magic = CONTROL_MAGIC;
	control->worker_count = 2;
	control->client_capacity = FIXTURE_CLIENTS;
	control->started_boot_ms = FIXTURE_BOOT_MS;
	for (int i = 0; i < 3; i++) {
		control->processes[i].state = PROCESS_RUNNING;
		control->processes[i].heartbeat_ms = FIXTURE_BOOT_MS;
		control->processes[i].incarnation = 1;
	}
	fixture.control = control;
	fixture.incarnation = 1;
	fixture.config.workers = 2;
	fixture.config.max_clients = FIXTURE_CLIENTS;
	fixture.config.ring_bytes = 16384;
	fixture.config.pool_count = 1;
	memcpy(fixture.config.pools[0].name, "default", 8);
	cr_assert_eq(pool_create(&fixture.pools[0], &params), OK);
	pool_become_worker(&fixture.pools[0], 0);
	return &fixture;
}

void
fixture_destroy(struct heritage *heritage)
{
	pool_destroy(&heritage->pools[0]);
	free(heritage->control);
}

void
fixture_set(const struct pool *pool, const char *key, const char *value)
{
	struct key where;
	struct entry_spec spec = {
		.key = &where,
		.value = value,
		.value_bytes = strlen(value),
		.soft_ms = UINT64_MAX,
		.hard_ms = UINT64_MAX,
		.epoch = epoch_now(pool),
	};
	uint64_t version;

	cr_assert_eq(key_init(&where, pool, key, strlen(key)), OK);
	cr_assert_eq(write_set(pool, &spec, fixture_at(0), &version), OK);
}
