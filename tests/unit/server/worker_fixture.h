/* SPDX-License-Identifier: ISC */

/*
 * Worker 0 of a daemon of two without its process: real tables in shared
 * memory, bells, an origin and a loop.  Worker 1 lives and dies by its
 * incarnation.  Client processes are children that wait to be killed.
 */
#ifndef WORKER_FIXTURE_H
#define WORKER_FIXTURE_H

#include <stdbool.h>
#include <sys/types.h>

#include "worker.h"

#define WORKER_FIXTURE_DEADLINE_MS	10000u

/* Asserts that all could be made. */
struct worker *worker_fixture_create(void);
void	worker_fixture_destroy(struct worker *worker);

/* What the supervisor does first when it sees a worker dead. */
void	worker_fixture_kill_worker(struct worker *worker, uint32_t process);

/* Run the loop until that is so; false: it never was. */
typedef bool (worker_fixture_fn)(void *arg);
bool	worker_fixture_run(struct worker *worker, worker_fixture_fn *is_so,
    void *arg);

/* A process that does nothing; it dies with the test. */
pid_t	worker_fixture_start_client(void);
void	worker_fixture_kill_client(pid_t pid);

/* A row of worker `process` for a client of the pool, and its holder. */
uint64_t worker_fixture_seat(struct worker *worker, uint32_t process,
    pid_t pid, struct control_client **row);

#endif
