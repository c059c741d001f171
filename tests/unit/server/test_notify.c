/* SPDX-License-Identifier: ISC */

#include "notify.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* A manager's socket in the abstract space, named in the environment. */
static int
listen_as_manager(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	char name[64];
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	size_t length = (size_t)snprintf(name, sizeof(name),
	    "@weir-test-%d", (int)getpid());

	memcpy(address.sun_path + 1, name + 1, length - 1);
	cr_assert_eq(bind(fd, (const struct sockaddr *)&address, (socklen_t)
	    (offsetof(struct sockaddr_un, sun_path) + length)), 0);
	cr_assert_eq(setenv("NOTIFY_SOCKET", name, 1), 0);
	return fd;
}

static const char *
receive(int fd)
{
	static char text[1024];
	ssize_t done = recv(fd, text, sizeof(text) - 1, 0);

	text[done > 0 ? done : 0] = '\0';
	return text;
}

Test(notify, sends_to_the_manager_and_clears_the_environment)
{
	struct notify notify;
	int fd = listen_as_manager();

	notify_init(&notify);
	cr_assert_null(getenv("NOTIFY_SOCKET"));
	cr_assert(notify_send(&notify, "READY=1\nSTATUS=%d pools", 2));
	cr_assert_str_eq(receive(fd), "READY=1\nSTATUS=2 pools");
}

Test(notify, a_reload_carries_its_time)
{
	struct notify notify;
	struct timespec before;
	unsigned long long usec = 0;
	int fd = listen_as_manager();

	cr_assert_eq(clock_gettime(CLOCK_MONOTONIC, &before), 0);
	notify_init(&notify);
	cr_assert(notify_send_reloading(&notify));
	cr_assert_eq(sscanf(receive(fd), "RELOADING=1\nMONOTONIC_USEC=%llu",
	    &usec), 1);
	cr_assert_geq(usec, (unsigned long long)before.tv_sec * 1000000 +
	    (unsigned long long)before.tv_nsec / 1000);
}

Test(notify, without_a_manager_nothing_happens)
{
	struct notify notify;

	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	notify_init(&notify);
	cr_assert_eq(notify.watchdog_ms, 0);
	cr_assert_not(notify_send(&notify, "READY=1"));
}

Test(notify, a_bad_name_of_a_socket_is_no_manager)
{
	static const char *const names[] = {
		"", "@", "relative", "/nowhere/s",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct notify notify;

		cr_assert_eq(setenv("NOTIFY_SOCKET", names[i], 1), 0);
		notify_init(&notify);
		cr_assert_eq(notify.fd, -1, "%s", names[i]);
	}
}

Test(notify, the_watchdog_is_for_the_process_that_was_named)
{
	struct notify notify;
	char pid[16];

	(void)snprintf(pid, sizeof(pid), "%d", (int)getpid());
	setenv("WATCHDOG_USEC", "3000000", 1);
	setenv("WATCHDOG_PID", pid, 1);
	notify_init(&notify);
	cr_assert_eq(notify.watchdog_ms, 3000);
	setenv("WATCHDOG_USEC", "3000000", 1);
	setenv("WATCHDOG_PID", "1", 1);
	notify_init(&notify);
	cr_assert_eq(notify.watchdog_ms, 0);
	setenv("WATCHDOG_USEC", "soon", 1);
	notify_init(&notify);
	cr_assert_eq(notify.watchdog_ms, 0);
}
