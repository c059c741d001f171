/* SPDX-License-Identifier: ISC */

/*
 * A live daemon that holds a workload, and client processes that read it
 * with the client library.  The bench's first process calls.
 */
#ifndef LIVE_H
#define LIVE_H

#include "bench.h"
#include "peer.h"
#include "side.h"
#include "weir.h"
#include "workload.h"

struct live {
	struct peer	peer;
	const struct workload *w;
	int		workload_fd;
	unsigned	tag_count;	/* that live_tag_all() gave */
	struct weir	*writer;	/* of this process, or NULL */
	char		folder[4096];
};

/*
 * Starts the daemon with a pool large enough to evict nothing, and stores all
 * keys.  Ends the bench on failure.
 */
void	live_create(const struct bench *b, struct live *l, uint64_t key_count,
	    uint64_t value_bytes, uint64_t draw_count);
void	live_destroy(struct live *l);

/* Stores all keys again, key n with tag n % tag_count. */
void	live_tag_all(const struct bench *b, struct live *l,
	    unsigned tag_count);

/* Purges a tag that no entry carries.  False: refused. */
bool	live_purge_other_tag(const struct live *l);

/* A reader on a core, warm. */
void	live_start_reader(const struct bench *b, struct live *l,
	    struct side *side, unsigned core);

/* A handle of this process, connected; NULL if refused. */
struct weir *live_open(const struct live *l);

/* One get of a workload's key. */
bool	live_get(struct weir *weir, const char *key, void *buffer);

#endif
