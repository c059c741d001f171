/* SPDX-License-Identifier: ISC */

/*
 * A call takes a place, sleeps and gives it back.  All counts are relaxed:
 * they order nothing and are read when the callers have ended.
 */
#include "backend.h"

#include "measure.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define NS_PER_S	UINT64_C(1000000000)
#define PI		3.14159265358979323846

static void
add(_Atomic uint64_t *count, uint64_t amount)
{
	(void)atomic_fetch_add_explicit(count, amount, memory_order_relaxed);
}

static void
raise_to(_Atomic uint32_t *peak, uint32_t value)
{
	uint32_t seen = atomic_load_explicit(peak, memory_order_relaxed);

	while (seen < value && !atomic_compare_exchange_weak_explicit(peak,
	    &seen, value, memory_order_relaxed, memory_order_relaxed)) {
	}
}

static void
enter(_Atomic uint32_t *in_flight, _Atomic uint32_t *peak)
{
	raise_to(peak, atomic_fetch_add_explicit(in_flight, 1,
	    memory_order_relaxed) + 1);
}

static void
leave(_Atomic uint32_t *in_flight)
{
	(void)atomic_fetch_sub_explicit(in_flight, 1, memory_order_relaxed);
}

struct backend *
backend_create(uint32_t places, uint64_t median_ns, double sigma)
{
	struct backend *backend = mmap(NULL, sizeof(*backend),
	    PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (backend == MAP_FAILED ||
	    sem_init(&backend->places, 1, places) != 0) {
		return NULL;
	}
	backend->sigma = sigma;
	backend_set_median(backend, median_ns);
	backend_restart(backend);
	return backend;
}

void
backend_destroy(struct backend *backend)
{
	(void)sem_destroy(&backend->places);
	(void)munmap(backend, sizeof(*backend));
}

void
backend_restart(struct backend *backend)
{
	for (unsigned i = 0; i < BACKEND_SECONDS; i++) {
		atomic_store_explicit(&backend->per_second[i], 0,
		    memory_order_relaxed);
	}
	for (unsigned i = 0; i < BACKEND_CLASSES; i++) {
		atomic_store_explicit(&backend->peak[i], 0,
		    memory_order_relaxed);
	}
	atomic_store_explicit(&backend->peak_of_all, 0, memory_order_relaxed);
	atomic_store_explicit(&backend->calls, 0, memory_order_relaxed);
	atomic_store_explicit(&backend->failures, 0, memory_order_relaxed);
	atomic_store_explicit(&backend->slept_ns, 0, memory_order_relaxed);
	backend->since_ns = measure_now_ns();
}

void
backend_set_median(struct backend *backend, uint64_t median_ns)
{
	atomic_store_explicit(&backend->median_ns, median_ns,
	    memory_order_relaxed);
}

/* Log-normal around the median (Box and Muller). */
static uint64_t
draw_ns(const struct backend *backend, struct prng *prng)
{
	double median = (double)atomic_load_explicit(&backend->median_ns,
	    memory_order_relaxed);
	double normal;

	if (backend->sigma == 0) {
		return (uint64_t)median;
	}
	normal = sqrt(-2 * log(1 - prng_unit(prng))) *
	    cos(2 * PI * prng_unit(prng));
	return (uint64_t)(median * exp(backend->sigma * normal));
}

static struct timespec
to_timespec(uint64_t ns)
{
	return (struct timespec){ (time_t)(ns / NS_PER_S),
	    (long)(ns % NS_PER_S) };
}

/* False: the caller's time is over. */
static bool
take_place(struct backend *backend, uint64_t give_up_ns)
{
	struct timespec until = to_timespec(give_up_ns);
	int result;

	do {
		result = give_up_ns == UINT64_MAX ?
		    sem_wait(&backend->places) :
		    sem_clockwait(&backend->places, CLOCK_MONOTONIC, &until);
	} while (result != 0 && errno == EINTR);
	return result == 0;
}

static bool
serve(struct backend *backend, struct prng *prng, uint64_t start)
{
	uint64_t give_up = backend->time_out_ns == 0 ? UINT64_MAX :
	    start + backend->time_out_ns;
	uint64_t end;
	struct timespec until;

	if (!take_place(backend, give_up)) {
		return false;
	}
	end = measure_now_ns() + draw_ns(backend, prng);
	until = to_timespec(end < give_up ? end : give_up);
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until,
	    NULL) == EINTR) {
	}
	(void)sem_post(&backend->places);
	return end < give_up;
}

bool
backend_call(struct backend *backend, enum backend_class caller,
    struct prng *prng)
{
	uint64_t start = measure_now_ns();
	uint64_t second = (start - backend->since_ns) / NS_PER_S;
	uint64_t took, slowest;
	bool served;

	add(&backend->calls, 1);
	(void)atomic_fetch_add_explicit(&backend->per_second[
	    second % BACKEND_SECONDS], 1, memory_order_relaxed);
	enter(&backend->in_flight[caller], &backend->peak[caller]);
	enter(&backend->in_flight_of_all, &backend->peak_of_all);
	served = serve(backend, prng, start);
	leave(&backend->in_flight[caller]);
	leave(&backend->in_flight_of_all);
	took = measure_now_ns() - start;
	add(&backend->slept_ns, took);
	add(&backend->failures, !served);
	slowest = atomic_load_explicit(&backend->slowest_ns,
	    memory_order_relaxed);
	while (slowest < took && !atomic_compare_exchange_weak_explicit(
	    &backend->slowest_ns, &slowest, took, memory_order_relaxed,
	    memory_order_relaxed)) {
	}
	return served;
}

uint32_t
backend_busiest_second(const struct backend *backend)
{
	uint32_t most = 0;

	for (unsigned i = 0; i < BACKEND_SECONDS; i++) {
		uint32_t calls = backend_peak(&backend->per_second[i]);

		most = calls > most ? calls : most;
	}
	return most;
}
