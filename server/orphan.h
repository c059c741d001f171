/* SPDX-License-Identifier: ISC */

/*
 * Clients whose worker died, watched by the worker that adopted them until
 * they claim what they hold, end, or have had their time; see holder.h.
 * Workers.
 */
#ifndef ORPHAN_H
#define ORPHAN_H

#include "clock.h"

struct worker;

/* Adopt what is there, let go what has had its time.  Once a second. */
void	orphans_look(struct worker *worker, struct boot_ms now);

/* At the worker's end: others adopt them. */
void	orphans_forget(struct worker *worker);

/*
 * A holder is no more: what it held goes to others now.  After
 * client_table_release().
 */
void	orphans_sweep_held(struct worker *worker, struct boot_ms now);

#endif
