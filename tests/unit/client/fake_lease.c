/* SPDX-License-Identifier: ISC */

/*
 * The script of the fake daemon's leases, and its log.
 */
#include "fake_lease.h"

#include "fake_serve.h"
#include "wait_until.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE_MS	5000u
#define LEFT_MS		30000u
/* Tokens are no small numbers, so that a mixed-up one shows. */
#define PERMIT_TOKENS	UINT64_C(0x1000000000)
#define LEASE_TOKENS	UINT64_C(0x2000000000)

void
fake_lease_init(struct fake_daemon *daemon)
{
	memset(&daemon->lease, 0, sizeof(daemon->lease));
	cr_assert_eq(pthread_mutex_init(&daemon->lease.lock, NULL), 0);
}

void
fake_lease_fini(struct fake_daemon *daemon)
{
	for (unsigned i = 0; i < daemon->lease.held_count; i++) {
		close(daemon->lease.held[i].fd);
	}
	pthread_mutex_destroy(&daemon->lease.lock);
}

void
fake_lease_tell(struct fake_daemon *daemon, const struct fake_told *told)
{
	struct fake_lease *lease = &daemon->lease;

	pthread_mutex_lock(&lease->lock);
	cr_assert_lt(lease->told_count, FAKE_TOLD_MAX);
	lease->told[lease->told_count++] = *told;
	pthread_mutex_unlock(&lease->lock);
}

void
fake_lease_tell_status(struct fake_daemon *daemon, int status)
{
	fake_lease_tell(daemon, &(struct fake_told){ .status = status });
}

void
fake_lease_tell_end(struct fake_daemon *daemon, int status,
    enum fake_how how)
{
	struct fake_lease *lease = &daemon->lease;

	pthread_mutex_lock(&lease->lock);
	cr_assert_lt(lease->end_count, FAKE_TOLD_MAX);
	lease->ends[lease->end_count++] = (struct fake_told){
		.status = status, .how = how,
	};
	pthread_mutex_unlock(&lease->lock);
}

struct wanted {
	struct fake_daemon *daemon;
	const unsigned	*counter;
	unsigned	count;
};

static bool
has_come(void *argument)
{
	struct wanted *wanted = argument;
	bool come;

	pthread_mutex_lock(&wanted->daemon->lease.lock);
	come = *wanted->counter >= wanted->count;
	pthread_mutex_unlock(&wanted->daemon->lease.lock);
	return come;
}

void
fake_lease_wait(struct fake_daemon *daemon, unsigned count,
    struct fake_asked *last)
{
	struct wanted wanted = { daemon, &daemon->lease.asked_count, count };

	cr_assert(wait_until(has_come, &wanted, PATIENCE_MS),
	    "%u of %u asked", daemon->lease.asked_count, count);
	*last = fake_lease_asked(daemon, count - 1);
}

void
fake_lease_wait_held(struct fake_daemon *daemon, unsigned count)
{
	struct wanted wanted = { daemon, &daemon->lease.held_count, count };

	cr_assert(wait_until(has_come, &wanted, PATIENCE_MS),
	    "%u of %u held", daemon->lease.held_count, count);
}

unsigned
fake_lease_asked_count(struct fake_daemon *daemon)
{
	unsigned count;

	pthread_mutex_lock(&daemon->lease.lock);
	count = daemon->lease.asked_count;
	pthread_mutex_unlock(&daemon->lease.lock);
	return count;
}

struct fake_asked
fake_lease_asked(struct fake_daemon *daemon, unsigned number)
{
	struct fake_asked asked;

	pthread_mutex_lock(&daemon->lease.lock);
	cr_assert_lt(number, daemon->lease.asked_count);
	asked = daemon->lease.asked[number];
	pthread_mutex_unlock(&daemon->lease.lock);
	return asked;
}

unsigned
fake_lease_count(struct fake_daemon *daemon, enum frame_type type)
{
	unsigned count = 0;

	pthread_mutex_lock(&daemon->lease.lock);
	for (unsigned i = 0; i < daemon->lease.asked_count; i++) {
		count += daemon->lease.asked[i].type == type;
	}
	pthread_mutex_unlock(&daemon->lease.lock);
	return count;
}

static bool
has_permit(int status, enum frame_type type)
{
	return status == LEAD || status == ALONE ||
	    (status == OK && type == FRAME_PERMIT);
}

static bool
has_answer(int status)
{
	return status == OK || status == LEAD || status == ALONE ||
	    status == SHED || status == CIRCUIT_OPEN || status == FAILED ||
	    status == BACKING_OFF || status == TIMEOUT;
}

/* Under the lock; the fd may be another than the client's. */
static void
answer_ask(struct fake_lease *lease, int fd, const struct frame *frame,
    const struct fake_told *told)
{
	static const char text[] = "the test says so";
	struct fake_client to = { .fd = fd };
	struct wire_lease_answer said = told->said;
	uint8_t body[WIRE_LEASE_ANSWER_BYTES];

	if (!has_answer(told->status)) {
		fake_answer(&to, frame, told->status, text, sizeof(text) - 1,
		    -1);
		return;
	}
	if (has_permit(told->status, (enum frame_type)frame->type) &&
	    said.permit.number == 0) {
		lease->grants++;
		if (told->how != FAKE_BARE) {
			said.permit = (struct wire_permit){
				3, lease->grants,
				PERMIT_TOKENS + lease->grants
			};
		}
		said.token = told->status == LEAD ?
		    LEASE_TOKENS + lease->grants : 0;
		said.left_ms = LEFT_MS;
	}
	wire_lease_answer_encode(body, &said);
	fake_answer(&to, frame, told->status, body, sizeof(body) -
	    (told->how == FAKE_CUT), -1);
}

static void
hold(struct fake_lease *lease, int fd, const struct frame *frame)
{
	struct fake_held *held = &lease->held[lease->held_count];

	cr_assert_lt(lease->held_count, FAKE_HELD_MAX);
	held->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	cr_assert_geq(held->fd, 0);
	held->frame = *frame;
	lease->held_count++;
}

void
fake_lease_let_go(struct fake_daemon *daemon, unsigned number, int status)
{
	struct fake_lease *lease = &daemon->lease;
	struct fake_told told = { .status = status };

	pthread_mutex_lock(&lease->lock);
	cr_assert_lt(number, lease->held_count);
	answer_ask(lease, lease->held[number].fd, &lease->held[number].frame,
	    &told);
	pthread_mutex_unlock(&lease->lock);
}

/* A long one is cut. */
static void
copy_text(char *to, size_t room, const uint8_t *from, size_t length)
{
	length = length < room ? length : room - 1;
	memcpy(to, from, length);
	to[length] = 0;
}

static void
read_ask(struct fake_asked *asked, const uint8_t *body, size_t length)
{
	cr_assert_geq(length, WIRE_LEASE_BYTES);
	cr_assert(wire_lease_decode(body, &asked->lease));
	cr_assert_eq(length, (size_t)WIRE_LEASE_BYTES +
	    asked->lease.name_length + asked->lease.key_length);
	body += WIRE_LEASE_BYTES;
	copy_text(asked->name, sizeof(asked->name), body,
	    asked->lease.name_length);
	asked->key_length = asked->lease.key_length;
	copy_text(asked->key, sizeof(asked->key), body +
	    asked->lease.name_length, asked->key_length);
}

static void
read_end(struct fake_asked *asked, const uint8_t *body, size_t length)
{
	const uint8_t *key = body + WIRE_END_BYTES;

	cr_assert_geq(length, WIRE_END_BYTES);
	cr_assert(wire_end_decode(body, &asked->end));
	asked->key_length = length - WIRE_END_BYTES;
	if (asked->type == FRAME_FILL) {
		cr_assert_geq(length, WIRE_END_BYTES + WIRE_SET_BYTES);
		wire_set_decode(key, &asked->set);
		key += WIRE_SET_BYTES + asked->set.tag_count * 8u;
		asked->key_length = asked->set.key_length;
	}
	copy_text(asked->key, sizeof(asked->key), key, asked->key_length);
}

/* Under the lock. */
static struct fake_asked *
note(struct fake_lease *lease, const struct frame *frame,
    const uint8_t *body)
{
	struct fake_asked *asked = &lease->asked[lease->asked_count];
	size_t length = (size_t)frame->length;

	cr_assert_lt(lease->asked_count, FAKE_ASKED_MAX);
	*asked = (struct fake_asked){
		.type = (enum frame_type)frame->type, .id = frame->id,
	};
	switch (frame->type) {
	case FRAME_CLAIM:
		fake_claim_read(asked, body, length);
		break;
	case FRAME_ABANDON:
		cr_assert_eq(length, 8);
		asked->number[0] = wire_get_u64(body);
		break;
	case FRAME_LEASE:
	case FRAME_PERMIT:
		read_ask(asked, body, length);
		break;
	default:
		read_end(asked, body, length);
		break;
	}
	lease->asked_count++;
	return asked;
}

static struct fake_told
take_told(struct fake_told *list, unsigned *count, int otherwise)
{
	struct fake_told told = { .status = otherwise };

	if (*count > 0) {
		told = list[0];
		(*count)--;
		memmove(list, list + 1, *count * sizeof(*list));
	}
	return told;
}

/* Under the lock.  False: hang up. */
static bool
serve_ask(struct fake_lease *lease, struct fake_client *client,
    const struct frame *frame)
{
	struct fake_told told = take_told(lease->told, &lease->told_count,
	    frame->type == FRAME_LEASE ? LEAD : OK);

	if (told.how == FAKE_HELD) {
		hold(lease, client->fd, frame);
	} else if (told.how != FAKE_NEVER) {
		answer_ask(lease, client->fd, frame, &told);
	}
	return told.how != FAKE_NEVER;
}

static bool
serve_end(struct fake_daemon *daemon, struct fake_client *client,
    const struct frame *frame, const struct fake_asked *asked,
    const uint8_t *body)
{
	struct fake_told told = take_told(daemon->lease.ends,
	    &daemon->lease.end_count, OK);
	uint8_t version[8];
	uint64_t number = 0;

	if (told.how == FAKE_NEVER) {
		return false;
	}
	if (frame->type == FRAME_FILL && told.status == OK) {
		told.status = fake_store_set(daemon, body + WIRE_END_BYTES,
		    (size_t)frame->length - WIRE_END_BYTES,
		    asked->end.cost_ms, &number);
	}
	wire_put_u64(version, number);
	fake_answer(client, frame, told.status, version,
	    frame->type == FRAME_FILL && told.status == OK ?
	    8 - (told.how == FAKE_CUT) : 0, -1);
	return true;
}

bool
fake_lease_serve(struct fake_daemon *daemon, struct fake_client *client,
    const struct frame *frame, const uint8_t *body)
{
	struct fake_lease *lease = &daemon->lease;
	const struct fake_asked *asked;
	bool goes_on = true;

	pthread_mutex_lock(&lease->lock);
	asked = note(lease, frame, body);
	if (frame->type == FRAME_CLAIM) {
		goes_on = fake_claim_serve(lease, client, frame);
	} else if (frame->type == FRAME_ABANDON) {
		fake_answer(client, frame, OK, "", 0, -1);
	} else if (frame->type == FRAME_LEASE ||
	    frame->type == FRAME_PERMIT) {
		goes_on = serve_ask(lease, client, frame);
	} else {
		goes_on = serve_end(daemon, client, frame, asked, body);
	}
	pthread_mutex_unlock(&lease->lock);
	return goes_on;
}
