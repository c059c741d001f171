/* SPDX-License-Identifier: ISC */

#include "holder.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client_table.h"
#include "daemon_fixture.h"
#include "limiter.h"
#include "wait_until.h"
#include "worker_fixture.h"

#define RACE_ROUNDS	300

static const struct peer someone = { .pid = 7, .uid = 8, .gid = 9 };

static enum result
claim_as(struct worker *worker, const struct peer *peer, uint64_t holder,
    uint64_t secret, struct control_client **row)
{
	return holder_claim(worker->control, 0, 1, peer, holder, secret,
	    row);
}

Test(holder, of_a_row_is_another_in_each_of_its_lives)
{
	struct worker *worker = worker_fixture_create();
	struct control *control = worker->control;
	struct control_client *row, *same;
	uint64_t first = worker_fixture_seat(worker, 0, 7, &row), second;
	uint64_t secret = row->secret;

	cr_assert_neq(first, 0);
	cr_assert_not(holder_is_dead(control, first));
	cr_assert_eq(holder_row(control, first), row);
	client_table_release(row);
	cr_assert(holder_is_dead(control, first));
	second = worker_fixture_seat(worker, 0, 7, &same);
	cr_assert_eq(same, row);
	cr_assert_neq(second, first);
	cr_assert_neq(same->secret, secret);
	cr_assert(holder_is_dead(control, first));
	cr_assert_not(holder_is_dead(control, second));
	worker_fixture_destroy(worker);
}

Test(holder, that_nobody_was_is_dead)
{
	struct worker *worker = worker_fixture_create();
	struct control_client *row;
	uint64_t holder = worker_fixture_seat(worker, 0, 7, &row);
	const uint64_t strange[] = {
		0, 1, UINT64_MAX, holder + 1, holder + FIXTURE_CLIENTS,
		holder | UINT64_C(0xfffff), holder + (UINT64_C(1) << 20),
		holder | UINT64_C(1) << 63, UINT64_C(1) << 63 | WORKERS_MAX,
	};

	for (size_t i = 0; i < sizeof(strange) / sizeof(strange[0]); i++) {
		cr_assert(holder_is_dead(worker->control, strange[i]),
		    "%llx", (unsigned long long)strange[i]);
		cr_assert_null(holder_row(worker->control, strange[i]));
	}
	worker_fixture_destroy(worker);
}

Test(holder, of_a_worker_dies_with_it)
{
	struct worker *worker = worker_fixture_create();
	struct control *control = worker->control;
	uint64_t first = holder_of_worker(control, 0);
	uint64_t second = holder_of_worker(control, 1);

	cr_assert_neq(first, second);
	worker_fixture_kill_worker(worker, 1);
	cr_assert_not(holder_is_dead(control, first));
	cr_assert(holder_is_dead(control, second));
	cr_assert_not(holder_is_dead(control, holder_of_worker(control, 1)));

	cr_assert_not(holder_worker_is_dead(control, limiter_worker(0, 1)));
	cr_assert(holder_worker_is_dead(control, limiter_worker(1, 1)));
	cr_assert_not(holder_worker_is_dead(control, limiter_worker(1, 2)));
	cr_assert(holder_worker_is_dead(control, limiter_worker(2, 1)));
	cr_assert(holder_worker_is_dead(control, UINT64_MAX));
	worker_fixture_destroy(worker);
}

Test(holder, outlives_its_worker_and_is_claimed)
{
	struct worker *worker = worker_fixture_create();
	struct control_client *old, *row, *mine;
	uint64_t holder = worker_fixture_seat(worker, 1, 7, &old);

	old->ring_bytes = 4096;
	(void)worker_fixture_seat(worker, 0, 7, &row);
	mine = row;
	/* The client is back before the death is known. */
	cr_assert_eq(claim_as(worker, &someone, holder, old->secret, &row),
	    BUSY);
	cr_assert_eq(row, mine);
	worker_fixture_kill_worker(worker, 1);
	cr_assert_not(holder_is_dead(worker->control, holder));
	cr_assert_eq(claim_as(worker, &someone, holder, old->secret, &row),
	    OK);
	cr_assert_eq(row, old);
	cr_assert_not(holder_is_dead(worker->control, holder));
	cr_assert(client_table_in_use(worker->control, old));
	cr_assert_eq(old->worker, 1);
	cr_assert_eq(old->ring_bytes, 0, "the ring died with the worker");
	/* Again: it has it.  Another connection: it is taken. */
	cr_assert_eq(claim_as(worker, &someone, holder, old->secret, &row),
	    OK);
	row = mine;
	cr_assert_eq(claim_as(worker, &someone, holder, old->secret, &row),
	    BUSY);
	client_table_release(old);
	cr_assert_eq(claim_as(worker, &someone, holder, old->secret, &row),
	    MISS);
	cr_assert_eq(row, mine);
	worker_fixture_destroy(worker);
}

Test(holder, is_denied_to_others)
{
	struct worker *worker = worker_fixture_create();
	const struct peer child = { .pid = 6, .uid = 8, .gid = 9 };
	const struct peer stranger = { .pid = 7, .uid = 18, .gid = 9 };
	struct control_client *old, *row, *mine;
	uint64_t holder = worker_fixture_seat(worker, 1, 7, &old);
	uint64_t secret = old->secret;

	(void)worker_fixture_seat(worker, 0, 7, &row);
	mine = row;
	worker_fixture_kill_worker(worker, 1);
	cr_assert_eq(claim_as(worker, &child, holder, secret, &row), DENIED);
	cr_assert_eq(claim_as(worker, &stranger, holder, secret, &row),
	    DENIED);
	cr_assert_eq(claim_as(worker, &someone, holder, secret + 1, &row),
	    DENIED);
	mine->pool = 1;
	cr_assert_eq(claim_as(worker, &someone, holder, secret, &row),
	    DENIED);
	mine->pool = 0;
	cr_assert_eq(row, mine);
	cr_assert_eq(claim_as(worker, &someone, holder, secret, &row), OK);
	worker_fixture_destroy(worker);
}

struct race {
	_Atomic uint32_t round;
	_Atomic uint32_t here;
	_Atomic uint32_t done;
	_Atomic uint32_t won;
	_Atomic uint32_t strange;
};

/* One of two processes that claim the same orphan in each round. */
static void
claim_in_a_race(struct worker *worker, struct race *race, uint32_t process,
    uint64_t holder, uint64_t secret, struct control_client *mine)
{
	for (uint32_t i = 1; i <= RACE_ROUNDS; i++) {
		struct control_client *row = mine;
		enum result result;

		if (!wait_until_word(&race->round, i,
		    WORKER_FIXTURE_DEADLINE_MS)) {
			_exit(1);
		}
		atomic_fetch_add(&race->here, 1);
		while (atomic_load(&race->here) != 2 * i) {
			/* both at once */
		}
		result = holder_claim(worker->control, process, 2, &someone,
		    holder, secret, &row);
		if (result == OK) {
			atomic_fetch_add(&race->won, 1);
		} else if (result != BUSY) {
			atomic_fetch_add(&race->strange, 1);
		}
		atomic_fetch_add(&race->done, 1);
	}
	_exit(0);
}

Test(holder, is_claimed_by_one_of_two)
{
	struct worker *worker = worker_fixture_create();
	struct control_client *old, *mine[2];
	uint64_t holder = worker_fixture_seat(worker, 1, 7, &old);
	struct race *race = mmap(NULL, sizeof(*race), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pids[2];

	cr_assert_neq(race, MAP_FAILED);
	(void)worker_fixture_seat(worker, 0, 7, &mine[0]);
	(void)worker_fixture_seat(worker, 0, 7, &mine[1]);
	worker_fixture_kill_worker(worker, 0);
	worker_fixture_kill_worker(worker, 1);
	for (uint32_t i = 0; i < 2; i++) {
		pids[i] = fork();
		cr_assert_geq(pids[i], 0);
		if (pids[i] == 0) {
			(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
			claim_in_a_race(worker, race, i, holder, old->secret,
			    mine[i]);
		}
	}
	for (uint32_t i = 1; i <= RACE_ROUNDS; i++) {
		client_table_leave(old);
		atomic_store(&race->round, i);
		cr_assert(wait_until_word(&race->done, 2 * i,
		    WORKER_FIXTURE_DEADLINE_MS));
		cr_assert_eq(race->won, i, "%u won in %u rounds", race->won,
		    i);
		cr_assert_eq(race->strange, 0);
	}
	for (uint32_t i = 0; i < 2; i++) {
		int status = -1;

		cr_assert(wait_until_exit(pids[i],
		    WORKER_FIXTURE_DEADLINE_MS, &status));
		cr_assert_eq(status, 0);
	}
	(void)munmap(race, sizeof(*race));
	worker_fixture_destroy(worker);
}
