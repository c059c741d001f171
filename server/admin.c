/* SPDX-License-Identifier: ISC */

/*
 * From bytes to a verb, and its answer.
 */
#include "admin.h"

#include <stdio.h>
#include <string.h>

#include "log.h"

#define DEFAULT_POOL	"default"

static const struct admin_verb {
	const char	*name;
	enum peer_level	level;
	admin_verb_fn	*fn;
} verbs[] = {
	{ "ping", PEER_LEVEL_READ, admin_ping },
	{ "version", PEER_LEVEL_READ, admin_version },
	{ "status", PEER_LEVEL_READ, admin_status },
	{ "pools", PEER_LEVEL_READ, admin_pools },
	{ "workers", PEER_LEVEL_READ, admin_workers },
	{ "clients", PEER_LEVEL_READ, admin_clients },
	{ "stats", PEER_LEVEL_READ, admin_stats },
	{ "mem", PEER_LEVEL_READ, admin_mem },
	{ "get", PEER_LEVEL_READ, admin_get },
	{ "inspect", PEER_LEVEL_READ, admin_inspect },
	{ "scan", PEER_LEVEL_READ, admin_scan },
	{ "set", PEER_LEVEL_FULL, admin_set },
	{ "del", PEER_LEVEL_FULL, admin_del },
	{ "touch", PEER_LEVEL_FULL, admin_touch },
	{ "purge", PEER_LEVEL_FULL, admin_purge },
	{ "verify", PEER_LEVEL_FULL, admin_verify },
	{ "origins", PEER_LEVEL_READ, admin_origins },
	{ "limiter_show", PEER_LEVEL_READ, admin_limiter_show },
	{ "limiter_set", PEER_LEVEL_FULL, admin_limiter_set },
	{ "breaker_list", PEER_LEVEL_READ, admin_breaker_list },
	{ "breaker_trip", PEER_LEVEL_FULL, admin_breaker_trip },
	{ "breaker_reset", PEER_LEVEL_FULL, admin_breaker_reset },
	{ "breaker_hold", PEER_LEVEL_FULL, admin_breaker_hold },
	{ "mode_set", PEER_LEVEL_FULL, admin_mode_set },
	{ "leases", PEER_LEVEL_READ, admin_leases },
};

void
admin_put_error(json_t *answer, enum result result, const char *text)
{
	(void)json_object_set_new(answer, "error", json_pack("{s:s, s:s}",
	    "result", result_name(result), "text", text));
}

void
admin_put_number(json_t *object, const char *name, uint64_t number)
{
	(void)json_object_set_new(object, name, number > INT64_MAX ?
	    json_null() : json_integer((json_int_t)number));
}

bool
admin_get_number(struct admin *admin, const char *name, uint64_t otherwise,
    uint64_t *number)
{
	const json_t *value = json_object_get(admin->args, name);

	*number = otherwise;
	if (value == NULL || json_is_null(value)) {
		return true;
	}
	if (!json_is_integer(value) || json_integer_value(value) < 0) {
		(void)snprintf(admin->text, sizeof(admin->text),
		    "\"%s\" is not a number of 0 or more", name);
		return false;
	}
	*number = (uint64_t)json_integer_value(value);
	return true;
}

static const struct admin_verb *
find_verb(const char *name)
{
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		if (strcmp(verbs[i].name, name) == 0) {
			return &verbs[i];
		}
	}
	return NULL;
}

/* The pool named, the default one, or the only one. */
static enum result
find_pool(struct admin *admin)
{
	const struct config *config = &admin->heritage->config;
	const json_t *named = json_object_get(admin->args, "pool");
	const char *name = named == NULL ? DEFAULT_POOL :
	    json_string_value(named);

	if (name == NULL) {
		(void)snprintf(admin->text, sizeof(admin->text),
		    "\"pool\" is not a name");
		return INVALID;
	}
	for (uint32_t i = 0; i < config->pool_count; i++) {
		if (strcmp(config->pools[i].name, name) == 0 ||
		    (named == NULL && config->pool_count == 1)) {
			admin->pool = &admin->heritage->pools[i];
			admin->pool_index = i;
			return OK;
		}
	}
	if (named == NULL) {
		/* Verbs that need one say so. */
		return OK;
	}
	(void)snprintf(admin->text, sizeof(admin->text),
	    "there is no pool of that name");
	return MISS;
}

/* One line for each change that was asked for, done or not. */
static void
log_change(const struct admin *admin, const char *verb, enum result result)
{
	char what[ADMIN_CHANGE_BYTES];

	if (admin->change[0] != '\0') {
		memcpy(what, admin->change, sizeof(what));
	} else {
		(void)snprintf(what, sizeof(what), "pool=%s",
		    admin->pool == NULL ? "-" :
		    admin->heritage->config.pools[admin->pool_index].name);
	}
	if (admin->reason[0] == '\0') {
		log_audit("admin-change", "verb=%s %s uid=%u pid=%d result=%s",
		    verb, what, admin->peer->uid, (int)admin->peer->pid,
		    result_name(result));
		return;
	}
	log_audit("admin-change", "verb=%s %s uid=%u pid=%d result=%s "
	    "reason=\"%s\"", verb, what, admin->peer->uid,
	    (int)admin->peer->pid, result_name(result), admin->reason);
}

static enum result
run_verb(struct admin *admin, const struct admin_verb *verb)
{
	enum result result;

	if (verb == NULL) {
		(void)snprintf(admin->text, sizeof(admin->text),
		    "there is no such verb");
		return INVALID;
	}
	if (admin->level < verb->level) {
		(void)snprintf(admin->text, sizeof(admin->text),
		    admin->level == PEER_LEVEL_NONE ? "this user may not "
		    "administer" : "this user may only look");
		return DENIED;
	}
	if (!json_is_object(admin->args)) {
		(void)snprintf(admin->text, sizeof(admin->text),
		    "\"args\" is not an object");
		return INVALID;
	}
	result = find_pool(admin);
	if (result == OK) {
		result = verb->fn(admin);
	}
	if (verb->level == PEER_LEVEL_FULL) {
		log_change(admin, verb->name, result);
	}
	return result;
}

json_t *
admin_serve(struct admin *admin, const char *body, size_t length,
    enum result *status)
{
	json_error_t error;
	json_t *request = json_loadb(body, length, JSON_REJECT_DUPLICATES |
	    JSON_ALLOW_NUL, &error);
	json_t *none = json_object();
	const char *name = json_string_value(json_object_get(request,
	    "verb"));

	admin->pool = NULL;
	admin->verify = NULL;
	admin->text[0] = '\0';
	admin->change[0] = '\0';
	admin->reason[0] = '\0';
	admin->args = json_object_get(request, "args");
	if (admin->args == NULL) {
		admin->args = none;
	}
	admin->answer = json_pack("{s:i, s:s?}", "version", 1, "verb", name);
	if (admin->answer == NULL || none == NULL) {
		*status = NO_MEMORY;
	} else if (name == NULL) {
		(void)snprintf(admin->text, sizeof(admin->text),
		    "not an object with a \"verb\"");
		*status = INVALID;
	} else {
		*status = run_verb(admin, find_verb(name));
	}
	if (*status != OK && admin->answer != NULL) {
		admin_put_error(admin->answer, *status, admin->text[0] !=
		    '\0' ? admin->text : result_text(*status));
	}
	json_decref(request);
	json_decref(none);
	return admin->answer;
}
