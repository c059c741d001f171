/* SPDX-License-Identifier: ISC */

/*
 * The worker's end of a client's ring.
 */
#include "ring_session.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "access.h"
#include "protocol.h"
#include "request_parse.h"
#include "stats.h"
#include "write.h"

/* Known to the kernel before Debian 12's headers name it. */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL	0x0008U
#endif

#define COUNTS_BYTES	24
/* Hints whose lines are fetched side by side. */
#define HINTS_AT_ONCE	16u
#define READS_PER_MS	(RING_READS_PER_S / CLOCK_MS_PER_S)
/* Who was quiet for a day has a day's reads to tell of, and no more. */
#define READS_SPAN_MAX_MS	UINT64_C(86400000)

static int
create_memfd(size_t bytes)
{
	int fd = memfd_create("weir-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING |
	    MFD_NOEXEC_SEAL);

	if (fd < 0 && errno == EINVAL) {
		/* Kernels before 6.3 know no MFD_NOEXEC_SEAL. */
		fd = memfd_create("weir-ring", MFD_CLOEXEC |
		    MFD_ALLOW_SEALING);
	}
	if (fd < 0) {
		return -1;
	}
	/*
	 * Backed now, where a lack of memory is an answer.  Holes that the
	 * client punches later read as zeroes; it cannot cut the file.
	 */
	if (ftruncate(fd, (off_t)bytes) < 0 ||
	    fallocate(fd, 0, 0, (off_t)bytes) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW |
	    F_SEAL_SEAL) < 0) {
		int saved = errno;

		(void)close(fd);
		errno = saved;
		return -1;
	}
	return fd;
}

enum result
ring_session_create(struct ring_session *ring, const struct pool *pool,
    struct control_client *row, uint32_t capacity, struct boot_ms now,
    int *fd)
{
	enum result result;

	memset(ring, 0, sizeof(*ring));
	ring->pool = pool;
	ring->row = row;
	ring->hints_since_ms = now.ms;
	ring->counts_since_ms = now.ms;
	ring->reads_room = RING_READS_PER_S;
	ring->bytes = ring_bytes(capacity);
	if (ring->bytes == 0) {
		return INVALID;
	}
	*fd = create_memfd(ring->bytes);
	if (*fd < 0) {
		return errno == ENOSPC || errno == ENOMEM ? NO_MEMORY :
		    SYSTEM;
	}
	ring->mem = mmap(NULL, ring->bytes, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_POPULATE, *fd, 0);
	if (ring->mem == MAP_FAILED) {
		ring->mem = NULL;
		(void)close(*fd);
		return NO_MEMORY;
	}
	(void)madvise(ring->mem, ring->bytes, MADV_DONTDUMP);
	result = ring_init(ring->mem, capacity);
	if (result == OK) {
		result = ring_consumer_attach(&ring->consumer, ring->mem,
		    capacity);
	}
	if (result != OK) {
		ring_session_destroy(ring);
		(void)close(*fd);
	}
	return result;
}

static enum result
take_hints(struct ring_session *ring, const uint8_t *body, uint32_t length)
{
	uint32_t count = length / RING_HINT_BYTES;

	if (length == 0 || length % RING_HINT_BYTES != 0) {
		return CORRUPT;
	}
	if (ring->now.ms - ring->hints_since_ms >= CLOCK_MS_PER_S) {
		ring->hints_since_ms = ring->now.ms;
		ring->hints = 0;
	}
	for (uint32_t i = 0; i < count && i < HINTS_AT_ONCE; i++) {
		access_prefetch_hint(ring->pool, wire_get_u64(body +
		    i * RING_HINT_BYTES));
	}
	for (uint32_t i = 0; i < count; i++) {
		const uint8_t *at = body + i * RING_HINT_BYTES;

		if (ring->hints >= RING_HINTS_PER_S) {
			stats_add(ring->pool->stats, STAT_hints_dropped,
			    count - i);
			break;
		}
		ring->hints++;
		access_hint(ring->pool, wire_get_u64(at),
		    wire_get_u32(at + 8), wire_get_u32(at + 12));
	}
	return OK;
}

/* A hit renews an entry's life; of the same allowance as hints. */
static enum result
take_slide(struct ring_session *ring, const uint8_t *body, uint32_t length)
{
	if (length != RING_SLIDE_BYTES) {
		return CORRUPT;
	}
	if (ring->now.ms - ring->hints_since_ms >= CLOCK_MS_PER_S) {
		ring->hints_since_ms = ring->now.ms;
		ring->hints = 0;
	}
	if (ring->hints >= RING_HINTS_PER_S) {
		stats_add(ring->pool->stats, STAT_hints_dropped, 1);
		return OK;
	}
	ring->hints++;
	/* A place that is another's by now, or a lock that is held: lost. */
	(void)access_slide(ring->pool, wire_get_u64(body),
	    wire_get_u32(body + 8), wire_get_u32(body + 12),
	    request_expiry_ms(ring->now, wire_get_u64(body + 24)),
	    request_expiry_ms(ring->now, wire_get_u64(body + 16)), ring->now);
	return OK;
}

static enum result
take_set(struct ring_session *ring, const uint8_t *body, uint32_t length)
{
	struct request_set set;
	struct entry_spec spec;
	struct key key;
	uint64_t version;
	enum result result = request_parse_set(body, length, &set);

	if (result == INVALID) {
		return CORRUPT;
	}
	if (result == OK) {
		result = key_init(&key, ring->pool, set.key,
		    set.head.key_length);
	}
	if (result == OK) {
		spec = request_set_spec(ring->pool, &set.head, set.tags,
		    ring->now);
		spec.key = &key;
		spec.value = set.value;
		result = write_set(ring->pool, &spec, ring->now, &version);
	}
	if (result == OK) {
		ring->stored++;
	} else {
		ring->refused++;
	}
	if (result == BUSY && ring->heartbeat_ms != NULL) {
		/*
		 * A tenth of a second went by, and there may be many more:
		 * the watchdog may know.  Relaxed: it orders nothing.
		 */
		atomic_store_explicit(ring->heartbeat_ms,
		    clock_boot_now().ms, memory_order_relaxed);
	}
	return OK;
}

/* What a client says of itself, as far as it can be true. */
static uint64_t
plausible(uint64_t claimed, uint64_t *room)
{
	uint64_t taken = claimed < *room ? claimed : *room;

	*room -= taken;
	return taken;
}

static void
raise_count(_Atomic uint64_t *count, uint64_t by)
{
	/* Relaxed: one writer, the worker; read by people. */
	atomic_store_explicit(count, atomic_load_explicit(count,
	    memory_order_relaxed) + by, memory_order_relaxed);
}

static enum result
take_counts(struct ring_session *ring, const uint8_t *body, uint32_t length)
{
	uint64_t span_ms = ring->now.ms - ring->counts_since_ms;
	uint64_t hits, misses, stale;

	if (length != COUNTS_BYTES) {
		return CORRUPT;
	}
	span_ms = span_ms < READS_SPAN_MAX_MS ? span_ms : READS_SPAN_MAX_MS;
	ring->reads_room += span_ms * READS_PER_MS;
	if (ring->reads_room > READS_SPAN_MAX_MS * READS_PER_MS) {
		ring->reads_room = READS_SPAN_MAX_MS * READS_PER_MS;
	}
	hits = plausible(wire_get_u64(body), &ring->reads_room);
	misses = plausible(wire_get_u64(body + 8), &ring->reads_room);
	stale = wire_get_u64(body + 16);
	stale = stale < hits ? stale : hits;
	ring->counts_since_ms = ring->now.ms;
	stats_add(ring->pool->stats, STAT_get_hits, hits);
	stats_add(ring->pool->stats, STAT_get_misses, misses);
	stats_add(ring->pool->stats, STAT_get_stale, stale);
	if (ring->row != NULL) {
		raise_count(&ring->row->hits, hits);
		raise_count(&ring->row->misses, misses);
		raise_count(&ring->row->stale, stale);
	}
	return OK;
}

static enum result
take_record(void *context, uint32_t type, const void *body, uint32_t length)
{
	struct ring_session *ring = context;

	ring->records++;
	switch (type) {
	case RING_HINT:
		return take_hints(ring, body, length);
	case RING_SET:
		return take_set(ring, body, length);
	case RING_SLIDE:
		return take_slide(ring, body, length);
	case RING_COUNTS:
		return take_counts(ring, body, length);
	default:
		return CORRUPT;
	}
}

enum result
ring_session_drain(struct ring_session *ring, uint64_t tail,
    struct boot_ms now, void *buffer, size_t buffer_bytes)
{
	uint64_t before = ring->records;
	enum result result;

	ring->now = now;
	if (tail != 0) {
		result = ring_drain_to(&ring->consumer, tail, buffer,
		    buffer_bytes, take_record, ring);
	} else {
		result = ring_drain(&ring->consumer, buffer, buffer_bytes,
		    take_record, ring);
	}
	if (ring->row != NULL && ring->records != before) {
		raise_count(&ring->row->ring_records, ring->records - before);
	}
	return result;
}

bool
ring_session_arm(struct ring_session *ring)
{
	return ring->consumer.armed || ring_arm(&ring->consumer);
}

void
ring_session_destroy(struct ring_session *ring)
{
	if (ring->mem != NULL) {
		(void)munmap(ring->mem, ring->bytes);
		ring->mem = NULL;
	}
}
