/* SPDX-License-Identifier: ISC */

/*
 * The forked process writes one record a fault, and one at its end, into a
 * pipe.
 */
#include "verify_job.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "verify.h"

#define TEXT_BYTES	96
/* Of one worker. */
#define JOBS_MAX	2u

struct record {
	uint32_t	last;
	uint32_t	invariant;
	uint32_t	shard;
	uint32_t	unused;
	uint64_t	where;		/* last: all faults */
	char		text[TEXT_BYTES];
};

struct verify_job {
	struct event_io	io;
	struct event_loop *loop;
	int		fd;
	pid_t		pid;
	verify_job_fn	*fn;
	void		*arg;
	json_t		*list;
	size_t		have;		/* bytes of a record */
	struct record	record;
};

static unsigned job_count;

struct sink {
	int		fd;
	uint32_t	told;
};

static void
write_record(int fd, const struct record *record)
{
	const char *at = (const char *)record;
	size_t left = sizeof(*record);

	while (left > 0) {
		ssize_t done = write(fd, at, left);

		if (done < 0 && errno != EINTR) {
			_exit(1);
		}
		if (done > 0) {
			at += done;
			left -= (size_t)done;
		}
	}
}

static void
tell(void *arg, unsigned invariant, uint32_t shard, uint64_t where,
    const char *text)
{
	struct sink *sink = arg;
	struct record record = {
		.invariant = invariant, .shard = shard, .where = where,
	};

	if (sink->told++ < VERIFY_JOB_LIST_MAX) {
		(void)strncpy(record.text, text, TEXT_BYTES - 1);
		write_record(sink->fd, &record);
	}
}

static void
run(const struct pool *worker_pool, int fd)
{
	struct pool pool = *worker_pool;
	struct sink sink = { .fd = fd };
	struct record record = { .last = 1 };
	void *scratch;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* A stats block has one writer: the spare one, not the worker's. */
	pool_become_worker(&pool, pool.g.worker_count);
	scratch = calloc(1, verify_scratch_bytes(&pool));
	if (scratch == NULL) {
		_exit(1);
	}
	record.where = verify_pool(&pool, scratch, tell, &sink);
	write_record(fd, &record);
	_exit(0);
}

/* The last record came: the answer; else a fault for the list. */
static bool
take_record(struct verify_job *job)
{
	struct record *record = &job->record;

	record->text[TEXT_BYTES - 1] = '\0';
	if (record->last != 0) {
		job->fn(job->arg, OK, job->list, record->where);
		return true;
	}
	(void)json_array_append_new(job->list, json_pack(
	    "{s:I, s:I, s:I, s:s}", "invariant",
	    (json_int_t)record->invariant, "shard",
	    (json_int_t)record->shard, "where", (json_int_t)record->where,
	    "text", record->text));
	return false;
}

static void
pipe_readable(void *arg, unsigned events)
{
	struct verify_job *job = arg;

	(void)events;
	for (;;) {
		ssize_t done = read(job->fd, (char *)&job->record + job->have,
		    sizeof(job->record) - job->have);

		if (done < 0 && (errno == EAGAIN || errno == EINTR)) {
			return;
		}
		if (done <= 0) {
			job->fn(job->arg, CLOSED, job->list, 0);
			return;
		}
		job->have += (size_t)done;
		if (job->have == sizeof(job->record)) {
			job->have = 0;
			if (take_record(job)) {
				/* The job may be gone. */
				return;
			}
		}
	}
}

struct verify_job *
verify_job_start(struct event_loop *loop, const struct pool *pool,
    verify_job_fn *fn, void *arg)
{
	struct verify_job *job;
	int fds[2];

	if (job_count >= JOBS_MAX || pipe2(fds, O_CLOEXEC) < 0) {
		return NULL;
	}
	job = calloc(1, sizeof(*job));
	if (job != NULL) {
		job->pid = fork();
	}
	if (job == NULL || job->pid < 0) {
		free(job);
		(void)close(fds[0]);
		(void)close(fds[1]);
		return NULL;
	}
	if (job->pid == 0) {
		(void)close(fds[0]);
		run(pool, fds[1]);
	}
	(void)close(fds[1]);
	(void)fcntl(fds[0], F_SETFL, O_NONBLOCK);
	job->fd = fds[0];
	job->loop = loop;
	job->fn = fn;
	job->arg = arg;
	job->list = json_array();
	job_count++;
	event_io_start(loop, &job->io, job->fd, EVENT_READ, pipe_readable,
	    job);
	return job;
}

void
verify_job_destroy(struct verify_job *job, struct event_loop *loop)
{
	event_io_stop(loop, &job->io);
	(void)close(job->fd);
	/* It has said its last word or nobody wants to hear it. */
	(void)kill(job->pid, SIGKILL);
	while (waitpid(job->pid, NULL, 0) < 0 && errno == EINTR) {
		continue;
	}
	json_decref(job->list);
	free(job);
	job_count--;
}
