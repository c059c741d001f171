/* SPDX-License-Identifier: ISC */

/*
 * Ends of leases and permits whose callers could not wait for the handle's
 * lock: whoever has it sends them when it unlocks, so that nothing stays
 * taken because other threads were slow.
 *
 *	caller				holder of the lock
 *	e1 push				u1 take all, send them
 *	e2 fence			u2 unlock
 *	e3 the lock is free: take it	u3 fence
 *	   and unlock, which is u1	u4 one is there, the lock free: u1
 *
 * One of e3 and u4 sees the other.  Client processes alone.
 */
#ifndef LATE_END_H
#define LATE_END_H

struct request;
struct weir;

/*
 * Without the lock.  A FILL becomes "not to be shared", without its value.
 * Nothing of other types.
 */
void	late_end_leave(struct weir *handle, const struct request *request);

/* u1, under the lock.  Without a connection the next claim ends them. */
void	late_end_send(struct weir *handle);

#endif
