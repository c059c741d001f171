/* SPDX-License-Identifier: ISC */

/*
 * A pool that has something of everything verify looks at, and the words
 * for what it should find.
 */
#ifndef VERIFY_FIXTURE_H
#define VERIFY_FIXTURE_H

#include "test_pool.h"

#define VERIFY_FIXTURE_KEYS	220u

/* The keys; the last 20 are one bucket's. */
extern char verify_fixture_texts[VERIFY_FIXTURE_KEYS][TEST_KEY_BYTES];

/* One shard with entries in both queues, overflow lines and a chain. */
struct pool verify_fixture_make(void);

/* These invariants and no other are told. */
#define EXPECT_FAULTS(...) do {						\
	static const unsigned want_[] = { __VA_ARGS__ };		\
	uint32_t told_ = test_pool_faults(&pool), mask_ = 0;		\
									\
	for (unsigned i_ = 0; i_ < sizeof(want_) / sizeof(want_[0]);	\
	    i_++) {							\
		mask_ |= 1u << want_[i_];				\
	}								\
	cr_expect_eq(told_, mask_, "told %#x, not %#x: %s", told_,	\
	    mask_, test_pool_verify(&pool));				\
} while (0)

#endif
