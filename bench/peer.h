/* SPDX-License-Identifier: ISC */

/*
 * Another store that answers the same workload: its server (if it has one)
 * is started in a folder of the bench's and stopped at the end, its client
 * is a side.  A peer that is not installed is a reason, not a failure.
 */
#ifndef PEER_H
#define PEER_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "side.h"
#include "workload.h"

struct peer;

/* One file each; see peers/ for how they are set up. */
struct peer_ops {
	const char	*name;
	/*
	 * In the forked process: becomes the server, in the peer's folder and
	 * with room for its workload; returns if it is not there.  NULL:
	 * there is no server.
	 */
	void		(*execute)(const struct peer *p);
	/*
	 * A handle of this process, to write or to read; NULL if the server
	 * does not answer (yet).  NULL itself: built without the library.
	 */
	void		*(*open)(const char *folder, bool to_write);
	bool		(*store)(void *handle, const char *key,
			    const void *value, size_t bytes);
	bool		(*finish)(void *handle);	/* all was stored */
	workload_get_fn	*get;
	/* store, and wait for the answer; NULL: not compared */
	workload_set_fn	*set;
	/*
	 * Bytes that it says it uses, chunks and tables whole; what is said
	 * of an empty one is no entry's.  False if it does not say.  NULL:
	 * not compared.
	 */
	bool		(*count_bytes)(void *handle, uint64_t *bytes);
	/* the version that answers */
	void		(*version)(void *handle, char *text, size_t bytes);
};

extern const struct peer_ops peer_lmdb;
extern const struct peer_ops peer_memcached;
extern const struct peer_ops peer_redis;
/* The daemon that was built beside the bench, asked by its library. */
extern const struct peer_ops peer_weir;

struct peer {
	/* set by the caller: pool of weird; 0: what the workload needs */
	uint64_t	memory_bytes;
	/* its configuration file, or NULL: as it comes, and that pool */
	const char	*config_path;
	/* set by peer_start() */
	const struct peer_ops *ops;
	const struct workload *w;
	const char	*folder;
	char		version[64];
	pid_t		server;		/* 0: none */
	struct side	client;
	/* as counted; 0 if it does not say */
	uint64_t	bytes_empty;
	uint64_t	bytes_filled;
};

/*
 * Starts the server, stores the workload, starts the client on the first
 * core.  NULL, or why there is no such peer; then nothing is left behind.
 */
const char *peer_start(struct peer *p, const struct peer_ops *ops,
    const struct workload *w, const char *folder);

/* The same with nothing stored and no client. */
const char *peer_start_empty(struct peer *p, const struct peer_ops *ops,
    const char *folder);

/* One more client; false if refused. */
bool	peer_start_client(struct peer *p, struct side *side, unsigned core);

/*
 * All threads of the server and of its children to the nth core, or to all
 * that the bench may use.
 */
#define PEER_ANY_CORE	UINT_MAX
void	peer_move_server(const struct peer *p, unsigned core);

void	peer_stop(struct peer *p);

#endif
