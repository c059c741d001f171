/* SPDX-License-Identifier: ISC */

/*
 * The demo's stage: starts four clients, prints a line a second of how they
 * fare, and may kill a worker of the daemon in the middle.
 *
 *	shop -n SECONDS -o FILE                     without Weir
 *	shop -n SECONDS -o FILE -s SOCKET [-k PID]  with it
 *
 * At a terminal the line of the current second is repainted.  FILE gets one
 * line for the script: requests per second, hits in
 * 10,000, p50 in ns, origin calls per second, wrong values, lost stores.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "shopper.h"

#define CLIENTS		4u
#define TICK_MS		100u	/* repaints of the line at a terminal */
#define TICKS_PER_S	(1000u / TICK_MS)
#define BAR_WIDTH	20u
#define NUMBER_BYTES	32u

struct options {
	unsigned	seconds;
	const char	*summary_path;
	const char	*socket_path;	/* NULL: without Weir */
	pid_t		victim;		/* 0: nobody is killed */
};

/* What all clients together have done. */
struct look {
	uint64_t	requests;
	uint64_t	hits;
	uint64_t	origin_calls;
	uint64_t	wrong_values;
	uint64_t	lost_stores;
	struct latency_sum latency;
};

static uint64_t
load(const _Atomic uint64_t *counter)
{
	/* Relaxed: numbers for people. */
	return atomic_load_explicit(counter, memory_order_relaxed);
}

static void
take_look(struct look *look, const struct shopper *shoppers)
{
	memset(look, 0, sizeof(*look));
	for (unsigned i = 0; i < CLIENTS; i++) {
		look->requests += load(&shoppers[i].requests);
		look->hits += load(&shoppers[i].hits);
		look->origin_calls += load(&shoppers[i].origin_calls);
		look->wrong_values += load(&shoppers[i].wrong_values);
		look->lost_stores += load(&shoppers[i].lost_stores);
		latency_sum_add(&look->latency, &shoppers[i].latency);
	}
}

/* What was done between an earlier look and this one. */
static struct look
since(const struct look *now, const struct look *earlier)
{
	struct look gone = *now;

	gone.requests -= earlier->requests;
	gone.hits -= earlier->hits;
	gone.origin_calls -= earlier->origin_calls;
	latency_sum_subtract(&gone.latency, &earlier->latency);
	return gone;
}

static const char *
show_time(char text[NUMBER_BYTES], uint64_t ns)
{
	if (ns < 1000) {
		(void)snprintf(text, NUMBER_BYTES, "%" PRIu64 " ns", ns);
	} else if (ns < 1000 * 1000) {
		(void)snprintf(text, NUMBER_BYTES, "%.1f us",
		    (double)ns / 1e3);
	} else {
		(void)snprintf(text, NUMBER_BYTES, "%.1f ms",
		    (double)ns / 1e6);
	}
	return text;
}

static double
hit_share(const struct look *look)
{
	return look->requests == 0 ? 0 :
	    (double)look->hits / (double)look->requests;
}

static void
print_head(void)
{
	printf("  time  requests/s  hit ratio                    "
	    "     p50      p99  origin/s\n");
}

static void
print_line(const struct look *gone, double at_s, double lasted_s, bool live)
{
	char bar[BAR_WIDTH + 1];
	char p50[NUMBER_BYTES], p99[NUMBER_BYTES];
	double share = hit_share(gone);

	for (unsigned i = 0; i < BAR_WIDTH; i++) {
		bar[i] = (i + 0.5) / BAR_WIDTH < share ? '#' : '.';
	}
	bar[BAR_WIDTH] = '\0';
	printf("%s%4.0f s  %10.0f  %s%s%s %5.1f%%  %8s %8s  %8.0f",
	    live ? "\r" : "", at_s, (double)gone->requests / lasted_s,
	    live ? "\033[32m" : "", bar, live ? "\033[0m" : "", share * 100,
	    show_time(p50, latency_sum_quantile_ns(&gone->latency, 0.5)),
	    show_time(p99, latency_sum_quantile_ns(&gone->latency, 0.99)),
	    (double)gone->origin_calls / lasted_s);
	(void)fflush(stdout);	/* whoever watches sees it or is gone */
}

static void
kill_worker(pid_t victim)
{
	if (kill(victim, SIGKILL) == 0) {
		printf("        --- kill -9 %d: a worker of the daemon is "
		    "dead; hits go on ---\n", (int)victim);
	} else {
		perror("demo: kill");
	}
}

static void
wait_a_tick(void)
{
	struct timespec tick = { .tv_nsec = TICK_MS * 1000 * 1000 };

	(void)nanosleep(&tick, NULL);	/* a signal makes it shorter: fine */
}

static void
watch(const struct options *options, const struct shopper *shoppers,
    struct look *now)
{
	bool live = isatty(STDOUT_FILENO);
	struct look begin;

	print_head();
	take_look(&begin, shoppers);
	for (unsigned second = 0; second < options->seconds; second++) {
		if (options->victim != 0 && second == options->seconds / 2) {
			kill_worker(options->victim);
		}
		for (unsigned tick = 1; tick <= TICKS_PER_S; tick++) {
			struct look gone;

			wait_a_tick();
			take_look(now, shoppers);
			gone = since(now, &begin);
			if (live || tick == TICKS_PER_S) {
				print_line(&gone, second + 1,
				    (double)tick / TICKS_PER_S, live);
			}
		}
		putchar('\n');
		begin = *now;
	}
}

static bool
start_shopper(struct shopper *shopper, const struct options *options,
    unsigned number)
{
	pid_t parent = getpid();
	pid_t pid;

	shopper->uses_cache = options->socket_path != NULL;
	shopper->socket_path = options->socket_path;
	shopper->seed = number + 1;	/* never 0 */
	pid = fork();
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);	/* or see below */
		_exit(getppid() != parent ? EXIT_FAILURE :
		    shopper_run(shopper));
	}
	return pid > 0;
}

/* Ends all; false if one of them failed. */
static bool
stop_shoppers(struct shopper *shoppers, unsigned count)
{
	bool fine = true;

	for (unsigned i = 0; i < count; i++) {
		/* Relaxed: the flag stands alone and orders nothing. */
		atomic_store_explicit(&shoppers[i].stop, true,
		    memory_order_relaxed);
	}
	for (unsigned i = 0; i < count; i++) {
		int status;

		fine = wait(&status) > 0 && WIFEXITED(status) &&
		    WEXITSTATUS(status) == EXIT_SUCCESS && fine;
	}
	return fine;
}

static bool
parse_options(struct options *options, int argc, char **argv)
{
	int option;

	memset(options, 0, sizeof(*options));
	while ((option = getopt(argc, argv, "k:n:o:s:")) != -1) {
		switch (option) {
		case 'k':
			options->victim = (pid_t)strtol(optarg, NULL, 10);
			break;
		case 'n':
			options->seconds = (unsigned)strtoul(optarg, NULL,
			    10);
			break;
		case 'o':
			options->summary_path = optarg;
			break;
		case 's':
			options->socket_path = optarg;
			break;
		default:
			return false;
		}
	}
	return options->seconds > 0 && options->summary_path != NULL &&
	    options->victim >= 0 && optind == argc;
}

static bool
write_summary(const struct options *options, const struct look *whole)
{
	FILE *file = fopen(options->summary_path, "we");

	if (file == NULL) {
		return false;
	}
	fprintf(file, "%" PRIu64 " %.0f %" PRIu64 " %" PRIu64 " %" PRIu64
	    " %" PRIu64 "\n", whole->requests / options->seconds,
	    hit_share(whole) * 10000,
	    latency_sum_quantile_ns(&whole->latency, 0.5),
	    whole->origin_calls / options->seconds, whole->wrong_values,
	    whole->lost_stores);
	return fclose(file) == 0;
}

int
main(int argc, char **argv)
{
	struct options options;
	struct shopper *shoppers;
	struct look whole;
	unsigned started = 0;
	bool fine;

	if (!parse_options(&options, argc, argv)) {
		fputs("usage: shop -n SECONDS -o FILE "
		    "[-s SOCKET [-k PID]]\n", stderr);
		return 2;
	}
	shoppers = mmap(NULL, CLIENTS * sizeof(*shoppers), PROT_READ |
	    PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shoppers == MAP_FAILED) {
		perror("demo: mmap");
		return EXIT_FAILURE;
	}
	while (started < CLIENTS &&
	    start_shopper(&shoppers[started], &options, started)) {
		started++;
	}
	take_look(&whole, shoppers);
	if (started == CLIENTS) {
		watch(&options, shoppers, &whole);
	} else {
		perror("demo: fork");
	}
	fine = stop_shoppers(shoppers, started) && started == CLIENTS;
	if (!write_summary(&options, &whole)) {
		perror("demo: summary");
		fine = false;
	}
	return fine && whole.wrong_values == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
