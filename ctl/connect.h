/* SPDX-License-Identifier: ISC */

/*
 * The way to the daemon: JSON requests and answers in frames over the admin
 * socket, one at a time.  The connection is made by the first call and kept.
 * Every wait has an end.  One thread.
 */
#ifndef CONNECT_H
#define CONNECT_H

#include <stdatomic.h>
#include <stdint.h>

struct json_t;

#define CONNECT_TEXT_BYTES	256u
#define CONNECT_TIMEOUT_MS	5000u	/* of a call, unless told otherwise */

enum connect_outcome {
	CONNECT_FINE,
	CONNECT_NO_MEMORY,
	CONNECT_UNREACHABLE,	/* nobody there, or lost on the way */
	CONNECT_NO_RIGHTS,	/* to the socket */
	CONNECT_TIMEOUT,
	CONNECT_STOPPED,	/* by the person at the terminal */
	CONNECT_NONSENSE,	/* what came is no answer */
	CONNECT_REFUSED,	/* the daemon says no: see status */
};

struct connect {
	/* set by the caller */
	const char	*directory;	/* of the sockets; NULL: the default */
	uint64_t	timeout_ms;
	const atomic_bool *stop;	/* set by Ctrl-C; NULL: never */
	/* set by the calls */
	int		fd;		/* -1: not connected */
	uint64_t	last_id;
	int32_t		status;		/* enum result, of the last answer */
	char		text[CONNECT_TEXT_BYTES];	/* what went wrong */
};

void	connect_init(struct connect *link);

/*
 * Ask verb with args, which is taken over and may be NULL.  CONNECT_FINE:
 * *answer is the daemon's object, which the caller releases.  Otherwise
 * text says why.
 */
enum connect_outcome connect_call(struct connect *link, const char *verb,
    struct json_t *args, struct json_t **answer);

void	connect_fini(struct connect *link);

#endif
