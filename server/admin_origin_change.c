/* SPDX-License-Identifier: ISC */

/*
 * Verbs that change an origin: its limit, its breaker, its mode.  Each is
 * one line in the log, with what was, what is, who and why.  What is set for
 * an incident ends by itself.
 */
#include "admin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "admin_args.h"
#include "admin_origin.h"
#include "origin_modes.h"

/* The origin, and why; the log's line names it from here on. */
static enum result
begin(struct admin *admin, struct origin **origin)
{
	enum result result = admin_args_origin(admin, origin);

	if (result != OK) {
		(void)snprintf(admin->change, sizeof(admin->change),
		    "origin=-");
		return result;
	}
	(void)snprintf(admin->change, sizeof(admin->change), "origin=%s",
	    origin_name(*origin));
	return admin_args_reason(admin);
}

/* What was and what is, for the answer and the log. */
static void
note_change(struct admin *admin, const struct origin *origin, json_t *old,
    json_t *new)
{
	char *before = json_dumps(old, JSON_ENCODE_ANY);
	char *after = json_dumps(new, JSON_ENCODE_ANY);

	(void)snprintf(admin->change, sizeof(admin->change),
	    "origin=%s old=%s new=%s", origin_name(origin),
	    before != NULL ? before : "-", after != NULL ? after : "-");
	free(before);
	free(after);
	(void)json_object_set_new(admin->answer, "origin",
	    json_string(origin_name(origin)));
	(void)json_object_set_new(admin->answer, "old", old);
	(void)json_object_set_new(admin->answer, "new", new);
}

/* Behind that: for how long. */
static void
note_end(struct admin *admin, const char *name, struct boot_ms until)
{
	size_t at = strlen(admin->change);

	(void)snprintf(admin->change + at, sizeof(admin->change) - at,
	    " for_ms=%llu", (unsigned long long)(until.ms == 0 ? 0 :
	    until.ms - admin->now.ms));
	admin_origin_put_left(admin->answer, name, until.ms, admin->now);
}

/* "for_ms" as a moment; it has to be there, and end within a day. */
static enum result
get_end(struct admin *admin, uint64_t least, struct boot_ms *until)
{
	uint64_t for_ms;

	if (!admin_get_number(admin, "for_ms", UINT64_MAX, &for_ms)) {
		return INVALID;
	}
	if (for_ms < least || for_ms > ORIGIN_MODE_MAX_MS) {
		(void)snprintf(admin->text, sizeof(admin->text),
		    "\"for_ms\" is needed, %llu to %u",
		    (unsigned long long)least, ORIGIN_MODE_MAX_MS);
		return INVALID;
	}
	until->ms = for_ms == 0 ? 0 : admin->now.ms + for_ms;
	return OK;
}

enum result
admin_limiter_set(struct admin *admin)
{
	struct origin *origin;
	uint32_t old = 0;
	uint64_t limit;
	enum result result = begin(admin, &origin);

	if (result != OK) {
		return result;
	}
	if (!admin_get_number(admin, "limit", 0, &limit)) {
		return INVALID;
	}
	result = limit > UINT32_MAX ? INVALID : origin_set_limit(origin,
	    (uint32_t)limit, admin->now, &old);
	if (result == INVALID) {
		(void)snprintf(admin->text, sizeof(admin->text),
		    "\"limit\" is 1 to %u for this origin until a restart",
		    origin->limiter.permit_capacity);
	}
	if (result == OK) {
		note_change(admin, origin, json_integer((json_int_t)old),
		    json_integer((json_int_t)limit));
	}
	return result;
}

/* The state that a caller would meet now. */
static enum result
breaker_now(struct admin *admin, struct origin *origin, json_t **state)
{
	struct origin_view view;
	enum result result = origin_look(origin, admin->now, &view);

	*state = result == OK ? json_string(breaker_state_name(view.breaker)) :
	    NULL;
	return result;
}

typedef enum result (breaker_change_fn)(struct admin *admin,
    struct origin *origin, struct boot_ms until);

static enum result
change_breaker(struct admin *admin, struct origin *origin,
    struct boot_ms until, breaker_change_fn *change)
{
	json_t *old, *new;
	enum result result = breaker_now(admin, origin, &old);

	if (result != OK) {
		return result;
	}
	result = change(admin, origin, until);
	if (result != OK) {
		json_decref(old);
		return result;
	}
	/* The change is made, whether or not it can be looked at. */
	if (breaker_now(admin, origin, &new) != OK) {
		new = json_null();
	}
	note_change(admin, origin, old, new);
	return OK;
}

static enum result
trip(struct admin *admin, struct origin *origin, struct boot_ms until)
{
	enum result result = origin_trip(origin, admin->random, admin->now);

	(void)until;
	if (result == INVALID) {
		(void)snprintf(admin->text, sizeof(admin->text),
		    "the breaker of this origin is off");
	}
	return result;
}

static enum result
reset(struct admin *admin, struct origin *origin, struct boot_ms until)
{
	(void)until;
	return origin_reset(origin, admin->now);
}

static enum result
hold(struct admin *admin, struct origin *origin, struct boot_ms until)
{
	const json_t *state = json_object_get(admin->args, "state");
	const char *name = json_string_value(state);
	enum breaker_state wanted = BREAKER_CLOSED;

	if (name != NULL && strcmp(name, "open") == 0) {
		wanted = BREAKER_OPEN;
	} else if ((name == NULL || strcmp(name, "closed") != 0) &&
	    (until.ms != 0 || state != NULL)) {
		(void)snprintf(admin->text, sizeof(admin->text),
		    "\"state\" is open or closed");
		return INVALID;
	}
	return origin_hold(origin, wanted, until, admin->now);
}

enum result
admin_breaker_trip(struct admin *admin)
{
	struct origin *origin;
	enum result result = begin(admin, &origin);

	return result != OK ? result : change_breaker(admin, origin,
	    (struct boot_ms){ 0 }, trip);
}

enum result
admin_breaker_reset(struct admin *admin)
{
	struct origin *origin;
	enum result result = begin(admin, &origin);

	return result != OK ? result : change_breaker(admin, origin,
	    (struct boot_ms){ 0 }, reset);
}

enum result
admin_breaker_hold(struct admin *admin)
{
	struct origin *origin;
	struct boot_ms until;
	enum result result = begin(admin, &origin);

	if (result == OK) {
		result = get_end(admin, 0, &until);
	}
	if (result == OK) {
		result = change_breaker(admin, origin, until, hold);
	}
	if (result == OK) {
		note_end(admin, "hold_left_ms", until);
	}
	return result;
}

static enum result
get_mode(struct admin *admin, enum origin_mode *mode)
{
	const char *name = json_string_value(json_object_get(admin->args,
	    "mode"));

	for (unsigned i = 0; name != NULL && i < ORIGIN_MODES; i++) {
		if (strcmp(origin_mode_name((enum origin_mode)i), name) == 0) {
			*mode = (enum origin_mode)i;
			return OK;
		}
	}
	(void)snprintf(admin->text, sizeof(admin->text), "\"mode\" is %s, %s "
	    "or %s", origin_mode_name(ORIGIN_NORMAL),
	    origin_mode_name(ORIGIN_STALE_ON_ERROR),
	    origin_mode_name(ORIGIN_BYPASS));
	return INVALID;
}

enum result
admin_mode_set(struct admin *admin)
{
	struct origin *origin;
	struct boot_ms until = { 0 };
	enum origin_mode mode = ORIGIN_NORMAL;
	enum origin_mode old;
	enum result result = begin(admin, &origin);

	if (result == OK) {
		result = get_mode(admin, &mode);
	}
	if (result == OK && mode != ORIGIN_NORMAL) {
		result = get_end(admin, 1, &until);
	}
	if (result != OK) {
		return result;
	}
	old = origin_mode_now(origin, admin->now);
	result = origin_set_mode(origin, mode, until, admin->now);
	if (result == OK) {
		note_change(admin, origin, json_string(origin_mode_name(old)),
		    json_string(origin_mode_name(mode)));
		note_end(admin, "mode_left_ms", until);
		origin_modes_publish(admin->heritage, admin->origins,
		    admin->origin_count, admin->now);
	}
	return result;
}
