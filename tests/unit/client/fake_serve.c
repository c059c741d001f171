/* SPDX-License-Identifier: ISC */

/*
 * What the fake daemon answers when it is honest: a small worker.
 */
#include "fake_serve.h"

#include "access.h"
#include "clock.h"
#include "epoch.h"
#include "geometry.h"
#include "write.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

uint64_t
fake_now_ms(const struct fake_daemon *daemon)
{
	return clock_boot_now().ms + daemon->clock_offset_ms;
}

void
fake_answer(struct fake_client *client, const struct frame *request, int status,
    const void *body, size_t length, int passed_fd)
{
	uint8_t bytes[FRAME_HEADER_BYTES + 4096];
	struct frame frame = {
		.type = request->type, .flags = FRAME_ANSWER,
		.status = status, .id = request->id, .length = length,
	};
	struct iovec part = { bytes, FRAME_HEADER_BYTES + length };
	union {
		struct cmsghdr align;
		uint8_t room[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	frame_encode(bytes, &frame);
	memcpy(bytes + FRAME_HEADER_BYTES, body, length);
	if (passed_fd >= 0) {
		struct cmsghdr *c;

		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
		c = CMSG_FIRSTHDR(&message);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &passed_fd, sizeof(int));
	}
	(void)sendmsg(client->fd, &message, MSG_NOSIGNAL);
}

static void
answer_number(struct fake_client *client, const struct frame *request,
    int status, uint64_t number)
{
	uint8_t body[8];

	wire_put_u64(body, number);
	fake_answer(client, request, status, body, status == OK ? 8 : 0, -1);
}

static void
say_hello(struct fake_daemon *daemon, struct fake_client *client,
    const struct frame *frame)
{
	static const char text[] = "the list does not name you";
	uint8_t body[56] = { 0 };
	int fd = daemon->pool.segment.fd, unsealed = -1;

	atomic_fetch_add(&daemon->hellos, 1);
	if (atomic_load(&daemon->fault) == FAKE_DENIES) {
		fake_answer(client, frame, DENIED, text, sizeof(text) - 1, -1);
		return;
	}
	if (atomic_load(&daemon->fault) == FAKE_UNSEALED) {
		unsealed = memfd_create("unsealed", MFD_CLOEXEC);
		cr_assert_eq(ftruncate(unsealed, 8192), 0);
		fd = unsealed;
	}
	wire_put_u64(body, fake_now_ms(daemon));
	wire_put_u64(body + 8, geometry_value_max_bytes(&daemon->pool.g));
	wire_put_u64(body + 16, FAKE_RING_CAPACITY);
	memcpy(body + 24, daemon->pool.header->boot_id, 16);
	/* Each connection is a holder of its own, with its own secret. */
	wire_put_u64(body + 40, atomic_load(&daemon->hellos));
	wire_put_u64(body + 48, FAKE_SECRET + atomic_load(&daemon->hellos));
	fake_answer(client, frame, OK, body, sizeof(body), fd);
	if (unsealed >= 0) {
		close(unsealed);
	}
}

static void
make_ring(struct fake_client *client, const struct frame *frame)
{
	size_t bytes = ring_bytes(FAKE_RING_CAPACITY);

	client->ring_fd = memfd_create("ring", MFD_CLOEXEC |
	    MFD_ALLOW_SEALING);
	cr_assert_eq(ftruncate(client->ring_fd, (off_t)bytes), 0);
	client->map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
	    client->ring_fd, 0);
	cr_assert_eq(ring_init(client->map, FAKE_RING_CAPACITY), OK);
	cr_assert_eq(fcntl(client->ring_fd, F_ADD_SEALS, F_SEAL_SHRINK |
	    F_SEAL_GROW | F_SEAL_SEAL), 0);
	cr_assert_eq(ring_consumer_attach(&client->consumer, client->map,
	    FAKE_RING_CAPACITY), OK);
	cr_assert(ring_arm(&client->consumer));
	client->has_ring = true;
	{
		uint8_t body[8];

		wire_put_u64(body, FAKE_RING_CAPACITY);
		fake_answer(client, frame, OK, body, 8, client->ring_fd);
	}
}

enum result
fake_store_set(struct fake_daemon *daemon, const uint8_t *body,
    size_t length, uint32_t cost_ms, uint64_t *version)
{
	struct wire_set set;
	struct entry_spec spec = { 0 };
	struct key key;
	uint64_t tags[TAGS_MAX], now = fake_now_ms(daemon);

	*version = 0;
	if (length < WIRE_SET_BYTES) {
		return INVALID;
	}
	wire_set_decode(body, &set);
	if (set.tag_count > TAGS_MAX || WIRE_SET_BYTES + set.tag_count * 8u +
	    set.key_length + set.value_length != length) {
		return INVALID;
	}
	body += WIRE_SET_BYTES;
	for (unsigned i = 0; i < set.tag_count; i++, body += 8) {
		tags[i] = wire_get_u64(body);
	}
	if (key_init(&key, &daemon->pool, body, set.key_length) != OK) {
		return KEY_INVALID;
	}
	spec.key = &key;
	spec.tags = tags;
	spec.tag_count = set.tag_count;
	spec.value = body + set.key_length;
	spec.value_bytes = set.value_length;
	spec.soft_ms = set.soft_ttl_ms == 0 ? UINT64_MAX :
	    now + set.soft_ttl_ms;
	spec.hard_ms = set.ttl_ms == 0 ? UINT64_MAX : now + set.ttl_ms;
	spec.epoch = epoch_now(&daemon->pool);
	spec.when = (enum set_when)set.when;
	spec.version = set.version;
	spec.flags = set.flags;
	spec.cost_ms = (uint16_t)(cost_ms < UINT16_MAX ? cost_ms :
	    UINT16_MAX);
	return write_set(&daemon->pool, &spec, (struct boot_ms){ now },
	    version);
}

static enum result
take_record(void *context, uint32_t type, const void *body, uint32_t length)
{
	struct fake_daemon *daemon = context;
	const uint8_t *at = body;
	uint64_t version;

	if (type == RING_HINT) {
		for (uint32_t i = 0; i + RING_HINT_BYTES <= length;
		    i += RING_HINT_BYTES) {
			access_hint(&daemon->pool, wire_get_u64(at + i),
			    wire_get_u32(at + i + 8),
			    wire_get_u32(at + i + 12));
			atomic_fetch_add(&daemon->hints, 1);
		}
	} else if (type == RING_COUNTS) {
		atomic_fetch_add(&daemon->hits_told, wire_get_u64(at));
		atomic_fetch_add(&daemon->misses_told, wire_get_u64(at + 8));
	} else if (type == RING_SLIDE) {
		cr_assert_eq(length, RING_SLIDE_BYTES);
		memcpy(daemon->slide, at, RING_SLIDE_BYTES);
		atomic_fetch_add(&daemon->slides, 1);
	} else if (fake_store_set(daemon, body, length, 0, &version) ==
	    OK) {
		daemon->stored++;
	} else {
		daemon->refused++;
	}
	return OK;
}

void
fake_drain(struct fake_daemon *daemon, struct fake_client *client)
{
	static uint8_t buffer[FAKE_RING_CAPACITY];

	while (client->has_ring) {
		cr_assert_eq(ring_drain(&client->consumer, buffer,
		    sizeof(buffer), take_record, daemon), OK);
		if (ring_arm(&client->consumer)) {
			return;
		}
	}
}

static void
serve_keyed(struct fake_daemon *daemon, struct fake_client *client,
    const struct frame *frame, const uint8_t *body)
{
	static const size_t heads[] = {
		[FRAME_DELETE] = 8, [FRAME_TOUCH] = 16, [FRAME_COUNTER] = 32,
	};
	size_t head = heads[frame->type];
	struct boot_ms now = { fake_now_ms(daemon) };
	struct key key;
	int64_t number = 0;
	enum result result = key_init(&key, &daemon->pool, body + head,
	    (size_t)frame->length - head);
	struct entry_spec spec = {
		.key = &key, .soft_ms = UINT64_MAX, .hard_ms = UINT64_MAX,
		.epoch = epoch_now(&daemon->pool),
	};

	cr_assert_eq(result, OK);
	if (frame->type == FRAME_DELETE) {
		fake_answer(client, frame, write_delete(&daemon->pool, &key,
		    wire_get_u64(body), now), "", 0, -1);
	} else if (frame->type == FRAME_TOUCH) {
		fake_answer(client, frame, write_touch(&daemon->pool, &key,
		    now.ms + wire_get_u64(body + 8),
		    now.ms + wire_get_u64(body), 0, now), "", 0, -1);
	} else {
		result = write_counter_add(&daemon->pool, &key,
		    (int64_t)wire_get_u64(body),
		    (int64_t)wire_get_u64(body + 8),
		    wire_get_u32(body + 24) != 0 ? &spec : NULL, now,
		    &number);
		answer_number(client, frame, result, (uint64_t)number);
	}
}

static void
serve_purge(struct fake_daemon *daemon, struct fake_client *client,
    const struct frame *frame, const uint8_t *body)
{
	static const enum epoch_kind kinds[] = {
		EPOCH_KIND_HARD, EPOCH_KIND_INVALID, EPOCH_KIND_SOFT,
	};
	uint64_t number = 0;
	enum result result = body[0] == PURGE_TAG ?
	    epoch_purge_tag(&daemon->pool, wire_get_u64(body + 8),
	    kinds[body[1] % 3], &number) :
	    epoch_purge_all(&daemon->pool, kinds[body[1] % 3], &number);

	answer_number(client, frame, result, number);
}

bool
fake_serve(struct fake_daemon *daemon, struct fake_client *client,
    const struct frame *frame, const uint8_t *body)
{
	uint8_t counts[16];
	uint64_t version;
	enum result result;

	switch (frame->type) {
	case FRAME_HELLO:
		say_hello(daemon, client, frame);
		break;
	case FRAME_RING:
		make_ring(client, frame);
		break;
	case FRAME_DOORBELL:
		atomic_fetch_add(&daemon->doorbells, 1);
		break;
	case FRAME_PING:
		fake_answer(client, frame, OK, "", 0, -1);
		break;
	case FRAME_SET:
		result = fake_store_set(daemon, body, (size_t)frame->length,
		    0, &version);
		answer_number(client, frame, result, version);
		break;
	case FRAME_PURGE:
		serve_purge(daemon, client, frame, body);
		break;
	case FRAME_FLUSH:
		wire_put_u64(counts, daemon->stored);
		wire_put_u64(counts + 8, daemon->refused);
		daemon->stored = 0;
		daemon->refused = 0;
		fake_answer(client, frame, OK, counts, sizeof(counts), -1);
		break;
	case FRAME_CLAIM:
	case FRAME_LEASE:
	case FRAME_FILL:
	case FRAME_FAIL:
	case FRAME_UNCACHEABLE:
	case FRAME_PERMIT:
	case FRAME_RELEASE:
	case FRAME_ABANDON:
		return fake_lease_serve(daemon, client, frame, body);
	default:
		serve_keyed(daemon, client, frame, body);
		break;
	}
	return true;
}

uint64_t
fake_daemon_store(struct fake_daemon *daemon, const char *name,
    const char *value, const struct fake_life *life)
{
	struct entry_spec spec = {
		.value = value, .value_bytes = strlen(value),
		.when = SET_ALWAYS, .epoch = epoch_now(&daemon->pool),
		.cost_ms = life->cost_ms, .flags = life->flags,
		.soft_ms = life->soft_in_ms == 0 ? UINT64_MAX :
		    fake_now_ms(daemon) + (uint64_t)life->soft_in_ms,
		.hard_ms = life->hard_in_ms == 0 ? UINT64_MAX :
		    fake_now_ms(daemon) + (uint64_t)life->hard_in_ms,
	};
	struct boot_ms then = { fake_now_ms(daemon) - life->age_ms };
	struct key key;
	uint64_t version;

	cr_assert_eq(key_init(&key, &daemon->pool, name, strlen(name)), OK);
	spec.key = &key;
	cr_assert_eq(write_set(&daemon->pool, &spec, then, &version), OK);
	return version;
}
