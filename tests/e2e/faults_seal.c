/* SPDX-License-Identifier: ISC */

/*
 * A client of the daemon's own user tries to write where it may only read:
 * into the segment by every call that could, into a worker by those for
 * debuggers.  All is refused.  And a worker that dumps core, or would, stops
 * nobody.
 */
#include "raw.h"

#include "wait_until.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/* Nobody's number, where root runs the test. */
#define SOMEBODY	65534u
#define PAGE		4096
/* The first so many attacks need no worker and no seal of ours. */
#define ON_A_FILE	8u

/* What the attacker needs, and what it tells by its exit. */
struct attack {
	int		fd;		/* of the segment */
	pid_t		worker;
	uint64_t	bytes;
	const void	*map;		/* read-only, of all of it */
};

/* True: refused. */
typedef bool (*attack_fn)(const struct attack *attack);

static bool
by_write(const struct attack *attack)
{
	return write(attack->fd, "x", 1) < 0;
}

static bool
by_pwrite(const struct attack *attack)
{
	char byte = 'x';
	struct iovec part = { .iov_base = &byte, .iov_len = 1 };

	return pwrite(attack->fd, "x", 1, PAGE) < 0 &&
	    pwritev(attack->fd, &part, 1, PAGE) < 0 &&
	    pwritev2(attack->fd, &part, 1, PAGE, RWF_DSYNC) < 0;
}

static bool
by_truncate(const struct attack *attack)
{
	return ftruncate(attack->fd, 0) < 0 &&
	    ftruncate(attack->fd, (off_t)attack->bytes + PAGE) < 0;
}

static bool
by_fallocate(const struct attack *attack)
{
	return fallocate(attack->fd, FALLOC_FL_PUNCH_HOLE |
	    FALLOC_FL_KEEP_SIZE, 0, PAGE) < 0 &&
	    fallocate(attack->fd, FALLOC_FL_ZERO_RANGE, 0, PAGE) < 0 &&
	    fallocate(attack->fd, FALLOC_FL_COLLAPSE_RANGE, 0, PAGE) < 0 &&
	    fallocate(attack->fd, 0, 0, (off_t)attack->bytes + PAGE) < 0;
}

static bool
by_mmap(const struct attack *attack)
{
	return mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED,
	    attack->fd, 0) == MAP_FAILED && mmap(NULL, PAGE, PROT_WRITE,
	    MAP_SHARED_VALIDATE, attack->fd, 0) == MAP_FAILED;
}

static bool
by_mprotect(const struct attack *attack)
{
	void *map = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, attack->fd, 0);

	return map != MAP_FAILED && mprotect(map, PAGE, PROT_READ |
	    PROT_WRITE) < 0 && madvise(map, PAGE, MADV_REMOVE) < 0;
}

static bool
by_reopening(const struct attack *attack)
{
	char path[64];
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", attack->fd);
	fd = open(path, O_RDWR | O_CLOEXEC);
	/* A file that opens for writing is sealed all the same. */
	return fd < 0 || (write(fd, "x", 1) < 0 && pwrite(fd, "x", 1, PAGE) <
	    0 && ftruncate(fd, 0) < 0 && mmap(NULL, PAGE, PROT_WRITE,
	    MAP_SHARED, fd, 0) == MAP_FAILED && fallocate(fd,
	    FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, PAGE) < 0);
}

static bool
by_kernel_copies(const struct attack *attack)
{
	int from = memfd_create("from", MFD_CLOEXEC);
	int pipes[2];
	off_t at = 0;
	off_t to = 0;

	return from >= 0 && pipe(pipes) == 0 && ftruncate(from, PAGE) == 0 &&
	    write(pipes[1], "xxxx", 4) == 4 &&
	    sendfile(attack->fd, from, &at, PAGE) < 0 &&
	    splice(pipes[0], NULL, attack->fd, &to, 4, 0) < 0 &&
	    copy_file_range(from, &at, attack->fd, &to, PAGE, 0) < 0;
}

/* Neither more seals, which would stop the daemon, nor fewer. */
static bool
by_seals(const struct attack *attack)
{
	return fcntl(attack->fd, F_ADD_SEALS, F_SEAL_WRITE) < 0 &&
	    fcntl(attack->fd, F_ADD_SEALS, 0x0020) < 0;
}

/* Asked of the kernel itself to write there for us. */
static bool
by_results_of_calls(const struct attack *attack)
{
	void *at = (char *)(uintptr_t)attack->map + PAGE;
	int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	return zero >= 0 && read(zero, at, 8) < 0 && errno == EFAULT;
}

/* ---- into a worker ---- */

static bool
by_proc_mem(const struct attack *attack)
{
	char path[64];
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/mem",
	    (int)attack->worker);
	fd = open(path, O_RDWR | O_CLOEXEC);
	return fd < 0 && (errno == EACCES || errno == EPERM);
}

/* The worker's own open files and maps. */
static bool
by_proc_files(const struct attack *attack)
{
	static const char *const files[] = { "fd/3", "map_files", "maps" };
	char path[64];

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		(void)snprintf(path, sizeof(path), "/proc/%d/%s",
		    (int)attack->worker, files[i]);
		if (open(path, O_RDONLY | O_CLOEXEC) >= 0) {
			return false;
		}
	}
	return true;
}

static bool
by_vm_writev(const struct attack *attack)
{
	char byte = 'x';
	struct iovec local = { .iov_base = &byte, .iov_len = 1 };
	struct iovec remote = {
		.iov_base = (void *)(uintptr_t)attack->map,
		.iov_len = 1,
	};

	return process_vm_writev(attack->worker, &local, 1, &remote, 1, 0) <
	    0 && errno == EPERM && process_vm_readv(attack->worker, &local, 1,
	    &remote, 1, 0) < 0 && errno == EPERM;
}

static bool
by_ptrace(const struct attack *attack)
{
	return ptrace(PTRACE_ATTACH, attack->worker, NULL, NULL) < 0 &&
	    errno == EPERM && ptrace(PTRACE_SEIZE, attack->worker, NULL,
	    NULL) < 0 && errno == EPERM;
}

static bool
by_stealing_files(const struct attack *attack)
{
	int pidfd = (int)syscall(SYS_pidfd_open, attack->worker, 0);

	for (int fd = 3; fd < 16 && pidfd >= 0; fd++) {
		if (syscall(SYS_pidfd_getfd, pidfd, fd, 0) >= 0 ||
		    errno != EPERM) {
			return false;
		}
	}
	return pidfd >= 0;
}

static const struct {
	const char	*name;
	attack_fn	run;
} attacks[] = {
	{ "write", by_write },
	{ "pwrite", by_pwrite },
	{ "ftruncate", by_truncate },
	{ "fallocate", by_fallocate },
	{ "writable_mmap", by_mmap },
	{ "mprotect", by_mprotect },
	{ "reopening", by_reopening },
	{ "kernel_copies", by_kernel_copies },
	{ "seals", by_seals },
	{ "results_of_calls", by_results_of_calls },
	{ "proc_mem", by_proc_mem },
	{ "proc_files", by_proc_files },
	{ "process_vm_writev", by_vm_writev },
	{ "ptrace", by_ptrace },
	{ "pidfd_getfd", by_stealing_files },
};

/* In a process of the daemon's user: exit 0 refused, 1 done, 2 not tried. */
static _Noreturn void
attack_as(const struct scene *scene, attack_fn run, pid_t worker)
{
	struct attack attack = { .worker = worker };
	struct stat st;
	uid_t uid = scene->uid;

	if (uid != 0 && (setresgid(uid, uid, uid) < 0 ||
	    setresuid(uid, uid, uid) < 0)) {
		_exit(2);
	}
	if (raw_hello(scene, &attack.fd) < 0 || attack.fd < 0 ||
	    fstat(attack.fd, &st) < 0) {
		_exit(2);
	}
	attack.bytes = (uint64_t)st.st_size;
	attack.map = mmap(NULL, attack.bytes, PROT_READ, MAP_SHARED,
	    attack.fd, 0);
	if (attack.map == MAP_FAILED) {
		_exit(2);
	}
	_exit(run(&attack) ? 0 : 1);
}

static void
try_attack(struct plain_test *test, struct scene *scene, size_t index)
{
	char name[64];
	int status = -1;
	pid_t worker = scene_child(scene, "worker 0");
	pid_t pid;

	(void)snprintf(name, sizeof(name), "refused_by_%s",
	    attacks[index].name);
	if (!plain_wants(test, name)) {
		return;
	}
	pid = fork();
	if (pid == 0) {
		attack_as(scene, attacks[index].run, worker);
	}
	(void)wait_until_exit(pid, SCENE_DEADLINE_MS, &status);
	plain_check(test, name, WIFEXITED(status) && WEXITSTATUS(status) == 0,
	    "status %#x", (unsigned)status);
}

/* The same calls do work on a file that is not sealed. */
static void
try_attacks_on_plain_file(struct plain_test *test)
{
	struct attack attack = { .bytes = 16 * PAGE };
	unsigned done = 0;

	for (size_t i = 0; i < ON_A_FILE; i++) {
		attack.fd = memfd_create("open", MFD_CLOEXEC);
		if (ftruncate(attack.fd, (off_t)attack.bytes) == 0) {
			done += !attacks[i].run(&attack);
		}
		(void)close(attack.fd);
	}
	plain_check(test, "attacks_work_on_a_file_without_seals",
	    done == ON_A_FILE,
	    "%u of %u", done, ON_A_FILE);
}

static bool
has_core_file(const struct scene *scene)
{
	char path[SCENE_PATH_BYTES + 8];

	(void)snprintf(path, sizeof(path), "%s/core", scene->dir);
	return access(path, F_OK) == 0 || access("core", F_OK) == 0;
}

/* By each signal whose default is a core dump. */
static void
dump_cores(struct plain_test *test, struct scene *scene)
{
	static const int signals[] = { SIGQUIT, SIGSEGV, SIGABRT, SIGBUS };
	const struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY };
	struct bystander other;
	struct weir *handle = scene_open(scene);
	uint64_t slowest_us = 0;
	bool back = true;
	bool read = true;

	(void)setrlimit(RLIMIT_CORE, &all);
	read = weir_set(handle, "kept", 4, "value", 5, NULL, NULL) == WEIR_OK;
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		const char *title = i % 2 == 0 ? "worker 0" : "worker 1";
		pid_t old = scene_child(scene, title);

		(void)kill(old, signals[i]);
		/* Hits need no worker: read until there is another one. */
		do {
			uint64_t start_us = scene_now_us();
			char value[8];

			read = weir_get(handle, "kept", 4, value,
			    sizeof(value), NULL, NULL) == WEIR_OK && read;
			start_us = scene_now_us() - start_us;
			slowest_us = start_us > slowest_us ? start_us :
			    slowest_us;
		} while (scene_child(scene, title) == old);
		back = scene_wait_child(scene, title, old) != 0 && back;
	}
	plain_check(test, "core_dump_stalls_no_reader", read && back &&
	    slowest_us < SCENE_LATENCY_MAX_US, "read %d, back %d, %lu us",
	    read, back, slowest_us);
	plain_check(test, "worker_leaves_no_core", !has_core_file(scene),
	    "a core file is there");
	weir_close(handle);
	bystander_start(&other, scene);
	bystander_check(test, &other, "core_dump_leaves_no_lock");
}

int
main(int argc, char **argv)
{
	struct plain_test test;
	struct scene scene = {
		.memory = "16M",
		.workers = 2,
		.uid = geteuid() == 0 ? SOMEBODY : 0,
	};

	plain_start(&test, argc, argv);
	if (!scene_can_run(&scene)) {
		plain_skip(&test, "seals", "user %u cannot run weird",
		    (unsigned)scene.uid);
		return plain_end(&test);
	}
	if (!scene_start(&scene)) {
		plain_fail(&test, "seals", "the daemon does not start");
		return plain_end(&test);
	}
	try_attacks_on_plain_file(&test);
	for (size_t i = 0; i < sizeof(attacks) / sizeof(attacks[0]); i++) {
		try_attack(&test, &scene, i);
	}
	dump_cores(&test, &scene);
	scene_check_clean(&test, &scene, "segment_is_sound_after_attacks");
	plain_check(&test, "daemon_ends_well_after_attacks",
	    scene_end(&scene), "see its log");
	return plain_end(&test);
}
