/* SPDX-License-Identifier: ISC */

/*
 * A fake daemon, a handle on it, and a callback that says what the test wants
 * it to; for the tests of fetch.
 */
#ifndef FETCH_FIXTURE_H
#define FETCH_FIXTURE_H

#include "fake_daemon.h"
#include "weir.h"

/* What the callback is to say, and how often it was asked. */
struct source {
	struct weir_computed said;	/* value, length, ... as it leaves */
	int		result;
	unsigned	calls;
	unsigned	released;
	/* called in the callback; may be NULL */
	void		(*meanwhile)(struct source *source);
};

extern struct fake_daemon fetch_daemon;
extern struct weir *fetch_handle;
extern char fetch_buffer[16];
extern struct weir_fetched fetch_said;

/* Connected; the daemon's clock is old enough for any age. */
void	fetch_begin(void);
void	fetch_end(void);

struct source fetch_source(const char *value);
int	fetch_compute_source(void *arg, struct weir_computed *computed);

/*
 * Fetch the key "k" into fetch_buffer and fetch_said, which are cleared; what
 * was sent to be stored is stored.
 */
int	fetch_k(const struct weir_fetch_options *options,
    struct source *source);

/* The same of any key into memory, which is the caller's. */
int	fetch_dup(const char *key, void **copy, struct source *source);

/* What fetch_said says. */
void	fetch_expect(size_t length, enum weir_source from, int why,
    int stored);

#endif
