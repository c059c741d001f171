/* SPDX-License-Identifier: ISC */

/*
 * config.def as tables.  The supervisor alone, and tests.
 */
#ifndef CONFIG_TABLE_H
#define CONFIG_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config.h"

enum option_kind {
	OPTION_NUMBER,
	OPTION_SIZE,
	OPTION_TIME,
	OPTION_ADDRESS,
	OPTION_LEVEL,
	OPTION_USER,
	OPTION_GROUP,
	OPTION_PATH,
	OPTION_MODE,
	OPTION_USERS,		/* a list */
	OPTION_GROUPS,		/* a list */
	OPTION_SWITCH,		/* on, off */
	OPTION_SCOPE,		/* origin, partition */
	OPTION_MISSES,		/* a number; 0 turns the detector off */
};

/* Where an option stands. */
enum config_level {
	CONFIG_LEVEL_TOP,
	CONFIG_LEVEL_POOL,
	CONFIG_LEVEL_ORIGIN,
};

struct config_option {
	const char	*name;
	enum option_kind kind;
	size_t		offset;		/* in the level's struct */
	size_t		field_bytes;
	uint64_t	min;
	uint64_t	max;
	const char	*builtin;	/* "": worked out at start */
	bool		reload;
	const char	*text;
};

enum config_option_index {
#define OPTION(name, field, kind, min, max, builtin, reload, text)	\
	CONFIG_OPTION_##name,
#define POOL_OPTION(name, field, kind, min, max, builtin, reload, text)
#define ORIGIN_OPTION(name, field, kind, min, max, builtin, reload, text)
#include "config.def"
#undef OPTION
#undef POOL_OPTION
#undef ORIGIN_OPTION
	CONFIG_OPTIONS
};

enum config_pool_option_index {
#define OPTION(name, field, kind, min, max, builtin, reload, text)
#define POOL_OPTION(name, field, kind, min, max, builtin, reload, text)	\
	CONFIG_POOL_OPTION_##name,
#define ORIGIN_OPTION(name, field, kind, min, max, builtin, reload, text)
#include "config.def"
#undef OPTION
#undef POOL_OPTION
#undef ORIGIN_OPTION
	CONFIG_POOL_OPTIONS
};

enum config_origin_option_index {
#define OPTION(name, field, kind, min, max, builtin, reload, text)
#define POOL_OPTION(name, field, kind, min, max, builtin, reload, text)
#define ORIGIN_OPTION(name, field, kind, min, max, builtin, reload, text)\
	CONFIG_ORIGIN_OPTION_##name,
#include "config.def"
#undef OPTION
#undef POOL_OPTION
#undef ORIGIN_OPTION
	CONFIG_ORIGIN_OPTIONS
};

extern const struct config_option config_options[CONFIG_OPTIONS];
extern const struct config_option config_pool_options[CONFIG_POOL_OPTIONS];
extern const struct config_option
    config_origin_options[CONFIG_ORIGIN_OPTIONS];

/* True if the value of a kind is a list. */
static inline bool
option_is_list(const struct config_option *option)
{
	return option->kind == OPTION_USERS || option->kind == OPTION_GROUPS;
}

/*
 * The known name that is nearest to a mistyped one, or NULL if none is near
 * enough to be meant.
 */
const char *config_suggest(const char *name, enum config_level level);

#endif
