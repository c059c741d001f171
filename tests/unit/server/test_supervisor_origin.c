/* SPDX-License-Identifier: ISC */

/* New limits for origins that are in use: what SIGHUP does to them. */
#include "supervisor_state.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "config_parse.h"
#include "origin_record.h"

static struct supervisor sup;
static struct config_draft before;
static struct config_draft wanted;
static struct config merged;

static size_t
aligned(size_t bytes)
{
	return (bytes + 63) / 64 * 64;
}

static void
read_config(struct config_draft *draft, const char *text)
{
	config_draft_init(draft);
	config_parse_text(draft, "conf", text);
	config_check(draft);
	cr_assert_eq(draft->error_count, 0, "%s", draft->errors[0].text);
	for (uint32_t i = 0; i < draft->config.origin_count; i++) {
		origin_config_derive(&draft->config.origins[i].config);
	}
}

/* The control segment with the origins of before, and no client. */
static void
make_control(void)
{
	const struct config *config = &before.config;
	size_t bytes = aligned(sizeof(struct control));
	struct control *control;

	for (uint32_t i = 0; i < config->origin_count; i++) {
		bytes += aligned(origin_bytes(&config->origins[i].config));
	}
	control = aligned_alloc(64, bytes);
	cr_assert_not_null(control);
	memset(control, 0, bytes);
	control->magic = CONTROL_MAGIC;
	control->bytes = bytes;
	control->worker_count = 1;
	bytes = aligned(sizeof(struct control));
	for (uint32_t i = 0; i < config->origin_count; i++) {
		control->origin_offsets[i] = bytes;
		cr_assert_eq(origin_create((uint8_t *)control + bytes,
		    config->origins[i].name, &config->origins[i].config), OK);
		bytes += aligned(origin_bytes(&config->origins[i].config));
	}
	control->origin_count = config->origin_count;
	sup.heritage.control = control;
	sup.heritage.config = *config;
	memset(sup.heritage.wake_fds, 0xff, sizeof(sup.heritage.wake_fds));
	sup.draft = &before;
}

static void
open_daemon(void)
{
	read_config(&before, "origin web { limit = 10\nqueue = 100 }\n"
	    "origin db {}");
	make_control();
}

static void
close_daemon(void)
{
	free(sup.heritage.control);
}

TestSuite(supervisor_origin, .init = open_daemon, .fini = close_daemon);

static struct origin
bound(uint32_t index)
{
	struct control *control = sup.heritage.control;
	const struct origin_door door = { .arg = NULL };
	struct origin origin;

	cr_assert(origin_bind(&origin, (uint8_t *)control +
	    control->origin_offsets[index], control->bytes -
	    control->origin_offsets[index], index, &door));
	return origin;
}

static uint32_t
limit_of(uint32_t index)
{
	struct origin origin = bound(index);
	struct origin_view view;

	cr_assert_eq(origin_look(&origin, clock_boot_now(), &view), OK);
	return view.config.limiter.limit;
}

Test(supervisor_origin, there_is_room_for_what_was_made_and_for_more_calls)
{
	read_config(&wanted, "origin web { limit = 1024\nqueue = 100 }");
	cr_assert(supervisor_origins_fit(&sup, &wanted.config));
	read_config(&wanted, "origin web { limit = 1025\nqueue = 100 }");
	cr_assert_not(supervisor_origins_fit(&sup, &wanted.config));
	read_config(&wanted, "origin web { limit = 10\nqueue = 101 }");
	cr_assert_not(supervisor_origins_fit(&sup, &wanted.config));
	read_config(&wanted, "origin web { limit = 1024\nqueue = 100\n"
	    "upload_share = 25 }");
	cr_assert(supervisor_origins_fit(&sup, &wanted.config));
	read_config(&wanted, "origin web { limit = 10\nqueue = 100\n"
	    "upload_share = 26 }");
	cr_assert_not(supervisor_origins_fit(&sup, &wanted.config));
	read_config(&wanted, "origin web { limit = 10\nqueue = 50\n"
	    "upload_share = 50 }");
	cr_assert(supervisor_origins_fit(&sup, &wanted.config));
	/* One that is new needs a restart anyway. */
	read_config(&wanted, "origin new { limit = 2000 }");
	cr_assert(supervisor_origins_fit(&sup, &wanted.config));
}

Test(supervisor_origin, only_what_changed_is_given_to_its_origin)
{
	struct origin db = bound(2);
	uint32_t old;

	cr_assert_eq(origin_set_limit(&db, 33, clock_boot_now(), &old), OK);
	read_config(&wanted, "origin web { limit = 20\nqueue = 50 }\n"
	    "origin db {}");
	merged = wanted.config;
	cr_assert(supervisor_origins_apply(&sup, &merged));
	cr_assert_eq(limit_of(1), 20);
	cr_assert_eq(limit_of(2), 33, "a limit set by hand was lost");
	cr_assert_eq(limit_of(0), 64);
}

Test(supervisor_origin, one_that_is_locked_stays_and_the_others_do_not)
{
	struct origin web = bound(1);

	read_config(&wanted, "origin web { limit = 20\nqueue = 50 }\n"
	    "origin db { limit = 9 }");
	merged = wanted.config;
	cr_assert_eq(lock_acquire(&web.record->lock, LOCK_TIMEOUT_MS),
	    LOCK_HELD);
	cr_assert_not(supervisor_origins_apply(&sup, &merged));
	lock_release(&web.record->lock);
	cr_assert_eq(limit_of(1), 10);
	cr_assert_eq(merged.origins[1].config.limiter.limit, 10);
	cr_assert_eq(limit_of(2), 9);
	cr_assert_eq(merged.origins[2].config.limiter.limit, 9);
}
