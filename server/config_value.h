/* SPDX-License-Identifier: ISC */

/*
 * Values of the configuration between text and numbers: sizes, times, modes,
 * levels.  Pure; the supervisor and tests call.
 */
#ifndef CONFIG_VALUE_H
#define CONFIG_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config.h"

/* Each returns false for text that is no such value, or too large. */
bool	config_value_parse_number(const char *text, uint64_t *number);

/* A number of bytes with K, M, G or T (powers of 1024), or plain. */
bool	config_value_parse_size(const char *text, uint64_t *bytes);

/* A number with ms, s, m or h; 0 alone needs no unit. */
bool	config_value_parse_time(const char *text, uint64_t *ms);

/* Octal. */
bool	config_value_parse_mode(const char *text, uint64_t *mode);
bool	config_value_parse_level(const char *text, enum log_level *level);

/* Text that parses to the same value; returns out. */
const char *config_value_format_size(uint64_t bytes, char *out, size_t room);
const char *config_value_format_time(uint64_t ms, char *out, size_t room);
const char *config_value_level_name(enum log_level level);

/* For people, to a tenth: "70.1 MiB". */
const char *config_value_round_size(uint64_t bytes, char *out, size_t room);

#endif
