/* SPDX-License-Identifier: ISC */

/*
 * One datagram a message to the socket that the environment names: a path,
 * or a name in the abstract space after '@'.
 */
#include "notify.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "config_value.h"

#define MESSAGE_BYTES	512
#define US_PER_MS	1000

static int
connect_socket(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t length = strlen(path);
	int fd;

	if ((path[0] != '/' && path[0] != '@') || length < 2 ||
	    length >= sizeof(address.sun_path)) {
		return -1;
	}
	memcpy(address.sun_path, path, length);
	if (path[0] == '@') {
		address.sun_path[0] = '\0';
	}
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0) {
		return -1;
	}
	if (connect(fd, (const struct sockaddr *)&address, (socklen_t)
	    (offsetof(struct sockaddr_un, sun_path) + length)) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static uint32_t
read_watchdog_ms(void)
{
	const char *usec = getenv("WATCHDOG_USEC");
	const char *pid = getenv("WATCHDOG_PID");
	uint64_t number;

	if (usec == NULL || !config_value_parse_number(usec, &number) ||
	    number / US_PER_MS == 0 || number / US_PER_MS > UINT32_MAX) {
		return 0;
	}
	if (pid != NULL && atoi(pid) != getpid()) {
		return 0;
	}
	return (uint32_t)(number / US_PER_MS);
}

void
notify_init(struct notify *notify)
{
	const char *path = getenv("NOTIFY_SOCKET");

	notify->fd = path == NULL ? -1 : connect_socket(path);
	notify->watchdog_ms = read_watchdog_ms();
	(void)unsetenv("NOTIFY_SOCKET");
	(void)unsetenv("WATCHDOG_USEC");
	(void)unsetenv("WATCHDOG_PID");
}

bool
notify_send(const struct notify *notify, const char *format, ...)
{
	char message[MESSAGE_BYTES];
	va_list args;
	int length;

	if (notify->fd < 0) {
		return false;
	}
	va_start(args, format);
	length = vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	if (length < 0 || (size_t)length >= sizeof(message)) {
		return false;
	}
	return send(notify->fd, message, (size_t)length, MSG_NOSIGNAL) ==
	    length;
}

bool
notify_send_reloading(const struct notify *notify)
{
	struct timespec now = { 0 };

	(void)clock_gettime(CLOCK_MONOTONIC, &now);	/* cannot fail */
	return notify_send(notify, "RELOADING=1\nMONOTONIC_USEC=%llu",
	    (unsigned long long)now.tv_sec * CLOCK_MS_PER_S * US_PER_MS +
	    (unsigned long long)now.tv_nsec / 1000);
}
