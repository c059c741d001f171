/* SPDX-License-Identifier: ISC */

/*
 * Verbs that change what is stored: set, del, touch, purge; and verify, which
 * locks it.
 */
#include "admin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "admin_args.h"
#include "epoch.h"
#include "json_key.h"
#include "write.h"

/* Tags as texts; false: not at most 32 of them, of 1 to 1024 bytes. */
static bool
get_tags(struct admin *admin, uint64_t tags[TAGS_MAX], unsigned *count)
{
	const json_t *list = json_object_get(admin->args, "tags");

	*count = 0;
	if (list == NULL || json_is_null(list)) {
		return true;
	}
	if (!json_is_array(list) || json_array_size(list) > TAGS_MAX) {
		return false;
	}
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *tag = json_array_get(list, i);
		size_t length = json_string_length(tag);

		if (length == 0 || length > KEY_MAX_BYTES) {
			return false;
		}
		tags[(*count)++] = epoch_tag_hash(admin->pool,
		    json_string_value(tag), length);
	}
	return true;
}

/* "always", "absent", "version" with "version_id" (or "version"). */
static bool
get_when(struct admin *admin, struct entry_spec *spec)
{
	const json_t *when = json_object_get(admin->args, "when");
	const json_t *version = json_object_get(admin->args, "version_id");
	const char *name = when == NULL ? "always" : json_string_value(when);

	if (version == NULL) {
		version = json_object_get(admin->args, "version");
	}
	spec->version = (uint64_t)json_integer_value(version);
	if (name == NULL) {
		return false;
	}
	if (strcmp(name, "always") == 0) {
		spec->when = SET_ALWAYS;
		return true;
	}
	if (strcmp(name, "absent") == 0) {
		spec->when = SET_IF_ABSENT;
		return true;
	}
	spec->when = SET_IF_VERSION;
	return strcmp(name, "version") == 0 && json_is_integer(version);
}

static enum result
store(struct admin *admin, const struct key *key, const uint8_t *value,
    size_t length)
{
	uint64_t tags[TAGS_MAX];
	struct entry_spec spec = {
		.key = key,
		.tags = tags,
		.value = value,
		.value_bytes = length,
		.epoch = epoch_now(admin->pool),
	};
	uint64_t version = 0;
	enum result result;

	if (!get_tags(admin, tags, &spec.tag_count)) {
		(void)snprintf(admin->text, sizeof(admin->text),
		    "\"tags\" is not a list of up to 32 texts");
		return INVALID;
	}
	if (!get_when(admin, &spec)) {
		(void)snprintf(admin->text, sizeof(admin->text), "\"when\" "
		    "is always, absent, or version with a \"version_id\"");
		return INVALID;
	}
	if (!admin_args_times(admin, &spec.soft_ms, &spec.hard_ms)) {
		return INVALID;
	}
	result = write_set(admin->pool, &spec, admin->now, &version);
	if (result == OK) {
		(void)json_object_set_new(admin->answer, "version_id",
		    json_integer((json_int_t)version));
	}
	return result;
}

enum result
admin_set(struct admin *admin)
{
	struct key key;
	uint8_t *bytes, *value;
	size_t length = 0;
	bool found;
	enum result result = admin_args_key(admin, &key, &bytes);

	if (result != OK) {
		return result;
	}
	value = json_key_get(admin->args, "value", &length, &found);
	if (value == NULL) {
		(void)snprintf(admin->text, sizeof(admin->text),
		    "a \"value\" or \"value64\" is needed");
		result = INVALID;
	} else {
		result = store(admin, &key, value, length);
	}
	free(value);
	free(bytes);
	return result;
}

enum result
admin_del(struct admin *admin)
{
	struct key key;
	uint8_t *bytes;
	enum result result = admin_args_key(admin, &key, &bytes);

	if (result != OK) {
		return result;
	}
	result = write_delete(admin->pool, &key, 0, admin->now);
	free(bytes);
	if (result == OK || result == MISS) {
		(void)json_object_set_new(admin->answer, "deleted",
		    json_boolean(result == OK));
		return OK;
	}
	return result;
}

enum result
admin_touch(struct admin *admin)
{
	struct key key;
	uint64_t soft_ms, hard_ms;
	uint8_t *bytes;
	enum result result = admin_args_key(admin, &key, &bytes);

	if (result != OK) {
		return result;
	}
	if (admin_args_times(admin, &soft_ms, &hard_ms)) {
		result = write_touch(admin->pool, &key, soft_ms, hard_ms, 0,
		    admin->now);
	} else {
		result = INVALID;
	}
	free(bytes);
	if (result == OK || result == MISS) {
		(void)json_object_set_new(admin->answer, "touched",
		    json_boolean(result == OK));
		return OK;
	}
	return result;
}

static bool
get_how(const struct admin *admin, enum epoch_kind *kind)
{
	const json_t *how = json_object_get(admin->args, "how");
	const char *name = how == NULL ? "hard" : json_string_value(how);

	if (name == NULL) {
		return false;
	}
	*kind = strcmp(name, "soft") == 0 ? EPOCH_KIND_SOFT :
	    strcmp(name, "invalid") == 0 ? EPOCH_KIND_INVALID :
	    EPOCH_KIND_HARD;
	return *kind != EPOCH_KIND_HARD || strcmp(name, "hard") == 0;
}

/* One key is unlinked; its number is how many entries went. */
static enum result
purge_key(struct admin *admin, enum epoch_kind kind, uint64_t *number)
{
	struct key key;
	uint8_t *bytes;
	enum result result;

	if (kind != EPOCH_KIND_HARD) {
		(void)snprintf(admin->text, sizeof(admin->text),
		    "a single key is purged hard, or not at all");
		return INVALID;
	}
	result = admin_args_key(admin, &key, &bytes);
	if (result != OK) {
		return result;
	}
	result = write_delete(admin->pool, &key, 0, admin->now);
	free(bytes);
	*number = result == OK;
	return result == MISS ? OK : result;
}

enum result
admin_purge(struct admin *admin)
{
	const json_t *tag = json_object_get(admin->args, "tag");
	bool all = json_is_true(json_object_get(admin->args, "all"));
	bool key = json_object_get(admin->args, "key") != NULL ||
	    json_object_get(admin->args, "key64") != NULL;
	size_t length = json_string_length(tag);
	enum epoch_kind kind;
	uint64_t number = 0;
	enum result result = admin_args_pool(admin);

	if (result != OK) {
		return result;
	}
	if (!get_how(admin, &kind) || (tag != NULL) + all + key != 1 ||
	    (tag != NULL && (length == 0 || length > KEY_MAX_BYTES))) {
		(void)snprintf(admin->text, sizeof(admin->text), "one of "
		    "\"tag\", \"key\", \"all\":true; \"how\" is hard, "
		    "invalid or soft");
		return INVALID;
	}
	if (tag != NULL) {
		result = epoch_purge_tag(admin->pool, epoch_tag_hash(
		    admin->pool, json_string_value(tag), length), kind,
		    &number);
	} else if (all) {
		result = epoch_purge_all(admin->pool, kind, &number);
	} else {
		result = purge_key(admin, kind, &number);
	}
	if (result == OK) {
		(void)json_object_set_new(admin->answer, "purged",
		    json_string(tag != NULL ? "tag" : all ? "all" : "key"));
		admin_put_number(admin->answer, "number", number);
	}
	return result;
}

enum result
admin_verify(struct admin *admin)
{
	enum result result = admin_args_pool(admin);

	if (result == OK) {
		admin->verify = admin->pool;
	}
	return result;
}
