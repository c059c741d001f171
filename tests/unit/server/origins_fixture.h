/* SPDX-License-Identifier: ISC */

/*
 * Two origins with the built-in options, "default" and "web", in memory of
 * the test, whose door leads nowhere.
 */
#ifndef ORIGINS_FIXTURE_H
#define ORIGINS_FIXTURE_H

#include "origin.h"

#define FIXTURE_ORIGINS	2u

/* Asserts that all could be made; what is answered is static. */
struct origin *origins_fixture_create(void);
void	origins_fixture_destroy(void);

/* A call that goes on; false if it was refused or has to wait. */
bool	origins_fixture_call(struct origin *origin, uint64_t owner,
    struct boot_ms now, struct origin_ticket *ticket);

#endif
