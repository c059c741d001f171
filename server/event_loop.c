/* SPDX-License-Identifier: ISC */

/*
 * The few calls of libev that the daemon uses.  libev's handles carry their
 * callback's argument in a member of ours, found by the place of the watcher.
 */
#include "event_loop.h"

#include <stddef.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define MS_PER_S	1000.0

/* libev's own type, under a name that its macros do not know. */
static struct ev_loop *
ev_of(struct event_loop *loop)
{
	return (struct ev_loop *)(void *)loop;
}

struct event_loop *
event_loop_create(void)
{
	/* The environment is not ours: it may not choose the backend. */
	return (struct event_loop *)(void *)ev_loop_new(EVFLAG_NOENV);
}

void
event_loop_destroy(struct event_loop *loop)
{
	ev_loop_destroy(ev_of(loop));
}

void
event_loop_run(struct event_loop *loop)
{
	(void)ev_run(ev_of(loop), 0);
}

void
event_loop_stop(struct event_loop *loop)
{
	ev_break(ev_of(loop), EVBREAK_ALL);
}

static int
ev_events(unsigned events)
{
	return ((events & EVENT_READ) != 0 ? EV_READ : 0) |
	    ((events & EVENT_WRITE) != 0 ? EV_WRITE : 0);
}

static void
io_happened(struct ev_loop *loop, struct ev_io *ev, int revents)
{
	struct event_io *io = (struct event_io *)(void *)
	    ((char *)ev - offsetof(struct event_io, ev));

	(void)loop;
	io->fn(io->arg, ((revents & EV_READ) != 0 ? EVENT_READ : 0) |
	    ((revents & EV_WRITE) != 0 ? EVENT_WRITE : 0));
}

void
event_io_start(struct event_loop *loop, struct event_io *io, int fd,
    unsigned events, event_io_fn *fn, void *arg)
{
	io->fn = fn;
	io->arg = arg;
	ev_io_init(&io->ev, io_happened, fd, ev_events(events));
	if (events != 0) {
		ev_io_start(ev_of(loop), &io->ev);
	}
}

void
event_io_change(struct event_loop *loop, struct event_io *io,
    unsigned events)
{
	int wanted = ev_events(events);
	int fd = io->ev.fd;

	if (ev_is_active(&io->ev) ? (io->ev.events & (EV_READ | EV_WRITE)) ==
	    wanted : wanted == 0) {
		return;
	}
	ev_io_stop(ev_of(loop), &io->ev);
	ev_io_set(&io->ev, fd, wanted);
	if (wanted != 0) {
		ev_io_start(ev_of(loop), &io->ev);
	}
}

void
event_io_stop(struct event_loop *loop, struct event_io *io)
{
	if (io->fn != NULL) {
		ev_io_stop(ev_of(loop), &io->ev);
	}
}

static void
timer_happened(struct ev_loop *loop, struct ev_timer *ev, int revents)
{
	struct event_timer *timer = (struct event_timer *)(void *)
	    ((char *)ev - offsetof(struct event_timer, ev));

	(void)loop;
	(void)revents;
	timer->fn(timer->arg);
}

void
event_timer_start(struct event_loop *loop, struct event_timer *timer,
    uint32_t after_ms, uint32_t repeat_ms, event_timer_fn *fn, void *arg)
{
	event_timer_stop(loop, timer);
	timer->fn = fn;
	timer->arg = arg;
	ev_timer_init(&timer->ev, timer_happened, after_ms / MS_PER_S,
	    repeat_ms / MS_PER_S);
	ev_timer_start(ev_of(loop), &timer->ev);
}

void
event_timer_stop(struct event_loop *loop, struct event_timer *timer)
{
	if (timer->fn != NULL) {
		ev_timer_stop(ev_of(loop), &timer->ev);
	}
}

static void
signals_happened(void *arg, unsigned events)
{
	struct event_signals *signals = arg;
	struct signalfd_siginfo info;

	(void)events;
	while (read(signals->fd, &info, sizeof(info)) == sizeof(info)) {
		signals->fn(signals->arg, (int)info.ssi_signo);
	}
}

int
event_signals_start(struct event_loop *loop, struct event_signals *signals,
    const sigset_t *set, event_signal_fn *fn, void *arg)
{
	/* Blocked first: what comes before the descriptor is kept for it. */
	if (sigprocmask(SIG_BLOCK, set, NULL) < 0) {
		return -1;
	}
	signals->fd = signalfd(-1, set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals->fd < 0) {
		return -1;
	}
	signals->fn = fn;
	signals->arg = arg;
	event_io_start(loop, &signals->io, signals->fd, EVENT_READ,
	    signals_happened, signals);
	return 0;
}

void
event_signals_stop(struct event_loop *loop, struct event_signals *signals)
{
	if (signals->fn != NULL) {
		event_io_stop(loop, &signals->io);
		(void)close(signals->fd);
		signals->fn = NULL;
	}
}
