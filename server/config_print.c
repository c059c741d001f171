/* SPDX-License-Identifier: ISC */

/*
 * A configuration as text, value by value.  The supervisor alone.
 */
#include "config_load.h"

#include <stdio.h>

#include "config_format.h"

#define SOURCE_BYTES	(CONFIG_PATH_BYTES + 16)

static void
print_one(const struct config_draft *draft, const struct config_option *option,
    const void *base, const char *name, uint32_t source,
    config_print_fn print, void *arg)
{
	char value[CONFIG_FORMAT_BYTES];
	char place[SOURCE_BYTES];

	config_format_value(option, base, value);
	if ((source & CONFIG_SOURCE_FLAG) != 0) {
		(void)snprintf(place, sizeof(place), "-%c",
		    (int)(source & ~CONFIG_SOURCE_FLAG));
	} else if (source != CONFIG_SOURCE_BUILTIN) {
		(void)snprintf(place, sizeof(place), "%s:%u",
		    draft->config.file, source);
	} else {
		(void)snprintf(place, sizeof(place), "built-in");
	}
	print(arg, name, value, place);
}

void
config_print(const struct config_draft *draft, config_print_fn print,
    void *arg)
{
	char name[CONFIG_FORMAT_NAME_BYTES];

	for (int i = 0; i < CONFIG_OPTIONS; i++) {
		print_one(draft, &config_options[i], &draft->config,
		    config_options[i].name, draft->sources[i], print, arg);
	}
	for (uint32_t p = 0; p < draft->config.pool_count; p++) {
		const struct config_pool *pool = &draft->config.pools[p];

		for (int i = 0; i < CONFIG_POOL_OPTIONS; i++) {
			(void)snprintf(name, sizeof(name), "pool.%s.%s",
			    pool->name, config_pool_options[i].name);
			print_one(draft, &config_pool_options[i], pool, name,
			    draft->pool_sources[p][i], print, arg);
		}
	}
	for (uint32_t o = 0; o < draft->config.origin_count; o++) {
		const struct config_origin *origin =
		    &draft->config.origins[o];

		for (int i = 0; i < CONFIG_ORIGIN_OPTIONS; i++) {
			(void)snprintf(name, sizeof(name), "origin.%s.%s",
			    origin->name, config_origin_options[i].name);
			print_one(draft, &config_origin_options[i], origin,
			    name, draft->origin_sources[o][i], print, arg);
		}
	}
}
