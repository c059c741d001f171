/* SPDX-License-Identifier: ISC */

#include "worker_doors.h"

#include <criterion/criterion.h>

#include "daemon_fixture.h"
#include "holder.h"
#include "worker_fixture.h"

static void
set_state(struct worker *worker, uint32_t process, enum process_state state)
{
	worker->control->processes[process].state = (uint32_t)state;
}

static uint32_t
calls_under_way(struct worker *worker)
{
	struct origin_view view;

	cr_assert_eq(origin_look(&worker->origins[0], fixture_at(1), &view),
	    OK);
	return view.in_flight;
}

/* Of a client that is gone before anybody has looked. */
static void
leave_a_call(struct worker *worker)
{
	struct control_client *row;
	struct origin_request request = {
		.owner = worker_fixture_seat(worker, 0, 0, &row),
		.worker = limiter_worker(0, 1),
		.class = LIMITER_FOREGROUND,
	};
	struct origin_ticket ticket;

	cr_assert_eq(origin_acquire(&worker->origins[0], &request, 7,
	    fixture_at(0), &ticket), ORIGIN_GRANTED);
	row->worker = 0;
}

Test(worker_doors, sweep_what_is_dealt_to_this_worker)
{
	struct worker *worker = worker_fixture_create();

	leave_a_call(worker);
	cr_assert_eq(calls_under_way(worker), 1);
	worker_doors_tick(worker, fixture_at(1));
	cr_assert_eq(calls_under_way(worker), 0);
	worker_fixture_destroy(worker);
}

Test(worker_doors, sweep_for_a_worker_that_waits_for_its_restart)
{
	struct worker *worker = worker_fixture_create();

	/* Worker 1, to whom origin 0 is not dealt. */
	worker->heritage->process = 1;
	set_state(worker, 0, PROCESS_RUNNING);
	leave_a_call(worker);
	worker_doors_tick(worker, fixture_at(1));
	cr_assert_eq(calls_under_way(worker), 1, "another does it");
	set_state(worker, 0, PROCESS_DEAD);
	worker_doors_tick(worker, fixture_at(1));
	cr_assert_eq(calls_under_way(worker), 0);
	worker_fixture_destroy(worker);
}
