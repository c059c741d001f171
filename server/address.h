/* SPDX-License-Identifier: ISC */

/*
 * Numeric addresses with a port, as text and for bind().  Pure.
 */
#ifndef ADDRESS_H
#define ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

/* Room for any address as text, "[...]:65535". */
#define ADDRESS_TEXT_BYTES	64

struct address {
	struct sockaddr_storage storage;
	socklen_t	bytes;
};

/* "127.0.0.1:9477" or "[::1]:9477"; no names, no lookups. */
bool	address_parse(const char *text, struct address *address);

/* Returns out, ADDRESS_TEXT_BYTES of room. */
const char *address_format(const struct address *address, char *out);

/* True if only this machine can reach it. */
bool	address_is_loopback(const struct address *address);

#endif
