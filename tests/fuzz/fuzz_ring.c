/* SPDX-License-Identifier: ISC */

/*
 * A ring whose producer writes what it likes: 8 bytes are the tail, the rest
 * is laid over the data.
 */
#include "fuzz_target.h"

#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "protocol.h"
#include "ring_session.h"

#define CAPACITY	16384u

const char fuzz_name[] = "ring";

static struct pool pool;

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	static uint8_t record[CAPACITY];
	struct boot_ms now = { .ms = 1000 };
	struct ring_session ring;
	struct ring_shared *shared;
	int fd;

	if (pool.header == NULL) {
		struct pool_params params = {
			.name = "fuzz", .pool_bytes = POOL_MIN_BYTES,
			.worker_count = 1, .now = now,
		};

		FUZZ_CHECK(pool_create(&pool, &params) == OK);
		pool_become_worker(&pool, 0);
	}
	if (length < 8) {
		return 0;
	}
	FUZZ_CHECK(ring_session_create(&ring, &pool, NULL, CAPACITY, now,
	    &fd) == OK);
	(void)close(fd);
	shared = ring.mem;
	memcpy(shared->data, bytes + 8, length - 8 < CAPACITY ? length - 8 :
	    CAPACITY);
	/* Relaxed: one thread. */
	atomic_store_explicit(&shared->tail, wire_get_u64(bytes),
	    memory_order_relaxed);
	if (ring_session_drain(&ring, 0, now, record, sizeof(record)) == OK) {
		FUZZ_CHECK(ring.consumer.head == wire_get_u64(bytes));
		FUZZ_CHECK(ring_session_arm(&ring));
	}
	ring_session_destroy(&ring);
	return 0;
}
