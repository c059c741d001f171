/* SPDX-License-Identifier: ISC */

/*
 * Bytes of any kind as people type and read them: \xHH stands for a byte.
 * And the two forms bytes have in JSON: text where they are UTF-8, base64
 * where they are not.  Any thread may call.
 */
#ifndef BYTE_TEXT_H
#define BYTE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_t;

/*
 * Replace every \xHH of text in place; the result may hold NULs and ends
 * with one that is not counted.  Any other backslash stays.  Returns how
 * many bytes there are.
 */
size_t	byte_text_unescape(char *text);

/*
 * A copy in which a terminal can do no harm and byte_text_unescape() finds
 * the same bytes again: control characters, what is not UTF-8, and the
 * backslash are \xHH.  The caller frees it; NULL if memory is short.
 */
char	*byte_text_escape(const void *bytes, size_t length);

/*
 * Put bytes into object: as the string NAME where they are UTF-8 without a
 * NUL, else as base64 in the string NAME64.  False if memory is short.
 */
bool	byte_text_to_json(struct json_t *object, const char *name,
    const void *bytes, size_t length);

/*
 * The bytes of NAME or NAME64 of object in memory that the caller frees; a
 * NUL follows them.  NULL if neither is there or makes sense, or memory is
 * short.
 */
uint8_t	*byte_text_from_json(const struct json_t *object, const char *name,
    size_t *length);

#endif
