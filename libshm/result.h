/* SPDX-License-Identifier: ISC */

/*
 * The answers that functions give, and their texts.  Any process may call.
 */
#ifndef RESULT_H
#define RESULT_H

enum result {
#define RESULT(name, value, text) name = (value),
#include "result.def"
#undef RESULT
};

/*
 * Both return a constant string, never NULL.  A code may have come from a
 * peer: one that is not in the table has the name "UNKNOWN".
 */
const char *result_name(enum result res);
const char *result_text(enum result res);

#endif
