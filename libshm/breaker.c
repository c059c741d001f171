/* SPDX-License-Identifier: ISC */

/*
 * The breaker's state machine.  Daemon processes, with the origin's lock.
 */
#include "breaker.h"

#include "breaker_window.h"
#include "fault.h"

/* Doublings that reach any open time from one millisecond. */
#define DOUBLINGS_MAX	32u

static const char *const state_names[] = {
	[BREAKER_CLOSED] = "closed",
	[BREAKER_OPEN] = "open",
	[BREAKER_HALF_OPEN] = "half-open",
};

const char *
breaker_state_name(enum breaker_state state)
{
	return (unsigned)state <= BREAKER_HALF_OPEN ? state_names[state] :
	    "unknown";
}

static bool
edge_is_legal(uint32_t from, enum breaker_state to, bool by_hand)
{
	switch (to) {
	case BREAKER_OPEN:
		return by_hand || from != BREAKER_OPEN;
	case BREAKER_HALF_OPEN:
		return from == BREAKER_OPEN;
	default:
		return by_hand || from == BREAKER_HALF_OPEN;
	}
}

/* The only writer of the state. */
static bool
change_state(struct breaker *breaker, enum breaker_state to, bool by_hand,
    struct boot_ms now)
{
	if (!edge_is_legal(breaker->state, to, by_hand)) {
		return false;
	}
	breaker->generation++;
	breaker->probe_owner = 0;
	breaker->changed_ms = now.ms;
	breaker->state = to;
	return true;
}

static void
cut(uint64_t *until_ms, uint64_t longest_ms, struct boot_ms now)
{
	if (*until_ms > now.ms && *until_ms - now.ms > longest_ms) {
		*until_ms = now.ms + longest_ms;
	}
}

/*
 * Words that no call here could have stored, and times that a clock which
 * went back has moved away, are brought into range: stored, so that they end.
 */
static void
mend(struct breaker *breaker, const struct breaker_config *config,
    struct boot_ms now)
{
	uint64_t open_max_ms = config->open_max_ms +
	    (uint64_t)config->open_max_ms * BREAKER_JITTER_PCT / 100;

	if (breaker->state > BREAKER_HALF_OPEN) {
		breaker->state = BREAKER_CLOSED;
	}
	cut(&breaker->open_until_ms, open_max_ms, now);
	cut(&breaker->probe_deadline_ms, config->probe_ms, now);
	cut(&breaker->hold_until_ms, BREAKER_HOLD_MAX_MS, now);
}

/* open_ms doubled for each time in a row, cut, then +- the jitter. */
static uint64_t
open_time_ms(const struct breaker *breaker,
    const struct breaker_config *config, uint64_t jitter)
{
	uint32_t doublings = breaker->reopened < DOUBLINGS_MAX ?
	    breaker->reopened : DOUBLINGS_MAX;
	uint64_t ms = (uint64_t)config->open_ms << doublings;
	uint64_t spread;

	if (ms > config->open_max_ms) {
		ms = config->open_max_ms;
	}
	spread = ms * BREAKER_JITTER_PCT / 100;
	return ms - spread + jitter % (2 * spread + 1);
}

static bool
open_now(struct breaker *breaker, const struct breaker_config *config,
    uint64_t jitter, bool by_hand, struct boot_ms now)
{
	uint64_t ms = open_time_ms(breaker, config, jitter);

	if (!change_state(breaker, BREAKER_OPEN, by_hand, now)) {
		return false;
	}
	breaker->open_until_ms = now.ms + ms;
	breaker->opened_count++;
	if (breaker->reopened < UINT32_MAX) {
		breaker->reopened++;
	}
	return true;
}

static bool
held(const struct breaker *breaker, struct boot_ms now)
{
	return now.ms < breaker->hold_until_ms;
}

static bool
held_open(const struct breaker *breaker)
{
	return breaker->hold_state == BREAKER_OPEN;
}

enum breaker_state
breaker_state_now(const struct breaker *breaker,
    const struct breaker_config *config, struct boot_ms now)
{
	if (held(breaker, now)) {
		return held_open(breaker) ? BREAKER_OPEN : BREAKER_CLOSED;
	}
	if (!config->enabled) {
		return BREAKER_CLOSED;
	}
	switch (breaker->state) {
	case BREAKER_OPEN:
		return now.ms < breaker->open_until_ms ? BREAKER_OPEN :
		    BREAKER_HALF_OPEN;
	case BREAKER_HALF_OPEN:
		return BREAKER_HALF_OPEN;
	default:
		return BREAKER_CLOSED;
	}
}

bool
breaker_is_open(struct breaker *breaker, const struct breaker_config *config,
    struct boot_ms now, uint64_t *retry_after_ms)
{
	mend(breaker, config, now);
	if (breaker_state_now(breaker, config, now) != BREAKER_OPEN) {
		return false;
	}
	*retry_after_ms = (held(breaker, now) ? breaker->hold_until_ms :
	    breaker->open_until_ms) - now.ms;
	return true;
}

void
breaker_lose_probe(struct breaker *breaker)
{
	if (FAULT(breaker_probe_never_lost)) {
		return;
	}
	breaker->generation++;
	breaker->probe_owner = 0;
}

static bool
probe_is_taken(const struct breaker *breaker, struct boot_ms now)
{
	return breaker->state == BREAKER_HALF_OPEN &&
	    !FAULT(breaker_probe_twice) && breaker->probe_owner != 0 &&
	    now.ms < breaker->probe_deadline_ms;
}

/* A probe that is under way tells soon; longer than open_ms is no use. */
static enum result
refuse_behind_probe(const struct breaker *breaker,
    const struct breaker_config *config, struct boot_ms now,
    struct breaker_admission *admission)
{
	uint64_t ms = config->open_ms == 0 ? 1 : config->open_ms;

	if (probe_is_taken(breaker, now) &&
	    breaker->probe_deadline_ms - now.ms < ms) {
		ms = breaker->probe_deadline_ms - now.ms;
	}
	admission->retry_after_ms = ms;
	return BUSY;
}

static enum result
admit_probe(struct breaker *breaker, const struct breaker_config *config,
    uint64_t owner, bool probe_owner_is_dead, struct boot_ms now,
    struct breaker_admission *admission)
{
	if (probe_owner_is_dead) {
		breaker_lose_probe(breaker);
	}
	if (probe_is_taken(breaker, now)) {
		return refuse_behind_probe(breaker, config, now, admission);
	}
	/* The answer of a lost probe must not count any more. */
	breaker->generation++;
	breaker->probe_deadline_ms = now.ms + config->probe_ms;
	breaker->probe_owner = owner;
	admission->generation = breaker->generation;
	admission->probe = true;
	return OK;
}

enum result
breaker_admit(struct breaker *breaker, const struct breaker_config *config,
    uint64_t owner, bool foreground, bool probe_owner_is_dead,
    struct boot_ms now, struct breaker_admission *admission)
{
	admission->probe = false;
	admission->retry_after_ms = 0;
	admission->generation = breaker->generation;
	if (breaker_is_open(breaker, config, now,
	    &admission->retry_after_ms)) {
		return BUSY;
	}
	if (breaker_state_now(breaker, config, now) == BREAKER_CLOSED) {
		return OK;
	}
	if (!foreground) {
		return refuse_behind_probe(breaker, config, now, admission);
	}
	/* Legal only from open, whose time is over. */
	(void)change_state(breaker, BREAKER_HALF_OPEN, false, now);
	return admit_probe(breaker, config, owner, probe_owner_is_dead, now,
	    admission);
}

static bool
record_probe(struct breaker *breaker, const struct breaker_config *config,
    enum breaker_outcome outcome, uint64_t jitter, struct boot_ms now)
{
	switch (outcome) {
	case BREAKER_SUCCESS:
		if (breaker->state != BREAKER_HALF_OPEN) {
			return false;
		}
		breaker->reopened = 0;
		breaker_window_forget(breaker);
		return change_state(breaker, BREAKER_CLOSED, false, now);
	case BREAKER_FAILURE:
		return breaker->state == BREAKER_HALF_OPEN &&
		    open_now(breaker, config, jitter, false, now);
	default:
		/* Handed back: the next foreground call is the probe. */
		breaker->probe_owner = 0;
		return false;
	}
}

bool
breaker_record(struct breaker *breaker, const struct breaker_config *config,
    const struct breaker_admission *admission, enum breaker_outcome outcome,
    uint64_t partition, uint64_t jitter, struct boot_ms now)
{
	bool failed = outcome == BREAKER_FAILURE;

	mend(breaker, config, now);
	if (!config->enabled || (!FAULT(breaker_ignores_generation) &&
	    admission->generation != breaker->generation)) {
		return false;
	}
	if (admission->probe) {
		return record_probe(breaker, config, outcome, jitter, now);
	}
	if (FAULT(breaker_counts_neutral) && outcome == BREAKER_NEUTRAL) {
		failed = true;
	} else if (outcome != BREAKER_SUCCESS && !failed) {
		return false;
	}
	if (breaker->state != BREAKER_CLOSED) {
		return false;
	}
	breaker_window_note(breaker, config, partition, failed, now);
	/* A success too may complete the number that is asked for. */
	if (held(breaker, now) ||
	    !breaker_window_is_bad(breaker, config, now)) {
		return false;
	}
	return open_now(breaker, config, jitter, false, now);
}

void
breaker_trip(struct breaker *breaker, const struct breaker_config *config,
    uint64_t jitter, struct boot_ms now)
{
	mend(breaker, config, now);
	breaker->hold_until_ms = 0;
	(void)open_now(breaker, config, jitter, true, now); /* always legal */
}

void
breaker_reset(struct breaker *breaker, struct boot_ms now)
{
	breaker->reopened = 0;
	breaker->hold_until_ms = 0;
	breaker_window_forget(breaker);
	(void)change_state(breaker, BREAKER_CLOSED, true, now);
}

void
breaker_hold(struct breaker *breaker, enum breaker_state state,
    struct boot_ms until, struct boot_ms now)
{
	breaker->hold_state = state == BREAKER_OPEN ? BREAKER_OPEN :
	    BREAKER_CLOSED;
	breaker->hold_until_ms = until.ms;
	cut(&breaker->hold_until_ms, BREAKER_HOLD_MAX_MS, now);
	/* What was admitted before says nothing of the time after. */
	breaker->generation++;
	breaker->probe_owner = 0;
}
