/* SPDX-License-Identifier: ISC */

/*
 * Values of options as texts.
 */
#include "config_format.h"

#include <stdio.h>

#include "config_value.h"

static uint64_t
load_number(const struct config_option *option, const void *field)
{
	return option->field_bytes == sizeof(uint32_t) ?
	    *(const uint32_t *)field : *(const uint64_t *)field;
}

static void
format_number(const struct config_option *option, uint64_t number, char *out)
{
	switch (option->kind) {
	case OPTION_SIZE:
		(void)config_value_format_size(number, out,
		    CONFIG_FORMAT_BYTES);
		break;
	case OPTION_TIME:
		(void)config_value_format_time(number, out,
		    CONFIG_FORMAT_BYTES);
		break;
	case OPTION_MODE:
		(void)snprintf(out, CONFIG_FORMAT_BYTES, "%04llo",
		    (unsigned long long)number);
		break;
	case OPTION_SWITCH:
		(void)snprintf(out, CONFIG_FORMAT_BYTES, "%s",
		    number != 0 ? "on" : "off");
		break;
	case OPTION_SCOPE:
		(void)snprintf(out, CONFIG_FORMAT_BYTES, "%s",
		    number != 0 ? "partition" : "origin");
		break;
	default:
		(void)snprintf(out, CONFIG_FORMAT_BYTES, "%llu",
		    (unsigned long long)number);
		break;
	}
}

static void
format_list(const uint32_t *ids, uint32_t count, char *out)
{
	int at = snprintf(out, CONFIG_FORMAT_BYTES, "{");

	for (uint32_t i = 0; i < count; i++) {
		at += snprintf(out + at, CONFIG_FORMAT_BYTES - (size_t)at,
		    "%s%u", i > 0 ? ", " : "", ids[i]);
	}
	(void)snprintf(out + at, CONFIG_FORMAT_BYTES - (size_t)at, "}");
}

void
config_format_value(const struct config_option *option, const void *base,
    char *out)
{
	const void *field = (const char *)base + option->offset;
	const struct config_access *access = field;
	const struct missrate_config *missrate = field;

	out[0] = '\0';
	switch (option->kind) {
	case OPTION_LEVEL:
		(void)snprintf(out, CONFIG_FORMAT_BYTES, "%s",
		    config_value_level_name(*(const enum log_level *)field));
		break;
	case OPTION_GROUP:
		if (*(const gid_t *)field != (gid_t)-1) {
			(void)snprintf(out, CONFIG_FORMAT_BYTES, "%u",
			    *(const gid_t *)field);
		}
		break;
	case OPTION_USERS:
		if (!access->any) {
			format_list(access->users, access->user_count, out);
		}
		break;
	case OPTION_GROUPS:
		if (!access->any) {
			format_list(access->groups, access->group_count, out);
		}
		break;
	case OPTION_MISSES:
		format_number(option, missrate->enabled ?
		    missrate->min_misses : 0, out);
		break;
	case OPTION_ADDRESS:
	case OPTION_USER:
	case OPTION_PATH:
		(void)snprintf(out, CONFIG_FORMAT_BYTES, "%s",
		    (const char *)field);
		break;
	default:
		format_number(option, load_number(option, field), out);
		break;
	}
}
