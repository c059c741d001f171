/* SPDX-License-Identifier: ISC */

/*
 * A fill whose answer nobody waits for: whoever computed goes on while the
 * daemon stores.  Under the handle's lock or any thread, as channel_start().
 *
 *	sent -----> answered: done, whatever the answer says
 *	  |
 *	  '-------> the connection is lost: sent again on the next one, once,
 *		    as a fill of a token is done once however often it comes
 *
 * Until it is answered the value is not there for anybody.  This handle's own
 * gets do not see that: before one says that a key is missing, the fills under
 * way are settled (lease_settle()).  Requests of one connection are served in
 * their order, so a later LEASE, DELETE or SET of this handle finds it stored.
 */
#ifndef LEASE_SEND_H
#define LEASE_SEND_H

#include <stdbool.h>
#include <stddef.h>

#include "handle.h"
#include "weir.h"

struct lane;

/* Longer ones are waited for: their copy would cost more than the wait. */
#define LEASE_SEND_MAX	(16u << 10)

/*
 * As lease_fill_in(), which it is for long values, and while too much waits
 * to be sent already.  OK: it is under way, or stored.
 */
int	lease_fill_send(struct weir *handle, struct lane *lane,
    struct weir_lease *lease, const void *key, size_t key_length,
    const void *value, size_t length, const struct weir_set_options *options);

/* Out of line: wait for the fills under way.  True: look again. */
bool	lease_settle_slowly(struct weir *handle);

static inline bool
lease_settle(struct weir *handle)
{
	/* Relaxed: the caller's own fills were counted by its own thread, or
	 * it was told of them by other means. */
	return __builtin_expect(atomic_load_explicit(&handle->fills_sent,
	    memory_order_relaxed) != 0, 0) && lease_settle_slowly(handle);
}

#endif
