/* SPDX-License-Identifier: ISC */

/*
 * A daemon of this tree with a configuration of the bench's own, empty.  The
 * bench's first process starts and stops it; any of its processes may open a
 * handle.
 */
#ifndef DAEMON_H
#define DAEMON_H

#include <stdint.h>

#include "bench.h"
#include "peer.h"
#include "weir.h"

struct daemon {
	struct peer	peer;
	char		folder[4096];
	char		config_path[4200];
};

/* config is the text of its file.  Ends the bench if it does not start. */
void	daemon_start(const struct bench *b, struct daemon *d,
	    const char *config);
void	daemon_stop(struct daemon *d);

/* A handle of this process, connected; NULL if refused. */
struct weir *daemon_open(const struct daemon *d);

/* How many entries its pool holds, 0 if that cannot be told. */
uint64_t daemon_count_entries(const struct daemon *d);

/* Processor time that all its processes have had, to ten milliseconds. */
double	daemon_cpu_ms(const struct daemon *d);

/*
 * How often the breaker of the origin "default" has opened, by its own
 * count, and whether it is closed now.  False if that cannot be told.
 */
bool	daemon_look_breaker(const struct daemon *d, uint64_t *opened,
	    bool *is_closed);

#endif
