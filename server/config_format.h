/* SPDX-License-Identifier: ISC */

/*
 * A value of the configuration as a text.  The supervisor alone.
 */
#ifndef CONFIG_FORMAT_H
#define CONFIG_FORMAT_H

#include "config_table.h"

/* A list of 32 numbers of 10 digits, with its marks. */
#define CONFIG_FORMAT_BYTES	512

/* Longer than "origin.NAME.option" and "pool.NAME.option". */
#define CONFIG_FORMAT_NAME_BYTES	(POOL_NAME_BYTES + 32)

/*
 * The option's field of base (a struct config, config_pool or config_origin)
 * as the file would say it; "" for a list or group that was not given.
 */
void	config_format_value(const struct config_option *option,
    const void *base, char *out);

#endif
