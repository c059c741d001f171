/* SPDX-License-Identifier: ISC */

/*
 * A socket to the daemon: bytes out, frames in, nothing that waits but
 * wire_wait() and wire_connect().  One thread at a time: the channel's lock.
 * What comes in is input: a frame that makes no sense is CORRUPT, and the
 * caller hangs up.
 */
#ifndef WIRE_H
#define WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "protocol.h"
#include "result.h"

/* Answers are short; of a longer text for people the rest is skipped. */
#define WIRE_BODY_KEPT	512
/* Read at once: some fifty answers. */
#define WIRE_READ_BYTES	4096
/* Above this much that waits to be sent, a start is refused. */
#define WIRE_QUEUE_FULL_BYTES	(64u << 10)

/* A time of CLOCK_MONOTONIC in ns. */
struct deadline {
	uint64_t	ns;
};

struct wire {
	int		fd;		/* -1: not connected */
	/* the frame that is coming in */
	uint8_t		header[FRAME_HEADER_BYTES];
	uint8_t		body[WIRE_BODY_KEPT];
	struct frame	frame;		/* once header is whole */
	uint64_t	got_bytes;	/* of header and body */
	int		passed_fd;	/* came with it, -1 none */
	/* what came after it already, and whether that was all */
	bool		in_short;
	size_t		in_at;
	size_t		in_end;
	uint8_t		in[WIRE_READ_BYTES];
	/* bytes of started requests that wait to be sent */
	uint8_t		*queue;
	size_t		queue_at;	/* sent so far */
	size_t		queue_end;
	size_t		queue_bytes;	/* allocated */
};

struct deadline deadline_after(uint32_t timeout_ms);
bool	deadline_is_over(struct deadline deadline);
uint64_t deadline_left_ns(struct deadline deadline);

void	wire_init(struct wire *wire);

/*
 * OK, NO_SERVER, DENIED, TIMEOUT, INVALID (the path is too long), or SYSTEM
 * with errno.
 */
enum result wire_connect(struct wire *wire, const char *path,
    struct deadline deadline);

/* Hang up and forget what was coming and going. */
void	wire_close(struct wire *wire);

/*
 * Send what the socket takes now and move the parts on.  OK: all is sent;
 * BUSY: wait for writable; CLOSED.  The queue comes first: wire_flush().
 */
enum result wire_send(struct wire *wire, struct iovec *parts, int count);
enum result wire_flush(struct wire *wire);

/* Append to the queue.  OK or NO_MEMORY. */
enum result wire_queue(struct wire *wire, const struct iovec *parts,
    int count);

static inline size_t
wire_queued_bytes(const struct wire *wire)
{
	return wire->queue_end - wire->queue_at;
}

/*
 * Read on.  OK: wire->frame, body and passed_fd are a whole frame, until the
 * next call; a descriptor that is not taken (set to -1) is closed by it.
 * BUSY: not whole yet, wait for readable; CLOSED; CORRUPT.
 */
enum result wire_receive(struct wire *wire);

/*
 * The same of what was read already, without a system call.  Whoever waits
 * for the socket comes to BUSY first: it says nothing of what lies here.
 */
enum result wire_receive_read(struct wire *wire);

/* Until readable, or writable if asked for.  OK, TIMEOUT or SYSTEM. */
enum result wire_wait(const struct wire *wire, bool writable,
    struct deadline deadline);

#endif
