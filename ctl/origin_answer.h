/* SPDX-License-Identifier: ISC */

/*
 * What the verbs about origins have in common: they ask about one or all, or
 * change one and say why, and people are shown some members in another form
 * than programs are.  One thread.
 */
#ifndef ORIGIN_ANSWER_H
#define ORIGIN_ANSWER_H

#include <stddef.h>

#include "answer.h"

struct arguments;

/* How long a hold or a mode may last. */
#define ORIGIN_FOR_MAX_MS	(24u * 3600u * 1000u)

/* How origins are listed. */
struct origin_listing {
	const char	*verb;		/* as the daemon calls it */
	const char	*member;	/* of its answer: the rows */
	/* Adds the members that only people see. */
	void		(*prepare)(struct json_t *row);
	const struct answer_column *columns;	/* of the table of all */
	size_t		count;
	/* All of one that was named. */
	enum ctl_exit	(*print_one)(const struct command_context *context,
			    const struct command *command,
			    const struct json_t *row);
};

/*
 * Ask and show; argv has the name of an origin, or nothing.  CTL_PARTIAL if
 * the daemon could not look at one of them.
 */
enum ctl_exit origin_answer_list(const struct command_context *context,
    const struct command *command, char **argv,
    const struct origin_listing *listing);

/*
 * What a change is asked with: the first word as the origin, and --reason if
 * it was given.  NULL after a complaint.
 */
struct json_t *origin_answer_args(const struct arguments *arguments,
    const struct command_context *context, const struct command *command);

/*
 * Ask for a change with args, which are taken over, and show what was and
 * what is.  fine: whether they are complete.  left_member: of the answer, the
 * time until it ends; NULL if it has no end.
 */
enum ctl_exit origin_answer_change(const struct command_context *context,
    const struct command *command, const char *verb, struct json_t *args,
    bool fine, const char *left_member);

/* Adds "refused_sum", all refusals, to the object of a limiter. */
void	origin_answer_sum(struct json_t *limiter);

/* The state of a breaker that is off, and not held, becomes "off". */
void	origin_answer_mark_off(struct json_t *breaker);

/* Adds who the member is, such as "pid 17" or "worker 2". */
void	origin_answer_name_holder(struct json_t *row, const char *member,
	    const char *text_member);

#endif
