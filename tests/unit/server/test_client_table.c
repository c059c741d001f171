/* SPDX-License-Identifier: ISC */

#include "client_table.h"

#include <criterion/criterion.h>

#include "daemon_fixture.h"

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

Test(client_table, believes_no_worker_number_out_of_range)
{
	struct heritage *heritage = fixture_create();
	struct control_client *row = &heritage->control->clients[0];

	row->worker = UINT32_MAX;
	row->incarnation = UINT64_MAX;
	cr_assert_not(client_table_in_use(heritage->control, row));
	fixture_destroy(heritage);
}
