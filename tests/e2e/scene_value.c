/* SPDX-License-Identifier: ISC */

/*
 * Values that tell whose they are, and a client that behaves and measures.
 */
#include "scene.h"

#include "prng.h"
#include "wait_until.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define HEAD_BYTES	24u
/* One value in so many is of the large kind. */
#define LARGE_ONE_IN	64u
#define SMALL_MAX	2000u
#define BYSTANDER_KEYS	64u

/* 0: key, 8: sequence, 16: length; then bytes that follow from those. */
static size_t
length_of(struct prng *prng)
{
	return HEAD_BYTES + (prng_one_in(prng, LARGE_ONE_IN) ?
	    prng_below(prng, SCENE_VALUE_MAX - HEAD_BYTES) :
	    prng_below(prng, SMALL_MAX));
}

static void
fill(uint8_t *out, size_t length, struct prng *prng)
{
	uint64_t word = 0;

	for (size_t i = 0; i < length; i++) {
		word = i % 8 == 0 ? prng_next(prng) : word >> 8;
		out[i] = (uint8_t)word;
	}
}

static void
begin(struct prng *prng, uint64_t key, uint64_t sequence)
{
	prng_init(prng, key * UINT64_C(0x100000001b3) ^ sequence);
}

size_t
scene_value_make(uint8_t *out, uint64_t key, uint64_t sequence)
{
	uint64_t head[3] = { key, sequence, 0 };
	struct prng prng;

	begin(&prng, key, sequence);
	head[2] = length_of(&prng);
	memcpy(out, head, sizeof(head));
	fill(out + HEAD_BYTES, head[2] - HEAD_BYTES, &prng);
	return head[2];
}

bool
scene_value_read(const uint8_t *value, size_t length, uint64_t key,
    uint64_t *sequence)
{
	static uint8_t want[SCENE_VALUE_MAX];
	uint64_t head[3];

	if (length < HEAD_BYTES) {
		return false;
	}
	memcpy(head, value, sizeof(head));
	*sequence = head[1];
	return head[0] == key &&
	    scene_value_make(want, key, head[1]) == length &&
	    memcmp(want, value, length) == 0;
}

static void
raise_to(_Atomic uint64_t *most, uint64_t value)
{
	/* Relaxed, all counts: one writer, read when it has ended. */
	if (value > atomic_load_explicit(most, memory_order_relaxed)) {
		atomic_store_explicit(most, value, memory_order_relaxed);
	}
}

static void
count(_Atomic uint64_t *counter)
{
	atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

static void
failed(struct bystander_counts *counts, int result)
{
	count(&counts->failed);
	atomic_store_explicit(&counts->last_failure, (uint32_t)-result,
	    memory_order_relaxed);
}

static void
one_round(struct weir *handle, struct bystander_counts *counts, uint64_t key,
    uint64_t sequence)
{
	static uint8_t value[SCENE_VALUE_MAX];
	size_t length = scene_value_make(value, key, sequence);
	uint64_t start_us = scene_now_us();
	uint64_t seen = 0;
	int result = weir_set(handle, &key, sizeof(key), value, length, NULL,
	    NULL);

	raise_to(&counts->slowest_set_us, scene_now_us() - start_us);
	if (result != WEIR_OK) {
		failed(counts, result);
	}
	start_us = scene_now_us();
	result = weir_get(handle, &key, sizeof(key), value, sizeof(value),
	    &length, NULL);
	raise_to(&counts->slowest_get_us, scene_now_us() - start_us);
	if (result < 0) {
		failed(counts, result);
	} else if (result == WEIR_OK && (!scene_value_read(value, length, key,
	    &seen) || seen != sequence)) {
		count(&counts->wrong);
	}
	count(&counts->rounds);
}

static _Noreturn void
behave(const struct scene *scene, struct bystander_counts *counts,
    pid_t parent)
{
	struct weir *handle = scene_open(scene);
	/* Keys that no other process has. */
	uint64_t base = (uint64_t)getpid() << 32;
	uint64_t sequence = 0;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	while (getppid() == parent && atomic_load_explicit(&counts->stop,
	    memory_order_relaxed) == 0) {
		sequence++;
		one_round(handle, counts, base + sequence % BYSTANDER_KEYS,
		    sequence);
	}
	weir_close(handle);
	_exit(0);
}

void
bystander_start(struct bystander *bystander, const struct scene *scene)
{
	pid_t parent = getpid();

	bystander->counts = mmap(NULL, sizeof(*bystander->counts),
	    PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (bystander->counts == MAP_FAILED) {
		abort();
	}
	bystander->pid = fork();
	if (bystander->pid == 0) {
		behave(scene, bystander->counts, parent);
	}
}

struct rounds_wait {
	struct bystander_counts *counts;
	uint64_t	rounds;
};

static bool
has_rounds(void *argument)
{
	const struct rounds_wait *wait = argument;

	return atomic_load_explicit(&wait->counts->rounds,
	    memory_order_relaxed) >= wait->rounds;
}

bool
bystander_goes_on(struct bystander *bystander, uint64_t rounds)
{
	struct rounds_wait wait = { .counts = bystander->counts };

	wait.rounds = rounds + atomic_load_explicit(
	    &bystander->counts->rounds, memory_order_relaxed);
	return wait_until(has_rounds, &wait, SCENE_DEADLINE_MS);
}

void
bystander_check(struct plain_test *test, struct bystander *bystander,
    const char *name)
{
	struct bystander_counts *counts = bystander->counts;
	bool went_on = bystander_goes_on(bystander, 20);
	int status = -1;
	bool ended;

	atomic_store_explicit(&counts->stop, 1, memory_order_relaxed);
	ended = wait_until_exit(bystander->pid, SCENE_DEADLINE_MS, &status);
	plain_check(test, name, went_on && ended && status == 0 &&
	    counts->failed == 0 && counts->wrong == 0 &&
	    counts->slowest_get_us < SCENE_LATENCY_MAX_US &&
	    counts->slowest_set_us < SCENE_LATENCY_MAX_US,
	    "%s, status %d, rounds %lu, failed %lu (%s), wrong %lu, "
	    "slowest get %lu us, set %lu us", went_on ? "went on" :
	    "stood still", status, counts->rounds, counts->failed,
	    weir_errname(-(int)counts->last_failure), counts->wrong,
	    counts->slowest_get_us, counts->slowest_set_us);
	(void)munmap(counts, sizeof(*counts));
}
