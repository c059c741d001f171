/* SPDX-License-Identifier: ISC */

/*
 * Drawing a workload.
 */
#include "workload.h"

#include "prng.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* One seed: every run and every side asks for the same. */
#define SEED	UINT64_C(20240229)

void
workload_make_key(char key[WORKLOAD_KEY_BYTES + 1], uint32_t number)
{
	(void)snprintf(key, WORKLOAD_KEY_BYTES + 1, "object:%014u", number);
}

void
workload_make_value(const struct workload *w, void *value, uint32_t number)
{
	uint64_t at = w->value_bytes;
	uint64_t word = workload_last_word(w, number);

	for (; at >= sizeof(word); at -= sizeof(word), word--) {
		memcpy((uint8_t *)value + at - sizeof(word), &word,
		    sizeof(word));
	}
	memset(value, 0, at);
}

double
workload_set_pass(const struct workload *w, uint32_t order,
    workload_set_fn *set, void *argument)
{
	static _Alignas(64) uint8_t value[WORKLOAD_VALUE_MAX];
	uint64_t count = w->draw_count >> (order >> 8 & 0xff);
	const struct workload_draw *draw = w->draws +
	    (order & 0xff) * w->draw_count;
	uint8_t *last = value + w->value_bytes - sizeof(uint64_t);
	uint64_t start;

	workload_make_value(w, value, 0);
	start = measure_now_ns();
	for (uint64_t i = 0; i < count; i++, draw++) {
		uint64_t word = workload_last_word(w, draw->number);

		/* The word that a get checks: making all costs each side. */
		memcpy(last, &word, sizeof(word));
		if (!set(argument, draw->key, value, w->value_bytes)) {
			return (double)NAN;
		}
	}
	return count == 0 ? (double)NAN :
	    (double)(measure_now_ns() - start) / (double)count;
}

/*
 * Weights of the ranks, summed; and which key has which rank, so that the
 * popular ones do not lie together.
 */
struct ranks {
	double		*sum;
	uint32_t	*key;
	uint64_t	count;
};

static bool
make_ranks(struct ranks *r, uint64_t count, double exponent,
    struct prng *prng)
{
	double sum = 0;

	r->count = count;
	r->sum = malloc(count * sizeof(*r->sum));
	r->key = malloc(count * sizeof(*r->key));
	if (r->sum == NULL || r->key == NULL) {
		return false;
	}
	for (uint64_t i = 0; i < count; i++) {
		sum += pow((double)(i + 1), -exponent);
		r->sum[i] = sum;
		r->key[i] = (uint32_t)i;
	}
	for (uint64_t i = count - 1; i > 0; i--) {
		uint32_t other = prng_below(prng, (uint32_t)i + 1);
		uint32_t key = r->key[i];

		r->key[i] = r->key[other];
		r->key[other] = key;
	}
	return true;
}

static uint32_t
draw_zipf(const struct ranks *r, struct prng *prng)
{
	double at = prng_unit(prng) * r->sum[r->count - 1];
	uint64_t low = 0, high = r->count - 1;

	while (low < high) {
		uint64_t middle = (low + high) / 2;

		if (r->sum[middle] <= at) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return r->key[low];
}

static bool
draw_all(struct workload *w, double exponent, unsigned stream_count)
{
	struct ranks ranks;
	struct prng prng;
	struct workload_draw *draw = w->draws;
	bool drawn;

	prng_init(&prng, SEED);
	drawn = make_ranks(&ranks, w->key_count, exponent, &prng);
	for (unsigned stream = 0; drawn && stream < stream_count; stream++) {
		for (uint64_t i = 0; i < w->draw_count; i++, draw++) {
			uint32_t number = stream == WORKLOAD_ZIPF ?
			    draw_zipf(&ranks, &prng) :
			    prng_below(&prng, (uint32_t)w->key_count);

			if (stream == WORKLOAD_MISS) {
				number += (uint32_t)w->key_count;
			}
			draw->number = number;
			workload_make_key(draw->key, number);
		}
	}
	free(ranks.sum);
	free(ranks.key);
	return drawn;
}

static int
create(uint64_t key_count, uint64_t value_bytes, uint64_t draw_count,
    double exponent, unsigned stream_count)
{
	size_t bytes = sizeof(struct workload) + stream_count *
	    draw_count * sizeof(struct workload_draw);
	int fd = memfd_create("bench-workload", MFD_CLOEXEC);
	struct workload *w = MAP_FAILED;
	bool drawn = false;

	if (fd < 0) {
		return -1;
	}
	if (ftruncate(fd, (off_t)bytes) == 0) {
		w = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		    0);
	}
	if (w != MAP_FAILED) {
		w->key_count = key_count;
		w->value_bytes = value_bytes;
		w->draw_count = draw_count;
		drawn = draw_all(w, exponent, stream_count);
		(void)munmap(w, bytes);	/* a mapping of our own */
	}
	if (!drawn) {
		close(fd);
		return -1;
	}
	return fd;
}

int
workload_create(uint64_t key_count, uint64_t value_bytes, uint64_t draw_count)
{
	return create(key_count, value_bytes, draw_count, WORKLOAD_ZIPF_S,
	    WORKLOAD_STREAM_COUNT);
}

int
workload_create_zipf(uint64_t key_count, uint64_t value_bytes,
    uint64_t draw_count, double exponent)
{
	return create(key_count, value_bytes, draw_count, exponent, 1);
}

const struct workload *
workload_map(int fd)
{
	struct stat st;
	void *w;

	if (fstat(fd, &st) != 0) {
		return NULL;
	}
	w = mmap(NULL, (size_t)st.st_size, PROT_READ,
	    MAP_SHARED | MAP_POPULATE, fd, 0);
	return w == MAP_FAILED ? NULL : w;
}

void
workload_unmap(int fd, const struct workload *w)
{
	struct stat st;

	if (fstat(fd, &st) == 0) {
		/* A mapping has no owner but its address. */
		(void)munmap((void *)(uintptr_t)w, (size_t)st.st_size);
	}
}
