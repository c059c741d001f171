/* SPDX-License-Identifier: ISC */

/*
 * The configuration file into a draft.  The supervisor alone.
 */
#ifndef CONFIG_PARSE_H
#define CONFIG_PARSE_H

#include "config_draft.h"

/*
 * Read the file into the draft, whose config.file is set.  Errors are added
 * to the draft.
 */
void	config_parse_file(struct config_draft *draft, const char *path);

/* The same for a text in memory, called by the path in errors. */
void	config_parse_text(struct config_draft *draft, const char *path,
    const char *text);

#endif
