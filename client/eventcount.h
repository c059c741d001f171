/* SPDX-License-Identifier: ISC */

/*
 * Threads of one process sleep until something of theirs has happened, and
 * many are woken with one system call.
 *
 *	sleeper				waker
 *	s1 epoch = load (acquire)	w1 make it so (release)
 *	s2 so already: done		w2 epoch + 1 (release)
 *	s3 sleep if epoch is the	w3 wake who shares a bit
 *	   same yet; s1
 *
 * Either s2 sees w1, or s1 came before w2, and then s3 does not sleep, or is
 * woken by w3.  Bits are a sleeper's number modulo 32: who is woken for
 * another's sake sleeps again.  Nothing of a sleeper but w1 is touched, so it
 * may be gone by w3.
 */
#ifndef EVENTCOUNT_H
#define EVENTCOUNT_H

#include <stdatomic.h>
#include <stdint.h>

struct eventcount {
	_Atomic uint32_t epoch;
};

static inline uint32_t
eventcount_bit(uint64_t number)
{
	return 1u << (number % 32);
}

/* s1. */
static inline uint32_t
eventcount_epoch(const struct eventcount *count)
{
	/* Acquire, partner: w2. */
	return atomic_load_explicit(&count->epoch, memory_order_acquire);
}

/* s3, until a time of CLOCK_MONOTONIC.  May return for no reason. */
void	eventcount_sleep(struct eventcount *count, uint32_t epoch,
    uint32_t bits, uint64_t until_ns);

/* w2 and w3. */
void	eventcount_wake(struct eventcount *count, uint32_t bits);

#endif
