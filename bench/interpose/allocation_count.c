/* SPDX-License-Identifier: ISC */

/*
 * The C library calls these for its own allocations too, and keeps what it
 * would have done itself under the names with two underscores.
 */
#include "interpose/allocation_count.h"

#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *p, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);

static _Atomic uint64_t allocations;

static void
count(void)
{
	/* Relaxed: a count and nothing else. */
	atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
}

uint64_t
allocation_count(void)
{
	return atomic_load_explicit(&allocations, memory_order_relaxed);
}

void *
malloc(size_t bytes)
{
	count();
	return __libc_malloc(bytes);
}

void *
calloc(size_t number, size_t bytes)
{
	count();
	return __libc_calloc(number, bytes);
}

void *
realloc(void *p, size_t bytes)
{
	count();
	return __libc_realloc(p, bytes);
}

void *
memalign(size_t alignment, size_t bytes)
{
	count();
	return __libc_memalign(alignment, bytes);
}

void *
aligned_alloc(size_t alignment, size_t bytes)
{
	count();
	return __libc_memalign(alignment, bytes);
}

int
posix_memalign(void **p, size_t alignment, size_t bytes)
{
	void *memory;

	count();
	memory = __libc_memalign(alignment, bytes);
	if (memory == NULL) {
		return ENOMEM;
	}
	*p = memory;
	return 0;
}
