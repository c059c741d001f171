/* SPDX-License-Identifier: ISC */

/*
 * Asks the person at the terminal before something is done that cannot be
 * undone, or that cuts others off.  One thread.
 */
#ifndef CONFIRM_H
#define CONFIRM_H

#include "command.h"

/*
 * question: without its mark.  CTL_OK: the answer was yes.  Otherwise it was
 * complained: CTL_FAILED for a no, CTL_USAGE where nobody can be asked.
 */
enum ctl_exit confirm_ask(const struct command_context *context,
    const struct command *command, const char *question);

#endif
