/* SPDX-License-Identifier: ISC */

/*
 * The demo's crowd: 64 processes that want one value at once.
 *
 *	stampede -s SOCKET
 *
 * First the value is in nobody's cache: one process computes it, the others
 * wait for that one.  Then the origin fails: the breaker opens once, for all.
 * What was computed is counted by the origin itself, in memory that the
 * processes share.  The exit status says whether it went as it should.
 */
#include <weir.h>

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CROWD		64u
#define COMPUTE_MS	50u
#define FAILING_MS	20u
#define CALLS		20u	/* of each process, while the origin fails */
#define START_MS	10000u	/* by then everybody is there */

struct origin {
	_Atomic uint32_t computes;
	_Atomic uint32_t at_once;
	_Atomic uint32_t at_once_max;
};

struct stage {
	_Atomic uint32_t ready;		/* processes that are connected */
	_Atomic uint32_t go;		/* raised for each scene */
	_Atomic uint32_t done;
	struct origin	origin;
	_Atomic uint32_t failed;	/* calls that went otherwise */
	_Atomic uint32_t refused;	/* by the breaker */
	_Atomic uint64_t slowest_ns;
};

static uint64_t
now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void
pause_ms(unsigned ms)
{
	struct timespec span = { ms / 1000, (long)(ms % 1000) * 1000000 };

	(void)nanosleep(&span, NULL);
}

/* Relaxed, here and below: counters of a show, read when all have ended. */
static void
raise_to_32(_Atomic uint32_t *most, uint32_t value)
{
	uint32_t seen = atomic_load_explicit(most, memory_order_relaxed);

	while (value > seen && !atomic_compare_exchange_weak_explicit(most,
	    &seen, value, memory_order_relaxed, memory_order_relaxed)) {
	}
}

static void
raise_to_64(_Atomic uint64_t *most, uint64_t value)
{
	uint64_t seen = atomic_load_explicit(most, memory_order_relaxed);

	while (value > seen && !atomic_compare_exchange_weak_explicit(most,
	    &seen, value, memory_order_relaxed, memory_order_relaxed)) {
	}
}

static uint32_t
add(_Atomic uint32_t *count, uint32_t by)
{
	/* Release: who sees the count sees what was done before it. */
	return atomic_fetch_add_explicit(count, by, memory_order_acq_rel);
}

static uint32_t
look(const _Atomic uint32_t *count)
{
	/* Acquire: pairs with the release of add() and raise_curtain(). */
	return atomic_load_explicit(count, memory_order_acquire);
}

static void
raise_curtain(_Atomic uint32_t *go, uint32_t scene)
{
	/* Release: the scene is set before the others see it begin. */
	atomic_store_explicit(go, scene, memory_order_release);
}

static void
call_origin(struct origin *origin, unsigned ms)
{
	uint32_t now = add(&origin->at_once, 1) + 1;

	raise_to_32(&origin->at_once_max, now);
	add(&origin->computes, 1);
	pause_ms(ms);
	add(&origin->at_once, (uint32_t)-1);
}

static int
compute(void *arg, struct weir_computed *computed)
{
	struct stage *stage = arg;

	call_origin(&stage->origin, COMPUTE_MS);
	computed->value = "the answer";
	computed->length = strlen("the answer");
	return WEIR_OK;
}

static void
want_value(struct stage *stage, struct weir *cache)
{
	struct weir_fetch_options options = WEIR_FETCH_OPTIONS_INIT;
	uint64_t start = now_ns();
	char value[64];

	options.ttl_ms = 60000;
	if (weir_fetch(cache, "question", 8, value, sizeof(value), &options,
	    compute, stage, NULL) != WEIR_OK) {
		add(&stage->failed, 1);
	}
	raise_to_64(&stage->slowest_ns, now_ns() - start);
}

static void
want_failing(struct stage *stage, struct weir *cache)
{
	struct weir_origin origin = { .name = NULL };

	for (unsigned i = 0; i < CALLS; i++) {
		struct weir_permit permit;
		int result = weir_permit_acquire(cache, &origin, 2000,
		    &permit);

		if (result == WEIR_OK) {
			call_origin(&stage->origin, FAILING_MS);
			(void)weir_permit_release(cache, &permit,
			    WEIR_FAILURE);
		} else if (result == WEIR_CIRCUIT_OPEN) {
			add(&stage->refused, 1);
		} else {
			add(&stage->failed, 1);
		}
	}
}

static int
take_part(struct stage *stage, const char *socket_path)
{
	struct weir_options options = WEIR_OPTIONS_INIT;
	struct weir *cache;

	options.socket_path = socket_path;
	options.timeout_ms = START_MS;
	if (weir_open(&cache, &options) != WEIR_OK ||
	    weir_connect(cache) != WEIR_OK) {
		return EXIT_FAILURE;
	}
	for (uint32_t scene = 1; scene <= 2; scene++) {
		add(&stage->ready, 1);
		while (look(&stage->go) < scene) {
			pause_ms(1);
		}
		if (scene == 1) {
			want_value(stage, cache);
		} else {
			want_failing(stage, cache);
		}
		add(&stage->done, 1);
	}
	weir_close(cache);
	return EXIT_SUCCESS;
}

/* False: somebody did not come in time. */
static bool
play(struct stage *stage, uint32_t scene)
{
	uint64_t limit = now_ns() + START_MS * 1000000ull;

	while (look(&stage->ready) < scene * CROWD) {
		if (now_ns() > limit) {
			return false;
		}
		pause_ms(1);
	}
	memset(&stage->origin, 0, sizeof(stage->origin));
	raise_curtain(&stage->go, scene);
	limit = now_ns() + 2 * START_MS * 1000000ull;
	while (look(&stage->done) < scene * CROWD) {
		if (now_ns() > limit) {
			return false;
		}
		pause_ms(1);
	}
	return true;
}

static bool
show(struct stage *stage)
{
	uint32_t computes, most;

	if (!play(stage, 1)) {
		return false;
	}
	computes = look(&stage->origin.computes);
	printf("%u processes want one value that costs %u ms: computed %"
	    PRIu32 " time%s, the last\nof them had it after %.1f ms.\n",
	    CROWD, COMPUTE_MS, computes, computes == 1 ? "" : "s",
	    (double)atomic_load_explicit(&stage->slowest_ns,
	    memory_order_relaxed) / 1e6);
	if (!play(stage, 2)) {
		return false;
	}
	most = look(&stage->origin.at_once_max);
	printf("Then the origin fails.  Of %u calls %" PRIu32 " reached it, "
	    "at most %" PRIu32 " at once, until its\nbreaker opened, for all "
	    "processes: %" PRIu32 " were refused at once.\n", CROWD * CALLS,
	    look(&stage->origin.computes), most,
	    look(&stage->refused));
	return computes == 1 && look(&stage->failed) == 0 &&
	    look(&stage->refused) > 0;
}

int
main(int argc, char **argv)
{
	struct stage *stage = mmap(NULL, sizeof(*stage),
	    PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status, worst = EXIT_SUCCESS;

	if (argc != 3 || strcmp(argv[1], "-s") != 0) {
		fputs("usage: stampede -s SOCKET\n", stderr);
		return 2;
	}
	if (stage == MAP_FAILED) {
		perror("stampede");
		return EXIT_FAILURE;
	}
	for (uint32_t i = 0; i < CROWD; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			_exit(take_part(stage, argv[2]));
		}
		if (pid < 0) {
			perror("fork");
			worst = EXIT_FAILURE;
			break;
		}
	}
	if (worst == EXIT_SUCCESS && !show(stage)) {
		fputs("stampede: it did not go as it should\n", stderr);
		worst = EXIT_FAILURE;
	}
	/* Whoever still waits for a scene goes. */
	raise_curtain(&stage->go, UINT32_MAX);
	while (wait(&status) > 0) {
		if (status != 0) {
			worst = EXIT_FAILURE;
		}
	}
	return worst;
}
