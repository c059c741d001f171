/* SPDX-License-Identifier: ISC */

/*
 * Result numbers are the library's own: one table, two names.
 */
#include "weir.h"

#include "result.h"

#define RESULT(name, value, text) \
	_Static_assert((int)WEIR_##name == (value), #name);
#include "result.def"
#undef RESULT

const char *
weir_version(void)
{
	return WEIR_VERSION_STRING;
}

const char *
weir_errname(int result)
{
	switch (result) {
#define RESULT(name, value, text) case value: return "WEIR_" #name;
#include "result.def"
#undef RESULT
	default:
		return "WEIR_UNKNOWN";
	}
}

const char *
weir_strerror(int result)
{
	return result_text((enum result)result);
}
