/* SPDX-License-Identifier: ISC */

/*
 * What the daemon sees of libev, whose header no other file includes: a loop,
 * watchers of descriptors, timers, and signals as events.  Worker and keeper
 * call, each on a loop of its own that it makes after the fork.
 *
 * A watcher is a member of what it watches for; it must be zeroed before its
 * first start, stay where it is while it is started, and be stopped before
 * its memory or its descriptor goes.
 */
#ifndef EVENT_LOOP_H
#define EVENT_LOOP_H

#include <signal.h>
#include <stdint.h>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wcast-qual"
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#pragma GCC diagnostic ignored "-Wstrict-aliasing"
#include <ev.h>
#pragma GCC diagnostic pop

#define EVENT_READ	0x1u
#define EVENT_WRITE	0x2u

struct event_loop;

typedef void (event_io_fn)(void *arg, unsigned events);
typedef void (event_timer_fn)(void *arg);
typedef void (event_signal_fn)(void *arg, int signal_number);

struct event_io {
	struct ev_io	ev;
	event_io_fn	*fn;
	void		*arg;
};

struct event_timer {
	struct ev_timer	ev;
	event_timer_fn	*fn;
	void		*arg;
};

struct event_signals {
	struct event_io	io;
	int		fd;		/* of signalfd() */
	event_signal_fn	*fn;
	void		*arg;
};

/* NULL: no memory or no descriptor. */
struct event_loop *event_loop_create(void);
void	event_loop_destroy(struct event_loop *loop);

/* Until event_loop_stop(), which a callback calls. */
void	event_loop_run(struct event_loop *loop);
void	event_loop_stop(struct event_loop *loop);

/* Level-triggered; events 0 watches for nothing until changed. */
void	event_io_start(struct event_loop *loop, struct event_io *io, int fd,
    unsigned events, event_io_fn *fn, void *arg);
void	event_io_change(struct event_loop *loop, struct event_io *io,
    unsigned events);
void	event_io_stop(struct event_loop *loop, struct event_io *io);

/* repeat_ms 0: once.  A started timer is started anew. */
void	event_timer_start(struct event_loop *loop, struct event_timer *timer,
    uint32_t after_ms, uint32_t repeat_ms, event_timer_fn *fn, void *arg);
void	event_timer_stop(struct event_loop *loop, struct event_timer *timer);

/*
 * Block these signals and take them as events.  Returns 0, or -1 with errno
 * of signalfd().
 */
int	event_signals_start(struct event_loop *loop,
    struct event_signals *signals, const sigset_t *set, event_signal_fn *fn,
    void *arg);
void	event_signals_stop(struct event_loop *loop,
    struct event_signals *signals);

#endif
