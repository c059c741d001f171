/* SPDX-License-Identifier: ISC */

#include "complete.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "command.h"
#include "words.h"

/* The words before the one that is being completed. */
struct before {
	char		*copy;		/* holds the words */
	struct words	words;
};

static bool
split_before(struct before *before, const char *line, size_t start)
{
	before->copy = strndup(line, start);
	if (before->copy == NULL) {
		return false;
	}
	/* "--policy=" and the comma of a list end a word here. */
	for (char *at = before->copy; *at != '\0'; at++) {
		if (*at == '=' || *at == ',') {
			*at = ' ';
		}
	}
	return words_split(&before->words, before->copy) == WORDS_FINE;
}

/*
 * If the verb begins with all the words before, its next word, whose length
 * is put into *length; else NULL.
 */
static const char *
next_verb_word(const char *verb, const struct words *words, size_t *length)
{
	for (size_t i = 0; i < words->count; i++) {
		size_t part = strcspn(verb, " ");

		if (strlen(words->at[i]) != part || verb[part] == '\0' ||
		    memcmp(words->at[i], verb, part) != 0) {
			return NULL;
		}
		verb += part + 1;
	}
	*length = strcspn(verb, " ");
	return verb;
}

/* Two verbs may share their first word: offer it once. */
static bool
was_offered(const struct words *words, size_t number, const char *word,
    size_t length)
{
	for (size_t i = 0; i < number; i++) {
		size_t other_length;
		const char *other = next_verb_word(command_at(i)->verb, words,
		    &other_length);

		if (other != NULL && other_length == length &&
		    memcmp(other, word, length) == 0) {
			return true;
		}
	}
	return false;
}

static char *
complete_verb(const struct words *words, const char *text, size_t *number)
{
	const struct command *command;

	while ((command = command_at(*number)) != NULL) {
		size_t length;
		const char *word = next_verb_word(command->verb, words,
		    &length);
		bool offered = word != NULL &&
		    was_offered(words, *number, word, length);

		++*number;
		if (word != NULL && !offered && strlen(text) <= length &&
		    memcmp(word, text, strlen(text)) == 0) {
			return strndup(word, length);
		}
	}
	return NULL;
}

/* What is being completed, after a verb. */
enum due {
	DUE_OPTION,
	DUE_VALUE,		/* of an option */
	DUE_WORD,
	DUE_NOTHING,		/* that is known */
};

/* The last word that is an option of the command. */
static const char *
find_option(const struct command *command, const struct words *words)
{
	for (size_t i = words->count; i > 0; i--) {
		if (strncmp(words->at[i - 1], "--", 2) != 0) {
			continue;
		}
		for (size_t j = 0; command->options != NULL &&
		    command->options[j] != NULL; j++) {
			if (strcmp(words->at[i - 1],
			    command->options[j]) == 0) {
				return command->options[j];
			}
		}
	}
	return NULL;
}

/* Words after the verb that are neither an option nor the value of one. */
static size_t
count_plain(const struct words *words, size_t used)
{
	size_t count = 0;

	for (size_t i = used; i < words->count; i++) {
		if (strncmp(words->at[i], "--", 2) != 0) {
			count++;
		} else if (arguments_has_value(words->at[i])) {
			i++;
		}
	}
	return count;
}

static enum due
find_due(const struct command *command, const struct words *words,
    const char *text)
{
	const char *last = words->at[words->count - 1];	/* the verb's, or so */

	if (text[0] == '-') {
		return command->options != NULL ? DUE_OPTION : DUE_NOTHING;
	}
	if (command->word_at != NULL && !arguments_has_value(last)) {
		return DUE_WORD;
	}
	return command->value_at != NULL &&
	    find_option(command, words) != NULL ? DUE_VALUE : DUE_NOTHING;
}

static char *
complete_argument(const struct command *command, const struct words *words,
    size_t used, const char *text, size_t *number)
{
	enum due due = find_due(command, words, text);

	for (;;) {
		const char *value =
		    due == DUE_OPTION ? command->options[*number] :
		    due == DUE_WORD ? command->word_at(count_plain(words,
		    used), *number) :
		    due == DUE_VALUE ? command->value_at(find_option(command,
		    words), *number) : NULL;

		if (value == NULL) {
			return NULL;
		}
		++*number;
		if (strncmp(value, text, strlen(text)) == 0) {
			return strdup(value);
		}
	}
}

char *
complete_word(const char *line, size_t start, const char *text,
    size_t *number)
{
	struct before before;
	const struct command *command;
	size_t used;
	char *found = NULL;

	if (split_before(&before, line, start)) {
		command = command_find(before.words.at, before.words.count,
		    &used);
		found = command != NULL ?
		    complete_argument(command, &before.words, used, text,
		    number) :
		    complete_verb(&before.words, text, number);
	}
	free(before.copy);
	return found;
}
