/* SPDX-License-Identifier: ISC */

/*
 * Named points between two steps of a protocol.  Test builds
 * (-DSHM_TEST_POINTS) call a hook there, which kills the process, waits or
 * yields; a product build holds nothing.  tests/crash/points.def lists them.
 */
#ifndef POINT_H
#define POINT_H

#ifdef SHM_TEST_POINTS

typedef void (*shm_point_fn)(const char *name);

/* Set before threads or children start, then only read. */
extern shm_point_fn shm_point_hook;

#define SHM_POINT(name) do {						\
	if (shm_point_hook != 0) {					\
		shm_point_hook(#name);					\
	}								\
} while (0)

#else
#define SHM_POINT(name)	do { } while (0)
#endif

#endif
