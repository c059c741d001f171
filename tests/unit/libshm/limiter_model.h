/* SPDX-License-Identifier: ISC */

/*
 * A limiter that is right because it is slow: one list of callers in the
 * order of their arrival, and every question is a walk over it.
 */
#ifndef LIMITER_MODEL_H
#define LIMITER_MODEL_H

#include "limiter.h"

#define MODEL_CALLERS	256u
#define MODEL_HOSTS	4u
#define MODEL_PARTITIONS 6u

enum model_state {
	MODEL_GONE,
	MODEL_WAITING,
	MODEL_GRANTED,		/* not collected yet */
	MODEL_HELD,
};

struct model_caller {
	enum model_state state;
	struct limiter_request request;
	struct limiter_ticket ticket;	/* of the limiter that is tested */
	uint64_t	deadline_ms;	/* of its wait, then of its permit */
	uint64_t	listed;		/* GRANTED: order in which told, or 0 */
};

struct model {
	struct model_caller callers[MODEL_CALLERS];
	uint32_t	count;		/* also of those who are gone */
	uint32_t	caps[MODEL_HOSTS][MODEL_PARTITIONS];
	uint64_t	grants;
	uint64_t	refused[LIMITER_REFUSALS];
	uint64_t	told;
};

/* OK or GROWING: *caller is new.  BUSY: *why. */
enum result model_acquire(struct model *model,
    const struct limiter_config *config,
    const struct limiter_request *request, struct boot_ms now,
    struct model_caller **caller, enum limiter_refusal *why);

void	model_grant(struct model *model, const struct limiter_config *config,
    struct boot_ms now);

/* It holds nothing and waits for nothing from now on. */
void	model_end(struct model *model, struct model_caller *caller);

/* The first that its worker was told of, and takes now; NULL: none. */
struct model_caller *model_next_granted(struct model *model,
    uint64_t worker);

/* Frees what is dead or overdue; a dead_worker of 0 is nobody. */
void	model_sweep(struct model *model, const bool *dead,
    uint64_t dead_worker, struct boot_ms now);

/* What a rebuild does beyond a sweep. */
void	model_rebuild(struct model *model);

uint32_t model_count(const struct model *model, enum model_state state);
uint32_t model_in_flight(const struct model *model);

#endif
