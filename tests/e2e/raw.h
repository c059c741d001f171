/* SPDX-License-Identifier: ISC */

/*
 * A client that speaks the protocol by hand, and so may speak it wrong.
 */
#ifndef RAW_H
#define RAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol.h"
#include "scene.h"

#define RAW_ANSWER_BYTES	256

struct raw_answer {
	struct frame	frame;
	uint8_t		body[RAW_ANSWER_BYTES];	/* its begin */
	int		fd;			/* -1: none came */
};

/* A socket with a time-out, or -1. */
int	raw_connect(const struct scene *scene);
/* All of it, or false: the daemon hung up, or does not read. */
bool	raw_send(int fd, const void *bytes, size_t length);
bool	raw_send_frame(int fd, enum frame_type type, uint64_t tail,
	    const void *body, size_t length);
/* False: it hung up, or sent no answer in SCENE_DEADLINE_MS. */
bool	raw_receive(int fd, struct raw_answer *answer);
/* True: the daemon has hung up, which may take until the deadline. */
bool	raw_hung_up(int fd);

/* A connection that has said hello; *pool_fd may be NULL.  -1: refused. */
int	raw_hello(const struct scene *scene, int *pool_fd);
/* Asks for the ring and maps it; NULL: refused.  The fd is the caller's. */
struct ring_shared *raw_ring(int fd, int *ring_fd, size_t *bytes);

#endif
