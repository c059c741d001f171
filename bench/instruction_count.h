/* SPDX-License-Identifier: ISC */

/*
 * Instructions that a function of this program executes, with all it calls:
 * the program is run once more, with one option, under valgrind's callgrind.
 * The same number on a loaded machine as on an idle one.
 */
#ifndef INSTRUCTION_COUNT_H
#define INSTRUCTION_COUNT_H

#include <stdint.h>

/*
 * The option makes the program call the function, an external one, and exit
 * with 0.  0 where valgrind is not installed or the run failed.
 */
uint64_t instruction_count(const char *option, const char *function);

#endif
