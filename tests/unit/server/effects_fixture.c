/* SPDX-License-Identifier: ISC */

/*
 * What the tests of options share.
 */
#include "effects_fixture.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config_parse.h"

static struct config_draft draft;

void
effect_make(struct trial *trial, const char *options)
{
	const struct origin_door door = { .arg = NULL };
	char text[256];
	size_t bytes;

	(void)snprintf(text, sizeof(text), "origin o {\n%s\n}\n", options);
	config_draft_init(&draft);
	config_parse_text(&draft, "conf", text);
	cr_assert_eq(draft.error_count, 0, "%s", draft.errors[0].text);
	for (uint32_t i = 0; i < draft.config.origin_count; i++) {
		if (strcmp(draft.config.origins[i].name, "o") == 0) {
			trial->config = draft.config.origins[i].config;
		}
	}
	origin_config_derive(&trial->config);
	bytes = origin_bytes(&trial->config);
	cr_assert_neq(bytes, 0, "%s", options);
	trial->memory = aligned_alloc(64, bytes);
	cr_assert_not_null(trial->memory);
	memset(trial->memory, 0, bytes);
	cr_assert_eq(origin_create(trial->memory, "o", &trial->config), OK);
	cr_assert(origin_bind(&trial->origin, trial->memory, bytes, 0,
	    &door));
	/* At the beginning of a window, whatever its length here. */
	trial->now.ms = 3600000ull * 1000;
}

struct origin_request
effect_request(void)
{
	struct origin_request request = {
		.owner = OWNER,
		.worker = limiter_worker(0, 1),
		.class = LIMITER_FOREGROUND,
	};

	return request;
}

uint32_t
effect_count(struct trial *trial, struct origin_request request,
    bool other_partitions, enum origin_answer wanted)
{
	struct origin_ticket ticket;
	uint32_t count = 0;

	while (count < MANY) {
		if (other_partitions) {
			request.partition = 1000 + count;
		}
		if (origin_acquire(&trial->origin, &request, 0, trial->now,
		    &ticket) != wanted) {
			break;
		}
		count++;
	}
	return count;
}

enum origin_answer
effect_call(struct trial *trial, uint64_t partition,
    enum breaker_outcome outcome)
{
	struct origin_request request = effect_request();
	struct origin_ticket ticket;
	enum origin_answer answer;
	unsigned events;

	request.partition = partition;
	answer = origin_acquire(&trial->origin, &request, 1u << 30,
	    trial->now, &ticket);
	if (answer == ORIGIN_GRANTED) {
		cr_assert_eq(origin_release(&trial->origin, ticket.permit,
		    false, ticket.token, OWNER, outcome, 0, trial->now,
		    &events), OK);
	}
	return answer;
}

struct origin_view
effect_look(struct trial *trial)
{
	struct origin_view view;

	cr_assert_eq(origin_look(&trial->origin, trial->now, &view), OK);
	return view;
}

static void
expect(const struct effect *effect, const char *text, uint32_t low,
    uint32_t high)
{
	struct trial trial;
	uint32_t seen;

	effect_make(&trial, text);
	seen = effect->probe(&trial);
	cr_expect(seen >= low && seen <= high, "%s with '%s': %u is not "
	    "within %u to %u", effect->option, text, seen, low, high);
	free(trial.memory);
}

void
effects_expect(const struct effect *effects, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		expect(&effects[i], "", effects[i].plain,
		    effects[i].plain_high);
		expect(&effects[i], effects[i].text, effects[i].set,
		    effects[i].set_high);
	}
}

unsigned
effects_about(const struct effect *effects, size_t count, const char *option)
{
	unsigned found = 0;

	for (size_t i = 0; i < count; i++) {
		found += strcmp(effects[i].option, option) == 0;
	}
	return found;
}
