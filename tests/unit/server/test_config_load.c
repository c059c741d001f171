/* SPDX-License-Identifier: ISC */

#include "config_load.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sys/un.h>

#include "config_parse.h"
#include "memory_budget.h"
#include "supervisor_reload.h"

static struct config_draft draft;
static struct config_draft other;

static const char *
first_error(void)
{
	return draft.error_count > 0 ? draft.errors[0].text : "(none)";
}

Test(config_load, the_built_in_pool_is_there_without_a_file)
{
	struct options options = { .socket_dir = "/tmp/w" };

	cr_assert(config_load(&draft, &options), "%s", first_error());
	cr_assert_eq(draft.config.pool_count, 1);
	cr_assert_str_eq(draft.config.pools[0].name, "default");
	cr_assert_eq(draft.config.pools[0].memory_bytes, 64u << 20);
	cr_assert(draft.config.pools[0].access.any);
	cr_assert_str_neq(draft.config.user, "");
}

Test(config_load, the_command_line_wins)
{
	struct options options = {
		.socket_dir = "/tmp/w", .workers = "7", .memory = "8M",
		.admin_listen = "off", .log_level = "debug",
	};

	cr_assert(config_load(&draft, &options), "%s", first_error());
	cr_assert_eq(draft.config.workers, 7);
	cr_assert_eq(draft.config.pools[0].memory_bytes, 8u << 20);
	cr_assert_str_eq(draft.config.admin_listen, "off");
	cr_assert_eq(draft.config.log_level, LOG_LEVEL_DEBUG);
	cr_assert_eq(draft.sources[CONFIG_OPTION_workers],
	    CONFIG_SOURCE_OF_OPTION('w'));
}

Test(config_load, errors_name_the_option_of_the_command_line)
{
	struct options options = {
		.socket_dir = "relative", .workers = "65", .memory = "1K",
	};

	cr_assert_not(config_load(&draft, &options));
	cr_assert_eq(draft.error_count, 3);
	cr_assert(strncmp(first_error(), "-m: ", 4) == 0, "%s",
	    first_error());
}

static uint32_t
check_text(const char *text)
{
	config_draft_init(&draft);
	config_parse_text(&draft, "conf", text);
	cr_assert_eq(draft.error_count, 0, "%s", first_error());
	config_check(&draft);
	return draft.error_count;
}

Test(config_check, pools_have_to_have_a_layout)
{
	cr_assert_eq(check_text("pool a { memory = 8M\nextent_size = 64K }"),
	    0, "%s", first_error());
	cr_assert_eq(check_text("pool a { memory = 8M\nextent_size = 8M }"),
	    1);
	cr_assert(strncmp(first_error(), "conf:2: ", 8) == 0, "%s",
	    first_error());
	cr_assert_eq(check_text("pool a { memory = 8M\nextent_size = 65K }"),
	    1);
	cr_assert_eq(check_text("pool a { memory = 8M\nextent_size = 1K }"),
	    1);
}

Test(config_check, a_ring_is_a_power_of_two)
{
	cr_assert_eq(check_text("\nring_size = 48K"), 1);
	cr_assert(strncmp(first_error(), "conf:2: ", 8) == 0, "%s",
	    first_error());
}

Test(config_check, the_path_of_a_socket_has_to_fit)
{
	struct sockaddr_un address;
	char dir[sizeof(address.sun_path) + 1] = { 0 };

	config_draft_init(&draft);
	memset(dir, 'd', sizeof(address.sun_path));
	dir[0] = '/';
	/* With /admin.sock and its zero the path fits exactly. */
	dir[sizeof(address.sun_path) - strlen("/admin.sock") - 1] = '\0';
	config_draft_set(&draft, CONFIG_OPTION_socket_dir, dir, 1);
	config_check(&draft);
	cr_assert_eq(draft.error_count, 0, "%s", first_error());
	dir[strlen(dir)] = 'd';
	config_draft_set(&draft, CONFIG_OPTION_socket_dir, dir, 1);
	config_check(&draft);
	cr_assert_eq(draft.error_count, 1);
}

Test(config_check, the_limits_of_an_origin_agree)
{
	static const struct {
		const char	*text;
		const char	*error;
	} cases[] = {
		{ "limit = 8\npartition_limit = 9",
		    "conf:3: origin web: partition_limit: 9 is above limit, "
		    "which is 8" },
		{ "limit = 8\nhost_limit = 9",
		    "conf:3: origin web: host_limit: 9 is above limit, which "
		    "is 8" },
		{ "limit = 8\nclient_limit = 9",
		    "conf:3: origin web: client_limit: 9 is above limit, "
		    "which is 8" },
		{ "adaptive_min = 65",
		    "conf:2: origin web: adaptive_min: 65 is above limit, "
		    "which is 64" },
		{ "queue = 100\npartition_queue = 101",
		    "conf:3: origin web: partition_queue: 101 is above queue, "
		    "which is 100" },
		{ "breaker_open = 61s",
		    "conf:2: origin web: breaker_open: 61s is above "
		    "breaker_open_max, which is 1m" },
		{ "breaker_open_max = 2s",
		    "conf:2: origin web: breaker_open: 5s is above "
		    "breaker_open_max, which is 2s" },
		{ "limit = 2", NULL },
		{ "limit = 2\npartition_limit = 16\nadaptive_min = 4", NULL },
		{ "limit = 16\npartition_limit = 16", NULL },
		{ "queue = 0\nmiss_flood = 0", NULL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[200];

		(void)snprintf(text, sizeof(text), "origin web {\n%s\n}\n",
		    cases[i].text);
		cr_expect_eq(check_text(text), cases[i].error != NULL,
		    "%s: %s", cases[i].text, first_error());
		cr_expect_str_eq(first_error(), cases[i].error != NULL ?
		    cases[i].error : "(none)");
	}
}

Test(config_check, all_that_may_fly_fits_one_table)
{
	char text[4096] = "";

	for (int i = 0; i < 8; i++) {
		size_t at = strlen(text);

		(void)snprintf(text + at, sizeof(text) - at, "origin o%d "
		    "{\nlimit = 65536\nqueue = 65536\n}\n", i);
	}
	cr_assert_eq(check_text(text), 1);
	cr_assert_not_null(strstr(first_error(), "of all origins"), "%s",
	    first_error());
}

Test(config_load, the_built_in_origin_is_there_beside_others)
{
	struct options options = { .socket_dir = "/tmp/w" };
	const struct origin_config *origin = &draft.config.origins[0].config;

	cr_assert(config_load(&draft, &options), "%s", first_error());
	cr_assert_eq(draft.config.origin_count, 1);
	cr_assert_str_eq(draft.config.origins[0].name, "default");
	cr_assert(origin_config_is_valid(origin));
	cr_assert_eq(origin->limiter.limit, 64);
	cr_assert_eq(origin->upload.limit, 16);
	cr_assert_eq(origin->breaker.probe_ms, 30000);
	cr_assert_eq(memory_budget_flights(&draft.config), 64 + 8192);
	cr_assert_eq(check_text("origin web { limit = 10\nqueue = 90 }"), 0);
	cr_assert_eq(draft.config.origin_count, 2);
	cr_assert_eq(memory_budget_flights(&draft.config), 64 + 8192 + 100);
	cr_assert_eq(check_text("origin default { limit = 10\nqueue = 1 }"),
	    0);
	cr_assert_eq(draft.config.origin_count, 1);
	cr_assert_eq(memory_budget_flights(&draft.config), 64 + 8192);
}

static char printed[8192];

static void
print(void *arg, const char *name, const char *value, const char *source)
{
	size_t at = strlen(printed);

	(void)arg;
	(void)snprintf(printed + at, sizeof(printed) - at, "%s=%s (%s)\n",
	    name, value, source);
}

Test(config_print, an_origin_is_printed_with_where_each_value_is_from)
{
	static const char *const lines[] = {
		"origin.default.limit=64 (built-in)\n",
		"origin.web.limit=8 (conf:2)\n",
		"origin.web.queue=8192 (built-in)\n",
		"origin.web.queue_wait=250ms (conf:3)\n",
		"origin.web.adaptive=on (conf:4)\n",
		"origin.web.breaker=on (built-in)\n",
		"origin.web.breaker_scope=partition (conf:5)\n",
		"origin.web.miss_flood=0 (conf:6)\n",
		"origin.default.miss_flood=500 (built-in)\n",
	};

	config_draft_init(&draft);
	config_parse_text(&draft, "conf", "origin web {\nlimit = 8\n"
	    "queue_wait = 250ms\nadaptive = on\nbreaker_scope = partition\n"
	    "miss_flood = 0\n}");
	cr_assert_eq(draft.error_count, 0, "%s", first_error());
	config_print(&draft, print, NULL);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		cr_expect_not_null(strstr(printed, lines[i]), "%s", lines[i]);
	}
}

static char seen[1024];

static void
collect(void *arg, const char *name, bool reload)
{
	size_t at = strlen(seen);

	(void)arg;
	(void)snprintf(seen + at, sizeof(seen) - at, "%s%s ", name,
	    reload ? "" : "!");
}

Test(config_diff, names_what_differs_and_what_a_reload_takes)
{
	config_draft_init(&draft);
	config_parse_text(&draft, "a", "pool web {}\npool old {}\n"
	    "workers = 2\nlog_level = info");
	config_draft_init(&other);
	config_parse_text(&other, "b", "workers = 3\nlog_level = debug\n"
	    "pool web { users = {root}\nmemory = 8M }\npool new {}");
	cr_assert_eq(draft.error_count + other.error_count, 0);
	config_diff(&draft, &other, collect, NULL);
	cr_assert_str_eq(seen, "workers! log_level pool.web.memory! "
	    "pool.web.users pool.web.groups pool.old! pool.new! ");
}

Test(config_diff, names_what_differs_in_origins)
{
	config_draft_init(&draft);
	config_parse_text(&draft, "a", "origin web {}\norigin old {}");
	config_draft_init(&other);
	config_parse_text(&other, "b", "origin web { limit = 3\n"
	    "miss_flood = 0 }\norigin new {}\n"
	    "origin default { breaker = off }");
	cr_assert_eq(draft.error_count + other.error_count, 0);
	config_diff(&draft, &other, collect, NULL);
	cr_assert_str_eq(seen, "origin.default.breaker origin.web.limit "
	    "origin.web.miss_flood origin.old! origin.new! ");
	cr_assert(config_origin_differs(&draft.config.origins[1],
	    &other.config.origins[1]));
	cr_assert_not(config_origin_differs(&draft.config.origins[1],
	    &draft.config.origins[2]));
}

Test(config_diff, finds_nothing_between_equals)
{
	config_draft_init(&draft);
	config_parse_text(&draft, "a", "pool web { groups = {0} }");
	other = draft;
	config_diff(&draft, &other, collect, NULL);
	cr_assert_str_eq(seen, "");
}

Test(supervisor_merge, takes_what_a_reload_may_change_alone)
{
	config_draft_init(&draft);
	config_parse_text(&draft, "a", "workers = 2\npool web {}\npool b {}");
	config_draft_init(&other);
	config_parse_text(&other, "b", "workers = 5\nlog_level = error\n"
	    "drain_timeout = 1s\nadmin_group = 7\nmax_clients = 3\n"
	    "pool b { users = {12} }\npool web { memory = 8M }");
	cr_assert_eq(draft.error_count + other.error_count, 0);
	supervisor_merge_config(&draft.config, &other.config);
	cr_assert_eq(draft.config.workers, 2);
	cr_assert_eq(draft.config.max_clients, 1024);
	cr_assert_eq(draft.config.log_level, LOG_LEVEL_ERROR);
	cr_assert_eq(draft.config.drain_timeout_ms, 1000);
	cr_assert_eq(draft.config.admin_group, 7);
	cr_assert_eq(draft.config.pools[0].memory_bytes, 256u << 20);
	cr_assert(draft.config.pools[0].access.any);
	cr_assert_not(draft.config.pools[1].access.any);
	cr_assert_eq(draft.config.pools[1].access.users[0], 12);
}

Test(supervisor_merge, takes_the_options_of_origins_that_there_are)
{
	config_draft_init(&draft);
	config_parse_text(&draft, "a", "origin web {}\norigin b {}");
	config_draft_init(&other);
	config_parse_text(&other, "b", "origin b { limit = 7 }\n"
	    "origin new { limit = 9 }");
	cr_assert_eq(draft.error_count + other.error_count, 0);
	supervisor_merge_config(&draft.config, &other.config);
	cr_assert_eq(draft.config.origin_count, 3);
	cr_assert_str_eq(draft.config.origins[1].name, "web");
	cr_assert_eq(draft.config.origins[1].config.limiter.limit, 64);
	cr_assert_str_eq(draft.config.origins[2].name, "b");
	cr_assert_eq(draft.config.origins[2].config.limiter.limit, 7);
}
