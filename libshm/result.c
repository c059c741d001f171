/* SPDX-License-Identifier: ISC */

/*
 * Names and texts of the result codes, from the one table.
 */
#include "result.h"

#include <assert.h>
#include <stdint.h>

#define RESULT(name, value, text)					\
	static_assert((value) >= INT8_MIN && (value) <= INT8_MAX,	\
	    #name " is kept in eight bits");
#include "result.def"
#undef RESULT

const char *
result_name(enum result res)
{
	switch (res) {
#define RESULT(name, value, text)					\
	case name:							\
		return #name;
#include "result.def"
#undef RESULT
	}
	return "UNKNOWN";
}

const char *
result_text(enum result res)
{
	switch (res) {
#define RESULT(name, value, text)					\
	case name:							\
		return text;
#include "result.def"
#undef RESULT
	}
	return "a result code that this version does not know";
}
