/* SPDX-License-Identifier: ISC */

/*
 * What a service manager is told, in its datagram protocol.  The supervisor
 * alone; without a manager nothing happens.
 */
#ifndef NOTIFY_H
#define NOTIFY_H

#include <stdbool.h>
#include <stdint.h>

struct notify {
	int		fd;		/* -1: nobody to tell */
	uint32_t	watchdog_ms;	/* 0: not asked for */
};

/*
 * Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID and takes them out of
 * the environment, so that children do not speak for us.
 */
void	notify_init(struct notify *notify);

/*
 * Lines "NAME=value" parted by line ends, in the place of format.  False if
 * they could not be sent.
 */
bool	notify_send(const struct notify *notify, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* RELOADING=1 with the time that belongs to it. */
bool	notify_send_reloading(const struct notify *notify);

#endif
