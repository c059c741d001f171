/* SPDX-License-Identifier: ISC */

#include "words.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

static bool
is_blank(char byte)
{
	return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

/* Whether a backslash here begins \xHH, which the verbs decode. */
static bool
is_hex_escape(const char *in)
{
	return in[0] == '\\' && in[1] == 'x' &&
	    isxdigit((unsigned char)in[2]) && isxdigit((unsigned char)in[3]);
}

/*
 * Unquote the word at *from in place.  *from is left behind the word; false
 * if a quote stays open.
 */
static bool
take_word(char **from)
{
	char *in = *from;
	char *out = *from;
	char quote = '\0';
	bool at_end;

	for (; *in != '\0' && (quote != '\0' || !is_blank(*in)); in++) {
		if (quote != '\0' && *in == quote) {
			quote = '\0';
		} else if (quote == '\0' && (*in == '"' || *in == '\'')) {
			quote = *in;
		} else {
			if (*in == '\\' && quote != '\'' && in[1] != '\0' &&
			    !is_hex_escape(in)) {
				in++;
			}
			*out++ = *in;
		}
	}
	at_end = *in == '\0';
	*out = '\0';
	*from = at_end ? in : in + 1;
	return quote == '\0';
}

enum words_fault
words_split(struct words *words, char *line)
{
	words->count = 0;
	for (;;) {
		while (is_blank(*line)) {
			line++;
		}
		if (*line == '\0' || *line == '#') {
			break;
		}
		if (words->count == WORDS_MAX) {
			return WORDS_TOO_MANY;
		}
		words->at[words->count++] = line;
		if (!take_word(&line)) {
			return WORDS_OPEN_QUOTE;
		}
	}
	words->at[words->count] = NULL;
	return WORDS_FINE;
}

const char *
words_fault_text(enum words_fault fault)
{
	switch (fault) {
	case WORDS_FINE:
		return "no fault";
	case WORDS_OPEN_QUOTE:
		return "a quote is not closed";
	case WORDS_TOO_MANY:
		return "too many words";
	}
	return "unknown fault";
}
