/* SPDX-License-Identifier: ISC */

/*
 * The difference between two configurations.  The supervisor alone.
 */
#include "config_load.h"

#include <stdio.h>
#include <string.h>

#include "config_format.h"

static bool
value_differs(const struct config_option *option, const void *before,
    const void *after)
{
	char old[CONFIG_FORMAT_BYTES];
	char new[CONFIG_FORMAT_BYTES];

	config_format_value(option, before, old);
	config_format_value(option, after, new);
	return strcmp(old, new) != 0;
}

/* Pools, or origins: structs that begin with their name, options in a table. */
struct section {
	const char	*kind;
	const struct config_option *options;
	int		option_count;
	const void	*rows;
	uint32_t	row_count;
	size_t		row_bytes;
};

static struct section
pools_of(const struct config *config)
{
	return (struct section){ "pool", config_pool_options,
	    CONFIG_POOL_OPTIONS, config->pools, config->pool_count,
	    sizeof(config->pools[0]) };
}

static struct section
origins_of(const struct config *config)
{
	return (struct section){ "origin", config_origin_options,
	    CONFIG_ORIGIN_OPTIONS, config->origins, config->origin_count,
	    sizeof(config->origins[0]) };
}

_Static_assert(offsetof(struct config_pool, name) == 0 &&
    offsetof(struct config_origin, name) == 0, "the name stands first");

static const char *
row_of(const struct section *section, uint32_t i)
{
	return (const char *)section->rows + i * section->row_bytes;
}

static const char *
find_row(const struct section *section, const char *name)
{
	for (uint32_t i = 0; i < section->row_count; i++) {
		if (strcmp(row_of(section, i), name) == 0) {
			return row_of(section, i);
		}
	}
	return NULL;
}

static void
diff_row(const struct section *section, const char *before,
    const char *after, config_diff_fn report, void *arg)
{
	char name[CONFIG_FORMAT_NAME_BYTES];

	for (int i = 0; i < section->option_count; i++) {
		const struct config_option *option = &section->options[i];

		if (value_differs(option, before, after)) {
			(void)snprintf(name, sizeof(name), "%s.%s.%s",
			    section->kind, before, option->name);
			report(arg, name, option->reload);
		}
	}
}

/* Rows of one that the other has not. */
static void
diff_missing(const struct section *here, const struct section *there,
    config_diff_fn report, void *arg)
{
	char name[CONFIG_FORMAT_NAME_BYTES];

	for (uint32_t i = 0; i < here->row_count; i++) {
		if (find_row(there, row_of(here, i)) == NULL) {
			(void)snprintf(name, sizeof(name), "%s.%s",
			    here->kind, row_of(here, i));
			report(arg, name, false);
		}
	}
}

static void
diff_section(const struct section *old, const struct section *new,
    config_diff_fn report, void *arg)
{
	for (uint32_t i = 0; i < old->row_count; i++) {
		const char *before = row_of(old, i);
		const char *after = find_row(new, before);

		if (after != NULL) {
			diff_row(old, before, after, report, arg);
		}
	}
	diff_missing(old, new, report, arg);
	diff_missing(new, old, report, arg);
}

void
config_diff(const struct config_draft *before,
    const struct config_draft *after, config_diff_fn report, void *arg)
{
	const struct section pools[] = { pools_of(&before->config),
	    pools_of(&after->config) };
	const struct section origins[] = { origins_of(&before->config),
	    origins_of(&after->config) };

	for (int i = 0; i < CONFIG_OPTIONS; i++) {
		if (value_differs(&config_options[i], &before->config,
		    &after->config)) {
			report(arg, config_options[i].name,
			    config_options[i].reload);
		}
	}
	diff_section(&pools[0], &pools[1], report, arg);
	diff_section(&origins[0], &origins[1], report, arg);
}

bool
config_origin_differs(const struct config_origin *before,
    const struct config_origin *after)
{
	for (int i = 0; i < CONFIG_ORIGIN_OPTIONS; i++) {
		if (value_differs(&config_origin_options[i], before, after)) {
			return true;
		}
	}
	return false;
}
