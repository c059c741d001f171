/* SPDX-License-Identifier: ISC */

/*
 * Children: started, seen to die, started again, and killed if they stand
 * still.
 *
 * A death, in this order:
 *	1. the incarnation is raised, while the pid is still a zombie's, so
 *	   that nobody takes a new process for the dead one;
 *	2. its pins are given back: it reads nothing any more;
 *	3. every worker is rung: it looks at its waiters again (wake.h), and
 *	   at what the dead one held;
 *	4. it is reaped;
 *	5. the workers are told by SIGUSR2, for the settings.
 * The supervisor may die between any two: then the children die too, and
 * the segments with them.
 */
#include "supervisor_state.h"

#include <errno.h>
#include <signal.h>
#include <sodium.h>
#include <string.h>
#include <sys/wait.h>

#include "log.h"
#include "pin.h"
#include "wake.h"

/*
 * A worker beats once a second.  Three looks of ours, a second apart, that
 * see one beat: it stands still.  Looks are counted and not seconds, so that
 * a time in which we were stopped ourselves does not count.
 */
#define STILL_LOOKS_MAX		3
/* Before the first beat it fills page tables, seconds in a large pool. */
#define STILL_LOOKS_STARTING	60
/* So many deaths before the daemon was ever ready: it never will be. */
#define DEATHS_BEFORE_READY_MAX	8

void
supervisor_spawn(struct supervisor *sup, uint32_t index)
{
	struct supervised *child = &sup->children[index];
	struct control_process *row =
	    &sup->heritage.control->processes[index];
	struct boot_ms now = clock_boot_now();
	char name[32];
	pid_t pid;

	child->started_ms = now.ms;
	child->restart_ms = 0;
	child->still_looks = 0;
	child->seen_heartbeat_ms = 0;
	/* Relaxed, all: the fork hands them to the child, others only show. */
	atomic_store_explicit(&row->heartbeat_ms, 0, memory_order_relaxed);
	atomic_store_explicit(&row->started_ms, now.ms,
	    memory_order_relaxed);
	atomic_store_explicit(&row->connections, 0, memory_order_relaxed);
	atomic_store_explicit(&row->state, PROCESS_STARTING,
	    memory_order_relaxed);
	pid = child_start(&sup->heritage, index, &sup->identity);
	if (pid < 0) {
		log_line(LOG_LEVEL_ERROR, "fork_failed", "child=%s "
		    "error=\"%s\"", child_name(&sup->heritage, index, name,
		    sizeof(name)), strerror(errno));
		atomic_store_explicit(&row->state, PROCESS_DEAD,
		    memory_order_relaxed);
		child->restart_ms = now.ms + backoff_next_ms(&child->backoff,
		    0, randombytes_random());
		return;
	}
	child->pid = pid;
	atomic_store_explicit(&row->pid, (uint32_t)pid,
	    memory_order_relaxed);
}

void
supervisor_tell_workers(const struct supervisor *sup)
{
	for (uint32_t i = 0; i < sup->heritage.config.workers; i++) {
		if (sup->children[i].pid != 0) {
			/* If it died too, its own death is to be seen yet. */
			(void)kill(sup->children[i].pid, SIGUSR2);
		}
	}
}

static void
log_death(const struct supervisor *sup, uint32_t index, pid_t pid,
    int status, uint64_t lived_ms, uint64_t wait_ms)
{
	char name[32];
	bool signalled = WIFSIGNALED(status);
	int number = signalled ? WTERMSIG(status) : WEXITSTATUS(status);

	(void)child_name(&sup->heritage, index, name, sizeof(name));
	if (sup->phase >= SUPERVISOR_DRAINING) {
		log_line(status == 0 ? LOG_LEVEL_DEBUG : LOG_LEVEL_WARNING,
		    "child_ended", "child=%s pid=%d %s=%d age_ms=%llu", name,
		    (int)pid, signalled ? "signal" : "exit", number,
		    (unsigned long long)lived_ms);
		return;
	}
	log_line(LOG_LEVEL_ERROR, "child_died", "child=%s pid=%d %s=%d%s%s "
	    "age_ms=%llu restart_in_ms=%llu", name, (int)pid,
	    signalled ? "signal" : "exit", number,
	    signalled ? " signal_name=" : "",
	    signalled ? sigabbrev_np(number) : "",
	    (unsigned long long)lived_ms, (unsigned long long)wait_ms);
}

/* Steps 1 to 3, the dead one still a zombie. */
static void
retire(struct supervisor *sup, uint32_t index)
{
	struct control_process *row =
	    &sup->heritage.control->processes[index];

	/*
	 * Release: who sees the new incarnation may take over what the dead
	 * one held.  Pairs with the acquire loads of the workers.
	 */
	atomic_fetch_add_explicit(&row->incarnation, 1,
	    memory_order_release);
	/* Relaxed: for people. */
	atomic_store_explicit(&row->state, PROCESS_DEAD,
	    memory_order_relaxed);
	atomic_store_explicit(&row->pid, 0, memory_order_relaxed);
	for (uint32_t i = 0; i < sup->heritage.config.pool_count; i++) {
		/* The keeper's number is no worker's, and has no pins. */
		pin_clear_worker(&sup->heritage.pools[i], index);
	}
	wake_all(&(struct wake){ .heritage = &sup->heritage });
}

static void
take_death(struct supervisor *sup, uint32_t index, pid_t pid)
{
	struct supervised *child = &sup->children[index];
	struct boot_ms now = clock_boot_now();
	uint64_t lived_ms = now.ms - child->started_ms;
	uint64_t wait_ms = 0;
	int status = 0;

	retire(sup, index);
	child->pid = 0;
	(void)waitpid(pid, &status, 0);		/* a zombie: cannot fail */
	/* Relaxed: for people. */
	atomic_store_explicit(
	    &sup->heritage.control->processes[index].last_status,
	    (uint32_t)status, memory_order_relaxed);
	if (sup->phase < SUPERVISOR_DRAINING) {
		wait_ms = backoff_next_ms(&child->backoff, lived_ms,
		    randombytes_random());
		child->restart_ms = now.ms + wait_ms;
	}
	log_death(sup, index, pid, status, lived_ms, wait_ms);
	supervisor_tell_workers(sup);
	if (sup->phase == SUPERVISOR_STARTING &&
	    ++sup->deaths_before_ready == DEATHS_BEFORE_READY_MAX) {
		log_line(LOG_LEVEL_ERROR, "start_failed", "deaths=%u "
		    "text=\"children die before they serve\"",
		    sup->deaths_before_ready);
		sup->failed = true;
		supervisor_begin_drain(sup, now);
	}
}

void
supervisor_reap(struct supervisor *sup)
{
	for (;;) {
		siginfo_t info = { 0 };
		uint32_t index = 0;

		/* WNOWAIT: it stays a zombie, and its pid its own. */
		if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 ||
		    info.si_pid == 0) {
			return;
		}
		while (index < supervisor_child_count(sup) &&
		    sup->children[index].pid != info.si_pid) {
			index++;
		}
		if (index == supervisor_child_count(sup)) {
			/* Not one of ours: inherited from who ran us. */
			(void)waitpid(info.si_pid, NULL, 0);
			continue;
		}
		take_death(sup, index, info.si_pid);
	}
}

void
supervisor_restart_due(struct supervisor *sup, struct boot_ms now)
{
	for (uint32_t i = 0; i < supervisor_child_count(sup); i++) {
		struct supervised *child = &sup->children[i];
		char name[32];

		if (child->restart_ms == 0 || child->restart_ms > now.ms) {
			continue;
		}
		supervisor_spawn(sup, i);
		if (child->pid == 0) {
			continue;
		}
		/* Relaxed: for people. */
		atomic_fetch_add_explicit(
		    &sup->heritage.control->processes[i].restarts, 1,
		    memory_order_relaxed);
		log_line(LOG_LEVEL_INFO, "child_restarted",
		    "child=%s pid=%d", child_name(&sup->heritage, i, name,
		    sizeof(name)), (int)child->pid);
	}
}

void
supervisor_look(struct supervisor *sup)
{
	for (uint32_t i = 0; i < supervisor_child_count(sup); i++) {
		struct supervised *child = &sup->children[i];
		/* Relaxed: a clock, compared with itself. */
		uint64_t beat = atomic_load_explicit(
		    &sup->heritage.control->processes[i].heartbeat_ms,
		    memory_order_relaxed);
		uint32_t limit = beat == 0 ? STILL_LOOKS_STARTING :
		    STILL_LOOKS_MAX;
		char name[32];

		if (child->pid == 0) {
			continue;
		}
		if (beat != child->seen_heartbeat_ms) {
			child->seen_heartbeat_ms = beat;
			child->still_looks = 0;
			continue;
		}
		if (++child->still_looks != limit) {
			continue;
		}
		log_line(LOG_LEVEL_ERROR, "child_stands_still", "child=%s "
		    "pid=%d looks=%u text=\"killed\"",
		    child_name(&sup->heritage, i, name, sizeof(name)),
		    (int)child->pid, child->still_looks);
		(void)kill(child->pid, SIGKILL);	/* reaped as usual */
	}
}
