/* SPDX-License-Identifier: ISC */

/*
 * Admin frames.
 */
#include "admin_session.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "admin.h"
#include "verify_job.h"
#include "worker.h"

struct admin_job {
	struct verify_job *verify;
	json_t		*answer;
	struct frame	frame;
};

/* Cut into frames that say whether more comes. */
static void
send_answer(struct connection *conn, const struct frame *frame,
    enum result status, const json_t *answer)
{
	char *text = answer == NULL ? NULL : json_dumps(answer, JSON_COMPACT);
	size_t length, at = 0;

	if (text == NULL) {
		connection_answer_text(conn, frame, NO_MEMORY,
		    "{\"version\":1,\"verb\":null,\"error\":{\"result\":"
		    "\"NO_MEMORY\",\"text\":\"out of memory\"}}");
		return;
	}
	length = strlen(text);
	while (length - at > FRAME_BODY_MAX) {
		connection_answer(conn, frame, status, FRAME_MORE, text + at,
		    FRAME_BODY_MAX);
		at += FRAME_BODY_MAX;
	}
	connection_answer(conn, frame, status, 0, text + at, length - at);
	free(text);
}

static void
end_job(struct connection *conn)
{
	struct admin_job *job = conn->job;

	if (job != NULL) {
		verify_job_destroy(job->verify, conn->worker->loop);
		json_decref(job->answer);
		free(job);
		conn->job = NULL;
		conn->waiting = false;
	}
}

static void
verify_done(void *arg, enum result result, json_t *list, uint64_t faults)
{
	struct connection *conn = arg;
	struct admin_job *job = conn->job;

	if (result == OK) {
		admin_put_number(job->answer, "faults", faults);
		(void)json_object_set(job->answer, "list", list);
	} else {
		admin_put_error(job->answer, result,
		    "the verify did not come to its end");
	}
	send_answer(conn, &job->frame, result, job->answer);
	end_job(conn);
	connection_turn(conn);
}

static void
start_verify(struct connection *conn, const struct frame *frame,
    const struct pool *pool, json_t *answer)
{
	struct admin_job *job = calloc(1, sizeof(*job));

	if (job != NULL) {
		job->verify = verify_job_start(conn->worker->loop, pool,
		    verify_done, conn);
	}
	if (job == NULL || job->verify == NULL) {
		free(job);
		admin_put_error(answer, BUSY, "no process for a verify");
		send_answer(conn, frame, BUSY, answer);
		return;
	}
	job->answer = json_incref(answer);
	job->frame = *frame;
	conn->job = job;
	conn->waiting = true;
}

static void
admin_frame(struct connection *conn, const struct frame *frame,
    const uint8_t *body)
{
	struct worker *worker = conn->worker;
	struct admin admin = {
		.heritage = worker->heritage,
		.peer = &conn->peer,
		.level = peer_admin_level(&conn->peer, geteuid(),
		    worker->admin_group, worker->admin_read_group),
		.now = clock_boot_now(),
		.origins = worker->origins,
		.origin_count = worker->origin_count,
	};
	enum result status = OK;
	json_t *answer;

	if (frame->type != FRAME_ADMIN) {
		connection_reject(conn, "not a frame of the admin socket");
		return;
	}
	randombytes_buf(&admin.random, sizeof(admin.random));
	answer = admin_serve(&admin, (const char *)body,
	    (size_t)frame->length, &status);
	wake_send(&worker->wake);
	if (answer != NULL && admin.verify != NULL) {
		start_verify(conn, frame, admin.verify, answer);
	} else {
		send_answer(conn, frame, status, answer);
	}
	json_decref(answer);
	if (admin.level == PEER_LEVEL_NONE) {
		/* Told so; its place is for those who may. */
		conn->closing = true;
	}
	worker_beat(worker);
}

/* Where anybody may connect, who may do nothing must not stay. */
static bool
admin_settle(struct connection *conn)
{
	const struct worker *worker = conn->worker;

	if (clock_boot_now().ms > conn->since_ms + CONNECTION_GREET_MS &&
	    peer_admin_level(&conn->peer, geteuid(), worker->admin_group,
	    worker->admin_read_group) == PEER_LEVEL_NONE) {
		conn->closing = true;
	}
	return true;
}

const struct connection_kind admin_session_kind = {
	.body_max = FRAME_ADMIN_MAX,
	.frame = admin_frame,
	.settle = admin_settle,
	.end = end_job,
};
