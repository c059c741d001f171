/* SPDX-License-Identifier: ISC */

/*
 * An origin from a text of the configuration, and what is counted at it to
 * see what an option does.
 */
#ifndef EFFECTS_FIXTURE_H
#define EFFECTS_FIXTURE_H

#include "origin.h"

#define OWNER		500u
#define PARTITION	77u
#define MANY		20000u
#define NEVER		UINT32_MAX

struct trial {
	struct origin	origin;
	void		*memory;
	struct boot_ms	now;
	struct origin_config config;
};

/* An origin with these options; its memory is to be freed. */
void	effect_make(struct trial *trial, const char *options);

struct origin_request effect_request(void);

/* One call, refused or not. */
enum origin_answer effect_call(struct trial *trial, uint64_t partition,
    enum breaker_outcome outcome);
struct origin_view effect_look(struct trial *trial);

/*
 * Calls that stay under way until one is not answered so; each of another
 * partition if asked for.
 */
uint32_t effect_count(struct trial *trial, struct origin_request request,
    bool other_partitions, enum origin_answer wanted);

struct effect {
	const char	*option;
	const char	*text;		/* with what it needs to be seen */
	uint32_t	(*probe)(struct trial *trial);
	uint32_t	plain;		/* low to high, with the defaults */
	uint32_t	plain_high;
	uint32_t	set;		/* and with the text */
	uint32_t	set_high;
};

/* Each row holds, both ways. */
void	effects_expect(const struct effect *effects, size_t count);

/* Rows about that option. */
unsigned effects_about(const struct effect *effects, size_t count,
    const char *option);

/* What calls there may be, and what comes of failures and misses. */
extern const struct effect effects_of_limits[];
extern const size_t effects_of_limits_count;

#endif
