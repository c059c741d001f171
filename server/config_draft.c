/* SPDX-License-Identifier: ISC */

/*
 * Texts become values here, wherever they come from, and whatever is wrong
 * with one is written down, so that a person sees all of it at once.
 */
#include "config_draft.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "config_set.h"
#include "runtime_dir.h"

static int
format_place(const struct config_draft *draft, uint32_t source, char *out,
    size_t room)
{
	if ((source & CONFIG_SOURCE_FLAG) != 0) {
		return snprintf(out, room, "-%c: ",
		    (int)(source & ~CONFIG_SOURCE_FLAG));
	}
	if (source != CONFIG_SOURCE_BUILTIN) {
		return snprintf(out, room, "%s:%u: ", draft->config.file,
		    source);
	}
	return 0;
}

void
config_draft_add_error(struct config_draft *draft, uint32_t source,
    const char *format, ...)
{
	struct config_error error = { .source = source };
	uint32_t at = draft->error_count;
	int place = format_place(draft, source, error.text,
	    sizeof(error.text));
	va_list args;

	va_start(args, format);
	(void)vsnprintf(error.text + place, sizeof(error.text) -
	    (size_t)place, format, args);
	va_end(args);
	for (uint32_t i = 0; i < draft->error_count; i++) {
		if (strcmp(draft->errors[i].text, error.text) == 0) {
			return;
		}
	}
	if (at == CONFIG_ERRORS_MAX) {
		draft->errors_dropped++;
		return;
	}
	while (at > 0 && draft->errors[at - 1].source > source) {
		draft->errors[at] = draft->errors[at - 1];
		at--;
	}
	draft->errors[at] = error;
	draft->error_count++;
}

void
config_draft_init(struct config_draft *draft)
{
	struct config *config = &draft->config;
	long cores = sysconf(_SC_NPROCESSORS_ONLN);

	memset(draft, 0, sizeof(*draft));
	config->workers = cores < 1 ? 1 : cores > WORKERS_MAX ? WORKERS_MAX :
	    (uint32_t)cores;
	config->socket_mode = geteuid() == 0 ? 0666 : 0600;
	config->socket_group = (gid_t)-1;
	config->admin_group = (gid_t)-1;
	config->admin_read_group = (gid_t)-1;
	for (int i = 0; i < CONFIG_OPTIONS; i++) {
		if (config_options[i].builtin[0] != '\0') {
			config_draft_set(draft, (enum config_option_index)i,
			    config_options[i].builtin, CONFIG_SOURCE_BUILTIN);
		}
	}
	(void)config_draft_find_origin(draft, CONFIG_BUILTIN_ORIGIN,
	    CONFIG_SOURCE_BUILTIN);
	if (!runtime_dir_default(config->socket_dir,
	    sizeof(config->socket_dir))) {
		config_draft_add_error(draft, CONFIG_SOURCE_BUILTIN,
		    "the default of socket_dir is too long: give it with -s");
	}
}

void
config_draft_set(struct config_draft *draft,
    enum config_option_index option, const char *text, uint32_t source)
{
	char error[CONFIG_SET_ERROR_BYTES];

	if (config_set_value(&config_options[option], &draft->config, text,
	    error)) {
		draft->sources[option] = source;
	} else {
		config_draft_add_error(draft, source, "%s", error);
	}
}

void
config_draft_set_pool(struct config_draft *draft, uint32_t pool,
    enum config_pool_option_index option, const char *text, uint32_t source)
{
	char error[CONFIG_SET_ERROR_BYTES];

	if (config_set_value(&config_pool_options[option],
	    &draft->config.pools[pool], text, error)) {
		draft->pool_sources[pool][option] = source;
	} else {
		config_draft_add_error(draft, source, "pool %s: %s",
		    draft->config.pools[pool].name, error);
	}
}

void
config_draft_set_origin(struct config_draft *draft, uint32_t origin,
    enum config_origin_option_index option, const char *text,
    uint32_t source)
{
	char error[CONFIG_SET_ERROR_BYTES];

	if (config_set_value(&config_origin_options[option],
	    &draft->config.origins[origin], text, error)) {
		draft->origin_sources[origin][option] = source;
	} else {
		config_draft_add_error(draft, source, "origin %s: %s",
		    draft->config.origins[origin].name, error);
	}
}

void
config_draft_clear_list(struct config_draft *draft, uint32_t pool,
    enum config_pool_option_index option, uint32_t source)
{
	struct config_access *access = &draft->config.pools[pool].access;

	if (config_pool_options[option].kind == OPTION_USERS) {
		access->user_count = 0;
	} else {
		access->group_count = 0;
	}
	access->any = false;
	draft->pool_sources[pool][option] = source;
}

_Static_assert(ORIGIN_NAME_BYTES == POOL_NAME_BYTES, "one length of names");

/* Names stand in paths of /proc, in log lines and in labels. */
static bool
check_name(struct config_draft *draft, const char *name, const char *what,
    uint32_t source)
{
	size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz"
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");

	if (length > 0 && length < POOL_NAME_BYTES && name[length] == '\0') {
		return true;
	}
	config_draft_add_error(draft, source, "'%.64s' is no name of %s: 1 to "
	    "%d letters, digits, _ and -", name, what, POOL_NAME_BYTES - 1);
	return false;
}

uint32_t
config_draft_find_pool(struct config_draft *draft, const char *name,
    uint32_t source)
{
	struct config *config = &draft->config;
	uint32_t pool = config->pool_count;

	for (uint32_t i = 0; i < pool; i++) {
		if (strcmp(config->pools[i].name, name) == 0) {
			return i;
		}
	}
	if (!check_name(draft, name, "a pool", source)) {
		return CONFIG_POOLS_MAX;
	}
	if (pool == CONFIG_POOLS_MAX) {
		config_draft_add_error(draft, source,
		    "more than %d pools", CONFIG_POOLS_MAX);
		return CONFIG_POOLS_MAX;
	}
	memset(&config->pools[pool], 0, sizeof(config->pools[pool]));
	(void)snprintf(config->pools[pool].name,
	    sizeof(config->pools[pool].name), "%s", name);
	config->pools[pool].access.any = true;
	config->pool_count++;
	draft->pool_lines[pool] = source;
	for (int i = 0; i < CONFIG_POOL_OPTIONS; i++) {
		draft->pool_sources[pool][i] = CONFIG_SOURCE_BUILTIN;
		if (config_pool_options[i].builtin[0] != '\0') {
			config_draft_set_pool(draft, pool,
			    (enum config_pool_option_index)i,
			    config_pool_options[i].builtin,
			    CONFIG_SOURCE_BUILTIN);
		}
	}
	return pool;
}

uint32_t
config_draft_find_origin(struct config_draft *draft, const char *name,
    uint32_t source)
{
	struct config *config = &draft->config;
	uint32_t origin = config->origin_count;
	struct config_origin *made;

	for (uint32_t i = 0; i < origin; i++) {
		if (strcmp(config->origins[i].name, name) == 0) {
			if (draft->origin_lines[i] == CONFIG_SOURCE_BUILTIN) {
				draft->origin_lines[i] = source;
			}
			return i;
		}
	}
	if (!check_name(draft, name, "an origin", source)) {
		return ORIGINS_MAX;
	}
	if (origin == ORIGINS_MAX) {
		config_draft_add_error(draft, source, "more than %u origins, "
		    "the one called %s counted", ORIGINS_MAX,
		    CONFIG_BUILTIN_ORIGIN);
		return ORIGINS_MAX;
	}
	made = &config->origins[origin];
	memset(made, 0, sizeof(*made));
	(void)snprintf(made->name, sizeof(made->name), "%s", name);
	origin_config_init(&made->config);
	config->origin_count++;
	draft->origin_lines[origin] = source;
	for (int i = 0; i < CONFIG_ORIGIN_OPTIONS; i++) {
		config_draft_set_origin(draft, origin,
		    (enum config_origin_option_index)i,
		    config_origin_options[i].builtin, CONFIG_SOURCE_BUILTIN);
	}
	return origin;
}
