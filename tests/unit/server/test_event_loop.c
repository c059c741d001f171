/* SPDX-License-Identifier: ISC */

#include "event_loop.h"

#include <criterion/criterion.h>
#include <string.h>
#include <unistd.h>

struct seen {
	struct event_loop *loop;
	int	fd;
	int	count;
};

static void
read_byte(void *arg, unsigned events)
{
	struct seen *seen = arg;
	char byte;

	cr_assert_eq(events, EVENT_READ);
	cr_assert_eq(read(seen->fd, &byte, 1), 1);
	if (++seen->count == 2) {
		event_loop_stop(seen->loop);
	}
}

static void
count_and_stop(void *arg)
{
	struct seen *seen = arg;

	seen->count++;
	event_loop_stop(seen->loop);
}

static void
take_signal(void *arg, int signal_number)
{
	cr_assert_eq(signal_number, SIGUSR2);
	count_and_stop(arg);
}

Test(event_loop, tells_of_what_can_be_read)
{
	struct event_io io = { 0 };
	struct seen seen = { .loop = event_loop_create() };
	int fds[2];

	cr_assert_eq(pipe(fds), 0);
	seen.fd = fds[0];
	event_io_start(seen.loop, &io, fds[0], 0, read_byte, &seen);
	event_io_change(seen.loop, &io, EVENT_READ);
	cr_assert_eq(write(fds[1], "ab", 2), 2);
	event_loop_run(seen.loop);
	cr_assert_eq(seen.count, 2);
	event_io_stop(seen.loop, &io);
	event_loop_destroy(seen.loop);
	(void)close(fds[0]);
	(void)close(fds[1]);
}

Test(event_loop, has_timers_and_signals)
{
	struct event_timer timer = { 0 };
	struct event_signals signals = { 0 };
	struct seen seen = { .loop = event_loop_create() };
	sigset_t set;

	event_timer_start(seen.loop, &timer, 1, 0, count_and_stop, &seen);
	event_loop_run(seen.loop);
	cr_assert_eq(seen.count, 1);
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGUSR2);
	cr_assert_eq(event_signals_start(seen.loop, &signals, &set,
	    take_signal, &seen), 0);
	cr_assert_eq(kill(getpid(), SIGUSR2), 0);
	event_loop_run(seen.loop);
	cr_assert_eq(seen.count, 2);
	event_signals_stop(seen.loop, &signals);
	event_loop_destroy(seen.loop);
}
