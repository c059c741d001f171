/* SPDX-License-Identifier: ISC */

/*
 * A server that forks its workers with a handle open: the children go on
 * with what they inherited, while the parent lives and after it was killed,
 * and so do theirs.  And keys and values at the ends of what is allowed.
 */
#include "scene.h"

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

#define CHILDREN	4u
#define ROUNDS		100u
#define KEY_MAX		1024u

struct shared {
	_Atomic uint32_t stop;
	_Atomic uint32_t ready;
	_Atomic uint64_t rounds[CHILDREN];
	_Atomic uint64_t wrong;
	_Atomic uint64_t lost;		/* async stores that failed */
	_Atomic uint32_t ended;
};

static struct shared *shared;

/* Relaxed, all: counts, and marks that order nothing. */
static uint64_t
get(const _Atomic uint64_t *word)
{
	return atomic_load_explicit(word, memory_order_relaxed);
}

static bool
one_round(struct weir *handle, unsigned number, uint64_t sequence)
{
	static uint8_t value[SCENE_VALUE_MAX];
	uint64_t keys[2] = { number, number + 1000 };
	uint64_t failed = 0;
	bool fine = true;

	for (unsigned i = 0; i < 2; i++) {
		size_t length = scene_value_make(value, keys[i], sequence);
		uint64_t seen = 0;

		fine = (i == 0 ? weir_set(handle, &keys[i], sizeof(keys[i]),
		    value, length, NULL, NULL) : weir_set_async(handle,
		    &keys[i], sizeof(keys[i]), value, length, NULL)) ==
		    WEIR_OK && fine;
		if (i == 1) {
			fine = weir_flush(handle, &failed) == WEIR_OK && fine;
			atomic_fetch_add_explicit(&shared->lost, failed,
			    memory_order_relaxed);
		}
		fine = fine && weir_get(handle, &keys[i], sizeof(keys[i]),
		    value, sizeof(value), &length, NULL) == WEIR_OK &&
		    scene_value_read(value, length, keys[i], &seen) &&
		    seen == sequence;
	}
	return fine;
}

static _Noreturn void
serve(struct weir *handle, unsigned number)
{
	for (uint64_t i = 1; atomic_load_explicit(&shared->stop,
	    memory_order_relaxed) == 0; i++) {
		if (!one_round(handle, number, i)) {
			atomic_fetch_add_explicit(&shared->wrong, 1,
			    memory_order_relaxed);
		}
		atomic_fetch_add_explicit(&shared->rounds[number], 1,
		    memory_order_relaxed);
	}
	weir_close(handle);
	atomic_fetch_add_explicit(&shared->ended, 1, memory_order_relaxed);
	_exit(0);
}

/* Warm in every way: connected, mapped, with a ring and with lanes. */
static _Noreturn void
run_parent(const struct scene *scene)
{
	struct weir *handle = scene_open(scene);

	(void)one_round(handle, 500, 1);
	for (unsigned i = 0; i < CHILDREN; i++) {
		if (fork() != 0) {
			continue;
		}
		/* The last one is a grandchild. */
		if (i == CHILDREN - 1 && fork() != 0) {
			_exit(0);
		}
		serve(handle, i);
	}
	atomic_store_explicit(&shared->ready, 1, memory_order_release);
	/* It has requests of its own under way when it is killed. */
	for (uint64_t i = 2;; i++) {
		(void)one_round(handle, 500, i);
	}
}

static bool
all_went_on(void *argument)
{
	const uint64_t *from = argument;

	for (unsigned i = 0; i < CHILDREN; i++) {
		if (get(&shared->rounds[i]) < from[i] + ROUNDS) {
			return false;
		}
	}
	return true;
}

static bool
children_go_on(void)
{
	uint64_t from[CHILDREN];

	for (unsigned i = 0; i < CHILDREN; i++) {
		from[i] = get(&shared->rounds[i]);
	}
	return wait_until(all_went_on, from, SCENE_DEADLINE_MS);
}

static void
kill_the_parent(struct plain_test *test, struct scene *scene)
{
	pid_t parent = fork();

	if (parent == 0) {
		run_parent(scene);
	}
	plain_check(test, "children_use_an_inherited_handle",
	    wait_until_word(&shared->ready, 1, SCENE_DEADLINE_MS) &&
	    children_go_on() && get(&shared->wrong) == 0,
	    "%lu rounds were wrong", get(&shared->wrong));
	(void)kill(parent, SIGKILL);
	(void)waitpid(parent, NULL, 0);
	plain_check(test, "children_outlive_a_killed_parent",
	    children_go_on() && get(&shared->wrong) == 0 &&
	    get(&shared->lost) == 0, "%lu rounds were wrong, %lu stores lost",
	    get(&shared->wrong), get(&shared->lost));
	/* From here on a round may fail: its daemon is killed. */
	scene_kill(scene);
	plain_check(test, "orphans_attach_again_by_themselves",
	    scene_start(scene) && children_go_on(), "they do not");
	atomic_store_explicit(&shared->stop, 1, memory_order_relaxed);
	plain_check(test, "orphans_end_well", wait_until_word(&shared->ended,
	    CHILDREN, SCENE_DEADLINE_MS), "%u of %u", shared->ended,
	    CHILDREN);
}

/* ---- keys and values at the ends ---- */

static uint8_t *
make_bytes(size_t length, uint8_t first)
{
	uint8_t *bytes = malloc(length + 1);

	if (bytes == NULL) {
		abort();
	}
	/* NUL and newline are among them. */
	for (size_t i = 0; i < length; i++) {
		bytes[i] = (uint8_t)(first + i);
	}
	return bytes;
}

/* Stored by both ways, read by both, scanned, deleted. */
static bool
round_trip(struct weir *handle, const uint8_t *key, size_t key_length,
    const uint8_t *value, size_t length)
{
	void *copy = NULL;
	size_t copied = 0;
	bool fine = true;

	for (unsigned way = 0; way < 2 && fine; way++) {
		uint64_t failed = 0;

		fine = (way == 0 ? weir_set(handle, key, key_length, value,
		    length, NULL, NULL) : weir_set_async(handle, key,
		    key_length, value, length, NULL)) == WEIR_OK &&
		    weir_flush(handle, &failed) == WEIR_OK && failed == 0 &&
		    weir_get_dup(handle, key, key_length, &copy, &copied,
		    NULL) == WEIR_OK && copied == length &&
		    memcmp(copy, value, length) == 0;
		free(copy);
		copy = NULL;
		fine = fine && weir_delete(handle, key, key_length, 0) ==
		    WEIR_OK && weir_get(handle, key, key_length, NULL, 0,
		    NULL, NULL) == WEIR_MISS;
	}
	return fine;
}

static void
try_keys(struct plain_test *test, struct weir *handle)
{
	static const size_t lengths[] = { 1, 2, 15, 16, 255, 256, 1023,
	    KEY_MAX };
	uint8_t *key = make_bytes(KEY_MAX + 1, 0);
	bool fine = true;
	int64_t number;

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		fine = round_trip(handle, key, lengths[i],
		    (const uint8_t *)"v", 1) && fine;
	}
	for (unsigned first = 0; first < 256; first++) {
		uint8_t *one = make_bytes(1, (uint8_t)first);

		fine = round_trip(handle, one, 1, one, 1) && fine;
		free(one);
	}
	plain_check(test, "keys_of_all_lengths_and_bytes", fine, "not kept");
	fine = true;
	for (size_t length = 0; length <= KEY_MAX + 1; length += KEY_MAX + 1) {
		fine = weir_set(handle, key, length, "v", 1, NULL, NULL) ==
		    WEIR_KEY_INVALID && weir_set_async(handle, key, length,
		    "v", 1, NULL) == WEIR_KEY_INVALID &&
		    weir_get(handle, key, length, NULL, 0, NULL, NULL) ==
		    WEIR_KEY_INVALID &&
		    weir_delete(handle, key, length, 0) == WEIR_KEY_INVALID &&
		    weir_touch(handle, key, length, 1, 1) ==
		    WEIR_KEY_INVALID && weir_counter_add(handle, key, length,
		    1, NULL, &number) == WEIR_KEY_INVALID && fine;
	}
	plain_check(test, "keys_too_short_and_too_long_are_refused", fine,
	    "another result");
	free(key);
}

static void
try_values(struct plain_test *test, struct weir *handle)
{
	size_t most = (size_t)weir_value_max(handle);
	const size_t lengths[] = { 0, 1, 16383, 16384, 16385, 65535, 65536,
	    65537, most - 1, most };
	uint8_t *value = make_bytes(most + 1, 10);
	bool fine = most > 65537;

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]) && fine;
	    i++) {
		fine = round_trip(handle, (const uint8_t *)"k\0\n", 3, value,
		    lengths[i]);
		if (!fine) {
			plain_fail(test, "value_of_a_length", "%zu bytes",
			    lengths[i]);
		}
	}
	plain_check(test, "values_of_all_lengths", fine, "not kept");
	plain_check(test, "value_too_long_is_refused", weir_set(handle, "k",
	    1, value, most + 1, NULL, NULL) == WEIR_TOO_LARGE &&
	    weir_get(handle, "k", 1, NULL, 0, NULL, NULL) == WEIR_MISS &&
	    weir_ping(handle) == WEIR_OK, "another result");
	free(value);
}

int
main(int argc, char **argv)
{
	struct plain_test test;
	struct scene scene = { .memory = "16M", .workers = 2 };
	struct weir *handle;

	plain_start(&test, argc, argv);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED || !scene_start(&scene)) {
		plain_fail(&test, "forks", "the daemon does not start");
		return plain_end(&test);
	}
	handle = scene_open(&scene);
	(void)weir_connect(handle);
	try_keys(&test, handle);
	try_values(&test, handle);
	weir_close(handle);
	scene_check_clean(&test, &scene, "segment_is_sound_after_ends");
	kill_the_parent(&test, &scene);
	scene_check_clean(&test, &scene, "segment_is_sound_after_forks");
	plain_check(&test, "daemon_ends_well_after_forks", scene_end(&scene),
	    "see its log");
	return plain_end(&test);
}
