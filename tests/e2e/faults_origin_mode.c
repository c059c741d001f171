/* SPDX-License-Identifier: ISC */

/*
 * Incident modes: what a fetch does in each, and that they end.
 */
#include "crowd.h"

#include <string.h>

#include "wait_until.h"

#define KEY	"moody"

struct look {
	struct weir	*handle;
	const struct weir_fetch_options *options;
	weir_compute_fn	compute;
	struct crowd	*crowd;
	struct weir_fetched fetched;
	char		value[16];
	int		result;
};

static int
fetch(struct look *look)
{
	look->result = weir_fetch(look->handle, KEY, strlen(KEY),
	    look->value, sizeof(look->value), look->options, look->compute,
	    look->crowd, &look->fetched);
	return look->result;
}

static bool
ctl(const struct crowd_stage *stage, const char *command)
{
	static char text[4096];

	return scene_ctl(&stage->scene, command, text, sizeof(text));
}

static int
fail(void *arg, struct weir_computed *computed)
{
	(void)crowd_add(&((struct crowd *)arg)->calls, 1);
	computed->code = 9;
	return WEIR_FAILED;
}

static struct look
begin(struct crowd_stage *stage, const struct weir_fetch_options *options,
    const char *name)
{
	struct look look = {
		.handle = scene_open(&stage->scene),
		.options = options,
		.compute = crowd_compute,
		.crowd = stage->crowd,
	};

	crowd_clear(stage);
	(void)weir_delete(look.handle, KEY, strlen(KEY), 0);
	(void)plain_check(&stage->test, name, fetch(&look) == WEIR_OK &&
	    look.fetched.stored == WEIR_OK, "%s",
	    weir_errname(look.result));
	return look;
}

static bool
is_hit(void *arg)
{
	struct look *look = arg;

	return fetch(look) == WEIR_OK &&
	    look->fetched.source == WEIR_FROM_HIT;
}

/* Computed, and what was stored before is stored yet. */
static void
check_computed(struct crowd_stage *stage, struct look *look,
    const char *name)
{
	uint32_t before = crowd_get(&stage->crowd->calls);
	int result = fetch(look);

	(void)plain_check(&stage->test, name, result == WEIR_OK &&
	    look->fetched.source == WEIR_FROM_COMPUTED &&
	    look->fetched.stored == WEIR_ALONE &&
	    crowd_get(&stage->crowd->calls) == before + 1, "%s, source %d, "
	    "stored %s, %u calls", weir_errname(result),
	    (int)look->fetched.source, weir_errname(look->fetched.stored),
	    crowd_get(&stage->crowd->calls) - before);
}

static void
test_bypass(struct crowd_stage *stage)
{
	static const struct weir_fetch_options options =
	    WEIR_FETCH_OPTIONS_INIT;
	struct look look = begin(stage, &options, "stored_for_bypass");
	struct weir_permit held;
	char value[16];
	bool fine;
	int result;

	fine = ctl(stage, "mode default bypass 10m --yes");
	(void)plain_check(&stage->test, "bypass_is_set", fine,
	    "weir-ctl failed");
	check_computed(stage, &look, "a_fresh_hit_is_not_served");
	result = weir_get(look.handle, KEY, strlen(KEY), value,
	    sizeof(value), NULL, NULL);
	(void)plain_check(&stage->test, "a_get_finds_what_is_stored",
	    result == WEIR_OK, "%s", weir_errname(result));
	/* Still limited. */
	fine = ctl(stage, "limiter set default 1") &&
	    weir_permit_acquire(look.handle, NULL, 0, &held) == WEIR_OK;
	{
		struct weir_fetch_options hasty = options;

		hasty.no_wait = 1;
		hasty.stale_if_error_ms = 60000;
		look.options = &hasty;
		result = fetch(&look);
		look.options = &options;
	}
	(void)plain_check(&stage->test, "who_is_refused_gets_nothing_stored",
	    fine && result == WEIR_SHED && look.fetched.retry_after_ms > 0,
	    "%d, %s", fine, weir_errname(result));
	fine = weir_permit_release(look.handle, &held, WEIR_NEUTRAL) ==
	    WEIR_OK && ctl(stage, "limiter set default 64") &&
	    ctl(stage, "mode default normal");
	(void)plain_check(&stage->test, "normal_serves_it_again", fine &&
	    is_hit(&look), "%d, %s, source %d", fine,
	    weir_errname(look.result), (int)look.fetched.source);
	weir_close(look.handle);
}

static void
test_end(struct crowd_stage *stage)
{
	static const struct weir_fetch_options options =
	    WEIR_FETCH_OPTIONS_INIT;
	struct look look = begin(stage, &options, "stored_for_the_end");
	bool fine = ctl(stage, "mode default bypass 1500ms --yes");

	check_computed(stage, &look, "a_short_mode_holds");
	(void)plain_check(&stage->test, "a_mode_ends_by_itself", fine &&
	    wait_until(is_hit, &look, SCENE_DEADLINE_MS), "%d, %s, source "
	    "%d", fine, weir_errname(look.result), (int)look.fetched.source);
	weir_close(look.handle);
}

/* The same origin, by a name of its own: others are asked for, and served. */
static void
test_stale_on_error(struct crowd_stage *stage)
{
	struct weir_fetch_options options = WEIR_FETCH_OPTIONS_INIT;
	struct look look;
	bool fine;
	int without, with;

	options.ttl_ms = 50;
	/* It is kept for that long, and not served in normal times. */
	options.stale_while_revalidate_ms = 60000;
	look = begin(stage, &options, "stored_for_stale_on_error");
	options.stale_while_revalidate_ms = 0;
	options.back_off_ms = 1;
	crowd_pause_ms(60);
	look.compute = fail;
	without = fetch(&look);
	fine = ctl(stage, "mode default stale-on-error 10m");
	crowd_pause_ms(10);
	do {
		with = fetch(&look);
	} while (with == WEIR_BACKING_OFF);
	(void)plain_check(&stage->test, "stale_on_error_serves_what_is_kept",
	    fine && without == WEIR_FAILED && with == WEIR_STALE &&
	    (look.fetched.why == WEIR_FAILED ||
	    look.fetched.why == WEIR_BACKING_OFF), "%d, %s, then %s, why %s",
	    fine, weir_errname(without), weir_errname(with),
	    weir_errname(look.fetched.why));
	(void)ctl(stage, "mode default normal");
	weir_close(look.handle);
}

int
main(int argc, char **argv)
{
	static struct crowd_stage stage;
	static const struct {
		const char	*name;
		void		(*fn)(struct crowd_stage *stage);
	} tests[] = {
		{ "bypass", test_bypass },
		{ "end", test_end },
		{ "stale_on_error", test_stale_on_error },
	};

	if (!crowd_open(&stage, argc, argv)) {
		return plain_end(&stage.test);
	}
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		if (plain_wants(&stage.test, tests[i].name)) {
			tests[i].fn(&stage);
		}
	}
	return crowd_close(&stage);
}
