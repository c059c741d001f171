/* SPDX-License-Identifier: ISC */

/*
 * One text into one value of the configuration.  The supervisor alone.
 */
#ifndef CONFIG_SET_H
#define CONFIG_SET_H

#include <stdbool.h>

#include "config_table.h"

#define CONFIG_SET_ERROR_BYTES	256

/*
 * Store the value that a text means in the option's field of base (a struct
 * config, config_pool or config_origin); members of a list are added to it.
 * False, with a text of CONFIG_SET_ERROR_BYTES, if it means none or is out of
 * range.
 */
bool	config_set_value(const struct config_option *option, void *base,
    const char *text, char *error);

#endif
