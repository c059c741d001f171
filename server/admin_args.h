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

/*
 * The origin of "origin": OK, INVALID if none was named, MISS if there is
 * none of that name, with a text.
 */
enum result admin_args_origin(struct admin *admin, struct origin **origin);

/*
 * "reason" into admin->reason, so that it cannot be taken for another part of
 * the log's line.  INVALID: not a text, too long, or with a zero in it.
 */
enum result admin_args_reason(struct admin *admin);

/* "ttl_ms" and "soft_ttl_ms" as moments; 0 and none: never. */
bool	admin_args_times(struct admin *admin, uint64_t *soft_ms,
    uint64_t *hard_ms);

#endif
