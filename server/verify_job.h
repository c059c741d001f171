/* SPDX-License-Identifier: ISC */

/*
 * verify_pool() in a forked process: it may take seconds, and a worker has
 * clients to serve and a heartbeat to stamp.  Writers of the shard that is
 * being looked at get BUSY meanwhile if it is large.  Workers.
 */
#ifndef VERIFY_JOB_H
#define VERIFY_JOB_H

#include <stdint.h>

#include <jansson.h>

#include "event_loop.h"
#include "pool.h"
#include "result.h"

struct verify_job;

/* Faults that are told one by one; all are counted. */
#define VERIFY_JOB_LIST_MAX	200u

/* list is the job's.  OK; CLOSED: the process ended before its end. */
typedef void (verify_job_fn)(void *arg, enum result result, json_t *list,
    uint64_t faults);

/* NULL: no process, or too many are under way. */
struct verify_job *verify_job_start(struct event_loop *loop,
    const struct pool *pool, verify_job_fn *fn, void *arg);

/* Ends it, if it runs.  fn may call this. */
void	verify_job_destroy(struct verify_job *job, struct event_loop *loop);

#endif
