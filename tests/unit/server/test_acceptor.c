/* SPDX-License-Identifier: ISC */

#include "acceptor.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "control.h"
#include "worker_fixture.h"

/* Who comes first: worker 0, which is ours, or worker 1, which is not here. */
#define CALLERS	12u

static struct worker *worker;
static struct control_process *other;
static int callers[CALLERS];
static unsigned called;

static int
listen_nowhere(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
	    0);

	/* An address of the kernel's choice. */
	cr_assert_eq(bind(fd, (const struct sockaddr *)&address,
	    sizeof(address.sun_family)), 0);
	cr_assert_eq(listen(fd, CALLERS), 0);
	return fd;
}

static void
setup(void)
{
	worker = worker_fixture_create();
	other = &worker->control->processes[1];
	worker->heritage->client_socket = listen_nowhere();
	worker->heritage->admin_socket = listen_nowhere();
	worker->heritage->http_socket = -1;
	called = 0;
	acceptor_start(worker);
}

static void
teardown(void)
{
	for (unsigned i = 0; i < called; i++) {
		(void)close(callers[i]);
	}
	acceptor_stop(worker);
	(void)close(worker->heritage->client_socket);
	(void)close(worker->heritage->admin_socket);
	worker_fixture_destroy(worker);
}

TestSuite(acceptor, .init = setup, .fini = teardown);

static void
other_is(enum process_state state, uint64_t heartbeat_ms)
{
	atomic_store(&other->state, state);
	atomic_store(&other->heartbeat_ms, heartbeat_ms);
}

static void
call(unsigned count)
{
	struct sockaddr_un address;
	socklen_t length = sizeof(address);

	cr_assert_eq(getsockname(worker->heritage->client_socket,
	    (struct sockaddr *)&address, &length), 0);
	for (unsigned i = 0; i < count; i++) {
		int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

		callers[called++] = fd;
		cr_assert_eq(connect(fd, (const struct sockaddr *)&address,
		    length), 0);
	}
}

static uint32_t
ours(void)
{
	return atomic_load(&worker->process->connections);
}

static bool
has_as_many(void *arg)
{
	return ours() >= *(const uint32_t *)arg;
}

static void
stop(void *arg)
{
	event_loop_stop(arg);
}

/* One turn of the loop, in which what is ready is done. */
static void
turn(void)
{
	struct event_timer timer = { .fn = NULL };

	event_timer_start(worker->loop, &timer, 0, 0, stop, worker->loop);
	event_loop_run(worker->loop);
}

Test(acceptor, leaves_clients_to_a_worker_that_has_fewer)
{
	uint32_t all = CALLERS;

	other_is(PROCESS_RUNNING, clock_boot_now().ms);
	call(CALLERS);
	turn();
	/* A turn has room for all of them. */
	cr_assert_lt(ours(), CALLERS / 2);
	cr_assert_gt(ours(), 0);
	/* Who finds as many there goes on. */
	atomic_store(&other->connections, ours());
	cr_assert(worker_fixture_run(worker, has_as_many, &all));
}

Test(acceptor, takes_those_that_nobody_else_took)
{
	uint32_t all = CALLERS;

	other_is(PROCESS_RUNNING, clock_boot_now().ms);
	call(CALLERS);
	cr_assert(worker_fixture_run(worker, has_as_many, &all));
}

static void
expect_all_at_once(void)
{
	uint32_t all = CALLERS;

	call(CALLERS);
	cr_assert(worker_fixture_run(worker, has_as_many, &all));
	cr_assert(!ev_is_active(&worker->accept_later.ev),
	    "it left them to nobody");
}

Test(acceptor, waits_for_no_dead_worker)
{
	other_is(PROCESS_DEAD, clock_boot_now().ms);
	expect_all_at_once();
}

Test(acceptor, waits_for_no_worker_that_hangs)
{
	other_is(PROCESS_RUNNING, clock_boot_now().ms - 60000);
	expect_all_at_once();
}

Test(acceptor, waits_for_nobody_when_others_have_as_many)
{
	other_is(PROCESS_RUNNING, clock_boot_now().ms);
	atomic_store(&other->connections, CALLERS);
	expect_all_at_once();
}
