/* SPDX-License-Identifier: ISC */

/*
 * The breakers of an origin: its own, and those of its partitions where they
 * are asked for.  A call is admitted by both and counts in both.  Daemon
 * processes, with the origin's lock.
 */
#include "origin_record.h"

#include <string.h>

/* A new breaker's generations: none that an older one in its row had. */
#define GENERATION_SHIFT	32

/* The number of the row, or ORIGIN_BREAKERS. */
static unsigned
find_row(const struct origin *origin, uint64_t partition)
{
	const struct origin_record *record = origin->record;
	unsigned row = 0;

	if (!record->config.breaker_by_partition || partition == 0) {
		return ORIGIN_BREAKERS;
	}
	while (row < ORIGIN_BREAKERS &&
	    record->partitions.hash[row] != partition) {
		row++;
	}
	return row;
}

static struct breaker *
find_breaker(struct origin *origin, uint64_t partition)
{
	unsigned row = find_row(origin, partition);

	return row == ORIGIN_BREAKERS ? NULL :
	    &origin->record->partitions.breaker[row];
}

/* A row for a partition that has none; none if all are open. */
static unsigned
make_row(struct origin *origin, uint64_t partition, struct boot_ms now)
{
	struct origin_record *record = origin->record;
	struct origin_partitions *rows = &record->partitions;
	unsigned row = ORIGIN_BREAKERS;
	uint64_t oldest_ms = UINT64_MAX;

	for (unsigned i = 0; i < ORIGIN_BREAKERS; i++) {
		uint64_t failed_ms = rows->failed_ms[i];

		if (rows->hash[i] == 0 || failed_ms > now.ms) {
			failed_ms = 0;
		}
		if ((rows->hash[i] == 0 ||
		    breaker_state_now(&rows->breaker[i],
		    &record->config.breaker, now) == BREAKER_CLOSED) &&
		    failed_ms < oldest_ms) {
			row = i;
			oldest_ms = failed_ms;
		}
	}
	if (row != ORIGIN_BREAKERS) {
		rows->hash[row] = 0;
		memset(&rows->breaker[row], 0, sizeof(rows->breaker[row]));
		rows->breaker[row].generation = ++record->breakers_made <<
		    GENERATION_SHIFT;
		rows->hash[row] = partition;
	}
	return row;
}

static void
note_event(struct origin *origin, unsigned event)
{
	origin->record->events |= event;
}

/* What an edge of a breaker means to the log and to those who wait. */
static void
follow_edge(struct origin *origin, const struct breaker *breaker,
    uint32_t before)
{
	bool own = breaker == &origin->record->breaker;

	if (breaker->state == before) {
		return;
	}
	switch (breaker->state) {
	case BREAKER_OPEN:
		note_event(origin, own ? ORIGIN_OPENED :
		    ORIGIN_PARTITION_OPENED);
		origin_tell_opened_locked(origin);
		break;
	case BREAKER_HALF_OPEN:
		note_event(origin, own ? ORIGIN_HALF_OPENED :
		    ORIGIN_NO_EVENT);
		break;
	default:
		note_event(origin, own ? ORIGIN_CLOSED :
		    ORIGIN_PARTITION_CLOSED);
		break;
	}
}

bool
origin_is_open_locked(struct origin *origin, uint64_t partition,
    struct boot_ms now, uint64_t *retry_after_ms)
{
	struct origin_record *record = origin->record;
	struct breaker *breaker;

	if (breaker_is_open(&record->breaker, &record->config.breaker, now,
	    retry_after_ms)) {
		return true;
	}
	breaker = find_breaker(origin, partition);
	return breaker != NULL && breaker_is_open(breaker,
	    &record->config.breaker, now, retry_after_ms);
}

static bool
owner_is_dead(const struct origin *origin, uint64_t owner)
{
	return owner != 0 && origin->door.dead != NULL &&
	    origin->door.dead(origin->door.arg, owner);
}

static enum result
admit_one(struct origin *origin, struct breaker *breaker, uint64_t owner,
    bool foreground, struct boot_ms now,
    struct breaker_admission *admission)
{
	uint32_t before = breaker->state;
	enum result res = breaker_admit(breaker,
	    &origin->record->config.breaker, owner, foreground,
	    owner_is_dead(origin, breaker->probe_owner), now, admission);

	follow_edge(origin, breaker, before);
	return res;
}

static void
record_one(struct origin *origin, struct breaker *breaker,
    uint64_t generation, bool probe, enum breaker_outcome outcome,
    uint64_t partition, uint64_t random, struct boot_ms now)
{
	struct breaker_admission admission = {
		.generation = generation,
		.probe = probe,
	};
	uint32_t before = breaker->state;

	(void)breaker_record(breaker, &origin->record->config.breaker,
	    &admission, outcome, partition, random, now);
	follow_edge(origin, breaker, before);
}

enum result
origin_admit_locked(struct origin *origin, uint64_t owner,
    uint64_t partition, bool foreground, struct boot_ms now,
    struct origin_pass *pass, uint64_t *retry_after_ms)
{
	struct breaker *single = find_breaker(origin, partition);
	struct breaker_admission own, other = { 0 };

	memset(pass, 0, sizeof(*pass));
	if (single != NULL && admit_one(origin, single, owner, foreground,
	    now, &other) != OK) {
		*retry_after_ms = other.retry_after_ms;
		return BUSY;
	}
	if (admit_one(origin, &origin->record->breaker, owner, foreground,
	    now, &own) != OK) {
		/* No call, no answer: its probe is the next one's. */
		if (other.probe) {
			record_one(origin, single, other.generation, true,
			    BREAKER_NEUTRAL, partition, 0, now);
		}
		*retry_after_ms = own.retry_after_ms;
		return BUSY;
	}
	pass->generation = own.generation;
	pass->partition_generation = other.generation;
	pass->probe = (own.probe ? ORIGIN_PROBE : 0u) |
	    (other.probe ? ORIGIN_PARTITION_PROBE : 0u);
	return OK;
}

/* The breaker of its partition; a first failure makes one. */
static void
record_partition(struct origin *origin, const struct origin_pass *pass,
    enum breaker_outcome outcome, uint64_t partition, uint64_t random,
    struct boot_ms now)
{
	struct origin_partitions *rows = &origin->record->partitions;
	uint64_t generation = pass->partition_generation;
	unsigned row = find_row(origin, partition);

	if (row == ORIGIN_BREAKERS && outcome == BREAKER_FAILURE) {
		row = make_row(origin, partition, now);
	}
	if (row == ORIGIN_BREAKERS) {
		return;
	}
	/* Admitted before it had one: counts until its first edge. */
	if (generation == 0) {
		generation = rows->breaker[row].generation >>
		    GENERATION_SHIFT << GENERATION_SHIFT;
	}
	if (outcome == BREAKER_FAILURE) {
		rows->failed_ms[row] = now.ms;
	}
	record_one(origin, &rows->breaker[row], generation,
	    (pass->probe & ORIGIN_PARTITION_PROBE) != 0, outcome, partition,
	    random, now);
}

void
origin_record_locked(struct origin *origin, const struct origin_pass *pass,
    enum breaker_outcome outcome, uint64_t partition, uint64_t random,
    struct boot_ms now)
{
	struct origin_record *record = origin->record;

	record_one(origin, &record->breaker, pass->generation,
	    (pass->probe & ORIGIN_PROBE) != 0, outcome, partition, random,
	    now);
	if (record->config.breaker_by_partition && partition != 0) {
		record_partition(origin, pass, outcome, partition, random,
		    now);
	}
}

static void
lose_probe(struct origin *origin, struct breaker *breaker)
{
	if (owner_is_dead(origin, breaker->probe_owner)) {
		breaker_lose_probe(breaker);
	}
}

void
origin_lose_probes_locked(struct origin *origin)
{
	struct origin_record *record = origin->record;

	lose_probe(origin, &record->breaker);
	for (unsigned i = 0; i < ORIGIN_BREAKERS; i++) {
		if (record->partitions.hash[i] != 0) {
			lose_probe(origin, &record->partitions.breaker[i]);
		}
	}
}
