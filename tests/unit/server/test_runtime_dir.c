/* SPDX-License-Identifier: ISC */

#include "runtime_dir.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char base[] = "/tmp/weir-test-XXXXXX";
static char dir[64];
static char error[RUNTIME_DIR_ERROR_BYTES];

static void
make_base(void)
{
	cr_assert_not_null(mkdtemp(base));
	(void)snprintf(dir, sizeof(dir), "%s/run", base);
}

static void
remove_base(void)
{
	(void)unlink(dir);
	(void)rmdir(dir);
	cr_assert_eq(rmdir(base), 0);
}

Test(runtime_dir, is_made_if_missing_and_kept_if_there, .init = make_base,
    .fini = remove_base)
{
	struct stat st;

	cr_assert(runtime_dir_prepare(dir, error), "%s", error);
	cr_assert_eq(stat(dir, &st), 0);
	cr_assert(S_ISDIR(st.st_mode));
	cr_assert_eq(st.st_mode & 022, 0);
	cr_assert(runtime_dir_prepare(dir, error), "%s", error);
}

Test(runtime_dir, one_that_others_may_write_to_is_refused,
    .init = make_base, .fini = remove_base)
{
	cr_assert_eq(mkdir(dir, 0700), 0);
	cr_assert_eq(chmod(dir, 0770), 0);
	cr_assert_not(runtime_dir_prepare(dir, error));
	cr_assert_not_null(strstr(error, "others may write"), "%s", error);
}

Test(runtime_dir, a_link_is_refused, .init = make_base, .fini = remove_base)
{
	cr_assert_eq(symlink("/", dir), 0);
	cr_assert_not(runtime_dir_prepare(dir, error));
	cr_assert_not_null(strstr(error, "is no directory"), "%s", error);
}

Test(runtime_dir, a_missing_parent_is_told)
{
	cr_assert_not(runtime_dir_prepare("/nonexistent/weir", error));
	cr_assert_not_null(strstr(error, "/nonexistent/weir"), "%s", error);
}

Test(runtime_dir, somebody_elses_is_refused, .init = make_base,
    .fini = remove_base)
{
	if (geteuid() != 0) {
		cr_skip("only root can give a directory away");
	}
	cr_assert_eq(mkdir(dir, 0755), 0);
	cr_assert_eq(chown(dir, 12345, 12345), 0);
	cr_assert_not(runtime_dir_prepare(dir, error));
	cr_assert_not_null(strstr(error, "belongs to user 12345"), "%s",
	    error);
}
