/* SPDX-License-Identifier: ISC */

/*
 * A streamed SET: the first byte says in which steps the body comes, the next
 * two how long it claims to be beyond what is there.
 */
#include "fuzz_target.h"

#include <string.h>

#include "set_stream.h"

const char fuzz_name[] = "set";

static struct pool pool;

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	static struct set_stream stream;
	struct boot_ms now = { .ms = 1000 };
	uint64_t budget = 0, version = 0, claimed;
	size_t step;

	if (pool.header == NULL) {
		struct pool_params params = {
			.name = "fuzz", .pool_bytes = POOL_MIN_BYTES,
			.worker_count = 1, .now = now,
		};

		FUZZ_CHECK(pool_create(&pool, &params) == OK);
		pool_become_worker(&pool, 0);
	}
	if (length < 3) {
		return 0;
	}
	step = (size_t)bytes[0] + 1;
	claimed = length - 3 + bytes[1] + ((uint64_t)bytes[2] << 8);
	set_stream_begin(&stream, &pool, claimed, &budget, now);
	for (size_t at = 3; at < length; at += step) {
		set_stream_feed(&stream, bytes + at, length - at < step ?
		    length - at : step, now);
	}
	if (claimed == length - 3) {
		(void)set_stream_end(&stream, now, &version);
	} else {
		set_stream_drop(&stream);
	}
	FUZZ_CHECK(budget == 0);
	return 0;
}
