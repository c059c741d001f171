/* SPDX-License-Identifier: ISC */

/*
 * New connections of a worker, from the sockets that all workers share.
 */
#ifndef ACCEPTOR_H
#define ACCEPTOR_H

struct worker;

/* Watch the heritage's sockets. */
void	acceptor_start(struct worker *worker);
void	acceptor_stop(struct worker *worker);

/* Once a second: listen again after descriptors had run out. */
void	acceptor_tick(struct worker *worker);

#endif
