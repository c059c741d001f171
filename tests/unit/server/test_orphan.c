/* SPDX-License-Identifier: ISC */

#include "orphan.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client_table.h"
#include "daemon_fixture.h"
#include "holder.h"
#include "lease.h"
#include "wait_until.h"
#include "worker_fixture.h"

struct holding {
	struct worker	*worker;
	uint64_t	holder;
};

static bool
is_dead(void *arg)
{
	const struct holding *holding = arg;

	return holder_is_dead(holding->worker->control, holding->holder);
}

static bool
nobody_is_watched(void *arg)
{
	const struct worker *worker = arg;

	return LIST_EMPTY(&worker->orphans);
}

/* A client of worker 1, which then dies. */
static struct holding
leave_behind(struct worker *worker, pid_t pid, struct control_client **row)
{
	struct holding holding = { .worker = worker };

	holding.holder = worker_fixture_seat(worker, 1, pid, row);
	worker_fixture_kill_worker(worker, 1);
	return holding;
}

static enum flight_answer
begin(struct worker *worker, uint64_t holder)
{
	const struct lease_request request = {
		.caller = { .holder = holder, .may_wait = true },
		.lease_ms = 60000,
	};
	const struct pool *pool = &worker->heritage->pools[0];
	enum flight_answer answer;
	struct lease lease;
	struct key key;

	cr_assert_eq(key_init(&key, pool, "key", 3), OK);
	cr_assert_eq(lease_begin(pool, &worker->lease_door, &key, &request,
	    clock_boot_now(), &answer, &lease), OK);
	return answer;
}

static uint32_t
calls_under_way(struct worker *worker)
{
	struct origin_view view;

	cr_assert_eq(origin_look(&worker->origins[0], clock_boot_now(),
	    &view), OK);
	return view.in_flight;
}

static void
call(struct worker *worker, uint64_t holder)
{
	const struct origin_request request = {
		.owner = holder,
		.worker = limiter_worker(1, 1),
		.class = LIMITER_FOREGROUND,
	};
	struct origin_ticket ticket;

	cr_assert_eq(origin_acquire(&worker->origins[0], &request, 7,
	    clock_boot_now(), &ticket), ORIGIN_GRANTED);
}

Test(orphan, keeps_what_it_holds_until_its_process_ends)
{
	struct worker *worker = worker_fixture_create();
	pid_t pid = worker_fixture_start_client();
	struct control_client *row;
	struct holding holding;
	uint64_t other = holder_of_worker(worker->control, 0);

	holding.holder = worker_fixture_seat(worker, 1, pid, &row);
	holding.worker = worker;
	cr_assert_eq(begin(worker, holding.holder), FLIGHT_LEAD);
	call(worker, holding.holder);
	worker_fixture_kill_worker(worker, 1);
	orphans_look(worker, clock_boot_now());
	orphans_sweep_held(worker, clock_boot_now());
	cr_assert_not(is_dead(&holding));
	cr_assert_eq(begin(worker, other), FLIGHT_WAIT);
	cr_assert_eq(calls_under_way(worker), 1);
	cr_assert_eq(client_table_count(worker->control), 0);

	worker_fixture_kill_client(pid);
	cr_assert(worker_fixture_run(worker, is_dead, &holding));
	cr_assert(LIST_EMPTY(&worker->orphans));
	cr_assert_eq(calls_under_way(worker), 0);
	/* Offered to the worker that has a waiter, so it is told. */
	cr_assert_neq(worker->control->wakes[0].flights[0], 0);
	worker_fixture_destroy(worker);
}

Test(orphan, of_a_process_that_is_gone_is_let_go_at_once)
{
	struct worker *worker = worker_fixture_create();
	pid_t pid = worker_fixture_start_client();
	struct control_client *row;
	struct holding holding = leave_behind(worker, pid, &row);

	worker_fixture_kill_client(pid);
	cr_assert_not(is_dead(&holding));
	orphans_look(worker, clock_boot_now());
	cr_assert(is_dead(&holding));
	cr_assert(LIST_EMPTY(&worker->orphans));
	worker_fixture_destroy(worker);
}

Test(orphan, whose_pid_is_another_process_s_is_let_go_at_once)
{
	struct worker *worker = worker_fixture_create();
	pid_t pid = worker_fixture_start_client();
	struct control_client *row;
	struct holding holding = leave_behind(worker, pid, &row);

	cr_assert_neq(row->started, 0);
	row->started--;
	orphans_look(worker, clock_boot_now());
	cr_assert(is_dead(&holding));
	worker_fixture_kill_client(pid);
	worker_fixture_destroy(worker);
}

Test(orphan, that_does_not_come_back_is_let_go_after_its_time)
{
	struct worker *worker = worker_fixture_create();
	pid_t pid = worker_fixture_start_client();
	struct control_client *row, *unseen;
	struct holding holding = leave_behind(worker, pid, &row);
	/* Of another pid namespace: there is nobody to watch. */
	struct holding blind = { worker, worker_fixture_seat(worker, 1, 0,
	    &unseen) };

	worker_fixture_kill_worker(worker, 1);
	orphans_look(worker, fixture_at(0));
	orphans_look(worker, fixture_at(HOLDER_ORPHAN_MS - 1));
	cr_assert_not(is_dead(&holding));
	cr_assert_not(is_dead(&blind));
	orphans_look(worker, fixture_at(HOLDER_ORPHAN_MS));
	cr_assert(is_dead(&holding));
	cr_assert(is_dead(&blind));
	cr_assert(LIST_EMPTY(&worker->orphans));
	worker_fixture_kill_client(pid);
	worker_fixture_destroy(worker);
}

Test(orphan, that_was_claimed_is_let_alone)
{
	struct worker *worker = worker_fixture_create();
	pid_t pid = worker_fixture_start_client();
	struct control_client *row;
	struct holding holding = leave_behind(worker, pid, &row);

	orphans_look(worker, clock_boot_now());
	cr_assert_not(LIST_EMPTY(&worker->orphans));
	cr_assert_eq(client_table_take_over(worker->control, row,
	    holding.holder, 1, 2), OK);
	worker_fixture_kill_client(pid);
	cr_assert(worker_fixture_run(worker, nobody_is_watched, worker));
	/* Its end is its session's business. */
	cr_assert_not(is_dead(&holding));
	cr_assert(client_table_in_use(worker->control, row));
	worker_fixture_destroy(worker);
}

Test(orphan, of_a_dead_adopter_is_adopted_again)
{
	struct worker *worker = worker_fixture_create();
	pid_t pid = worker_fixture_start_client();
	struct control_client *row, *adopted;
	struct holding holding = leave_behind(worker, pid, &row);
	uint32_t at = 0;

	/* Both died at once: the second life of worker 1 took it, and died. */
	cr_assert_eq(client_table_adopt(worker->control, 1, 2, UINT64_MAX,
	    &at, &adopted), OK);
	cr_assert_eq(adopted, row);
	orphans_look(worker, clock_boot_now());
	cr_assert(LIST_EMPTY(&worker->orphans));
	worker_fixture_kill_worker(worker, 1);
	orphans_look(worker, clock_boot_now());
	cr_assert_not(LIST_EMPTY(&worker->orphans));
	worker_fixture_kill_client(pid);
	cr_assert(worker_fixture_run(worker, is_dead, &holding));
	worker_fixture_destroy(worker);
}

/* Holds the lock of the table until it is killed. */
static pid_t
start_locker(struct control *control)
{
	struct { _Atomic uint32_t held; } *locker = mmap(NULL,
	    sizeof(*locker), PROT_READ | PROT_WRITE, MAP_SHARED |
	    MAP_ANONYMOUS, -1, 0);
	pid_t pid;

	cr_assert_neq(locker, MAP_FAILED);
	pid = fork();
	cr_assert_geq(pid, 0);
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		if (lock_acquire(&control->clients_lock, 0) != LOCK_HELD) {
			_exit(1);
		}
		/* Release: the lock is held; pairs with the wait. */
		atomic_store_explicit(&locker->held, 1,
		    memory_order_release);
		for (;;) {
			(void)pause();
		}
	}
	cr_assert(wait_until_word(&locker->held, 1,
	    WORKER_FIXTURE_DEADLINE_MS));
	(void)munmap(locker, sizeof(*locker));
	return pid;
}

/* What was ready when the loop began has happened. */
static bool
loop_went_round(void *arg)
{
	unsigned *rounds = arg;

	return ++*rounds == 3;
}

Test(orphan, is_let_go_later_if_the_table_is_locked)
{
	struct worker *worker = worker_fixture_create();
	pid_t pid = worker_fixture_start_client(), locker;
	struct control_client *row;
	struct holding holding = leave_behind(worker, pid, &row);
	unsigned rounds = 0;

	orphans_look(worker, clock_boot_now());
	locker = start_locker(worker->control);
	worker_fixture_kill_client(pid);
	cr_assert(worker_fixture_run(worker, loop_went_round, &rounds));
	orphans_look(worker, clock_boot_now());
	cr_assert_not(is_dead(&holding));
	cr_assert_not(LIST_EMPTY(&worker->orphans));
	/* The lock is had again from the dead. */
	worker_fixture_kill_client(locker);
	orphans_look(worker, clock_boot_now());
	cr_assert(is_dead(&holding));
	cr_assert(LIST_EMPTY(&worker->orphans));
	worker_fixture_destroy(worker);
}
