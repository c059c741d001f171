/* SPDX-License-Identifier: ISC */

#include "client_table.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon_fixture.h"
#include "holder.h"
#include "point.h"
#include "worker_fixture.h"

static const struct peer someone = { .pid = 7, .uid = 8, .gid = 9 };

static enum result
claim(struct control *control, uint32_t process, uint64_t incarnation,
    struct control_client **row)
{
	return client_table_claim(control, process, incarnation, &someone, 0,
	    fixture_at(0), row);
}

Test(client_table, gives_each_client_a_row_until_it_is_full)
{
	struct heritage *heritage = fixture_create();
	struct control_client *rows[FIXTURE_CLIENTS], *more;

	for (int i = 0; i < FIXTURE_CLIENTS; i++) {
		cr_assert_eq(claim(heritage->control, 0, 1, &rows[i]), OK);
		cr_assert_eq(rows[i]->pid, 7);
	}
	cr_assert_neq(rows[0], rows[1]);
	cr_assert_eq(claim(heritage->control, 0, 1, &more), FULL);
	client_table_release(rows[2]);
	cr_assert_eq(client_table_count(heritage->control),
	    FIXTURE_CLIENTS - 1);
	cr_assert_eq(claim(heritage->control, 1, 1, &more), OK);
	cr_assert_eq(more, rows[2]);
	fixture_destroy(heritage);
}

Test(client_table, keeps_the_rows_of_a_dead_worker_until_they_are_let_go)
{
	struct heritage *heritage = fixture_create();
	struct control_client *row;
	uint32_t at = 0;

	for (int i = 0; i < FIXTURE_CLIENTS; i++) {
		cr_assert_eq(claim(heritage->control, 1, 1, &row), OK);
	}
	heritage->control->processes[1].incarnation = 2;
	cr_assert_eq(client_table_count(heritage->control), 0);
	cr_assert_eq(claim(heritage->control, 0, 1, &row), FULL);
	cr_assert_eq(client_table_adopt(heritage->control, 0, 1, 1000, &at,
	    &row), OK);
	cr_assert_not_null(row);
	cr_assert_not(client_table_in_use(heritage->control, row));
	client_table_release(row);
	cr_assert_eq(claim(heritage->control, 0, 1, &row), OK);
	cr_assert_eq(row->requests, 0);
	cr_assert(client_table_in_use(heritage->control, row));
	fixture_destroy(heritage);
}

Test(client_table, lets_go_what_this_worker_adopted_alone)
{
	struct worker *worker = worker_fixture_create();
	struct control *control = worker->control;
	struct control_client *row, *adopted;
	uint64_t holder = worker_fixture_seat(worker, 1, 7, &row);
	uint32_t at = 0;

	cr_assert_eq(client_table_let_go(control, row, holder, 1), MISS,
	    "of a client that is connected");
	worker_fixture_kill_worker(worker, 1);
	cr_assert_eq(client_table_let_go(control, row, holder, 0), MISS);
	cr_assert_eq(client_table_adopt(control, 0, 1, 1000, &at, &adopted),
	    OK);
	cr_assert_eq(client_table_let_go(control, row, holder, 1), MISS);
	cr_assert_eq(client_table_let_go(control, row, holder + 1, 0), MISS);
	/* Claimed through another worker between its look and its lock. */
	cr_assert_eq(client_table_take_over(control, row, holder, 1, 2), OK);
	cr_assert_eq(client_table_let_go(control, row, holder, 0), MISS);
	cr_assert(client_table_in_use(control, row));
	/* Left and adopted anew. */
	client_table_leave(row);
	at = 0;
	cr_assert_eq(client_table_adopt(control, 0, 1, 1000, &at, &adopted),
	    OK);
	cr_assert_eq(adopted, row);
	cr_assert_eq(holder_of_row(control, row), holder);
	cr_assert_eq(client_table_let_go(control, row, holder, 0), OK);
	cr_assert_not(client_table_taken(row));
	worker_fixture_destroy(worker);
}

Test(client_table, gives_a_process_its_own_row_again_when_it_is_full)
{
	struct worker *worker = worker_fixture_create();
	struct control *control = worker->control;
	pid_t pid = worker_fixture_start_client();
	const struct peer peer = { .pid = pid, .uid = 8, .gid = 9 };
	const struct peer other = { .pid = pid, .uid = 18, .gid = 9 };
	struct control_client *rows[FIXTURE_CLIENTS], *row = NULL;
	uint64_t holder = worker_fixture_seat(worker, 1, pid, &rows[0]);
	uint64_t secret = rows[0]->secret;

	for (int i = 1; i < FIXTURE_CLIENTS; i++) {
		(void)worker_fixture_seat(worker, 1, 0, &rows[i]);
	}
	cr_assert_eq(client_table_reseat(control, 0, 1, &peer, 0, holder,
	    secret, &row), FULL, "its worker lives");
	worker_fixture_kill_worker(worker, 1);
	cr_assert_eq(client_table_reseat(control, 0, 1, &someone, 0, holder,
	    secret, &row), FULL);
	cr_assert_eq(client_table_reseat(control, 0, 1, &other, 0, holder,
	    secret, &row), FULL);
	cr_assert_eq(client_table_reseat(control, 0, 1, &peer, 1, holder,
	    secret, &row), FULL, "of another pool");
	cr_assert_eq(client_table_reseat(control, 0, 1, &peer, 0, holder,
	    secret + 1, &row), FULL, "it does not know the secret");
	cr_assert_eq(client_table_reseat(control, 0, 1, &peer, 0,
	    holder_of_row(control, rows[1]), secret, &row), FULL,
	    "another's row");
	cr_assert_eq(client_table_reseat(control, 0, 1, &peer, 0, 0, 0, &row),
	    FULL, "it was nobody");
	rows[0]->started++;
	cr_assert_eq(client_table_reseat(control, 0, 1, &peer, 0, holder,
	    secret, &row), FULL, "of an earlier process of that pid");
	rows[0]->started--;
	cr_assert_eq(client_table_reseat(control, 0, 1, &peer, 0, holder,
	    secret, &row), OK);
	cr_assert_eq(row, rows[0]);
	cr_assert_eq(holder_of_row(control, row), holder);
	cr_assert_eq(row->secret, secret);
	cr_assert_eq(client_table_count(control), 1);
	cr_assert_eq(client_table_reseat(control, 0, 1, &peer, 0, holder,
	    secret, &row), FULL, "it has it");
	worker_fixture_kill_client(pid);
	worker_fixture_destroy(worker);
}

Test(client_table, believes_no_worker_number_out_of_range)
{
	struct heritage *heritage = fixture_create();
	struct control_client *row = &heritage->control->clients[0];

	row->worker = UINT32_MAX;
	row->incarnation = UINT64_MAX;
	cr_assert_not(client_table_in_use(heritage->control, row));
	fixture_destroy(heritage);
}

Test(client_table, knows_when_a_process_started)
{
	uint64_t started = client_table_start_time(getpid());
	pid_t pid;

	cr_assert_neq(started, 0);
	/* A name may look like what comes after it. */
	cr_assert_eq(prctl(PR_SET_NAME, ") S 1 2 3 4 (", 0, 0, 0), 0);
	cr_assert_eq(client_table_start_time(getpid()), started);
	pid = worker_fixture_start_client();
	cr_assert_geq(client_table_start_time(pid), started);
	worker_fixture_kill_client(pid);
	cr_assert_eq(client_table_start_time(pid), 0);
	cr_assert_eq(client_table_start_time(0), 0);
	cr_assert_eq(client_table_start_time(-1), 0);
}

#ifdef SHM_TEST_POINTS

static const char *deadly_point;

static void
die_there(const char *name)
{
	if (strcmp(name, deadly_point) == 0) {
		(void)raise(SIGKILL);
	}
}

/* Worker 0 dies there, taking over a row that worker 1 has left behind. */
static void
die_taking_over(struct worker *worker, struct control_client *row,
    uint64_t holder, const char *point)
{
	int status = 0;
	pid_t pid = fork();

	cr_assert_geq(pid, 0);
	if (pid == 0) {
		deadly_point = point;
		shm_point_hook = die_there;
		(void)client_table_take_over(worker->control, row, holder, 0,
		    worker->control->processes[0].incarnation);
		_exit(0);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFSIGNALED(status), "it came past %s", point);
	worker_fixture_kill_worker(worker, 0);
}

Test(client_table, keeps_an_orphan_whoever_dies_taking_it_over)
{
	static const char *const points[] = {
		"client_row_unowned", "client_row_dated", "client_row_moved",
	};

	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
		struct worker *worker = worker_fixture_create();
		struct control *control = worker->control;
		struct control_client *row, *adopted;
		uint64_t holder;
		uint32_t at = 0;

		/* A life of a higher number than the row's worker has. */
		for (int deaths = 0; deaths < 3; deaths++) {
			worker_fixture_kill_worker(worker, 0);
		}
		holder = worker_fixture_seat(worker, 1, 7, &row);
		worker_fixture_kill_worker(worker, 1);
		cr_assert_eq(client_table_adopt(control, 1, 2, 1000, &at,
		    &adopted), OK);
		die_taking_over(worker, row, holder, points[i]);
		cr_assert_not(holder_is_dead(control, holder));
		cr_assert_not(client_table_in_use(control, row), "%s",
		    points[i]);
		at = 0;
		cr_assert_eq(client_table_adopt(control, 1, 2, 1000, &at,
		    &adopted), OK, "nobody may adopt it after %s",
		    points[i]);
		cr_assert_eq(adopted, row);
		cr_assert_eq(client_table_let_go(control, row, holder, 1),
		    OK);
		worker_fixture_destroy(worker);
	}
}

#endif
