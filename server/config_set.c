/* SPDX-License-Identifier: ISC */

/*
 * Each kind of option: which texts it takes and what becomes of them.
 */
#include "config_set.h"

#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>

#include "address.h"
#include "config_value.h"

static bool
refuse(const struct config_option *option, char *error, const char *text,
    const char *why)
{
	(void)snprintf(error, CONFIG_SET_ERROR_BYTES, "%s: '%.80s' %s",
	    option->name, text, why);
	return false;
}

static bool
store_number(const struct config_option *option, void *field,
    uint64_t number)
{
	if (option->field_bytes == sizeof(uint32_t)) {
		*(uint32_t *)field = (uint32_t)number;
	} else {
		*(uint64_t *)field = number;
	}
	return true;
}

static bool
refuse_range(const struct config_option *option, char *error,
    const char *text)
{
	char low[32];
	char high[32];
	char why[96];

	if (option->kind == OPTION_SIZE) {
		(void)config_value_format_size(option->min, low, sizeof(low));
		(void)config_value_format_size(option->max, high,
		    sizeof(high));
	} else if (option->kind == OPTION_TIME) {
		(void)config_value_format_time(option->min, low, sizeof(low));
		(void)config_value_format_time(option->max, high,
		    sizeof(high));
	} else {
		const char *form = option->kind == OPTION_MODE ? "%llo" :
		    "%llu";

		(void)snprintf(low, sizeof(low), form,
		    (unsigned long long)option->min);
		(void)snprintf(high, sizeof(high), form,
		    (unsigned long long)option->max);
	}
	(void)snprintf(why, sizeof(why), "is outside %s to %s", low, high);
	return refuse(option, error, text, why);
}

static bool
set_number(const struct config_option *option, void *field,
    const char *text, char *error)
{
	uint64_t number;
	const char *wrong = NULL;

	switch (option->kind) {
	case OPTION_SIZE:
		if (!config_value_parse_size(text, &number)) {
			wrong = "is no size: a number with K, M, G or T";
		}
		break;
	case OPTION_TIME:
		if (!config_value_parse_time(text, &number)) {
			wrong = "is no time: a number with ms, s, m or h";
		}
		break;
	case OPTION_MODE:
		if (!config_value_parse_mode(text, &number)) {
			wrong = "is no mode: an octal number";
		}
		break;
	default:
		if (!config_value_parse_number(text, &number)) {
			wrong = "is no whole number";
		}
		break;
	}
	if (wrong != NULL) {
		return refuse(option, error, text, wrong);
	}
	if (number < option->min || number > option->max) {
		return refuse_range(option, error, text);
	}
	return store_number(option, field, number);
}

static bool
find_group(const char *text, gid_t *gid)
{
	struct group *group = getgrnam(text);
	uint64_t number;

	if (group != NULL) {
		*gid = group->gr_gid;
		return true;
	}
	/* The last number means "none" to the kernel. */
	if (config_value_parse_number(text, &number) && number < UINT32_MAX) {
		*gid = (gid_t)number;
		return true;
	}
	return false;
}

static bool
find_user(const char *text, uid_t *uid)
{
	struct passwd *user = getpwnam(text);
	uint64_t number;

	if (user != NULL) {
		*uid = user->pw_uid;
		return true;
	}
	if (config_value_parse_number(text, &number) && number < UINT32_MAX) {
		*uid = (uid_t)number;
		return true;
	}
	return false;
}

static bool
add_member(const struct config_option *option, struct config_access *access,
    const char *text, char *error)
{
	bool users = option->kind == OPTION_USERS;
	uint32_t *count = users ? &access->user_count : &access->group_count;

	if (*count == CONFIG_IDS_MAX) {
		return refuse(option, error, text, "is one too many: a list "
		    "has at most 32");
	}
	if (users && !find_user(text, &access->users[*count])) {
		return refuse(option, error, text, "is no user here");
	}
	if (!users && !find_group(text, &access->groups[*count])) {
		return refuse(option, error, text, "is no group here");
	}
	(*count)++;
	access->any = false;
	return true;
}

static bool
set_text(const struct config_option *option, char *field, const char *text,
    char *error)
{
	struct address address;

	if (strlen(text) >= option->field_bytes || text[0] == '\0') {
		return refuse(option, error, text, "is empty or too long");
	}
	if (option->kind == OPTION_PATH && text[0] != '/') {
		return refuse(option, error, text, "is no absolute path");
	}
	if (option->kind == OPTION_USER && getpwnam(text) == NULL) {
		return refuse(option, error, text, "is no user here");
	}
	if (option->kind == OPTION_ADDRESS && strcmp(text, "off") != 0 &&
	    !address_parse(text, &address)) {
		return refuse(option, error, text, "is no address: "
		    "127.0.0.1:9477, [::1]:9477 or off");
	}
	(void)snprintf(field, option->field_bytes, "%s", text);
	return true;
}

/* Two words: the first is 0, the second 1. */
static bool
set_word(const struct config_option *option, uint32_t *field,
    const char *text, const char *no, const char *yes, char *error)
{
	char why[64];

	if (strcmp(text, no) == 0 || strcmp(text, yes) == 0) {
		*field = strcmp(text, yes) == 0;
		return true;
	}
	(void)snprintf(why, sizeof(why), "is neither %s nor %s", yes, no);
	return refuse(option, error, text, why);
}

/* With 0 the number itself stays as it was: it has to be one. */
static bool
set_misses(const struct config_option *option,
    struct missrate_config *missrate, const char *text, char *error)
{
	struct config_option number = *option;
	uint32_t misses;

	number.field_bytes = sizeof(misses);
	if (!set_number(&number, &misses, text, error)) {
		return false;
	}
	missrate->enabled = misses != 0;
	if (misses != 0) {
		missrate->min_misses = misses;
	}
	return true;
}

bool
config_set_value(const struct config_option *option, void *base,
    const char *text, char *error)
{
	void *field = (char *)base + option->offset;

	switch (option->kind) {
	case OPTION_NUMBER:
	case OPTION_SIZE:
	case OPTION_TIME:
	case OPTION_MODE:
		return set_number(option, field, text, error);
	case OPTION_LEVEL:
		return config_value_parse_level(text, field) ||
		    refuse(option, error, text,
		    "is none of error, warning, info, debug");
	case OPTION_GROUP:
		return find_group(text, field) ||
		    refuse(option, error, text, "is no group here");
	case OPTION_USERS:
	case OPTION_GROUPS:
		return add_member(option, field, text, error);
	case OPTION_SWITCH:
		return set_word(option, field, text, "off", "on", error);
	case OPTION_SCOPE:
		return set_word(option, field, text, "origin", "partition",
		    error);
	case OPTION_MISSES:
		return set_misses(option, field, text, error);
	default:
		return set_text(option, field, text, error);
	}
}
