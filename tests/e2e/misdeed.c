/* SPDX-License-Identifier: ISC */

/*
 * What is looked at after each misdeed.
 */
#include "misdeed.h"

#include <stdio.h>

/* Heap that a worker keeps although it is free, and its slack. */
#define KEPT_KIB	(16u << 10)

static void
refresh_workers(struct misdeed_stage *stage)
{
	stage->worker[0] = scene_child(&stage->scene, "worker 0");
	stage->worker[1] = scene_child(&stage->scene, "worker 1");
}

void
misdeed_fill(struct misdeed_stage *stage, uint8_t *out, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		out[i] = (uint8_t)prng_next(&stage->prng);
	}
}

bool
misdeed_begin(struct misdeed_stage *stage, int argc, char **argv)
{
	stage->scene.memory = "16M";
	stage->scene.workers = 2;
	plain_start(&stage->test, argc, argv);
	prng_init(&stage->prng, stage->test.seed);
	if (!scene_start(&stage->scene)) {
		plain_fail(&stage->test, "misdeeds",
		    "the daemon does not start");
		return false;
	}
	refresh_workers(stage);
	stage->private_kib = scene_private_kib(&stage->scene);
	return true;
}

void
misdeed_commit(struct misdeed_stage *stage, const char *name,
    misdeed_fn misdeed)
{
	char check[96];
	bool fine;
	uint64_t now_kib;

	if (!plain_wants(&stage->test, name)) {
		return;
	}
	bystander_start(&stage->other, &stage->scene);
	(void)bystander_goes_on(&stage->other, 10);
	fine = misdeed(stage);
	plain_check(&stage->test, name, fine, "not answered as it should be");
	(void)snprintf(check, sizeof(check), "%s_others_are_served", name);
	bystander_check(&stage->test, &stage->other, check);
	(void)snprintf(check, sizeof(check), "%s_no_worker_died", name);
	plain_check(&stage->test, check,
	    scene_child(&stage->scene, "worker 0") == stage->worker[0] &&
	    scene_child(&stage->scene, "worker 1") == stage->worker[1],
	    "see its log");
	refresh_workers(stage);
	now_kib = scene_private_kib(&stage->scene);
	(void)snprintf(check, sizeof(check), "%s_memory_is_bounded", name);
	plain_check(&stage->test, check,
	    now_kib < stage->private_kib + KEPT_KIB, "%lu KiB, then %lu",
	    stage->private_kib, now_kib);
}

int
misdeed_end(struct misdeed_stage *stage)
{
	scene_check_clean(&stage->test, &stage->scene,
	    "segment_is_sound_after_misdeeds");
	plain_check(&stage->test, "daemon_ends_well_after_misdeeds",
	    scene_end(&stage->scene), "see its log");
	return plain_end(&stage->test);
}
