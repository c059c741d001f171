/* SPDX-License-Identifier: ISC */

/*
 * Arguments that several verbs take.  Workers.
 */
#ifndef ADMIN_ARGS_H
#define ADMIN_ARGS_H

#include <stdbool.h>
#include <stdint.h>

#include "admin.h"
#include "pool.h"

/*
 * The pool and the key of "key" or "key64"; OK, or what is wrong, with
 * admin->text.  *bytes is the key's memory, which the caller frees, on an
 * error NULL.
 */
enum result admin_args_key(struct admin *admin, struct key *key,
    uint8_t **bytes);

/* INVALID with a text if no pool was named and there are several. */
enum result admin_args_pool(struct admin *admin);

/* "ttl_ms" and "soft_ttl_ms" as moments; 0 and none: never. */
bool	admin_args_times(struct admin *admin, uint64_t *soft_ms,
    uint64_t *hard_ms);

#endif
