/* SPDX-License-Identifier: ISC */

/*
 * The file of permits: layout, making, reading.  The supervisor.
 */
#include "permit_file.h"

#include "permit_restore.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC		UINT64_C(0x3154494d52455057)
#define PATH_BYTES	(CONFIG_PATH_BYTES + 32)
#define ALIGNMENT	64u
/* Above what ORIGINS_MAX origins need at ORIGIN_LIMIT_MAX. */
#define BYTES_MAX	(1ull << 30)

static uint64_t
entries_bytes(uint64_t entries)
{
	uint64_t bytes = entries * sizeof(struct origin_ledger_entry);

	return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static uint64_t
head_bytes(void)
{
	return (sizeof(struct permit_file_head) + ALIGNMENT - 1) /
	    ALIGNMENT * ALIGNMENT;
}

uint64_t
permit_file_bytes(const struct config *config)
{
	uint64_t bytes = head_bytes();

	for (uint32_t i = 0; i < config->origin_count; i++) {
		uint32_t uploads;

		bytes += entries_bytes(origin_ledger_entries(
		    &config->origins[i].config, &uploads));
	}
	return bytes;
}

/* All zero if the kernel does not say: then nothing is taken over. */
static void
read_kernel_id(uint8_t id[16])
{
	char text[64];
	ssize_t length;
	int fd = open("/proc/sys/kernel/random/boot_id",
	    O_RDONLY | O_CLOEXEC);

	memset(id, 0, 16);
	if (fd < 0) {
		return;
	}
	length = read(fd, text, sizeof(text));
	(void)close(fd);
	for (ssize_t i = 0, digit = 0; i < length && digit < 32; i++) {
		unsigned value;

		if (text[i] == '-') {
			continue;
		}
		value = text[i] <= '9' ? (unsigned)(text[i] - '0') :
		    (unsigned)(text[i] - 'a') + 10;
		id[digit / 2] = (uint8_t)(id[digit / 2] << 4 | value);
		digit++;
	}
}

static uint64_t
read_pid_space(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) < 0 ? 0 : (uint64_t)st.st_ino;
}

static void
lay_out(struct permit_file_head *file, const struct config *config,
    struct boot_ms now)
{
	uint64_t at = head_bytes();

	file->bytes = permit_file_bytes(config);
	file->started_ms = now.ms;
	read_kernel_id(file->kernel_id);
	file->pid_space = read_pid_space();
	file->origin_count = config->origin_count;
	for (uint32_t i = 0; i < config->origin_count; i++) {
		struct permit_file_origin *row = &file->origins[i];
		uint32_t all = origin_ledger_entries(
		    &config->origins[i].config, &row->uploads);

		memcpy(row->name, config->origins[i].name,
		    sizeof(row->name));
		row->calls = all - row->uploads;
		row->offset = at;
		at += entries_bytes(all);
	}
	file->magic = MAGIC;
}

/* A new file under that name, all zero, with memory behind it. */
static struct permit_file_head *
map_new(const char *path, uint64_t bytes)
{
	void *base = MAP_FAILED;
	int error, fd;

	(void)unlink(path);	/* of a start that did not get far */
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
	    0600);
	if (fd < 0) {
		return NULL;
	}
	/* A hole that cannot be filled later would kill a worker. */
	error = posix_fallocate(fd, 0, (off_t)bytes);
	if (error == 0) {
		base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
		    fd, 0);
		error = base == MAP_FAILED ? errno : 0;
	}
	(void)close(fd);
	if (base == MAP_FAILED) {
		(void)unlink(path);
		errno = error;
		return NULL;
	}
	(void)madvise(base, bytes, MADV_DONTDUMP);
	return base;
}

/* All that is used of it later lies within it. */
static bool
is_whole(const struct permit_file_head *file, uint64_t bytes)
{
	if (bytes < head_bytes() || file->magic != MAGIC ||
	    file->bytes != bytes || file->origin_count > ORIGINS_MAX) {
		return false;
	}
	for (uint32_t i = 0; i < file->origin_count; i++) {
		const struct permit_file_origin *row = &file->origins[i];
		uint64_t entries = (uint64_t)row->calls + row->uploads;

		if (memchr(row->name, '\0', sizeof(row->name)) == NULL ||
		    row->offset < head_bytes() || row->offset > bytes ||
		    row->offset % ALIGNMENT != 0 ||
		    entries > (bytes - row->offset) /
		    sizeof(struct origin_ledger_entry)) {
			return false;
		}
	}
	return true;
}

/*
 * A copy: who cuts a mapped file kills its readers.  NULL: there is none that
 * makes sense; *damaged: but there is one.
 */
static struct permit_file_head *
read_old(const char *path, bool *damaged)
{
	struct permit_file_head *old = NULL;
	uint64_t have = 0;
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	*damaged = false;
	if (fd < 0) {
		*damaged = errno != ENOENT;
		return NULL;
	}
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    st.st_uid == geteuid() && (st.st_mode & 077) == 0 &&
	    st.st_size > 0 && (uint64_t)st.st_size <= BYTES_MAX) {
		old = malloc((size_t)st.st_size);
	}
	while (old != NULL && have < (uint64_t)st.st_size) {
		ssize_t got = pread(fd, (uint8_t *)old + have,
		    (size_t)((uint64_t)st.st_size - have), (off_t)have);

		if (got <= 0) {
			break;
		}
		have += (uint64_t)got;
	}
	(void)close(fd);
	if (old == NULL || have != (uint64_t)st.st_size ||
	    !is_whole(old, have)) {
		*damaged = true;
		free(old);
		return NULL;
	}
	return old;
}

static bool
is_of_this_kernel(const struct permit_file_head *old,
    const struct permit_file_head *file)
{
	static const uint8_t none[16];

	return memcmp(old->kernel_id, none, sizeof(none)) != 0 &&
	    memcmp(old->kernel_id, file->kernel_id, sizeof(none)) == 0;
}

bool
permit_file_ledger(struct permit_file_head *file, uint32_t origin,
    struct origin_ledger *ledger)
{
	const struct permit_file_origin *row;

	if (file == NULL || origin >= file->origin_count) {
		return false;
	}
	row = &file->origins[origin];
	ledger->calls = (void *)((uint8_t *)file + row->offset);
	ledger->uploads = ledger->calls + row->calls;
	ledger->call_count = row->calls;
	ledger->upload_count = row->uploads;
	ledger->closing = &file->closing;
	return true;
}

enum result
permit_file_create(const char *dir, const struct config *config,
    struct control *control, struct boot_ms now,
    struct permit_file_head **out, struct permit_file_counts *counts)
{
	char path[PATH_BYTES], making[PATH_BYTES + 4];
	struct permit_file_head *file, *old;
	uint64_t bytes = permit_file_bytes(config);

	memset(counts, 0, sizeof(*counts));
	(void)snprintf(path, sizeof(path), "%s/" PERMIT_FILE_NAME, dir);
	(void)snprintf(making, sizeof(making), "%s.new", path);
	file = map_new(making, bytes);
	if (file == NULL) {
		return SYSTEM;
	}
	lay_out(file, config, now);
	old = read_old(path, &counts->damaged);
	if (old != NULL && is_of_this_kernel(old, file)) {
		permit_restore(old, file, control, now, counts);
	}
	free(old);
	if (rename(making, path) < 0) {
		int error = errno;

		/* What was restored is true all the same. */
		(void)unlink(making);
		(void)munmap(file, bytes);
		errno = error;
		return SYSTEM;
	}
	*out = file;
	return OK;
}

void
permit_file_close(struct permit_file_head *file)
{
	if (file != NULL) {
		/* Relaxed: signals that follow are what ends connections. */
		atomic_store_explicit(&file->closing, 1,
		    memory_order_relaxed);
	}
}

static bool
is_empty(struct permit_file_head *file)
{
	for (uint32_t i = 0; i < file->origin_count; i++) {
		struct origin_ledger ledger;

		(void)permit_file_ledger(file, i, &ledger);
		for (uint32_t e = 0; e < ledger.call_count +
		    ledger.upload_count; e++) {
			if (ledger.calls[e].token != 0) {
				return false;
			}
		}
	}
	return true;
}

void
permit_file_clean_up(const char *dir, struct permit_file_head *file)
{
	char path[PATH_BYTES];

	if (file != NULL && is_empty(file)) {
		(void)snprintf(path, sizeof(path), "%s/" PERMIT_FILE_NAME,
		    dir);
		(void)unlink(path);
	}
}
