/* SPDX-License-Identifier: ISC */

/*
 * What verbs of origins and leases show in one way.  Workers.
 */
#ifndef ADMIN_ORIGIN_H
#define ADMIN_ORIGIN_H

#include "admin.h"

/*
 * Who holds a permit, a probe or a lease, as an object: pid and uid of a
 * client, number of a worker, or that it is gone; null for nobody.
 */
json_t	*admin_origin_holder(const struct admin *admin, uint64_t holder);

/* What is left of a time until then; null if it is over or was none. */
void	admin_origin_put_left(json_t *object, const char *name,
    uint64_t until_ms, struct boot_ms now);

#endif
