/* SPDX-License-Identifier: ISC */

/*
 * A look at one key, held against the ledger.
 */
#include "worker.h"

#include <stdio.h>
#include <string.h>

#define COUNTER_CLASS	16u

bool
worker_is_counter(uint32_t key)
{
	return key % COUNTER_CLASS == COUNTER_CLASS - 1;
}

struct key
worker_key(const struct pool *pool, uint32_t key, char *name)
{
	struct key k;
	int length = snprintf(name, 16, "key-%u", key);

	(void)key_init(&k, pool, name, (size_t)length);
	return k;
}

/* Read what is still being written, as far as it goes. */
static bool
look_growing(const struct pool *pool, const struct read_hit *hit,
    uint32_t key, uint8_t *buffer, struct stamp *stamp, bool *found,
    const char **why)
{
	size_t copied = 0;

	*found = false;
	if (hit->value_bytes < sizeof(*stamp) || read_chain(pool, hit, 0,
	    buffer, WORKER_VALUE_MAX, &copied) != OK ||
	    copied < sizeof(*stamp)) {
		return true;
	}
	*found = true;
	return ledger_parse(buffer, copied, false, key, stamp, why);
}

/* NULL, or why the answer is wrong. */
static const char *
judge(struct world_shared *shared, const struct pool *pool, uint32_t key,
    const struct ledger_view *view, enum result result,
    const struct read_hit *hit, uint8_t *buffer, struct stamp *stamp,
    bool *found)
{
	const char *why = NULL;

	*found = result == OK || result == STALE;
	if (result == GROWING) {
		if (!look_growing(pool, hit, key, buffer, stamp, found,
		    &why)) {
			return why;
		}
	} else if (!*found) {
		return result == MISS ? NULL : result_name(result);
	} else if (worker_is_counter(key)) {
		if (hit->value_bytes != sizeof(stamp->version)) {
			return "counter of another length";
		}
		memcpy(&stamp->version, buffer, sizeof(stamp->version));
		return ledger_judge_number(&shared->ledger, key, view,
		    stamp->version);
	} else if (!ledger_parse(buffer, hit->value_bytes, true, key, stamp,
	    &why)) {
		return why;
	}
	return *found ? ledger_judge(&shared->ledger, key, view, stamp,
	    result == OK) : NULL;
}

bool
worker_look(struct world_shared *shared, const struct pool *pool,
    uint32_t key, uint8_t *buffer, struct read_hit *hit, bool *found)
{
	char name[16];
	struct key k = worker_key(pool, key, name);
	struct boot_ms now = { atomic_load(&shared->now_ms) };
	struct ledger_view view = ledger_before(&shared->ledger, key, now.ms);
	enum result result = read_copy(pool, &k, now, buffer,
	    WORKER_VALUE_MAX, hit);
	struct stamp stamp = { 0 };
	const char *why = judge(shared, pool, key, &view, result, hit,
	    buffer, &stamp, found);

	if (why != NULL) {
		world_fail(shared, "key %u: %s (version %llu, epoch %llu; "
		    "%llu .. %llu, purged %llu)", key, why,
		    (unsigned long long)stamp.version,
		    (unsigned long long)stamp.epoch,
		    (unsigned long long)view.low, (unsigned long long)
		    atomic_load(&shared->ledger.key[key].highest),
		    (unsigned long long)view.hard);
	}
	return why == NULL;
}
