/* SPDX-License-Identifier: ISC */

#include "config_load.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sys/un.h>

#include "config_parse.h"
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
