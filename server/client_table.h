/* SPDX-License-Identifier: ISC */

/*
 * The table of connected clients in the control segment: who holds a row, and
 * what dead workers left.  Workers claim under clients_lock; a row belongs to
 * the worker that claimed it, which alone writes it and gives it back; any
 * process of the daemon reads.
 *
 * The one word that says a row is taken, worker, is stored last (release), so
 * that a death in between leaves a free row, and readers that see it
 * (acquire) see the rest.  A row whose incarnation is older than its worker's
 * is free by definition.
 */
#ifndef CLIENT_TABLE_H
#define CLIENT_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "clock.h"
#include "control.h"
#include "peer.h"
#include "result.h"

/*
 * A row for a client of that pool.  OK; FULL: max_clients are connected;
 * BUSY: the lock was not had in time.
 */
enum result client_table_claim(struct control *control, uint32_t process,
    uint64_t incarnation, const struct peer *peer, uint32_t pool,
    struct boot_ms now, struct control_client **row);

void	client_table_release(struct control_client *row);

/* True if a live worker holds it. */
bool	client_table_in_use(const struct control *control,
    const struct control_client *row);

uint32_t client_table_count(const struct control *control);

#endif
