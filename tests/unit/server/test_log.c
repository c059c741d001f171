/* SPDX-License-Identifier: ISC */

#include "log.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static char text[4096];

/* Standard error goes into a pipe of ours; each test is its own process. */
static int
catch_log(void)
{
	int fds[2];

	cr_assert_eq(pipe2(fds, O_NONBLOCK), 0);
	cr_assert_geq(dup2(fds[1], STDERR_FILENO), 0);
	close(fds[1]);
	log_init();
	return fds[0];
}

static const char *
read_log(int fd)
{
	ssize_t done = read(fd, text, sizeof(text) - 1);

	text[done > 0 ? done : 0] = '\0';
	return text;
}

Test(log, a_line_has_its_level_event_and_keys)
{
	int fd = catch_log();

	log_line(LOG_LEVEL_WARNING, "pool_full", "pool=%s n=%d", "web", 3);
	cr_assert_str_eq(read_log(fd), "<4>pool_full pool=web n=3\n");
	log_set_process("worker-1");
	log_line(LOG_LEVEL_ERROR, "alone", "%s", "");
	cr_assert_str_eq(read_log(fd), "<3>alone process=worker-1\n");
}

Test(log, levels_above_the_set_one_are_dropped)
{
	int fd = catch_log();

	log_line(LOG_LEVEL_DEBUG, "quiet", "a=1");
	cr_assert_str_eq(read_log(fd), "");
	log_set_level(LOG_LEVEL_DEBUG);
	log_line(LOG_LEVEL_DEBUG, "loud", "a=1");
	cr_assert_str_eq(read_log(fd), "<7>loud a=1\n");
}

Test(log, a_value_cannot_forge_a_line)
{
	int fd = catch_log();

	log_line(LOG_LEVEL_INFO, "key", "key=\"%s\"", "a\n<0>evil\t\x1b[m\x7f");
	cr_assert_str_eq(read_log(fd),
	    "<6>key key=\"a\\x0a<0>evil\\x09\\x1b[m\\x7f\"\n");
}

Test(log, a_long_line_is_cut_and_ends)
{
	int fd = catch_log();
	char value[3000];
	size_t length;

	memset(value, '\n', sizeof(value) - 1);
	value[sizeof(value) - 1] = '\0';
	log_line(LOG_LEVEL_INFO, "long", "key=%s", value);
	length = strlen(read_log(fd));
	cr_assert_leq(length, 1024);
	cr_assert_gt(length, 1000);
	cr_assert_eq(text[length - 1], '\n');
}

Test(log, what_was_held_back_is_told_at_the_end)
{
	int fd = catch_log();

	for (int i = 0; i < 128; i++) {
		log_line(LOG_LEVEL_INFO, "storm", "i=%d", i);
		(void)read_log(fd);
	}
	log_line(LOG_LEVEL_INFO, "storm", "i=128");
	cr_assert_str_eq(read_log(fd), "");
	log_audit("storm", "uid=0");
	cr_assert_str_eq(read_log(fd), "<4>storm uid=0\n");
	log_tick();
	cr_assert_str_eq(read_log(fd), "");
	log_flush();
	cr_assert_str_eq(read_log(fd),
	    "<4>storm repeated=1 text=\"repeated 1 times\"\n");
}
