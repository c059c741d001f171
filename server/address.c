/* SPDX-License-Identifier: ISC */

/*
 * Addresses of listening sockets.  A name is refused: what it means could
 * change between the check of a configuration and the start.
 */
#include "address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "config_value.h"

static bool
parse_port(const char *text, in_port_t *port)
{
	uint64_t number;

	if (!config_value_parse_number(text, &number) || number > 65535) {
		return false;
	}
	*port = htons((uint16_t)number);
	return true;
}

bool
address_parse(const char *text, struct address *address)
{
	const char *colon = strrchr(text, ':');
	struct sockaddr_in *v4 = (void *)&address->storage;
	struct sockaddr_in6 *v6 = (void *)&address->storage;
	char host[INET6_ADDRSTRLEN + 2];
	size_t length;

	memset(address, 0, sizeof(*address));
	if (colon == NULL || (size_t)(colon - text) >= sizeof(host)) {
		return false;
	}
	length = (size_t)(colon - text);
	memcpy(host, text, length);
	host[length] = '\0';
	if (length > 2 && host[0] == '[' && host[length - 1] == ']') {
		host[length - 1] = '\0';
		v6->sin6_family = AF_INET6;
		address->bytes = sizeof(*v6);
		return inet_pton(AF_INET6, host + 1, &v6->sin6_addr) == 1 &&
		    parse_port(colon + 1, &v6->sin6_port);
	}
	v4->sin_family = AF_INET;
	address->bytes = sizeof(*v4);
	return inet_pton(AF_INET, host, &v4->sin_addr) == 1 &&
	    parse_port(colon + 1, &v4->sin_port);
}

const char *
address_format(const struct address *address, char *out)
{
	const struct sockaddr_in *v4 = (const void *)&address->storage;
	const struct sockaddr_in6 *v6 = (const void *)&address->storage;
	char host[INET6_ADDRSTRLEN] = "?";

	if (address->storage.ss_family == AF_INET6) {
		(void)inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof(host));
		(void)snprintf(out, ADDRESS_TEXT_BYTES, "[%s]:%u", host,
		    ntohs(v6->sin6_port));
	} else {
		(void)inet_ntop(AF_INET, &v4->sin_addr, host, sizeof(host));
		(void)snprintf(out, ADDRESS_TEXT_BYTES, "%s:%u", host,
		    ntohs(v4->sin_port));
	}
	return out;
}

bool
address_is_loopback(const struct address *address)
{
	const struct sockaddr_in *v4 = (const void *)&address->storage;
	const struct sockaddr_in6 *v6 = (const void *)&address->storage;

	if (address->storage.ss_family == AF_INET6) {
		return IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
	}
	return ntohl(v4->sin_addr.s_addr) >> 24 == 127;
}
