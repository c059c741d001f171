/* SPDX-License-Identifier: ISC */

/*
 * Many clients of one daemon: processes with a handle each, and threads over
 * it, that start together and count what they got in shared memory.  The
 * bench's first process starts them and waits; the members run in children.
 */
#ifndef SWARM_H
#define SWARM_H

#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon.h"
#include "histogram.h"
#include "prng.h"

#define SWARM_PROCESSES_MAX	64u
#define SWARM_PHASES		3u

/* What one member got in one phase. */
struct swarm_tally {
	uint64_t	asked;
	uint64_t	hits;
	uint64_t	stale;
	uint64_t	computed;
	uint64_t	waited;
	uint64_t	refused;	/* no value, as the origin is guarded */
	uint64_t	failed;		/* no value for any other reason */
	int		failed_as;	/* the last of these */
	uint64_t	wrong;		/* a value, but another's */
	uint64_t	dropped;	/* never asked: the member was late */
	uint64_t	first_ns;	/* when it began and ended */
	uint64_t	last_ns;
	struct histogram latency;
};

struct swarm_member {
	struct swarm	*swarm;
	struct weir	*weir;		/* of its process */
	unsigned	number;
	void		*arg;
	struct prng	prng;
	struct swarm_tally *tally;	/* as many as the swarm has phases */
};

/* Sets itself up, calls swarm_wait_for_start(), works, returns. */
typedef void (swarm_fn)(struct swarm_member *member);

struct swarm {
	const struct bench *b;
	unsigned	processes;
	unsigned	threads;	/* in each */
	unsigned	member_count;
	unsigned	phases;
	pid_t		pids[SWARM_PROCESSES_MAX];
	/* in shared memory */
	struct swarm_shared *shared;
};

struct swarm_shared {
	sem_t		go;
	uint64_t	start_ns;	/* set before go */
	_Atomic uint32_t ready;
	_Atomic uint64_t next;		/* of swarm_claim() */
	struct swarm_tally tallies[];
};

/* All run and are ready, or the bench ends.  SWARM_PHASES, or so many. */
void	swarm_start(const struct bench *b, struct swarm *swarm,
	    const struct daemon *d, unsigned processes, unsigned threads,
	    swarm_fn *fn, void *arg);
void	swarm_start_phases(const struct bench *b, struct swarm *swarm,
	    const struct daemon *d, unsigned processes, unsigned threads,
	    swarm_fn *fn, void *arg, unsigned phases);

/* Lets them go at that time. */
void	swarm_go(struct swarm *swarm, uint64_t start_ns);

/* Waits for their end; ends the bench if one died or got a wrong value. */
void	swarm_finish(struct swarm *swarm);

/* After the finish: the sum of all members' tallies of a phase. */
void	swarm_sum(const struct swarm *swarm, unsigned phase,
	    struct swarm_tally *sum);

/* One more tally into a sum, whose histogram is initialised. */
void	swarm_add(struct swarm_tally *sum, const struct swarm_tally *one);

void	swarm_free(struct swarm *swarm);

/* For a member: the common start; it is that time when it returns. */
uint64_t swarm_wait_for_start(struct swarm_member *member);

/* The next number from 0 on, each given to one member. */
uint64_t swarm_claim(struct swarm_member *member);

void	swarm_sleep_until(uint64_t ns);

static inline void
swarm_record(struct swarm_tally *tally, uint64_t ns)
{
	/* Not before: most members have phases without a record. */
	if (tally->latency.count == 0) {
		histogram_init(&tally->latency);
	}
	histogram_record(&tally->latency, ns);
}

#endif
