/* SPDX-License-Identifier: ISC */

#include "control_create.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const uint8_t boot_id[16] = "sixteen bytes..";

static struct config *
make_config(void)
{
	static const char *const names[] = { "default", "web", "db" };
	struct config *config = calloc(1, sizeof(*config));

	cr_assert_not_null(config);
	config->workers = 3;
	config->max_clients = 5;
	config->drain_timeout_ms = 1234;
	config->pool_count = 2;
	config->pools[1].access.any = true;
	config->origin_count = 3;
	for (uint32_t i = 0; i < config->origin_count; i++) {
		struct config_origin *origin = &config->origins[i];

		memcpy(origin->name, names[i], strlen(names[i]) + 1);
		origin_config_init(&origin->config);
		/* Of different sizes. */
		origin->config.limiter.limit = 10 * (i + 1);
		origin_config_derive(&origin->config);
		cr_assert_neq(origin_bytes(&origin->config), 0);
	}
	return config;
}

static enum result
create(struct segment *segment, struct control **control,
    const struct config *config)
{
	return control_create(segment, control, config, boot_id,
	    (struct boot_ms){ .ms = 7000 }, (struct wall_ms){ .ms = 8000 });
}

Test(control, begins_with_empty_tables_and_the_settings)
{
	struct config *config = make_config();
	struct segment segment;
	struct control *control;

	cr_assert_eq(create(&segment, &control, config), OK);
	cr_assert_eq(control->magic, CONTROL_MAGIC);
	cr_assert_eq(control->bytes, control_bytes(config));
	cr_assert_eq(segment.bytes, control->bytes);
	cr_assert_eq(control->worker_count, 3);
	cr_assert_eq(control->client_capacity, 5);
	cr_assert_eq(control->supervisor_pid, (uint32_t)getpid());
	cr_assert_eq(control->started_boot_ms, 7000);
	cr_assert_eq(control->drain_timeout_ms, 1234);
	cr_assert_eq(memcmp(control->boot_id, boot_id, 16), 0);
	cr_assert_not(control->access[0].any);
	cr_assert(control->access[1].any);
	for (uint32_t i = 0; i < 4; i++) {
		cr_assert_eq(control->processes[i].incarnation, 1);
	}
	for (uint32_t i = 0; i < 5; i++) {
		cr_assert_eq(control->clients[i].worker, 0);
		cr_assert_eq(control->clients[i].generation, 0);
	}
	segment_destroy(&segment);
	free(config);
}

Test(control, has_the_origins_behind_the_clients)
{
	struct config *config = make_config();
	const struct origin_door door = { .arg = NULL };
	struct segment segment;
	struct control *control;
	uint64_t at;

	cr_assert_eq(create(&segment, &control, config), OK);
	cr_assert_eq(control->origin_count, 3);
	at = (uint64_t)((uint8_t *)&control->clients[5] -
	    (uint8_t *)control);
	for (uint32_t i = 0; i < 3; i++) {
		struct origin_view view;
		struct origin origin;
		uint64_t offset = control->origin_offsets[i];

		cr_assert_geq(offset, at);
		cr_assert_eq(offset % 64, 0);
		at = offset + origin_bytes(&config->origins[i].config);
		cr_assert_leq(at, control->bytes);
		/* With its own bytes and no more. */
		cr_assert(origin_bind(&origin, (uint8_t *)control + offset,
		    at - offset, i, &door));
		cr_assert_str_eq(origin_name(&origin),
		    config->origins[i].name);
		cr_assert_eq(origin_look(&origin,
		    (struct boot_ms){ .ms = 7001 }, &view), OK);
		cr_assert_eq(view.config.limiter.limit, 10 * (i + 1));
		cr_assert_eq(view.in_flight, 0);
		cr_assert_eq(origin_verify(&origin,
		    (struct boot_ms){ .ms = 7001 }), 0);
	}
	segment_destroy(&segment);
	free(config);
}

Test(control, without_origins_ends_behind_the_clients)
{
	struct config *config = make_config();
	uint64_t with = control_bytes(config), sum = 0;

	for (uint32_t i = 0; i < config->origin_count; i++) {
		sum += origin_bytes(&config->origins[i].config);
	}
	config->origin_count = 0;
	cr_assert_geq(with, control_bytes(config) + sum);
	cr_assert_leq(with, control_bytes(config) + sum + 3 * 63);
	cr_assert_geq(control_bytes(config), sizeof(struct control) +
	    5 * sizeof(struct control_client));
	free(config);
}

static unsigned
open_descriptors(void)
{
	unsigned count = 0;

	for (int fd = 0; fd < 1024; fd++) {
		count += fcntl(fd, F_GETFD) >= 0;
	}
	return count;
}

Test(control, is_not_made_with_an_origin_that_makes_no_sense)
{
	struct config *config = make_config();
	unsigned before = open_descriptors();
	struct control *control = NULL;
	struct segment segment;

	config->origins[1].config.limiter.limit = 0;
	cr_assert_eq(create(&segment, &control, config), INVALID);
	cr_assert_null(control);
	cr_assert_eq(open_descriptors(), before, "the segment is left");
	free(config);
}

Test(control, settings_are_published_also_after_a_death_under_their_lock)
{
	struct config *config = make_config();
	struct segment segment;
	struct control *control;
	uint64_t generation;
	pid_t pid;

	cr_assert_eq(create(&segment, &control, config), OK);
	generation = control->settings_generation;
	pid = fork();
	cr_assert_geq(pid, 0);
	if (pid == 0) {
		_exit(lock_acquire(&control->settings_lock, 0) == LOCK_HELD ?
		    0 : 1);
	}
	cr_assert_eq(waitpid(pid, NULL, 0), pid);
	config->drain_timeout_ms = 4321;
	config->pools[1].access.any = false;
	cr_assert_eq(control_publish(control, config), OK);
	cr_assert_eq(control->drain_timeout_ms, 4321);
	cr_assert_not(control->access[1].any);
	cr_assert_eq(control->settings_generation, generation + 1);
	cr_assert_eq(control_publish(control, config), OK);
	segment_destroy(&segment);
	free(config);
}
