/* SPDX-License-Identifier: ISC */

/*
 * The supervisor's loop.  It waits for a signal or for the time of its next
 * duty: at rest that is once a second.  Signals are blocked everywhere but
 * in that wait, so none of its code is ever interrupted.
 */
#include "supervisor.h"

#include <bsd/unistd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "log.h"
#include "supervisor_state.h"

#define LOOK_MS		1000
/* Until the children run nobody is served: looked at often, but shortly. */
#define STARTING_LOOK_MS	10

static const int handled[] = {
	SIGCHLD, SIGHUP, SIGINT, SIGTERM, SIGUSR1,
};

#define HANDLED_COUNT	(sizeof(handled) / sizeof(handled[0]))

static void
fill_set(sigset_t *set)
{
	(void)sigemptyset(set);
	for (size_t i = 0; i < HANDLED_COUNT; i++) {
		(void)sigaddset(set, handled[i]);
	}
}

static void
set_disposition(int number, void (*handler)(int))
{
	struct sigaction action = { .sa_handler = handler };

	(void)sigaction(number, &action, NULL);
}

/*
 * While the memory is taken SIGTERM ends us, as there is nothing to drain,
 * but a reload that comes early must not.
 */
static void
set_starting_signals(void)
{
	set_disposition(SIGCHLD, SIG_DFL);
	set_disposition(SIGPIPE, SIG_IGN);
	set_disposition(SIGHUP, SIG_IGN);
	set_disposition(SIGUSR1, SIG_IGN);
	set_disposition(SIGUSR2, SIG_IGN);
}

static void
block_signals(void)
{
	sigset_t set;

	fill_set(&set);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	/* An ignored signal is dropped even while it is blocked. */
	for (size_t i = 0; i < HANDLED_COUNT; i++) {
		set_disposition(handled[i], SIG_DFL);
	}
}

static bool
child_is_running(const struct supervisor *sup, uint32_t index)
{
	/* Acquire: pairs with the release of the child. */
	return atomic_load_explicit(
	    &sup->heritage.control->processes[index].state,
	    memory_order_acquire) == PROCESS_RUNNING;
}

static void
become_ready(struct supervisor *sup)
{
	const struct config *config = &sup->heritage.config;
	uint32_t running = 0;

	for (uint32_t i = 0; i < config->workers; i++) {
		running += child_is_running(sup, i);
	}
	if (running == 0 || !child_is_running(sup, config->workers)) {
		return;
	}
	sup->phase = SUPERVISOR_READY;
	log_line(LOG_LEVEL_INFO, "ready", "workers=%u pools=%u "
	    "max_clients=%u", config->workers, config->pool_count,
	    config->max_clients);
	(void)notify_send(&sup->notify, "READY=1\nSTATUS=serving");
}

static uint64_t
look_interval_ms(const struct supervisor *sup)
{
	uint32_t half = sup->notify.watchdog_ms / 2;

	return half != 0 && half < LOOK_MS ? half : LOOK_MS;
}

static uint64_t
next_duty_ms(const struct supervisor *sup, struct boot_ms now)
{
	uint64_t next = sup->next_look_ms;

	if (sup->phase == SUPERVISOR_STARTING &&
	    now.ms + STARTING_LOOK_MS < next) {
		next = now.ms + STARTING_LOOK_MS;
	}
	if (sup->phase >= SUPERVISOR_DRAINING && sup->limit_ms < next) {
		next = sup->limit_ms;
	}
	for (uint32_t i = 0; i < supervisor_child_count(sup); i++) {
		if (sup->children[i].restart_ms != 0 &&
		    sup->children[i].restart_ms < next) {
			next = sup->children[i].restart_ms;
		}
	}
	return next;
}

/* The signal that came, or 0 when it is time for a duty. */
static int
wait_for_work(const struct supervisor *sup)
{
	struct boot_ms now = clock_boot_now();
	uint64_t next_ms = next_duty_ms(sup, now);
	uint64_t wait_ms = next_ms > now.ms ? next_ms - now.ms : 0;
	const struct timespec wait = {
		.tv_sec = (time_t)(wait_ms / CLOCK_MS_PER_S),
		.tv_nsec = (long)(wait_ms % CLOCK_MS_PER_S) *
		    CLOCK_NS_PER_MS,
	};
	sigset_t set;
	int number;

	fill_set(&set);
	number = sigtimedwait(&set, NULL, &wait);
	return number > 0 ? number : 0;
}

static void
take_signal(struct supervisor *sup, int number)
{
	switch (number) {
	case SIGHUP:
		if (sup->phase == SUPERVISOR_READY) {
			supervisor_reload(sup);
		} else if (sup->phase == SUPERVISOR_STARTING) {
			/* The file was read a moment ago. */
			log_line(LOG_LEVEL_WARNING, "reload_ignored",
			    "text=\"not ready yet\"");
		}
		break;
	case SIGUSR1:
		supervisor_log_state(sup);
		break;
	case SIGINT:
	case SIGTERM:
		if (sup->phase >= SUPERVISOR_DRAINING) {
			supervisor_begin_quick(sup, clock_boot_now());
		} else {
			supervisor_begin_drain(sup, clock_boot_now());
		}
		break;
	default:	/* SIGCHLD, or none: the loop reaps each time */
		break;
	}
}

static void
loop(struct supervisor *sup)
{
	for (;;) {
		struct boot_ms now;

		take_signal(sup, wait_for_work(sup));
		supervisor_reap(sup);
		now = clock_boot_now();
		if (sup->phase >= SUPERVISOR_DRAINING &&
		    supervisor_stop_step(sup, now)) {
			return;
		}
		supervisor_restart_due(sup, now);
		if (sup->phase == SUPERVISOR_STARTING) {
			become_ready(sup);
		}
		if (now.ms >= sup->next_look_ms) {
			sup->next_look_ms = now.ms + look_interval_ms(sup);
			supervisor_look(sup);
			log_tick();
			if (sup->notify.watchdog_ms != 0) {
				(void)notify_send(&sup->notify, "WATCHDOG=1");
			}
		}
	}
}

int
supervisor_run(struct config_draft *draft, const struct options *options)
{
	/* Static: heritage holds all pools, too much for a stack. */
	static struct supervisor sup;

	memset(&sup, 0, sizeof(sup));
	sup.draft = draft;
	sup.options = options;
	sup.heritage.config = draft->config;
	sup.heritage.client_socket = -1;
	sup.heritage.admin_socket = -1;
	sup.heritage.http_socket = -1;
	sup.lock_fd = -1;
	(void)umask(022);
	log_set_level(draft->config.log_level);
	set_starting_signals();
	notify_init(&sup.notify);
	setproctitle("supervisor");
	if (!supervisor_prepare(&sup)) {
		supervisor_clean_up(&sup);
		return EXIT_FAILURE;
	}
	block_signals();
	for (uint32_t i = 0; i < supervisor_child_count(&sup); i++) {
		supervisor_spawn(&sup, i);
	}
	sup.next_look_ms = clock_boot_now().ms + look_interval_ms(&sup);
	loop(&sup);
	supervisor_clean_up(&sup);
	log_line(LOG_LEVEL_INFO, "stopped", "exit=%d", sup.failed);
	return sup.failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
