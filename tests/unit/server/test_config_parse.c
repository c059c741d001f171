/* SPDX-License-Identifier: ISC */

#include "config_parse.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static struct config_draft draft;

static void
parse(const char *text)
{
	config_draft_init(&draft);
	config_parse_text(&draft, "conf", text);
}

/* True if there is an error of exactly that text. */
static bool
complains(const char *text)
{
	for (uint32_t i = 0; i < draft.error_count; i++) {
		if (strcmp(draft.errors[i].text, text) == 0) {
			return true;
		}
	}
	return false;
}

static const char *
first_error(void)
{
	return draft.error_count > 0 ? draft.errors[0].text : "(none)";
}

Test(config_parse, an_empty_file_leaves_the_built_in_values)
{
	parse("# nothing\n");
	cr_assert_eq(draft.error_count, 0, "%s", first_error());
	cr_assert_eq(draft.config.max_clients, 1024);
	cr_assert_eq(draft.config.ring_bytes, 64u << 10);
	cr_assert_eq(draft.config.drain_timeout_ms, 10000);
	cr_assert_eq(draft.config.pool_count, 0);
}

Test(config_parse, values_are_stored_with_their_lines)
{
	parse("workers = 3\n"
	    "ring_size = 128K\n"
	    "admin_listen = [::1]:80\n"
	    "pool web {\n"
	    "\tmemory = 1G\n"
	    "\tusers = { root,\n\t    12345 }\n"
	    "}\n"
	    "pool bare {}\n");
	cr_assert_eq(draft.error_count, 0, "%s", first_error());
	cr_assert_eq(draft.config.workers, 3);
	cr_assert_eq(draft.config.ring_bytes, 128u << 10);
	cr_assert_str_eq(draft.config.admin_listen, "[::1]:80");
	cr_assert_eq(draft.sources[CONFIG_OPTION_ring_size], 2);
	cr_assert_eq(draft.config.pool_count, 2);
	cr_assert_str_eq(draft.config.pools[0].name, "web");
	cr_assert_eq(draft.config.pools[0].memory_bytes, 1ull << 30);
	cr_assert_not(draft.config.pools[0].access.any);
	cr_assert_eq(draft.config.pools[0].access.user_count, 2);
	cr_assert_eq(draft.config.pools[0].access.users[0], 0);
	cr_assert_eq(draft.config.pools[0].access.users[1], 12345);
	cr_assert_eq(draft.pool_sources[0][CONFIG_POOL_OPTION_memory], 5);
	cr_assert_eq(draft.config.pools[1].memory_bytes, 256u << 20);
	cr_assert(draft.config.pools[1].access.any);
}

Test(config_parse, an_empty_list_lets_nobody_in)
{
	parse("pool shut { users = {} }\n");
	cr_assert_eq(draft.error_count, 0, "%s", first_error());
	cr_assert_not(draft.config.pools[0].access.any);
	cr_assert_eq(draft.config.pools[0].access.user_count, 0);
}

Test(config_parse, every_error_is_listed_in_the_order_of_lines)
{
	parse("worker = 2\n"
	    "ring_size = 7\n"
	    "workers = many\n"
	    "pool p {\n"
	    "\tmemroy = 1G\n"
	    "\tmemory = 1K\n"
	    "\tusers = { no-such-user-here }\n"
	    "}\n"
	    "colour = red\n");
	cr_assert_eq(draft.error_count, 7, "%u, first %s", draft.error_count,
	    first_error());
	cr_assert(complains("conf:1: there is no option worker: did you mean "
	    "workers?"), "%s", first_error());
	cr_assert(complains("conf:2: ring_size: '7' is outside 16K to 16M"));
	cr_assert(complains("conf:3: workers: 'many' is no whole number"));
	cr_assert(complains("conf:5: there is no option memroy of a pool: did "
	    "you mean memory?"));
	cr_assert(complains("conf:6: pool p: memory: '1K' is outside 4M to "
	    "1T"));
	cr_assert(complains("conf:7: pool p: users: 'no-such-user-here' is no "
	    "user here"));
	cr_assert(complains("conf:9: there is no option colour"));
	for (uint32_t i = 1; i < draft.error_count; i++) {
		cr_assert_leq(draft.errors[i - 1].source,
		    draft.errors[i].source);
	}
}

Test(config_parse, an_option_given_twice_is_an_error)
{
	parse("workers = 2\nmax_clients = 5\nworkers = 3\n");
	cr_assert_eq(draft.error_count, 1);
	cr_assert_str_eq(first_error(),
	    "conf:3: workers: is set in line 1 already");
}

Test(config_parse, origins_are_sections_with_options_of_their_own)
{
	const struct origin_config *web = &draft.config.origins[1].config;

	parse("origin web {\n\tlimit = 8\n\ttimeout = 2s\n"
	    "\tbreaker = off\n\tbreaker_scope = partition\n"
	    "\tmiss_flood = 0\n\tmiss_throttle = on\n}\n"
	    "origin bare {}\n");
	cr_assert_eq(draft.error_count, 0, "%s", first_error());
	cr_assert_eq(draft.config.origin_count, 3);
	cr_assert_str_eq(draft.config.origins[0].name, "default");
	cr_assert_str_eq(draft.config.origins[1].name, "web");
	cr_assert_str_eq(draft.config.origins[2].name, "bare");
	cr_assert_eq(web->limiter.limit, 8);
	cr_assert_eq(web->limiter.permit_ms, 2000);
	cr_assert_eq(web->breaker.enabled, 0);
	cr_assert_eq(web->breaker_by_partition, 1);
	cr_assert_eq(web->missrate.enabled, 0);
	cr_assert_eq(web->missrate.throttle, 1);
	cr_assert_eq(draft.origin_sources[1][CONFIG_ORIGIN_OPTION_timeout],
	    3);
	cr_assert_eq(draft.config.origins[2].config.limiter.limit, 64);
	cr_assert_eq(draft.config.origins[2].config.missrate.enabled, 1);
}

Test(config_parse, errors_in_an_origin_name_it_and_what_was_meant)
{
	parse("origin web {\n"
	    "\tlimti = 8\n"
	    "\tlimit = 0\n"
	    "\tbreaker = maybe\n"
	    "\tbreaker_scope = host\n"
	    "\tqueue_wait = 5\n"
	    "\tmiss_flood = -1\n"
	    "\treserve = 91\n"
	    "\ttimeout = 1s\n"
	    "\ttimeout = 2s\n"
	    "}\n");
	cr_assert_eq(draft.error_count, 8, "%u, first %s", draft.error_count,
	    first_error());
	cr_expect(complains("conf:2: there is no option limti of an origin: "
	    "did you mean limit?"));
	cr_expect(complains("conf:3: origin web: limit: '0' is outside 1 to "
	    "65536"));
	cr_expect(complains("conf:4: origin web: breaker: 'maybe' is neither "
	    "on nor off"));
	cr_expect(complains("conf:5: origin web: breaker_scope: 'host' is "
	    "neither partition nor origin"));
	cr_expect(complains("conf:6: origin web: queue_wait: '5' is no time: "
	    "a number with ms, s, m or h"));
	cr_expect(complains("conf:7: origin web: miss_flood: '-1' is no whole "
	    "number"));
	cr_expect(complains("conf:8: origin web: reserve: '91' is outside 0 "
	    "to 90"));
	cr_expect(complains("conf:10: origin web: timeout: is set in line 9 "
	    "already"));
}

Test(config_parse, more_origins_than_there_are_places_are_an_error)
{
	char text[ORIGINS_MAX * 20] = "";

	for (unsigned i = 1; i <= ORIGINS_MAX; i++) {
		size_t at = strlen(text);

		(void)snprintf(text + at, sizeof(text) - at,
		    "origin o%u {}\n", i);
		if (i == ORIGINS_MAX - 1) {
			parse(text);
			cr_assert_eq(draft.error_count, 0, "%s",
			    first_error());
		}
	}
	parse(text);
	cr_assert_eq(draft.config.origin_count, ORIGINS_MAX);
	cr_assert_eq(draft.error_count, 1);
	parse("origin \"a b\" {}\n");
	cr_assert_eq(draft.error_count, 1);
	parse("origin a {}\norigin a {}\n");
	cr_assert_eq(draft.error_count, 1);
}

Test(config_parse, a_pool_given_twice_is_an_error)
{
	parse("pool a {}\npool b {}\npool a {}\n");
	cr_assert_eq(draft.error_count, 1);
	cr_assert(strncmp(first_error(), "conf:3: ", 8) == 0, "%s",
	    first_error());
}

Test(config_parse, broken_syntax_names_its_line)
{
	parse("workers = 2\npool a {\n");
	cr_assert_eq(draft.error_count, 1);
	cr_assert(strncmp(first_error(), "conf:2: ", 8) == 0, "%s",
	    first_error());
}

Test(config_parse, names_of_pools_are_plain)
{
	parse("pool \"a b\" {}\n");
	cr_assert_eq(draft.error_count, 1);
	parse("pool \"\" { memory = 8M }\n");
	cr_assert_gt(draft.error_count, 0);
}

Test(config_parse, more_pools_than_there_are_places_are_an_error)
{
	char text[CONFIG_POOLS_MAX * 16 + 32] = "";

	for (int i = 0; i <= CONFIG_POOLS_MAX; i++) {
		size_t at = strlen(text);

		(void)snprintf(text + at, sizeof(text) - at,
		    "pool p%d {}\n", i);
	}
	parse(text);
	cr_assert_eq(draft.config.pool_count, CONFIG_POOLS_MAX);
	cr_assert_eq(draft.error_count, 1);
}

Test(config_parse, more_errors_than_are_kept_are_counted)
{
	static char text[8192];

	for (int i = 0; i < CONFIG_ERRORS_MAX + 5; i++) {
		size_t at = strlen(text);

		(void)snprintf(text + at, sizeof(text) - at,
		    "workers = x\n");
	}
	parse(text);
	cr_assert_eq(draft.error_count, CONFIG_ERRORS_MAX);
	cr_assert_eq(draft.errors_dropped, 5);
}

Test(config_parse, a_file_that_is_missing_is_an_error)
{
	config_draft_init(&draft);
	config_parse_file(&draft, "/nonexistent/weird.conf");
	cr_assert_eq(draft.error_count, 1);
	cr_assert_not_null(strstr(first_error(), "/nonexistent/weird.conf"));
	config_draft_init(&draft);
	config_parse_file(&draft, "/");
	cr_assert_eq(draft.error_count, 1);
}
