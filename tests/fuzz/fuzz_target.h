/* SPDX-License-Identifier: ISC */

/*
 * A fuzz target: one parser of bytes that come from outside.  Linked with
 * libFuzzer it is a fuzzer; linked with replay.c a test that runs the corpus
 * and bytes made from it.  A target aborts when what it calls is wrong.
 */
#ifndef FUZZ_TARGET_H
#define FUZZ_TARGET_H

#include <stddef.h>
#include <stdint.h>

/* The corpus is tests/fuzz/corpus/NAME/. */
extern const char fuzz_name[];

/* Always 0. */
int	LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

/* Aborts, with the text, unless the condition holds. */
#define FUZZ_CHECK(condition)						\
	do {								\
		if (!(condition)) {					\
			__builtin_trap();				\
		}							\
	} while (0)

#endif
