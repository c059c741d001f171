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
 * is an orphan: taken, until a worker adopts it and lets it go (orphan.h), or
 * the client claims it (holder.h).
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

/*
 * The table is full, but who comes names a holder, and its secret, whose row
 * is an orphan of this process and pool: it has that one again, with the
 * holder that it was.  Not just any of its process: each connection has a row
 * of its own, and what another one holds is not this one's.  OK; FULL: it has
 * none; BUSY.
 */
enum result client_table_reseat(struct control *control, uint32_t process,
    uint64_t incarnation, const struct peer *peer, uint32_t pool,
    uint64_t holder, uint64_t secret, struct control_client **row);

/* By the worker whose row it is. */
void	client_table_release(struct control_client *row);

/* The same, but its holder lives on, as an orphan. */
void	client_table_leave(struct control_client *row);

/*
 * Make the orphan of that holder, adopted or not, this worker's.  OK; MISS:
 * the holder is no more; BUSY: the lock was not had, or the row's worker is
 * not known to be dead.
 */
enum result client_table_take_over(struct control *control,
    struct control_client *row, uint64_t holder, uint32_t process,
    uint64_t incarnation);

/*
 * The next row from *at on whose worker is dead, made this worker's, to be
 * watched until until_ms.  OK with *row (NULL: another was faster), MISS at
 * the end, BUSY.
 */
enum result client_table_adopt(struct control *control, uint32_t process,
    uint64_t incarnation, uint64_t until_ms, uint32_t *at,
    struct control_client **row);

/*
 * Free the row of an orphan that this worker adopted.  OK; MISS: it is not
 * its orphan any more (it was claimed), and nothing was changed; BUSY.
 */
enum result client_table_let_go(struct control *control,
    struct control_client *row, uint64_t holder, uint32_t process);

/* True if somebody holds it, or has left it behind. */
bool	client_table_taken(const struct control_client *row);

/* True if it is the row of a client that is connected. */
bool	client_table_in_use(const struct control *control,
    const struct control_client *row);

/* Of /proc; 0 if it is not to be seen. */
uint64_t client_table_start_time(pid_t pid);

/* Clients that are connected. */
uint32_t client_table_count(const struct control *control);

#endif
