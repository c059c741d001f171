/* SPDX-License-Identifier: ISC */

/*
 * Clients that do their worst, each with one beside it that behaves: it is
 * served, no worker dies, and the daemon's own memory stays bounded.
 */
#ifndef MISDEED_H
#define MISDEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "prng.h"
#include "scene.h"

struct misdeed_stage {
	struct plain_test test;
	struct scene	scene;
	struct prng	prng;
	struct bystander other;
	/* of the daemon before anything was done */
	pid_t		worker[2];
	uint64_t	private_kib;
};

/* False: the daemon did not answer it as it should. */
typedef bool (*misdeed_fn)(struct misdeed_stage *stage);

/* Arguments, and a daemon of two workers; false: there is none. */
bool	misdeed_begin(struct misdeed_stage *stage, int argc, char **argv);
void	misdeed_commit(struct misdeed_stage *stage, const char *name,
	    misdeed_fn misdeed);
/* The exit status of the program. */
int	misdeed_end(struct misdeed_stage *stage);

/* Bytes by chance. */
void	misdeed_fill(struct misdeed_stage *stage, uint8_t *out,
	    size_t length);

#endif
