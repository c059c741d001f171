/* SPDX-License-Identifier: ISC */

/*
 * Named faults for mutation tests.  FAULT(x) is the constant 0 unless the
 * build says -DFAULT_ON=x, so that a product build holds no trace of them;
 * each one must turn a named test red (tests/mutants.def).
 */
#ifndef FAULT_H
#define FAULT_H

#ifndef FAULT_ON
#define FAULT_ON	none
#endif

enum fault_id {
	FAULT_ID_none,
#define FAULT_DEFINE(name, what)	FAULT_ID_##name,
#include "faults.def"
#undef FAULT_DEFINE
};

#define FAULT_ID_OF_(name)	FAULT_ID_##name
#define FAULT_ID_OF(name)	FAULT_ID_OF_(name)
#define FAULT(name)		(FAULT_ID_##name == FAULT_ID_OF(FAULT_ON))

#endif
