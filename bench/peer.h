/* SPDX-License-Identifier: ISC */

/*
 * Another store that answers the same workload: its server (if it has one)
 * is started in a folder of the bench's and stopped at the end, its client
 * is a side.  A peer that is not installed is a reason, not a failure.
 */
#ifndef PEER_H
#define PEER_H

#include <stdbool.h>
#include <sys/types.h>

#include "side.h"
#include "workload.h"

/* One file each; see peers/ for how they are set up. */
struct peer_ops {
	const char	*name;
	/*
	 * In the forked process: becomes the server, returns if it is not
	 * there.  NULL: there is no server.
	 */
	void		(*execute)(const char *folder);
	/*
	 * A handle of this process, to write or to read; NULL if the server
	 * does not answer (yet).  NULL itself: built without the library.
	 */
	void		*(*open)(const char *folder, bool to_write);
	bool		(*store)(void *handle, const char *key,
			    const void *value, size_t bytes);
	bool		(*finish)(void *handle);	/* all was stored */
	workload_get_fn	*get;
	/* the version that answers */
	void		(*version)(void *handle, char *text, size_t bytes);
};

extern const struct peer_ops peer_lmdb;
extern const struct peer_ops peer_memcached;
extern const struct peer_ops peer_redis;

struct peer {
	const struct peer_ops *ops;
	const struct workload *w;
	const char	*folder;
	char		version[64];
	pid_t		server;		/* 0: none */
	struct side	client;
};

/*
 * Starts the server, stores the workload, starts the client on the first
 * core.  NULL, or why there is no such peer; then nothing is left behind.
 */
const char *peer_start(struct peer *p, const struct peer_ops *ops,
    const struct workload *w, const char *folder);

/* All threads of the server to the nth core. */
void	peer_move_server(const struct peer *p, unsigned core);

void	peer_stop(struct peer *p);

#endif
