/* SPDX-License-Identifier: ISC */

/*
 * Filling a pool, and the body of a reader process.
 */
#include "dataset.h"

#include "epoch.h"
#include "write.h"

#include <sodium/randombytes.h>
#include <stdio.h>
#include <unistd.h>

/* Header, one tag, alignment and index of an entry, and then some. */
#define ENTRY_EXTRA_BYTES	96
/* Extents that are open, spare or pages, and entries that fill none. */
#define POOL_EXTRA_PARTS	3
#define POOL_EXTRA_BYTES	(32ull << 20)

uint64_t
dataset_tag_hash(const struct dataset *d, unsigned tag)
{
	char text[32];
	int length = snprintf(text, sizeof(text), "tag:%u", tag);

	return epoch_tag_hash(&d->pool, text, (size_t)length);
}

static enum result
store_all(struct dataset *d)
{
	static uint8_t value[WORKLOAD_VALUE_MAX];
	char key_bytes[WORKLOAD_KEY_BYTES + 1];
	uint64_t version;
	enum result result = OK;

	for (uint32_t number = 0; number < d->w->key_count && result == OK;
	    number++) {
		uint64_t tag = 0;
		struct key key;
		struct entry_spec spec = {
			.key = &key,
			.tags = &tag,
			.tag_count = d->tag_count != 0,
			.value = value,
			.value_bytes = d->w->value_bytes,
			.soft_ms = UINT64_MAX,
			.hard_ms = UINT64_MAX,
			.epoch = epoch_now(&d->pool),
		};

		if (d->tag_count != 0) {
			tag = dataset_tag_hash(d, number % d->tag_count);
		}
		workload_make_key(key_bytes, number);
		workload_make_value(d->w, value, number);
		(void)key_init(&key, &d->pool, key_bytes,
		    WORKLOAD_KEY_BYTES);	/* the length is in range */
		result = write_set(&d->pool, &spec, clock_boot_now(),
		    &version);
	}
	return result;
}

void
dataset_create(const struct bench *b, struct dataset *d, uint64_t key_count,
    uint64_t value_bytes, uint64_t draw_count, unsigned tag_count)
{
	uint64_t bytes = key_count * (WORKLOAD_KEY_BYTES + value_bytes +
	    ENTRY_EXTRA_BYTES);
	struct pool_params params = {
		.name = "bench",
		.pool_bytes = bytes + bytes / POOL_EXTRA_PARTS +
		    POOL_EXTRA_BYTES,
		.worker_count = 2,
		.now = clock_boot_now(),
	};
	enum result result;

	d->tag_count = tag_count;
	d->workload_fd = workload_create(key_count, value_bytes, draw_count);
	d->w = workload_map(d->workload_fd);
	if (d->w == NULL) {
		bench_fail(b, "no memory for %llu requests",
		    (unsigned long long)draw_count);
	}
	randombytes_buf(&params.hash_key, sizeof(params.hash_key));
	result = pool_create(&d->pool, &params);
	if (result == OK) {
		result = pool_pretouch(&d->pool);
		pool_become_worker(&d->pool, 0);
	}
	if (result == OK) {
		result = store_all(d);
	}
	if (result != OK) {
		bench_fail(b, "pool of %llu bytes: %s",
		    (unsigned long long)params.pool_bytes,
		    result_name(result));
	}
}

void
dataset_destroy(struct dataset *d)
{
	close(d->workload_fd);
	pool_destroy(&d->pool);
}

enum result
reader_attach(struct reader *r, const struct dataset *d)
{
	int fd = dup(d->pool.segment.fd);
	enum result result = fd < 0 ? SYSTEM :
	    pool_attach(&r->pool, fd, &r->stats);

	r->w = d->w;
	if (result != OK && fd >= 0) {
		close(fd);
	}
	return result;
}

static bool
get(void *reader, const char *key, void *buffer)
{
	return reader_get(reader, key, buffer);
}

static double
run(void *reader, uint32_t order)
{
	struct reader *r = reader;

	return workload_pass(r->w, order, get, r);
}

static void
read_pool(void *dataset, int fd)
{
	static struct reader reader;

	/* A failed attach ends the side: its answer is no number. */
	if (reader_attach(&reader, dataset) == OK) {
		side_serve(fd, run, &reader);
	}
}

void
dataset_start_reader(const struct bench *b, struct dataset *d,
    struct side *side, unsigned core)
{
	bool fine = side_fork(side, core, read_pool, d);

	for (unsigned stream = 0; fine && stream < WORKLOAD_STREAM_COUNT;
	    stream++) {
		double figure = side_ask(side, stream);

		fine = figure > 0;
	}
	if (!fine) {
		bench_fail(b, "a reader found another value than was stored");
	}
}
