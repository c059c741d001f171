/* SPDX-License-Identifier: ISC */

/*
 * libweirclient: read the cache of this machine's weird, and write to it.
 *
 * Before you start:
 *
 *   - Hits are read straight out of shared memory, with no system call and
 *     no lock.  Everything else is a request to the daemon with a time-out.
 *   - A handle may be used by any number of threads at once.  The steps at
 *     the end of this file are for one thread at a time.
 *   - After fork() the child may go on with the handle: it makes a connection
 *     of its own by itself at its first call.  What the parent has under way
 *     stays the parent's.  After fork() in a program with threads the child
 *     may call weir_get(), weir_view() and weir_close() alone until exec.
 *   - The library never prints, never exits, sets no signal handler, changes
 *     no locale, umask or environment; every descriptor is close-on-exec.
 *     No function is async-signal-safe.
 *   - It connects at the first call that needs it.  When the daemon goes
 *     away, hits go on until the values expire; what needs the daemon says
 *     WEIR_NO_SERVER, and the library attaches again by itself.
 *   - A key is 1 to 1024 bytes of anything.  A longer one is an error, it is
 *     never cut.
 *   - The environment variable WEIR_DISABLE=1 turns every handle off: reads
 *     miss, writes say WEIR_NO_SERVER.  WEIR_SOCKET names the daemon's socket
 *     where the options do not.
 *
 * Functions return a number of enum weir_result: 0 is success, above 0 an
 * outcome that is no error, below 0 an error; each lists its own.  errno
 * means something after WEIR_SYSTEM only.
 */
#ifndef WEIR_H
#define WEIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The library hides what is not declared here. */
#pragma GCC visibility push(default)

#define WEIR_VERSION_STRING	"0.1.0"

/* The version of the library that runs, as above. */
const char *weir_version(void);

enum weir_result {
	WEIR_OK = 0,
	WEIR_MISS = 1,		/* not there, expired or purged */
	WEIR_STALE = 2,		/* there, past its soft expiry */
	WEIR_EXISTS = 3,	/* only-if-absent: it is there */
	WEIR_CHANGED = 4,	/* only-if-version: it has another one */
	WEIR_GROWING = 5,	/* its end is not written yet */
	WEIR_LEAD = 6,		/* you are to compute it: see weir_lease() */
	WEIR_ALONE = 7,		/* not to be shared: compute your own */
	WEIR_BUSY = -1,		/* the daemon cannot now: retry later */
	WEIR_FULL = -2,		/* no room could be made */
	WEIR_TOO_LARGE = -3,	/* for the pool, or for your buffer */
	WEIR_KEY_INVALID = -4,	/* not 1 to 1024 bytes */
	WEIR_TOO_MANY_TAGS = -5, /* more than 32 */
	WEIR_INVALID = -6,	/* an argument is out of its range */
	WEIR_CORRUPT = -7,	/* the peer's bytes make no sense */
	WEIR_WRONG_TYPE = -8,	/* a counter operation on a value */
	WEIR_COUNTER_RANGE = -9, /* would leave the range of int64_t */
	WEIR_LAYOUT_MISMATCH = -10, /* daemon of another version */
	WEIR_NOT_SEALED = -11,	/* the segment is not safe to map */
	WEIR_NO_MEMORY = -12,
	WEIR_SYSTEM = -13,	/* see errno */
	WEIR_NO_SERVER = -14,	/* no daemon answers */
	WEIR_TIMEOUT = -15,	/* no answer in time; it may be done */
	WEIR_DENIED = -16,	/* the pool's access list says no */
	WEIR_CLOSED = -17,	/* the connection was lost; it may be done */
	WEIR_LEASE_LOST = -18,	/* your time was over: nothing was stored */
	WEIR_WOULD_DEADLOCK = -19, /* this thread computes that key already */
	WEIR_SHED = -20,	/* the origin is at its limit */
	WEIR_CIRCUIT_OPEN = -21, /* the origin fails: its breaker is open */
	WEIR_FAILED = -22,	/* the value could not be computed */
	WEIR_BACKING_OFF = -23	/* it failed lately: not yet again */
};

/* "WEIR_MISS", and a sentence.  Constant; never NULL. */
const char *weir_errname(int result);
const char *weir_strerror(int result);

/* ---- handle ---- */

struct weir;

struct weir_options {
	size_t		size;		/* sizeof(struct weir_options) */
	const char	*socket_path;	/* NULL: WEIR_SOCKET, or default */
	const char	*pool;		/* NULL: "default" */
	unsigned	timeout_ms;	/* of each call; 0: 1000 */
	unsigned	no_hints;	/* 1: tell the daemon of no hits */
};
#define WEIR_OPTIONS_INIT	{ sizeof(struct weir_options), 0, 0, 0, 0 }

/*
 * Make a handle; options may be NULL.  Nothing is connected yet.  WEIR_OK,
 * WEIR_INVALID, WEIR_NO_MEMORY.
 */
int	weir_open(struct weir **handle, const struct weir_options *options);

/*
 * Connect now if that has not been done, to learn early what is wrong.
 * WEIR_OK, WEIR_NO_SERVER, WEIR_DENIED, WEIR_LAYOUT_MISMATCH,
 * WEIR_NOT_SEALED, WEIR_MISS (no such pool), WEIR_BUSY (the daemon has as many
 * clients as it may), WEIR_TIMEOUT, WEIR_CLOSED, WEIR_CORRUPT, WEIR_NO_MEMORY,
 * WEIR_INVALID (the path is too long), WEIR_SYSTEM.
 */
int	weir_connect(struct weir *handle);

/*
 * Send what is queued, hang up, unmap, free.  Views die.  NULL is allowed.
 * No other thread may be using the handle.
 */
void	weir_close(struct weir *handle);

/* In the child of a fork: connect anew now, instead of at the next call. */
int	weir_after_fork(struct weir *handle);

/*
 * What went wrong last in this thread's calls on this handle, in words, "" if
 * nothing did.  Valid until this thread's next call.
 */
const char *weir_detail(struct weir *handle);

/* Limits of the pool, after a connect; 0 before. */
uint64_t weir_value_max(struct weir *handle);

/* ---- reading ---- */

struct weir_info {
	uint64_t	version;	/* changes with each store of the key */
	uint64_t	value_bytes;	/* of the whole value */
	uint64_t	age_ms;
	uint64_t	ttl_ms;		/* left; UINT64_MAX never expires */
	uint64_t	soft_ttl_ms;	/* left, 0 if past; UINT64_MAX never */
	unsigned	is_counter;
	unsigned	refreshing;	/* somebody computes a new value */
	unsigned	invalid;	/* purged so: validate before use */
	unsigned	negative;	/* the origin said: no such thing */
	unsigned	cost_ms;	/* what computing it took; 0 unknown */
};

/*
 * Copy a value.  WEIR_OK, WEIR_STALE: *length bytes are in buffer.
 * WEIR_MISS; WEIR_TOO_LARGE: *length is what it needs, nothing usable is in
 * buffer; WEIR_GROWING: not whole yet; WEIR_KEY_INVALID.  When there is no
 * daemon and nothing is attached: WEIR_NO_SERVER and the other errors of
 * weir_connect().  length and info may be NULL.  A counter reads as its
 * int64_t in host order.
 */
int	weir_get(struct weir *handle, const void *key, size_t key_length,
    void *buffer, size_t size, size_t *length, struct weir_info *info);

/*
 * The same into memory from malloc(), which the caller frees; *value is
 * NULL unless WEIR_OK or WEIR_STALE.  A 0 byte follows the value.
 */
int	weir_get_dup(struct weir *handle, const void *key, size_t key_length,
    void **value, size_t *length, struct weir_info *info);

struct weir_get_item {
	const void	*key;
	size_t		key_length;
	void		*buffer;
	size_t		size;
	size_t		length;		/* result */
	int		result;		/* result, as of weir_get() */
};

/* weir_get() for each.  Returns WEIR_OK, or the first error below 0. */
int	weir_get_many(struct weir *handle, struct weir_get_item *items,
    size_t count);

/*
 * A view: where the value lies, without a copy.  The bytes may be reused for
 * another value at any moment: use them, then ask weir_view_valid(), and
 * throw away what you made of them if it says false.  Never parse bytes of a
 * view in a way that could crash on foreign ones.
 */
#define WEIR_VIEW_PARTS	64

struct weir_view {
	struct iovec	part[WEIR_VIEW_PARTS];
	unsigned	part_count;
	uint64_t	bytes;		/* in these parts */
	uint64_t	value_bytes;	/* of the whole value */
	uint64_t	secret[2 + 2 * WEIR_VIEW_PARTS];
};

/* From offset on.  As weir_get(), but never WEIR_TOO_LARGE. */
int	weir_view(struct weir *handle, const void *key, size_t key_length,
    uint64_t offset, struct weir_view *view, struct weir_info *info);
bool	weir_view_valid(struct weir *handle, const struct weir_view *view);

/* ---- writing ---- */

struct weir_tag {
	const void	*bytes;
	size_t		length;		/* 1 to 1024 */
};

enum weir_when {
	WEIR_ALWAYS,
	WEIR_IF_ABSENT,		/* else WEIR_EXISTS */
	WEIR_IF_VERSION		/* else WEIR_CHANGED */
};

struct weir_set_options {
	size_t		size;		/* sizeof(struct weir_set_options) */
	uint64_t	ttl_ms;		/* 0: never expires */
	uint64_t	soft_ttl_ms;	/* WEIR_STALE after that; 0: never */
	const struct weir_tag *tags;
	unsigned	tag_count;	/* at most 32 */
	enum weir_when	when;
	uint64_t	version;	/* for WEIR_IF_VERSION */
	unsigned	negative;	/* 1: no such thing; no value */
};
#define WEIR_SET_OPTIONS_INIT \
	{ sizeof(struct weir_set_options), 0, 0, 0, 0, WEIR_ALWAYS, 0, 0 }

/*
 * Store.  options and version may be NULL.  WEIR_OK: every process sees it.
 * WEIR_EXISTS, WEIR_CHANGED, WEIR_TOO_LARGE, WEIR_FULL, WEIR_BUSY,
 * WEIR_KEY_INVALID, WEIR_TOO_MANY_TAGS, and the errors of weir_connect();
 * after WEIR_TIMEOUT and WEIR_CLOSED it may have been done or not.
 */
int	weir_set(struct weir *handle, const void *key, size_t key_length,
    const void *value, size_t length, const struct weir_set_options *options,
    uint64_t *version);

/*
 * Queue a store and go on; no system call while the daemon keeps up.  Stores
 * of one handle are done in order, and before its later requests.  The queue
 * is shared by the threads of the handle.  WEIR_OK: queued.  WEIR_FULL: the
 * queue is full, flush or retry.  Values above a quarter of the queue go the
 * way of weir_set().  Whether it was stored, weir_flush() tells.
 */
int	weir_set_async(struct weir *handle, const void *key,
    size_t key_length, const void *value, size_t length,
    const struct weir_set_options *options);

/*
 * Wait until all that was queued is done.  *failed, which may be NULL: how
 * many stores were refused since the last flush, or queued when a connection
 * was lost: then the answer is WEIR_CLOSED, and they may have been done.
 */
int	weir_flush(struct weir *handle, uint64_t *failed);

/* version 0: whatever it is.  WEIR_OK, WEIR_MISS, WEIR_CHANGED. */
int	weir_delete(struct weir *handle, const void *key, size_t key_length,
    uint64_t version);

/* New times to live from now; 0 never.  WEIR_OK, WEIR_MISS. */
int	weir_touch(struct weir *handle, const void *key, size_t key_length,
    uint64_t ttl_ms, uint64_t soft_ttl_ms);

struct weir_counter_options {
	size_t		size;
	int64_t		initial;	/* of a missing key, before delta */
	uint64_t	ttl_ms;		/* of a key that is made; 0 never */
	unsigned	no_create;	/* 1: a missing key is WEIR_MISS */
};
#define WEIR_COUNTER_OPTIONS_INIT \
	{ sizeof(struct weir_counter_options), 0, 0, 0 }

/*
 * Add to a 64-bit counter; *value, which may be NULL, is the new number.  An
 * add never moves the expiry; an expired counter is a missing one.
 * WEIR_COUNTER_RANGE: it would overflow, nothing changed.  WEIR_WRONG_TYPE:
 * the key holds a value that weir_set() stored.  WEIR_MISS with no_create.
 */
int	weir_counter_add(struct weir *handle, const void *key,
    size_t key_length, int64_t delta,
    const struct weir_counter_options *options, int64_t *value);

enum weir_purge_how {
	WEIR_PURGE_HARD,	/* gone */
	WEIR_PURGE_INVALID,	/* WEIR_STALE and info.invalid */
	WEIR_PURGE_SOFT		/* WEIR_STALE */
};

/* Everything that carries the tag and was asked for before now. */
int	weir_purge_tag(struct weir *handle, const void *tag, size_t length,
    enum weir_purge_how how);

/* The whole pool. */
int	weir_purge_all(struct weir *handle, enum weir_purge_how how);

/* ---- looking around ---- */

struct weir_scan_item {
	const void	*key;		/* valid inside the callback */
	size_t		key_length;
	struct weir_info info;
};
typedef bool (*weir_scan_fn)(const struct weir_scan_item *item, void *arg);

/*
 * Call fn for keys with that prefix, about limit of them, from *cursor (0: the
 * start) on; *cursor becomes 0 at the end.  What is stored during the whole
 * walk is met at least once; anything may be met twice.  fn returns false to
 * stop; *cursor is then where the key that stopped is met again.  No request
 * to the daemon.  WEIR_OK, WEIR_INVALID (a limit of 0), and the errors of
 * weir_connect().
 */
int	weir_scan(struct weir *handle, uint64_t *cursor, const void *prefix,
    size_t prefix_length, unsigned limit, weir_scan_fn fn, void *arg);

typedef void (*weir_stats_fn)(const char *name, uint64_t value,
    const char *help, void *arg);

/* Every counter of the pool, see weir-metrics(7). */
int	weir_stats(struct weir *handle, weir_stats_fn fn, void *arg);

/* A round trip to the daemon. */
int	weir_ping(struct weir *handle);

/* ---- steps, for event loops ---- */

/*
 * The descriptor to wait for, -1 while not connected (then call
 * weir_connect()).  It changes after a reconnect: ask after each weir_step().
 */
int	weir_fd(struct weir *handle);

/* True while a write is pending: wait for writable too. */
bool	weir_wants_write(struct weir *handle);

/*
 * The answer to a started request: the result, and version (set), number
 * (counter) or 0.  Called inside weir_step(), weir_close() (WEIR_CLOSED) or
 * any other call on the handle; it may start requests.
 */
typedef void (*weir_done_fn)(void *arg, int result, uint64_t number);

/*
 * Start a request and return at once: WEIR_OK: done will be called exactly
 * once; else it will not.  Key and value are copied before the return.
 * WEIR_BUSY: 64 KiB and more wait to be sent already.
 */
int	weir_start_set(struct weir *handle, const void *key,
    size_t key_length, const void *value, size_t length,
    const struct weir_set_options *options, weir_done_fn done, void *arg);
int	weir_start_delete(struct weir *handle, const void *key,
    size_t key_length, uint64_t version, weir_done_fn done, void *arg);
int	weir_start_touch(struct weir *handle, const void *key,
    size_t key_length, uint64_t ttl_ms, uint64_t soft_ttl_ms,
    weir_done_fn done, void *arg);
int	weir_start_counter_add(struct weir *handle, const void *key,
    size_t key_length, int64_t delta,
    const struct weir_counter_options *options, weir_done_fn done, void *arg);

/*
 * Send and receive what can be without waiting.  WEIR_OK or what broke;
 * WEIR_CLOSED also while not connected.
 */
int	weir_step(struct weir *handle);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#include "weir_fetch.h"

#endif
