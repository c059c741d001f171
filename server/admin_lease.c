/* SPDX-License-Identifier: ISC */

/*
 * The verb that lists flights: who computes which key, and who waits.  Keys
 * are told by their hash: the table does not know them.
 */
#include "admin.h"

#include <stdio.h>

#include "admin_args.h"
#include "admin_origin.h"
#include "lease.h"

#define LEASES_SHOWN		100u
#define LEASES_SHOWN_MAX	10000u
/* Shards whose lock is not had (a stopped process) before it gives up. */
#define SHARDS_LOCKED_MAX	4u

struct listing {
	const struct admin *admin;
	json_t		*rows;
	size_t		most;
	bool		more;
};

static const char *
state_name(uint8_t state)
{
	static const char *const names[FLIGHT_STATES] = {
		[FLIGHT_FREE] = "free",
		[FLIGHT_LEADING] = "leading",
		[FLIGHT_OFFERED] = "offered",
		[FLIGHT_ENDED] = "ended",
		[FLIGHT_BACKOFF] = "back-off",
		[FLIGHT_MARK] = "mark",
	};

	return state < FLIGHT_STATES ? names[state] : "unknown";
}

static void
put_times(const struct admin *admin, json_t *row,
    const struct flight *flight)
{
	uint64_t now_ms = admin->now.ms;
	bool note = flight->state == FLIGHT_BACKOFF ||
	    flight->state == FLIGHT_MARK;

	/* No age and no time left are null. */
	admin_put_number(row, "age_ms", note ||
	    flight->started_ms > now_ms ? UINT64_MAX :
	    now_ms - flight->started_ms);
	if (flight->state == FLIGHT_ENDED) {
		(void)json_object_set_new(row, "left_ms", json_null());
	} else {
		admin_put_number(row, "left_ms",
		    flight->deadline_ms > now_ms ?
		    flight->deadline_ms - now_ms : 0);
	}
}

/* Under the shard's lock: memory is taken, nothing else is waited for. */
static bool
add_flight(void *arg, uint32_t shard, const struct flight *flight)
{
	struct listing *listing = arg;
	json_t *row;

	if (json_array_size(listing->rows) >= listing->most) {
		listing->more = true;
		return false;
	}
	row = json_object();
	admin_put_number(row, "shard", shard);
	(void)json_object_set_new(row, "key_hash", json_sprintf("%016llx",
	    (unsigned long long)flight->hash));
	(void)json_object_set_new(row, "state",
	    json_string(state_name(flight->state)));
	(void)json_object_set_new(row, "leader",
	    admin_origin_holder(listing->admin, flight->leader));
	put_times(listing->admin, row, flight);
	admin_put_number(row, "waiters", flight->waiters);
	admin_put_number(row, "failures", flight->failures);
	(void)json_object_set_new(row, "code",
	    flight->state == FLIGHT_ENDED || flight->state == FLIGHT_BACKOFF ?
	    json_integer(flight->code) : json_null());
	(void)json_object_set_new(row, "touched",
	    json_boolean(flight->touched != 0));
	(void)json_array_append_new(listing->rows, row);
	return true;
}

enum result
admin_leases(struct admin *admin)
{
	struct listing listing = { .admin = admin };
	enum result result = admin_args_pool(admin);
	uint32_t locked = 0;
	uint64_t most;

	if (result != OK) {
		return result;
	}
	if (!admin_get_number(admin, "limit", LEASES_SHOWN, &most)) {
		return INVALID;
	}
	if (most == 0 || most > LEASES_SHOWN_MAX) {
		(void)snprintf(admin->text, sizeof(admin->text),
		    "\"limit\" is 1 to %u", LEASES_SHOWN_MAX);
		return INVALID;
	}
	listing.most = (size_t)most;
	listing.rows = json_array();
	for (uint32_t i = 0; i < admin->pool->g.shard_count &&
	    !listing.more; i++) {
		locked += lease_list(admin->pool, i, add_flight,
		    &listing) != OK;
		listing.more |= locked == SHARDS_LOCKED_MAX;
	}
	(void)json_object_set_new(admin->answer, "pool", json_string(
	    admin->heritage->config.pools[admin->pool_index].name));
	(void)json_object_set_new(admin->answer, "leases", listing.rows);
	(void)json_object_set_new(admin->answer, "more",
	    json_boolean(listing.more));
	admin_put_number(admin->answer, "shards_locked", locked);
	return OK;
}
