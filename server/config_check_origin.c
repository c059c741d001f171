/* SPDX-License-Identifier: ISC */

/*
 * Options of an origin that are good each by itself and not together.  A
 * built-in value that another one makes pointless is no error, written down
 * or not: who lowers the limit need not lower all that stands below it, and
 * what weird -T prints is good again.  The supervisor alone.
 */
#include "config_load.h"

#include "config_format.h"
#include "memory_budget.h"

#include <string.h>

/* Two options of which the first may not be above the second. */
struct order {
	enum config_origin_option_index low;
	enum config_origin_option_index high;
	/* The first one's built-in value is an error, too. */
	bool		always;
};

static const struct order orders[] = {
	{ CONFIG_ORIGIN_OPTION_partition_limit, CONFIG_ORIGIN_OPTION_limit,
	    false },
	{ CONFIG_ORIGIN_OPTION_host_limit, CONFIG_ORIGIN_OPTION_limit,
	    false },
	{ CONFIG_ORIGIN_OPTION_client_limit, CONFIG_ORIGIN_OPTION_limit,
	    false },
	{ CONFIG_ORIGIN_OPTION_headroom, CONFIG_ORIGIN_OPTION_limit,
	    false },
	{ CONFIG_ORIGIN_OPTION_adaptive_min, CONFIG_ORIGIN_OPTION_limit,
	    false },
	{ CONFIG_ORIGIN_OPTION_partition_queue, CONFIG_ORIGIN_OPTION_queue,
	    false },
	{ CONFIG_ORIGIN_OPTION_breaker_open,
	    CONFIG_ORIGIN_OPTION_breaker_open_max, true },
};

static uint32_t
number_of(const struct config_origin *origin,
    enum config_origin_option_index option)
{
	const char *field = (const char *)origin +
	    config_origin_options[option].offset;

	return *(const uint32_t *)(const void *)field;
}

static bool
is_builtin(const struct config_origin *origin,
    enum config_origin_option_index option)
{
	char text[CONFIG_FORMAT_BYTES];

	config_format_value(&config_origin_options[option], origin, text);
	return strcmp(text, config_origin_options[option].builtin) == 0;
}

static void
check_order(struct config_draft *draft, uint32_t number,
    const struct order *order)
{
	const struct config_origin *origin = &draft->config.origins[number];
	const uint32_t *sources = draft->origin_sources[number];
	uint32_t source = sources[order->low];
	char low[CONFIG_FORMAT_BYTES];
	char high[CONFIG_FORMAT_BYTES];

	if (number_of(origin, order->low) <= number_of(origin, order->high) ||
	    (!order->always && is_builtin(origin, order->low))) {
		return;
	}
	config_format_value(&config_origin_options[order->low], origin, low);
	config_format_value(&config_origin_options[order->high], origin, high);
	config_draft_add_error(draft, source != CONFIG_SOURCE_BUILTIN ?
	    source : sources[order->high], "origin %s: %s: %s is above %s, "
	    "which is %s", origin->name,
	    config_origin_options[order->low].name, low,
	    config_origin_options[order->high].name, high);
}

static void
check_layout(struct config_draft *draft, uint32_t number)
{
	const struct config_origin *origin = &draft->config.origins[number];
	struct origin_config whole = origin->config;

	origin_config_derive(&whole);
	if (origin_bytes(&whole) == 0) {
		config_draft_add_error(draft, draft->origin_lines[number],
		    "origin %s: its options do not go together",
		    origin->name);
	}
}

void
config_check_origins(struct config_draft *draft)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < draft->config.origin_count; i++) {
		const struct limiter_config *limiter =
		    &draft->config.origins[i].config.limiter;
		uint32_t errors = draft->error_count;

		for (size_t j = 0; j < sizeof(orders) / sizeof(orders[0]);
		    j++) {
			check_order(draft, i, &orders[j]);
		}
		if (draft->error_count == errors) {
			check_layout(draft, i);
		}
		sum += (uint64_t)limiter->limit + limiter->places;
	}
	if (sum > FLIGHTS_MAX) {
		config_draft_add_error(draft, CONFIG_SOURCE_BUILTIN,
		    "limit and queue of all origins come to %llu together, "
		    "above %u", (unsigned long long)sum, FLIGHTS_MAX);
	}
}
