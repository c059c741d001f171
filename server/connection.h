/* SPDX-License-Identifier: ISC */

/*
 * One connection that speaks frames, of a client or of an admin: bytes to
 * frames, answers to bytes, and an end.  What a frame means is its kind's
 * business (session.c, admin_session.c).  Workers.
 *
 *	        header whole                      body whole
 *	HEADER ------------> BODY -------------------------> HEADER
 *	   |                                                   ^
 *	   '---------------> STREAM (kind->stream, as it comes)'
 *	   '---------------> SKIP   (answered already)  -------'
 *
 * closing: no frame is looked at any more; what was answered is sent, then
 * the connection ends.  broken: it ends now.
 *
 * What a peer can cost: 64 KiB each way (an admin 1 MiB in), and a turn of
 * at most FRAMES_PER_TURN frames before others have theirs.  A peer that
 * does not read its answers is not read from, and dropped after
 * CONNECTION_STALL_MS, as is one that stops within a frame.
 */
#ifndef CONNECTION_H
#define CONNECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "byte_queue.h"
#include "clock.h"
#include "event_loop.h"
#include "peer.h"
#include "protocol.h"
#include "result.h"
#include "set_stream.h"

struct worker;
struct session;
struct admin_job;
struct connection;

#define CONNECTION_STALL_MS	30000u
/* To say HELLO. */
#define CONNECTION_GREET_MS	10000u

struct connection_kind {
	uint64_t	body_max;
	/* A whole frame. */
	void		(*frame)(struct connection *conn,
			    const struct frame *frame, const uint8_t *body);
	/* A SET too long to be buffered: true, it is streamed; else skipped,
	 * and answered.  NULL: never. */
	bool		(*stream_begin)(struct connection *conn,
			    const struct frame *frame);
	void		(*stream_end)(struct connection *conn,
			    const struct frame *frame);
	/* After a turn, and once a second; false: there is more to do. */
	bool		(*settle)(struct connection *conn);
	/* The connection ends. */
	void		(*end)(struct connection *conn);
};

enum connection_state {
	CONNECTION_HEADER,
	CONNECTION_BODY,
	CONNECTION_STREAM,
	CONNECTION_SKIP,
};

struct connection {
	LIST_ENTRY(connection) link;
	struct worker	*worker;
	const struct connection_kind *kind;
	struct event_io	io;
	struct event_io	pidfd_io;
	int		fd;
	int		pidfd;		/* -1: none */
	enum connection_state state;
	bool		closing;
	bool		broken;
	bool		resume;		/* goes on at the next round */
	bool		waiting;	/* for a job: no frame meanwhile */
	bool		gone;		/* the process that connected ended */
	bool		eof;		/* nothing more will be read */
	struct frame	frame;		/* under way */
	uint64_t	left;		/* of its body: STREAM, SKIP */
	struct byte_queue in;
	struct byte_queue out;
	/* a descriptor to go with the byte at that place of out */
	int		pass_fd;	/* -1: none */
	size_t		pass_at;
	bool		pass_close;
	uint64_t	since_ms;
	uint64_t	in_moved_ms;	/* last byte read */
	uint64_t	out_moved_ms;	/* last byte that the peer took */
	struct peer	peer;
	struct set_stream *stream;
	struct session	*session;	/* of a client, after HELLO */
	struct admin_job *job;		/* of an admin */
};

/* Takes over fd; on an error it is closed.  NULL: no memory, or no peer. */
struct connection *connection_create(struct worker *worker, int fd,
    const struct connection_kind *kind, struct boot_ms now);

/* Answer a request: the body is copied.  FRAME_MORE in flags or 0. */
void	connection_answer(struct connection *conn,
    const struct frame *request, enum result status, uint16_t flags,
    const void *body, size_t length);
void	connection_answer_text(struct connection *conn,
    const struct frame *request, enum result status, const char *text);

/* The next answer carries a descriptor. */
void	connection_pass_fd(struct connection *conn, int fd, bool close_it);

/*
 * The peer's bytes make no sense: count, log, end.  Not for what a client
 * may do by mistake.
 */
void	connection_reject(struct connection *conn, const char *why);

/*
 * Look at what was read, send what waits, end what is at its end.  The
 * connection may be gone afterwards.
 */
void	connection_turn(struct connection *conn);

/* Read what is there, then a turn; for a drain. */
void	connection_read_turn(struct connection *conn);

/* Once a second: time-outs.  As connection_turn(). */
void	connection_tick(struct connection *conn, struct boot_ms now);

/* True if a frame is under way, or an answer. */
bool	connection_is_busy(const struct connection *conn);

/* End it now. */
void	connection_destroy(struct connection *conn);

#endif
