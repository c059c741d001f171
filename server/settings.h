/* SPDX-License-Identifier: ISC */

/*
 * A worker's copy of what a reload may change.
 */
#ifndef SETTINGS_H
#define SETTINGS_H

struct worker;

/* Copy anew if the supervisor has changed something. */
void	settings_follow(struct worker *worker);

#endif
