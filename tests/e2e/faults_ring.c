/* SPDX-License-Identifier: ISC */

/*
 * Clients that write into their ring what no client does: counts and lengths
 * out of rule, chance while it is read, holes in its memory, floods.
 */
#include "misdeed.h"
#include "raw.h"
#include "ring.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

struct ringer {
	int		fd;
	int		ring_fd;
	size_t		bytes;
	struct ring_shared *ring;
};

static bool
ringer_begin(struct misdeed_stage *stage, struct ringer *ringer)
{
	ringer->ring_fd = -1;
	ringer->fd = raw_hello(&stage->scene, NULL);
	ringer->ring = ringer->fd < 0 ? NULL : raw_ring(ringer->fd,
	    &ringer->ring_fd, &ringer->bytes);
	return ringer->ring != NULL;
}

static void
ringer_end(struct ringer *ringer)
{
	if (ringer->ring != NULL) {
		(void)munmap(ringer->ring, ringer->bytes);
	}
	(void)close(ringer->ring_fd);
	(void)close(ringer->fd);
}

/* Words that break the rules: it is dropped by its doorbell. */
static bool
corrupt_rings(struct misdeed_stage *stage)
{
	static const uint64_t tails[] = {
		1, 12, UINT64_MAX, UINT64_C(1) << 63, UINT64_C(1) << 33,
	};
	const unsigned rounds = (unsigned)plain_amount(&stage->test, 40, 800);
	const unsigned fixed = sizeof(tails) / sizeof(tails[0]);

	for (unsigned i = 0; i < rounds; i++) {
		struct ringer ringer;
		uint64_t tail = i < fixed ? tails[i] : 8 + 8 * (uint64_t)
		    prng_below(&stage->prng, 4000);
		bool fine = ringer_begin(stage, &ringer);

		if (fine) {
			/* A length that no tail covers, then chance. */
			misdeed_fill(stage, ringer.ring->data, 64);
			memset(ringer.ring->data, 0xff, 4);
			/* Release, as an honest one. */
			atomic_store_explicit(&ringer.ring->tail, tail,
			    memory_order_release);
			fine = raw_send_frame(ringer.fd, FRAME_DOORBELL,
			    i % 2 == 0 ? 0 : tail, NULL, 0) &&
			    raw_hung_up(ringer.fd);
		}
		ringer_end(&ringer);
		if (!fine) {
			return false;
		}
	}
	return true;
}

/* The words change all the time while the worker looks at them. */
static bool
scribble_on_rings(struct misdeed_stage *stage)
{
	uint64_t end_us = scene_now_us() +
	    plain_amount(&stage->test, 1, 20) * 1000000;

	while (scene_now_us() < end_us) {
		struct ringer ringer;
		uint64_t *words;

		if (!ringer_begin(stage, &ringer)) {
			return false;
		}
		words = (uint64_t *)(void *)ringer.ring;
		for (unsigned i = 0; i < 50 && raw_send_frame(ringer.fd,
		    FRAME_DOORBELL, 0, NULL, 0); i++) {
			for (unsigned n = 0; n < 2000; n++) {
				size_t at = prng_below(&stage->prng,
				    n % 4 == 0 ? 32 :
				    (uint32_t)(ringer.bytes / 8));

				__atomic_store_n(&words[at],
				    prng_next(&stage->prng) >>
				    (8 * prng_below(&stage->prng, 8)),
				    __ATOMIC_RELAXED);
			}
		}
		ringer_end(&ringer);
	}
	return true;
}

/* Its memory vanishes: zeroes are read, nobody gets a SIGBUS. */
static bool
punch_holes(struct misdeed_stage *stage)
{
	for (unsigned i = 0; i < 20; i++) {
		struct ringer ringer;
		bool fine = ringer_begin(stage, &ringer);

		fine = fine && ftruncate(ringer.ring_fd, 0) < 0 &&
		    ftruncate(ringer.ring_fd, 1 << 30) < 0;
		if (fine) {
			(void)fallocate(ringer.ring_fd, FALLOC_FL_PUNCH_HOLE |
			    FALLOC_FL_KEEP_SIZE, 0, (off_t)ringer.bytes);
			/* Relaxed: nothing was written before it. */
			atomic_store_explicit(&ringer.ring->tail, 64,
			    memory_order_relaxed);
			(void)fallocate(ringer.ring_fd, FALLOC_FL_PUNCH_HOLE |
			    FALLOC_FL_KEEP_SIZE, i % 2 == 0 ? 4096 : 0,
			    (off_t)ringer.bytes);
			fine = raw_send_frame(ringer.fd, FRAME_DOORBELL, 0,
			    NULL, 0);
			/* All zero is an empty ring, a tail of 64 with a
			 * zero header is a record of no type. */
			(void)shutdown(ringer.fd, SHUT_WR);
			fine = fine && raw_hung_up(ringer.fd);
		}
		ringer_end(&ringer);
		if (!fine) {
			return false;
		}
	}
	return true;
}

/* As many hints and doorbells as go in. */
static bool
flood_rings(struct misdeed_stage *stage)
{
	uint8_t hint[RING_HINT_BYTES] = { 1, 2, 3 };
	struct iovec part = { .iov_base = hint, .iov_len = sizeof(hint) };
	uint64_t end_us = scene_now_us() +
	    plain_amount(&stage->test, 1, 20) * 1000000;
	struct ringer ringer;
	struct ring_producer producer;
	bool fine = ringer_begin(stage, &ringer) && ring_producer_attach(
	    &producer, ringer.ring, ringer.bytes) == OK;

	while (fine && scene_now_us() < end_us) {
		bool doorbell = false;

		for (unsigned i = 0; i < 1000; i++) {
			(void)ring_push(&producer, RING_HINT, &part, 1,
			    &doorbell);
		}
		fine = raw_send_frame(ringer.fd, FRAME_DOORBELL, 0, NULL, 0);
	}
	ringer_end(&ringer);
	return fine;
}

int
main(int argc, char **argv)
{
	static struct misdeed_stage stage;

	if (!misdeed_begin(&stage, argc, argv)) {
		return plain_end(&stage.test);
	}
	misdeed_commit(&stage, "corrupt_rings", corrupt_rings);
	misdeed_commit(&stage, "scribbled_rings", scribble_on_rings);
	misdeed_commit(&stage, "punched_rings", punch_holes);
	misdeed_commit(&stage, "ring_flood", flood_rings);
	return misdeed_end(&stage);
}
