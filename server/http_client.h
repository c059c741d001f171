/* SPDX-License-Identifier: ISC */

/*
 * A connection to the admin port: one request, one answer, the end.  Workers.
 */
#ifndef HTTP_CLIENT_H
#define HTTP_CLIENT_H

#include "clock.h"

struct worker;

/* Takes over fd. */
void	http_client_create(struct worker *worker, int fd, struct boot_ms now);

/* Once a second: who is too slow is dropped. */
void	http_client_tick(struct worker *worker, struct boot_ms now);

void	http_client_destroy_all(struct worker *worker);

#endif
