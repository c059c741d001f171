/* SPDX-License-Identifier: ISC */

/*
 * A configuration as text, value by value, and the difference between two.
 * The supervisor alone.
 */
#include "config_load.h"

#include <stdio.h>
#include <string.h>

#include "config_value.h"

#define NAME_BYTES	(POOL_NAME_BYTES + 32)
#define SOURCE_BYTES	(CONFIG_PATH_BYTES + 16)
/* A list of 32 numbers of 10 digits, with its marks. */
#define VALUE_BYTES	512

static uint64_t
load_number(const struct config_option *option, const void *field)
{
	return option->field_bytes == sizeof(uint32_t) ?
	    *(const uint32_t *)field : *(const uint64_t *)field;
}

static void
format_list(const uint32_t *ids, uint32_t count, char *out)
{
	int at = snprintf(out, VALUE_BYTES, "{");

	for (uint32_t i = 0; i < count; i++) {
		at += snprintf(out + at, VALUE_BYTES - (size_t)at, "%s%u",
		    i > 0 ? ", " : "", ids[i]);
	}
	(void)snprintf(out + at, VALUE_BYTES - (size_t)at, "}");
}

/* The value as the file would say it; "" for a list or group not given. */
static void
format_value(const struct config_option *option, const void *base, char *out)
{
	const void *field = (const char *)base + option->offset;
	const struct config_access *access = field;

	out[0] = '\0';
	switch (option->kind) {
	case OPTION_SIZE:
		(void)config_value_format_size(load_number(option, field),
		    out, VALUE_BYTES);
		break;
	case OPTION_TIME:
		(void)config_value_format_time(load_number(option, field),
		    out, VALUE_BYTES);
		break;
	case OPTION_NUMBER:
		(void)snprintf(out, VALUE_BYTES, "%llu",
		    (unsigned long long)load_number(option, field));
		break;
	case OPTION_MODE:
		(void)snprintf(out, VALUE_BYTES, "%04llo",
		    (unsigned long long)load_number(option, field));
		break;
	case OPTION_LEVEL:
		(void)snprintf(out, VALUE_BYTES, "%s",
		    config_value_level_name(*(const enum log_level *)field));
		break;
	case OPTION_GROUP:
		if (*(const gid_t *)field != (gid_t)-1) {
			(void)snprintf(out, VALUE_BYTES, "%u",
			    *(const gid_t *)field);
		}
		break;
	case OPTION_USERS:
		if (!access->any) {
			format_list(access->users, access->user_count, out);
		}
		break;
	case OPTION_GROUPS:
		if (!access->any) {
			format_list(access->groups, access->group_count, out);
		}
		break;
	default:
		(void)snprintf(out, VALUE_BYTES, "%s", (const char *)field);
		break;
	}
}

static void
print_one(const struct config_draft *draft, const struct config_option *option,
    const void *base, const char *name, uint32_t source,
    config_print_fn print, void *arg)
{
	char value[VALUE_BYTES];
	char place[SOURCE_BYTES];

	format_value(option, base, value);
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
	char name[NAME_BYTES];

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
}

static bool
value_differs(const struct config_option *option, const void *before,
    const void *after)
{
	char old[VALUE_BYTES];
	char new[VALUE_BYTES];

	format_value(option, before, old);
	format_value(option, after, new);
	return strcmp(old, new) != 0;
}

static const struct config_pool *
find_pool(const struct config *config, const char *name)
{
	for (uint32_t i = 0; i < config->pool_count; i++) {
		if (strcmp(config->pools[i].name, name) == 0) {
			return &config->pools[i];
		}
	}
	return NULL;
}

static void
diff_pool(const struct config_pool *before, const struct config_pool *after,
    config_diff_fn report, void *arg)
{
	char name[NAME_BYTES];

	for (int i = 0; i < CONFIG_POOL_OPTIONS; i++) {
		if (value_differs(&config_pool_options[i], before, after)) {
			(void)snprintf(name, sizeof(name), "pool.%s.%s",
			    before->name, config_pool_options[i].name);
			report(arg, name, config_pool_options[i].reload);
		}
	}
}

/* Pools of one that the other has not. */
static void
diff_missing(const struct config *here, const struct config *there,
    config_diff_fn report, void *arg)
{
	char name[NAME_BYTES];

	for (uint32_t i = 0; i < here->pool_count; i++) {
		if (find_pool(there, here->pools[i].name) == NULL) {
			(void)snprintf(name, sizeof(name), "pool.%s",
			    here->pools[i].name);
			report(arg, name, false);
		}
	}
}

void
config_diff(const struct config_draft *before,
    const struct config_draft *after, config_diff_fn report, void *arg)
{
	const struct config *old = &before->config;
	const struct config *new = &after->config;

	for (int i = 0; i < CONFIG_OPTIONS; i++) {
		if (value_differs(&config_options[i], old, new)) {
			report(arg, config_options[i].name,
			    config_options[i].reload);
		}
	}
	for (uint32_t i = 0; i < old->pool_count; i++) {
		const struct config_pool *pool = find_pool(new,
		    old->pools[i].name);

		if (pool != NULL) {
			diff_pool(&old->pools[i], pool, report, arg);
		}
	}
	diff_missing(old, new, report, arg);
	diff_missing(new, old, report, arg);
}
