/* SPDX-License-Identifier: ISC */

/*
 * Callback, counting and pace.
 */
#include "demand.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

#define NS_PER_S	UINT64_C(1000000000)

static void
make_value(uint8_t *value, size_t bytes, uint64_t number)
{
	uint64_t word = demand_word(number);

	memset(value, 'x', bytes - sizeof(word));
	memcpy(value + bytes - sizeof(word), &word, sizeof(word));
}

int
demand_compute(void *arg, struct weir_computed *computed)
{
	struct demand_call *call = arg;
	const struct demand *demand = call->demand;

	call->computes++;
	if (demand->backend != NULL && !backend_call(demand->backend,
	    demand->caller, call->prng)) {
		return WEIR_FAILED;
	}
	if (demand->was_computed != NULL) {
		/* Relaxed: read when all have ended. */
		atomic_store_explicit(&demand->was_computed[call->number], 1,
		    memory_order_relaxed);
	}
	make_value(call->value, demand->value_bytes, call->number);
	computed->value = call->value;
	computed->length = demand->value_bytes;
	return WEIR_OK;
}

static void
count_value(const struct demand *demand, const struct weir_fetched *fetched,
    const uint8_t *buffer, uint64_t number, struct swarm_tally *tally)
{
	uint64_t word;

	memcpy(&word, buffer + demand->value_bytes - sizeof(word),
	    sizeof(word));
	if (fetched->length != demand->value_bytes ||
	    word != demand_word(number)) {
		tally->wrong++;
	}
	switch (fetched->source) {
	case WEIR_FROM_STALE:
		tally->stale++;
		break;
	case WEIR_FROM_COMPUTED:
		tally->computed++;
		break;
	case WEIR_FROM_WAITED:
		tally->waited++;
		break;
	case WEIR_FROM_HIT:
	default:
		tally->hits++;
		break;
	}
}

void
demand_fetch(struct swarm_member *member, const struct demand *demand,
    const char *key, size_t key_length, uint64_t number, uint64_t intended_ns,
    struct swarm_tally *tally)
{
	uint8_t buffer[DEMAND_VALUE_MAX];
	struct weir_fetched fetched;
	struct demand_call call;	/* its value is written when needed */
	int result;

	call.demand = demand;
	call.prng = &member->prng;
	call.number = number;
	call.computes = 0;
	tally->asked++;
	result = weir_fetch(member->weir, key, key_length, buffer,
	    sizeof(buffer), &demand->options, demand_compute, &call,
	    &fetched);
	switch (result) {
	case WEIR_OK:
	case WEIR_STALE:
		count_value(demand, &fetched, buffer, number, tally);
		break;
	case WEIR_SHED:
	case WEIR_CIRCUIT_OPEN:
	case WEIR_BACKING_OFF:
	case WEIR_FAILED:
		tally->refused++;
		break;
	default:
		tally->failed++;
		tally->failed_as = result;
		break;
	}
	tally->last_ns = measure_now_ns();
	swarm_record(tally, tally->last_ns - intended_ns);
}

size_t
demand_make_key(char key[DEMAND_KEY_MAX], const char *prefix, uint64_t number)
{
	return (size_t)snprintf(key, DEMAND_KEY_MAX, "%s:%014llu", prefix,
	    (unsigned long long)number);
}

bool
demand_store_all(const struct daemon *d, const struct demand *demand,
    const char *prefix, uint64_t count)
{
	struct weir_set_options options = WEIR_SET_OPTIONS_INIT;
	struct weir *weir = daemon_open(d);
	uint8_t value[DEMAND_VALUE_MAX];
	char key[DEMAND_KEY_MAX];
	uint64_t failed = 0;
	bool fine = weir != NULL;

	options.ttl_ms = demand->options.ttl_ms;
	for (uint64_t i = 0; fine && i < count; i++) {
		size_t length = demand_make_key(key, prefix, i);
		int result;

		make_value(value, demand->value_bytes, i);
		while ((result = weir_set_async(weir, key, length, value,
		    demand->value_bytes, &options)) == WEIR_FULL) {
			(void)sched_yield();
		}
		fine = result == WEIR_OK;
	}
	fine = fine && weir_flush(weir, &failed) == WEIR_OK && failed == 0;
	weir_close(weir);
	return fine;
}

bool
demand_next(struct swarm_member *member, const struct demand_pace *pace,
    uint64_t start_ns, uint64_t *intended_ns, struct swarm_tally **tally)
{
	for (;;) {
		uint64_t after = swarm_claim(member) * NS_PER_S /
		    pace->per_second;
		uint64_t end = 0;
		unsigned phase = 0;

		while (phase < SWARM_PHASES &&
		    after >= end + pace->phase_ns[phase]) {
			end += pace->phase_ns[phase++];
		}
		if (phase == SWARM_PHASES) {
			return false;
		}
		*intended_ns = start_ns + after;
		*tally = member->tally + phase;
		swarm_sleep_until(*intended_ns);
		if (pace->drop_ns == 0 || measure_now_ns() < *intended_ns +
		    pace->drop_ns) {
			return true;
		}
		(*tally)->dropped++;
	}
}
