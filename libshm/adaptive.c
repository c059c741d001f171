/* SPDX-License-Identifier: ISC */

/*
 * The gradient of latency, in whole numbers.  Daemon processes, with the
 * origin's lock.
 */
#include "adaptive.h"

#define Q8		256u
#define Q16_ONE		65536u
/* No call is taken for longer: sums stay within 64 bits. */
#define LATENCY_MAX_US	UINT64_C(3600000000)
/* A window that did not get its calls in this many of its time starts anew. */
#define WINDOWS_PATIENCE 8u
/* The share of a step that is taken, of a fall and of a rise of the long
 * average: 5 windows, 8, and 128. */
#define STEP_DIVISOR	5
#define FALL_DIVISOR	8u
#define RISE_DIVISOR	128u
/* The widest limit whose square root is looked for. */
#define LIMIT_MAX	(UINT32_MAX / Q8)

static uint32_t
cut(uint64_t value, uint32_t low, uint32_t high)
{
	if (value > high) {
		return high;
	}
	return value < low ? low : (uint32_t)value;
}

static uint32_t
square_root(uint32_t of)
{
	uint32_t root = 0;

	for (uint32_t bit = 1u << 15; bit != 0; bit >>= 1) {
		uint64_t tried = root | bit;

		if (tried * tried <= of) {
			root |= bit;
		}
	}
	return root;
}

static uint32_t
floor_of(const struct adaptive_config *config, uint32_t ceiling)
{
	return cut(config->min_limit, 1, ceiling == 0 ? 1 : ceiling);
}

static uint32_t
ceiling_of(uint32_t ceiling)
{
	return cut(ceiling, 1, LIMIT_MAX);
}

/* The limit x 256, in range whatever lies in shared memory. */
static uint32_t
limit_q8(const struct adaptive *adaptive,
    const struct adaptive_config *config, uint32_t ceiling)
{
	uint32_t high = ceiling_of(ceiling);

	return cut(adaptive->limit_q8 == 0 ? UINT32_MAX : adaptive->limit_q8,
	    floor_of(config, high) * Q8, high * Q8);
}

uint32_t
adaptive_limit(const struct adaptive *adaptive,
    const struct adaptive_config *config, uint32_t ceiling)
{
	if (!config->enabled) {
		return ceiling;
	}
	return limit_q8(adaptive, config, ceiling) / Q8;
}

static void
start_window(struct adaptive *adaptive, struct boot_ms now)
{
	adaptive->window_ms = now.ms;
	adaptive->sum_us = 0;
	adaptive->calls = 0;
	adaptive->most_in_flight = 0;
}

/* What the long average is after a window of this latency. */
static uint64_t
follow(uint64_t long_us, uint64_t short_us)
{
	if (long_us == 0 || long_us > LATENCY_MAX_US) {
		return short_us;
	}
	if (short_us < long_us) {
		return long_us - (long_us - short_us + FALL_DIVISOR - 1) /
		    FALL_DIVISOR;
	}
	/* However far latency rises, the average takes its time. */
	return long_us + (short_us - long_us < long_us ?
	    short_us - long_us : long_us) / RISE_DIVISOR;
}

static uint32_t
gradient_q16(const struct adaptive_config *config, uint64_t long_us,
    uint64_t short_us)
{
	uint32_t tolerance = cut(config->tolerance_pct, 100, 1000);

	return cut(long_us * tolerance / 100 * Q16_ONE / short_us,
	    Q16_ONE / 2, Q16_ONE);
}

static uint32_t
step(uint32_t from_q8, uint32_t gradient)
{
	uint64_t aim = ((uint64_t)from_q8 * gradient >> 16) +
	    (uint64_t)square_root(from_q8 / Q8) * Q8;
	int64_t to = (int64_t)from_q8 +
	    ((int64_t)aim - (int64_t)from_q8) / STEP_DIVISOR;

	return cut((uint64_t)to, 1, UINT32_MAX);
}

/* The window is over and has enough calls. */
static void
judge(struct adaptive *adaptive, const struct adaptive_config *config,
    uint32_t ceiling)
{
	uint64_t short_us = adaptive->sum_us / adaptive->calls;
	uint32_t before = limit_q8(adaptive, config, ceiling);
	uint32_t high = ceiling_of(ceiling);
	uint32_t gradient;

	if (short_us == 0) {
		short_us = 1;
	} else if (short_us > LATENCY_MAX_US) {
		short_us = LATENCY_MAX_US;
	}
	adaptive->short_us = short_us;
	adaptive->long_us = follow(adaptive->long_us, short_us);
	if (adaptive->most_in_flight < before / Q8 / 2) {
		return;
	}
	gradient = gradient_q16(config, adaptive->long_us, short_us);
	adaptive->limit_q8 = cut(step(before, gradient),
	    floor_of(config, high) * Q8, high * Q8);
}

/* If it is over: the call that comes now belongs to the next one. */
static void
end_window(struct adaptive *adaptive, const struct adaptive_config *config,
    uint32_t ceiling, struct boot_ms now)
{
	uint64_t window_ms = config->window_ms == 0 ? 1 : config->window_ms;
	uint64_t age_ms = now.ms - adaptive->window_ms;

	if (adaptive->window_ms > now.ms || adaptive->window_ms == 0) {
		start_window(adaptive, now);
	} else if (age_ms >= window_ms && adaptive->calls != 0 &&
	    adaptive->calls >= config->min_calls) {
		judge(adaptive, config, ceiling);
		start_window(adaptive, now);
	} else if (age_ms >= window_ms * WINDOWS_PATIENCE) {
		start_window(adaptive, now);
	}
}

bool
adaptive_note(struct adaptive *adaptive,
    const struct adaptive_config *config, uint64_t latency_us, bool failed,
    uint32_t in_flight, uint32_t ceiling, struct boot_ms now)
{
	uint32_t before = adaptive_limit(adaptive, config, ceiling);

	if (!config->enabled || (failed && latency_us < adaptive->long_us)) {
		return false;
	}
	end_window(adaptive, config, ceiling, now);
	adaptive->sum_us += latency_us > LATENCY_MAX_US ? LATENCY_MAX_US :
	    latency_us;
	adaptive->calls += adaptive->calls < UINT32_MAX;
	if (in_flight > adaptive->most_in_flight) {
		adaptive->most_in_flight = in_flight;
	}
	return adaptive_limit(adaptive, config, ceiling) != before;
}
