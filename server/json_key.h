/* SPDX-License-Identifier: ISC */

/*
 * Bytes in JSON: as text where they are UTF-8, else as base64 under the same
 * name with "64" behind it.  Workers, for admin requests.
 */
#ifndef JSON_KEY_H
#define JSON_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

/* Put bytes under name, or under name64. */
void	json_key_put(json_t *object, const char *name, const void *bytes,
    size_t length);

/*
 * The bytes under name or name64 in memory from malloc(), which the caller
 * frees; NULL, with *found false, if there are none; NULL with *found true if
 * they are both there, of another type, or no base64.  *length is theirs.
 */
uint8_t	*json_key_get(const json_t *object, const char *name, size_t *length,
    bool *found);

/* Characters of the base64 form, without a terminator. */
size_t	json_key_base64_length(size_t length);
void	json_key_base64_encode(char *out, const uint8_t *bytes,
    size_t length);

/* Room for length / 4 * 3 bytes.  False: not base64 with padding. */
bool	json_key_base64_decode(uint8_t *out, size_t *out_length,
    const char *text, size_t length);

#endif
