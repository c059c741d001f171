/* SPDX-License-Identifier: ISC */

/*
 * A breaker under test and who calls it.
 */
#include "breaker_fixture.h"

#include <criterion/criterion.h>

struct bench
bench_start(void)
{
	struct bench b = {
		.config = BREAKER_CONFIG_INIT,
		.now = { .ms = 1000000 },
	};

	return b;
}

enum result
bench_ask(struct bench *b, uint64_t owner, struct breaker_admission *admission)
{
	return breaker_admit(&b->breaker, &b->config, owner, true, false,
	    b->now, admission);
}

bool
bench_say(struct bench *b, const struct breaker_admission *admission,
    enum breaker_outcome outcome, uint64_t partition)
{
	/* Half of the spread: the open time is open_ms itself. */
	uint64_t jitter = (uint64_t)b->config.open_ms * BREAKER_JITTER_PCT /
	    100;

	return breaker_record(&b->breaker, &b->config, admission, outcome,
	    partition, jitter, b->now);
}

bool
bench_call(struct bench *b, enum breaker_outcome outcome, uint64_t partition)
{
	struct breaker_admission admission;

	if (bench_ask(b, ALICE, &admission) != OK) {
		return false;
	}
	(void)bench_say(b, &admission, outcome, partition);
	return true;
}

void
bench_fail_until_open(struct bench *b)
{
	for (unsigned i = 0; i < 1000 && b->breaker.state != BREAKER_OPEN;
	    i++) {
		(void)bench_call(b, BREAKER_FAILURE, 1 + i % 4);
	}
	cr_assert_eq(b->breaker.state, BREAKER_OPEN);
}

void
bench_await_half_open(struct bench *b)
{
	uint64_t retry_after_ms;

	b->now.ms = b->breaker.open_until_ms - 1;
	cr_assert(breaker_is_open(&b->breaker, &b->config, b->now,
	    &retry_after_ms));
	cr_assert_eq(retry_after_ms, 1);
	b->now.ms = b->breaker.open_until_ms;
	cr_assert_eq(breaker_state_now(&b->breaker, &b->config, b->now),
	    BREAKER_HALF_OPEN);
	cr_assert_not(breaker_is_open(&b->breaker, &b->config, b->now,
	    &retry_after_ms));
}
