/* SPDX-License-Identifier: ISC */

/*
 * The hook of point.h, in test builds alone.
 */
#include "point.h"

#ifdef SHM_TEST_POINTS
shm_point_fn shm_point_hook;
#else
/* ISO C wants a declaration in every file. */
typedef int point_unused;
#endif
