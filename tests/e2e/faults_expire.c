/* SPDX-License-Identifier: ISC */

/*
 * 5,000 keys of 5,000 partitions expire together, the origin takes 20 ms and
 * has its default limits: each is refilled, and none is shed.
 */
#include "crowd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPIRE_KEYS	5000u
#define EXPIRE_HANDLES	100u
#define EXPIRE_MS	20u

struct refill {
	struct weir	*handle;
	struct weir_lease lease;
	char		key[16];
	uint64_t	due_us;		/* computed by then; 0 not begun */
	int		result;
	bool		asked;
	bool		done;
};

static void
lease_answered(void *arg, int result, uint64_t number)
{
	struct refill *refill = arg;

	(void)number;
	refill->result = result;
	if (result == WEIR_LEAD) {
		refill->due_us = scene_now_us() + EXPIRE_MS * 1000;
	} else {
		refill->done = true;
	}
}

static void
fill_answered(void *arg, int result, uint64_t number)
{
	struct refill *refill = arg;

	(void)number;
	refill->result = result;
	refill->done = true;
}

static void
ask(struct refill *refill)
{
	struct weir_fetch_options options = WEIR_FETCH_OPTIONS_INIT;

	options.origin.partition = refill->key;
	options.origin.partition_length = strlen(refill->key);
	refill->asked = weir_start_lease(refill->handle, refill->key,
	    strlen(refill->key), 0, &options, &refill->lease, lease_answered,
	    refill) == WEIR_OK;
}

/* One round over all; how many are done. */
static uint32_t
turn(struct refill *refills)
{
	uint64_t now_us = scene_now_us();
	uint32_t done = 0;

	for (uint32_t i = 0; i < EXPIRE_KEYS; i++) {
		struct refill *refill = &refills[i];

		if (i < EXPIRE_HANDLES) {
			(void)weir_step(refill->handle);
		}
		if (!refill->asked) {
			ask(refill);
		}
		if (refill->due_us != 0 && now_us >= refill->due_us) {
			refill->due_us = 0;
			if (weir_start_lease_fill(refill->handle,
			    &refill->lease, refill->key, strlen(refill->key),
			    "value", 5, NULL, fill_answered, refill) !=
			    WEIR_OK) {
				refill->done = true;
				refill->result = WEIR_SYSTEM;
			}
		}
		done += refill->done;
	}
	return done;
}

static void
test_expiry(struct crowd_stage *stage)
{
	struct refill *refills = calloc(EXPIRE_KEYS, sizeof(*refills));
	uint64_t start_us = scene_now_us();
	uint32_t fine = 0, done = 0;
	int other = WEIR_OK;

	for (uint32_t i = 0; refills != NULL && i < EXPIRE_KEYS; i++) {
		refills[i].handle = i < EXPIRE_HANDLES ?
		    scene_open(&stage->scene) :
		    refills[i % EXPIRE_HANDLES].handle;
		(void)snprintf(refills[i].key, sizeof(refills[i].key), "e%u",
		    i);
		if (i < EXPIRE_HANDLES) {
			(void)weir_connect(refills[i].handle);
		}
	}
	while (refills != NULL && done < EXPIRE_KEYS &&
	    scene_now_us() < start_us + SCENE_DEADLINE_MS * 1000) {
		done = turn(refills);
		crowd_pause_ms(1);
	}
	for (uint32_t i = 0; refills != NULL && i < EXPIRE_KEYS; i++) {
		fine += refills[i].result == WEIR_OK && refills[i].done;
		other = refills[i].result != WEIR_OK ? refills[i].result :
		    other;
	}
	(void)plain_check(&stage->test, "5000_that_expire_at_once_are_not_shed",
	    fine == EXPIRE_KEYS, "%u of %u, another: %s, after %llu ms",
	    fine, EXPIRE_KEYS, weir_errname(other), (unsigned long long)
	    ((scene_now_us() - start_us) / 1000));
	for (uint32_t i = 0; refills != NULL && i < EXPIRE_HANDLES; i++) {
		weir_close(refills[i].handle);
	}
	free(refills);
}

int
main(int argc, char **argv)
{
	static struct crowd_stage stage;

	if (!crowd_open(&stage, argc, argv)) {
		return plain_end(&stage.test);
	}
	test_expiry(&stage);
	return crowd_close(&stage);
}
