/* SPDX-License-Identifier: ISC */

/*
 * weird.permits, a file in the directory of the sockets: the ledgers of all
 * origins (origin_ledger.h), mapped by the daemon's processes, so that a
 * daemon that was restarted, in good order or by a kill, knows which of its
 * clients are still calling an origin.
 *
 *	before			after
 *	a call is out		its permit is there, as that of an orphan: a
 *				client whose worker died.  It counts against
 *				the limit until
 *				- the client comes back, claims it (holder.h)
 *				  and gives it back with a result,
 *				- the client's process ends, or does not come
 *				  back in HOLDER_ORPHAN_MS,
 *				- its time, the origin's time-out, is over.
 *
 * 1. The segments do not outlive the daemon, so flights, places, breakers and
 *    modes begin anew: a lease is lost (its FILL says so), its permit is not.
 * 2. The file is of one run of the kernel: after a reboot nobody calls.
 * 3. The supervisor copies what it finds, makes a new file beside it, puts
 *    into it what is still out, and only then gives it the name: a death in
 *    between loses nothing.  Workers inherit the mapping.
 * 4. Who may write to the file may say who holds what: it is the daemon's
 *    user's alone, and whatever it says is checked.
 *
 * The supervisor makes and reads; its children write through the mapping.
 */
#ifndef PERMIT_FILE_H
#define PERMIT_FILE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "clock.h"
#include "config.h"
#include "control.h"
#include "origin_ledger.h"
#include "result.h"

#define PERMIT_FILE_NAME	"weird.permits"

struct permit_file_origin {
	char		name[ORIGIN_NAME_BYTES];
	uint64_t	offset;		/* of its entries: calls, uploads */
	uint32_t	calls;
	uint32_t	uploads;
};

struct permit_file_head {
	uint64_t	magic;
	uint64_t	bytes;
	uint64_t	started_ms;	/* of the daemon, boot clock */
	uint8_t		kernel_id[16];	/* of this run of the kernel */
	uint64_t	pid_space;	/* in which its numbers mean anything */
	_Atomic uint32_t closing;	/* the daemon ends its connections */
	uint32_t	origin_count;
	struct permit_file_origin origins[ORIGINS_MAX];
};
_Static_assert(sizeof(struct permit_file_head) == 56 + 80 * ORIGINS_MAX,
    "the head of the permits' file");

/* Of all origins. */
uint64_t permit_file_bytes(const struct config *config);

struct permit_file_counts {
	uint32_t	restored;	/* calls that are still out */
	uint32_t	over;		/* their process or their time is */
	uint32_t	refused;	/* no such origin or client row now */
	bool		damaged;	/* the file made no sense */
};

/*
 * Make the file in that directory, with what an older one there says, which
 * goes into the control segment too, before it has workers.  OK; SYSTEM with
 * errno: there is no file, and an older one is as it was.
 */
enum result permit_file_create(const char *dir, const struct config *config,
    struct control *control, struct boot_ms now,
    struct permit_file_head **file, struct permit_file_counts *counts);

/* The ledger of an origin; its door's words are the caller's. */
bool	permit_file_ledger(struct permit_file_head *file, uint32_t origin,
    struct origin_ledger *ledger);

/* The daemon ends; results of calls are still entered.  NULL: nothing. */
void	permit_file_close(struct permit_file_head *file);

/* Nobody is calling: take the file away.  After the last child's end. */
void	permit_file_clean_up(const char *dir, struct permit_file_head *file);

#endif
