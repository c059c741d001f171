/* SPDX-License-Identifier: ISC */

/*
 * The fences of the shared-memory protocols, the only ones in the tree.  Any
 * process may call.
 *
 * ThreadSanitizer does not model fences: it takes the order that one makes
 * for a race, and believes an order that a missing one does not make.  In its
 * build every load that may race is therefore an acquire load and every store
 * that may race a release store (racy_copy.h), which give the order of the
 * acquire and the release fence, and these two are left out.  No acquire or
 * release gives the order of a store before a later load, so the seq_cst
 * fence stays: the sanitizer concludes nothing from it, the processor obeys.
 *
 * A fence has partners on the other side; each call names them.
 */
#ifndef SHM_FENCE_H
#define SHM_FENCE_H

#include <stdatomic.h>

#ifndef __has_feature
#define __has_feature(x)	0
#endif

#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#define SHM_TSAN	1
#else
#define SHM_TSAN	0
#endif

#ifdef __SANITIZE_THREAD__
/* gcc warns that its sanitizer learns nothing from a fence: see above. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wtsan"
#endif
static inline void
shm_fence_seq_cst(void)
{
	atomic_thread_fence(memory_order_seq_cst);
}
#ifdef __SANITIZE_THREAD__
#pragma GCC diagnostic pop
#endif

static inline void
shm_fence_acquire(void)
{
#if !SHM_TSAN
	atomic_thread_fence(memory_order_acquire);
#endif
}

static inline void
shm_fence_release(void)
{
#if !SHM_TSAN
	atomic_thread_fence(memory_order_release);
#endif
}

/*
 * No instruction: the compiler may not carry memory accesses across, so what
 * was read before is not read a second time after.
 */
static inline void
shm_fence_compiler(void)
{
	atomic_signal_fence(memory_order_seq_cst);
}

#endif
