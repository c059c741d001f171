/* SPDX-License-Identifier: ISC */

/*
 * A side of a comparison that lives in a process of its own, on a core of
 * its own, and runs once for each order that the bench sends it.  Sides stay
 * warm between their turns and never run while another has its turn, but
 * for those that are asked together.
 */
#ifndef SIDE_H
#define SIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Where an executed side finds its orders, and the descriptor it is given. */
#define SIDE_ORDERS_FD	0
#define SIDE_GIVEN_FD	3

struct side {
	pid_t	pid;
	int	fd;
};

/* Answers with nanoseconds to an operation, NaN if the run is void. */
typedef double (side_run_fn)(void *argument, uint32_t order);

/* In the forked process: sets up, calls side_serve(), returns. */
typedef void (side_body_fn)(void *argument, int fd);

/* A side in a forked process on the nth core; false if refused. */
bool	side_fork(struct side *side, unsigned core, side_body_fn *body,
	    void *argument);

/*
 * The same for a program beside this one: it is started as `NAME --serve`
 * with the two descriptors above.
 */
bool	side_exec(struct side *side, unsigned core, const char *name,
	    int given_fd);

/* For a side: run each order until there are no more. */
void	side_serve(int fd, side_run_fn *run, void *argument);

/* NaN if the side died or its run was void. */
double	side_ask(const struct side *side, uint32_t order);

/* The same in two steps, for who does something meanwhile. */
void	side_send(const struct side *side, uint32_t order);
double	side_answer(const struct side *side);

/* All at once: nanoseconds to an operation of all of them together. */
double	side_ask_all(const struct side *sides, size_t count, uint32_t order);

void	side_stop(struct side *side);

#endif
