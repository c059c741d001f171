/* SPDX-License-Identifier: ISC */

/*
 * A configuration in the making: its values, where each came from, and all
 * that is wrong with it.  The supervisor alone.
 */
#ifndef CONFIG_DRAFT_H
#define CONFIG_DRAFT_H

#include <stdbool.h>
#include <stdint.h>

#include "config.h"
#include "config_table.h"

/* Where a value came from: 0 built-in, a line of the file, or an option. */
#define CONFIG_SOURCE_BUILTIN	0u
#define CONFIG_SOURCE_FLAG	0x80000000u
#define CONFIG_SOURCE_OF_OPTION(letter)					\
	(CONFIG_SOURCE_FLAG | (uint32_t)(letter))

/* More are counted, not kept: nobody reads further in one go. */
#define CONFIG_ERRORS_MAX	64
#define CONFIG_ERROR_BYTES	400

struct config_error {
	uint32_t	source;
	char		text[CONFIG_ERROR_BYTES];	/* "file:7: ..." */
};

struct config_draft {
	struct config	config;
	uint32_t	sources[CONFIG_OPTIONS];
	uint32_t	pool_lines[CONFIG_POOLS_MAX];
	uint32_t	pool_sources[CONFIG_POOLS_MAX][CONFIG_POOL_OPTIONS];
	uint32_t	origin_lines[ORIGINS_MAX];
	uint32_t	origin_sources[ORIGINS_MAX][CONFIG_ORIGIN_OPTIONS];
	uint32_t	error_count;
	uint32_t	errors_dropped;
	struct config_error errors[CONFIG_ERRORS_MAX];
};

/* The origin that there is in any case. */
#define CONFIG_BUILTIN_ORIGIN	"default"

/* The built-in values, without a pool and without the user's. */
void	config_draft_init(struct config_draft *draft);

/* Kept in the order of lines, each text once. */
void	config_draft_add_error(struct config_draft *draft, uint32_t source,
    const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Judge a text and store it as the value of an option. */
void	config_draft_set(struct config_draft *draft,
    enum config_option_index option, const char *text, uint32_t source);
void	config_draft_set_pool(struct config_draft *draft, uint32_t pool,
    enum config_pool_option_index option, const char *text, uint32_t source);
void	config_draft_set_origin(struct config_draft *draft, uint32_t origin,
    enum config_origin_option_index option, const char *text,
    uint32_t source);

/* Empty a list of a pool before its members are set one after the other. */
void	config_draft_clear_list(struct config_draft *draft, uint32_t pool,
    enum config_pool_option_index option, uint32_t source);

/*
 * The number of the pool of that name, made with built-in values if it is
 * new; CONFIG_POOLS_MAX, and an error, if it cannot be.
 */
uint32_t config_draft_find_pool(struct config_draft *draft, const char *name,
    uint32_t source);

/* The same of an origin; ORIGINS_MAX, and an error, if it cannot be. */
uint32_t config_draft_find_origin(struct config_draft *draft,
    const char *name, uint32_t source);

#endif
