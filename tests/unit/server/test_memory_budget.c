/* SPDX-License-Identifier: ISC */

#include "memory_budget.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "control.h"
#include "geometry.h"

static char root[] = "/tmp/weir-test-XXXXXX";

/* A file of the machine that the test makes up, with its directories. */
static void
write_file(const char *path, const char *text)
{
	char full[512];
	FILE *file;

	(void)snprintf(full, sizeof(full), "%s%s", root, path);
	for (char *at = full + strlen(root) + 1; *at != '\0'; at++) {
		if (*at == '/') {
			*at = '\0';
			(void)mkdir(full, 0700);
			*at = '/';
		}
	}
	file = fopen(full, "w");
	cr_assert_not_null(file, "%s", full);
	cr_assert_geq(fputs(text, file), 0);
	cr_assert_eq(fclose(file), 0);
}

static void
make_root(void)
{
	cr_assert_not_null(mkdtemp(root));
	write_file("/proc/meminfo", "MemTotal:     2048 kB\n"
	    "MemAvailable:     1024 kB\nSwapFree: 7 kB\n");
}

static void
remove_root(void)
{
	char command[64];

	(void)snprintf(command, sizeof(command), "rm -rf '%s'", root);
	cr_assert_eq(system(command), 0);
}

Test(memory_limits, a_machine_without_groups_has_what_is_available,
    .init = make_root, .fini = remove_root)
{
	struct memory_limits limits;

	memory_limits_read(&limits, root);
	cr_assert_eq(limits.available_bytes, 1u << 20);
	cr_assert_eq(limits.group_bytes, UINT64_MAX);
	cr_assert_eq(limits.group_room_bytes, UINT64_MAX);
}

Test(memory_limits, the_tightest_group_above_counts,
    .init = make_root, .fini = remove_root)
{
	struct memory_limits limits;

	write_file("/proc/self/cgroup", "0::/outer/inner\n");
	write_file("/sys/fs/cgroup/outer/inner/memory.max", "max\n");
	write_file("/sys/fs/cgroup/outer/memory.max", "1000000\n");
	write_file("/sys/fs/cgroup/outer/memory.current", "400000\n");
	write_file("/sys/fs/cgroup/outer/memory.stat",
	    "anon 1\ninactive_file 100000\n");
	memory_limits_read(&limits, root);
	cr_assert_eq(limits.group_bytes, 1000000);
	cr_assert_eq(limits.group_room_bytes, 700000);
}

Test(memory_limits, groups_of_the_first_version_count_too,
    .init = make_root, .fini = remove_root)
{
	struct memory_limits limits;

	write_file("/proc/self/cgroup", "8:pids:/\n4:cpu,memory:/x\n"
	    "3:memory:/app\n0::/\n");
	write_file("/sys/fs/cgroup/memory/memory.limit_in_bytes",
	    "9223372036854771712\n");
	write_file("/sys/fs/cgroup/memory/app/memory.limit_in_bytes",
	    "500000\n");
	write_file("/sys/fs/cgroup/memory/app/memory.usage_in_bytes",
	    "600000\n");
	memory_limits_read(&limits, root);
	cr_assert_eq(limits.group_bytes, 500000);
	cr_assert_eq(limits.group_room_bytes, 0);
}

Test(memory_limits, what_is_needed_at_start_has_to_be_there)
{
	struct memory_budget budget = { .start_bytes = 1000 };
	struct memory_limits limits = {
		.available_bytes = 1000, .group_bytes = UINT64_MAX,
		.group_room_bytes = UINT64_MAX,
	};
	char error[MEMORY_BUDGET_ERROR_BYTES];

	cr_assert(memory_limits_allow(&limits, &budget, error));
	limits.available_bytes = 999;
	cr_assert_not(memory_limits_allow(&limits, &budget, error));
	cr_assert_not_null(strstr(error, "the machine has"));
	limits.available_bytes = UINT64_MAX;
	limits.group_room_bytes = 999;
	cr_assert_not(memory_limits_allow(&limits, &budget, error));
	cr_assert_not_null(strstr(error, "the control group has"));
}

Test(memory_budget, is_the_sum_of_its_parts)
{
	static struct config config = {
		.workers = 3, .max_clients = 100, .ring_bytes = 65536,
		.pool_count = 2,
		.pools = {
			{ .memory_bytes = 8u << 20 },
			{ .memory_bytes = 64u << 20 },
		},
	};
	struct memory_budget budget;
	struct geometry geometry;

	cr_assert_eq(memory_budget_compute(&budget, &config), OK);
	cr_assert_eq(geometry_compute(&geometry, 64u << 20, 0, 3), OK);
	cr_assert_eq(budget.segment_bytes[1], geometry.segment_bytes);
	cr_assert_eq(budget.private_bytes[1], geometry.private_bytes);
	cr_assert_geq(budget.control_bytes, sizeof(struct control) +
	    100 * sizeof(struct control_client));
	cr_assert_eq(budget.origins_bytes, 0);
	cr_assert_eq(budget.start_bytes, budget.segment_bytes[0] +
	    budget.segment_bytes[1] + budget.private_bytes[0] +
	    budget.private_bytes[1] + budget.control_bytes +
	    budget.permits_bytes +
	    budget.page_table_bytes + budget.process_bytes);
	cr_assert_eq(budget.ring_bytes, 100u * 65536);
	/* 2 MiB for each GiB that a client maps. */
	cr_assert_eq(budget.client_page_table_bytes,
	    geometry.segment_bytes / 512 * 100);
	cr_assert_eq(budget.full_bytes, budget.start_bytes +
	    budget.ring_bytes + budget.client_page_table_bytes);
}

Test(memory_budget, a_pool_without_a_layout_is_invalid)
{
	static struct config config = {
		.workers = 1, .pool_count = 1,
		.pools = { { .memory_bytes = 1 } },
	};
	struct memory_budget budget;

	cr_assert_eq(memory_budget_compute(&budget, &config), INVALID);
}

Test(memory_budget, has_the_origins_and_room_for_their_flights)
{
	static struct config config = {
		.workers = 1, .max_clients = 1, .ring_bytes = 65536,
		.pool_count = 1, .pools = { { .memory_bytes = 8u << 20 } },
	};
	struct memory_budget with, without;

	cr_assert_eq(memory_budget_compute(&without, &config), OK);
	cr_assert_eq(memory_budget_flights(&config), FLIGHTS_DEFAULT);
	config.origin_count = 2;
	for (int i = 0; i < 2; i++) {
		origin_config_init(&config.origins[i].config);
		config.origins[i].config.limiter.limit = 1000;
		config.origins[i].config.limiter.places = 60000;
		origin_config_derive(&config.origins[i].config);
	}
	cr_assert_eq(memory_budget_flights(&config), 2 * 61000);
	cr_assert_eq(memory_budget_compute(&with, &config), OK);
	cr_assert_eq(with.origins_bytes, 2 * origin_bytes(
	    &config.origins[0].config));
	cr_assert_geq(with.control_bytes, without.control_bytes +
	    with.origins_bytes);
	cr_assert_gt(with.private_bytes[0], without.private_bytes[0]);
	cr_assert_eq(with.segment_bytes[0], without.segment_bytes[0]);
}
