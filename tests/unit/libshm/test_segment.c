/* SPDX-License-Identifier: ISC */

#include "segment.h"

#include "test_pool.h"
#include "wait_until.h"

#include <criterion/criterion.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CHILD_DEADLINE_MS	20000

static struct segment
sealed_segment(void)
{
	struct segment seg;

	cr_assert_eq(segment_create(&seg, "test", 4 * PAGE_BYTES), OK);
	cr_assert_eq(segment_seal(&seg), OK);
	return seg;
}

Test(segment, a_sealed_one_refuses_new_writable_mappings)
{
	struct segment seg = sealed_segment();
	void *at = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
	    seg.fd, 0);

	cr_assert_eq(at, MAP_FAILED);
	cr_assert_eq(errno, EPERM, "%s", strerror(errno));
}

Test(segment, a_read_only_mapping_cannot_be_made_writable)
{
	struct segment seg = sealed_segment();
	void *at = mmap(NULL, PAGE_BYTES, PROT_READ, MAP_SHARED, seg.fd, 0);

	cr_assert_neq(at, MAP_FAILED);
	cr_assert_eq(mprotect(at, PAGE_BYTES, PROT_READ | PROT_WRITE), -1);
	cr_assert_eq(errno, EACCES, "%s", strerror(errno));
}

Test(segment, a_sealed_one_refuses_pwrite)
{
	struct segment seg = sealed_segment();

	cr_assert_eq(pwrite(seg.fd, "x", 1, 0), -1);
	cr_assert_eq(errno, EPERM, "%s", strerror(errno));
}

Test(segment, a_sealed_one_keeps_its_size)
{
	struct segment seg = sealed_segment();

	cr_expect_eq(ftruncate(seg.fd, PAGE_BYTES), -1);
	cr_expect_eq(errno, EPERM, "%s", strerror(errno));
	cr_expect_eq(ftruncate(seg.fd, 64 * PAGE_BYTES), -1);
	cr_expect_eq(errno, EPERM, "%s", strerror(errno));
	cr_expect_eq(lseek(seg.fd, 0, SEEK_END), 4 * PAGE_BYTES);
}

Test(segment, a_sealed_one_refuses_holes)
{
	struct segment seg = sealed_segment();

	cr_assert_eq(fallocate(seg.fd, FALLOC_FL_PUNCH_HOLE |
	    FALLOC_FL_KEEP_SIZE, 0, PAGE_BYTES), -1);
	cr_assert_eq(errno, EPERM, "%s", strerror(errno));
}

Test(segment, a_reader_cannot_have_pages_removed)
{
	struct segment seg = sealed_segment();
	struct segment view;
	int fd = dup(seg.fd);

	*(volatile char *)seg.base = 'w';
	cr_assert_eq(segment_map_readonly(&view, fd), OK);
	cr_assert_eq(madvise(view.base, PAGE_BYTES, MADV_REMOVE), -1);
	cr_assert(errno == EACCES || errno == EPERM, "%s", strerror(errno));
	cr_assert_eq(*(volatile const char *)view.base, 'w');
}

Test(segment, reopening_through_proc_opens_no_door)
{
	struct segment seg = sealed_segment();
	char path[64];
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", seg.fd);
	fd = open(path, O_RDWR);
	if (fd < 0) {
		return;		/* refused at once: as good */
	}
	cr_expect_eq(pwrite(fd, "x", 1, 0), -1);
	cr_expect_eq(mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE,
	    MAP_SHARED, fd, 0), MAP_FAILED);
	cr_expect_eq(ftruncate(fd, 0), -1);
	close(fd);
	fd = open(path, O_RDWR | O_TRUNC);
	cr_expect_eq(fd, -1);
	cr_expect_eq(lseek(seg.fd, 0, SEEK_END), 4 * PAGE_BYTES);
}

Test(segment, no_seal_can_be_added_or_taken_away_later)
{
	struct segment seg = sealed_segment();
	int seals = fcntl(seg.fd, F_GET_SEALS);

	cr_assert_eq(fcntl(seg.fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
	cr_assert_eq(errno, EPERM, "%s", strerror(errno));
	cr_assert_eq(fcntl(seg.fd, F_GET_SEALS), seals);
}

Test(segment, the_mapping_from_before_the_seal_goes_on_writing)
{
	struct segment seg = sealed_segment();
	struct segment view;

	cr_assert_eq(segment_map_readonly(&view, dup(seg.fd)), OK);
	memcpy(seg.base, "after the seal", 15);
	cr_assert_str_eq((const char *)view.base, "after the seal");
	cr_assert_eq(view.bytes, seg.bytes);
}

Test(segment, a_forked_child_goes_on_writing)
{
	struct segment seg = sealed_segment();
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		memcpy(seg.base, "child", 6);
		_exit(0);
	}
	cr_assert(wait_until_exit(pid, CHILD_DEADLINE_MS, &status));
	cr_assert_str_eq((const char *)seg.base, "child");
}

Test(segment, one_that_could_be_cut_is_not_mapped)
{
	struct segment seg, view;

	cr_assert_eq(segment_create(&seg, "test", PAGE_BYTES), OK);
	cr_expect_eq(segment_map_readonly(&view, seg.fd), NOT_SEALED);
	cr_assert_eq(fcntl(seg.fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW),
	    0);
	cr_expect_eq(segment_map_readonly(&view, seg.fd), NOT_SEALED,
	    "writers could still come");
	cr_expect_neq(fcntl(seg.fd, F_GETFD), -1, "stays the caller's");
}

Test(segment, what_is_no_memfd_is_not_mapped)
{
	struct segment view;
	int fd = open("/proc/self/exe", O_RDONLY);

	cr_expect_eq(segment_map_readonly(&view, fd), NOT_SEALED);
	cr_expect_eq(segment_map_readonly(&view, -1), NOT_SEALED);
	cr_expect_null(view.base);
}

Test(segment, pretouch_backs_it_and_changes_nothing)
{
	struct segment seg;
	unsigned char in_core[4];

	cr_assert_eq(segment_create(&seg, "test", 4 * PAGE_BYTES), OK);
	memcpy(seg.base, "kept", 5);
	cr_assert_eq(segment_pretouch(&seg), OK);
	segment_populate(&seg);
	cr_assert_eq(mincore(seg.base, seg.bytes, in_core), 0);
	for (unsigned i = 0; i < 4; i++) {
		cr_expect(in_core[i] & 1, "page %u", i);
	}
	cr_assert_str_eq((const char *)seg.base, "kept");
}

Test(segment, destroy_may_be_called_twice)
{
	struct segment seg = sealed_segment();
	int fd = seg.fd;

	segment_destroy(&seg);
	segment_destroy(&seg);
	cr_assert_eq(fcntl(fd, F_GETFD), -1);
	cr_assert_null(seg.base);
}
