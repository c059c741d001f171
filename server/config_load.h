/* SPDX-License-Identifier: ISC */

/*
 * The configuration in effect: built-in values, the file over them, the
 * command line over that; checked as a whole.  The supervisor alone.
 */
#ifndef CONFIG_LOAD_H
#define CONFIG_LOAD_H

#include "config_draft.h"
#include "options.h"

/* The pool that there is without a file. */
#define CONFIG_BUILTIN_POOL		"default"
#define CONFIG_BUILTIN_POOL_MEMORY	"64M"

/* Changes nothing but the draft.  True if no error was added to it. */
bool	config_load(struct config_draft *draft, const struct options *options);

/* Checks that look at more than one value; adds errors. */
void	config_check(struct config_draft *draft);

/* A part of it: limits of one origin that contradict each other. */
void	config_check_origins(struct config_draft *draft);

/*
 * Every option with its value and source, pools as "pool.NAME.option",
 * origins as "origin.NAME.option".
 */
void	config_print(const struct config_draft *draft, config_print_fn print,
    void *arg);

/*
 * Every option whose value differs, by name.  What a reload takes is told
 * by reload; a pool or origin that is new or gone is named by itself,
 * "pool.NAME".
 */
typedef void (*config_diff_fn)(void *arg, const char *name, bool reload);
void	config_diff(const struct config_draft *before,
    const struct config_draft *after, config_diff_fn report, void *arg);

/* Any option of two origins differs. */
bool	config_origin_differs(const struct config_origin *before,
    const struct config_origin *after);

#endif
