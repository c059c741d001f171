/* SPDX-License-Identifier: ISC */

/*
 * Bytes that may change while they are read: the only functions that touch
 * such bytes.  Any process may call.
 *
 * C calls a plain read of such bytes a race.  It is contained here: the copy
 * is a call of memcpy() over a length that the reader knows, nothing is
 * decided from the bytes before a fence and a check of the generation (or,
 * in a ring, of the copied bytes) have said that they are whole, and the
 * compiler is told not to read them again.  An 8-byte atomic copy costs a
 * third more on 1 KiB (measured), which is why it is left to the build for
 * ThreadSanitizer: acquire loads on the reader's side, release stores on the
 * writer's, which stand for the fences too (shm_fence.h).
 *
 * A length, an offset or a word that is decided by at once is not read with
 * these: it is loaded as an atomic, once.
 *
 * No address needs an alignment.  A length of 0 touches nothing.
 */
#ifndef RACY_COPY_H
#define RACY_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "shm_fence.h"

#if SHM_TSAN

void	racy_copy(void *own, const void *shared, size_t length);
bool	racy_equal(const void *shared, const void *own, size_t length);
void	racy_fill(void *shared, const void *own, size_t length);

#else

/* Copy out.  The result may be a mixture: the caller finds that out. */
static inline void
racy_copy(void *own, const void *shared, size_t length)
{
	memcpy(own, shared, length);
	shm_fence_compiler();
}

/* Compare.  An answer of either kind counts only if nothing has changed. */
static inline bool
racy_equal(const void *shared, const void *own, size_t length)
{
	bool equal = memcmp(shared, own, length) == 0;

	shm_fence_compiler();
	return equal;
}

/* Copy in: what a writer uses where a reader may be looking. */
static inline void
racy_fill(void *shared, const void *own, size_t length)
{
	shm_fence_compiler();
	if (length != 0) {
		/* own may be NULL then, which memcpy() does not take. */
		memcpy(shared, own, length);
	}
}

#endif

#endif
