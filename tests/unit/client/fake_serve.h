/* SPDX-License-Identifier: ISC */

/*
 * Between the thread of the fake daemon and what it answers.
 */
#ifndef FAKE_SERVE_H
#define FAKE_SERVE_H

#include "fake_daemon.h"

#define FAKE_RING_CAPACITY	(16u << 10)

struct fake_client {
	int		fd;
	int		ring_fd;
	void		*map;
	struct ring_consumer consumer;
	bool		has_ring;
};

/* The daemon's clock. */
uint64_t fake_now_ms(const struct fake_daemon *daemon);

/* One answer, with a descriptor unless it is -1. */
void	fake_answer(struct fake_client *client, const struct frame *request,
    int status, const void *body, size_t length, int passed_fd);

/* The body of a SET into the pool. */
enum result fake_store_set(struct fake_daemon *daemon, const uint8_t *body,
    size_t length, uint32_t cost_ms, uint64_t *version);

/* Take what lies in the client's ring. */
void	fake_drain(struct fake_daemon *daemon, struct fake_client *client);

/* Do an honest request.  False: hang up. */
bool	fake_serve(struct fake_daemon *daemon, struct fake_client *client,
    const struct frame *frame, const uint8_t *body);

#endif
