/* SPDX-License-Identifier: ISC */

/*
 * An origin in shared memory, with a door that remembers whom it told and
 * knows whom the test calls dead.
 */
#ifndef ORIGIN_FIXTURE_H
#define ORIGIN_FIXTURE_H

#include "origin.h"

#include "prng.h"

#define PARTITION	501u
#define FIRST_OWNER	100u
#define ORIGIN_INDEX	3u

struct world {
	struct origin	origin;
	struct origin_config config;
	void		*memory;
	size_t		bytes;
	struct boot_ms	now;
	struct prng	random;
	/* what the door was told, in one word and how often */
	uint64_t	told;
	unsigned	tells;
	/* owners below are dead, and worker words of this index */
	uint64_t	dead_below;
	uint64_t	dead_worker;
	int		signal_when_told;	/* 0 none */
	unsigned	events;		/* of all calls so far */
	unsigned	opened;		/* how often each was told */
	unsigned	closed;
};

/* Defaults, or change world->config between these two. */
void	world_init(struct world *world);
void	world_create(struct world *world);

/* Both. */
void	world_start(struct world *world);

/* A foreground call that would wait, of that owner and partition. */
struct origin_request world_request(uint64_t owner, uint64_t partition);

enum origin_answer world_acquire(struct world *world, uint64_t owner,
    uint64_t partition, struct origin_ticket *ticket);
enum origin_answer world_ask(struct world *world,
    const struct origin_request *request, struct origin_ticket *ticket);
enum origin_answer world_collect(struct world *world, uint64_t owner,
    struct origin_ticket *ticket);
enum result world_release(struct world *world, uint64_t owner,
    const struct origin_ticket *ticket, enum breaker_outcome outcome);
void	world_sweep(struct world *world);
struct origin_view world_look(struct world *world);

/* A whole call; what acquire said. */
enum origin_answer world_call(struct world *world, uint64_t owner,
    uint64_t partition, enum breaker_outcome outcome);

/* So many calls, of the owners FIRST_OWNER and up, that stay under way. */
void	world_fill(struct world *world, struct origin_ticket *tickets,
    unsigned count);

/* Calls of four partitions that fail, until it is open. */
void	world_fail_until_open(struct world *world);

/* No fault, and nothing held or waited for. */
void	world_expect_idle(struct world *world);

#endif
