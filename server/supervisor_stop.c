/* SPDX-License-Identifier: ISC */

/*
 * The end of the daemon: workers drain, the keeper beats until they are
 * gone, whoever is late is killed.
 */
#include "supervisor_state.h"

#include <signal.h>
#include <unistd.h>

#include "log.h"
#include "permit_file.h"

/* Beyond the drain, for a worker to close what is open. */
#define STOP_GRACE_MS	2000

static void
signal_workers(const struct supervisor *sup, int number)
{
	for (uint32_t i = 0; i < sup->heritage.config.workers; i++) {
		if (sup->children[i].pid != 0) {
			(void)kill(sup->children[i].pid, number);
		}
	}
}

/* The children have descriptors of their own; they close them too. */
static void
close_sockets(struct supervisor *sup)
{
	int *const sockets[] = {
		&sup->heritage.client_socket, &sup->heritage.admin_socket,
		&sup->heritage.http_socket,
	};

	for (size_t i = 0; i < sizeof(sockets) / sizeof(sockets[0]); i++) {
		if (*sockets[i] >= 0) {
			close(*sockets[i]);
			*sockets[i] = -1;
		}
	}
}

void
supervisor_begin_drain(struct supervisor *sup, struct boot_ms now)
{
	uint32_t drain_ms = sup->heritage.config.drain_timeout_ms;

	log_line(LOG_LEVEL_INFO, "draining", "limit_ms=%u", drain_ms);
	(void)notify_send(&sup->notify, "STOPPING=1\nSTATUS=draining\n"
	    "EXTEND_TIMEOUT_USEC=%llu",
	    (drain_ms + 2ull * STOP_GRACE_MS) * 1000);
	sup->phase = SUPERVISOR_DRAINING;
	sup->limit_ms = now.ms + drain_ms + STOP_GRACE_MS;
	for (uint32_t i = 0; i < supervisor_child_count(sup); i++) {
		sup->children[i].restart_ms = 0;
	}
	/* Relaxed: the signal that follows is what ends a worker's wait. */
	atomic_store_explicit(&sup->heritage.control->draining, 1,
	    memory_order_relaxed);
	permit_file_close(sup->heritage.permits);
	close_sockets(sup);
	signal_workers(sup, SIGTERM);
}

void
supervisor_begin_quick(struct supervisor *sup, struct boot_ms now)
{
	if (sup->phase == SUPERVISOR_QUICK) {
		return;
	}
	log_line(LOG_LEVEL_INFO, "stopping_at_once", "limit_ms=%u",
	    STOP_GRACE_MS);
	sup->phase = SUPERVISOR_QUICK;
	sup->limit_ms = now.ms + STOP_GRACE_MS;
	permit_file_close(sup->heritage.permits);
	signal_workers(sup, SIGTERM);
}

static void
kill_late(const struct supervisor *sup)
{
	for (uint32_t i = 0; i < supervisor_child_count(sup); i++) {
		char name[32];

		if (sup->children[i].pid == 0) {
			continue;
		}
		log_line(LOG_LEVEL_WARNING, "child_is_late", "child=%s "
		    "pid=%d text=\"killed\"", child_name(&sup->heritage, i,
		    name, sizeof(name)), (int)sup->children[i].pid);
		(void)kill(sup->children[i].pid, SIGKILL);
	}
}

bool
supervisor_stop_step(struct supervisor *sup, struct boot_ms now)
{
	uint32_t workers = 0;
	pid_t keeper = sup->children[sup->heritage.config.workers].pid;

	for (uint32_t i = 0; i < sup->heritage.config.workers; i++) {
		workers += sup->children[i].pid != 0;
	}
	if (workers == 0 && keeper == 0) {
		return true;
	}
	if (workers == 0) {
		/* One more at each step does no harm: it ends at the first. */
		(void)kill(keeper, SIGTERM);
	}
	if (now.ms >= sup->limit_ms) {
		kill_late(sup);
		/* SIGKILL is not late; the next step is a death. */
		sup->limit_ms = UINT64_MAX;
	}
	return false;
}

void
supervisor_clean_up(struct supervisor *sup)
{
	close_sockets(sup);
	/* What we did not make, we do not remove. */
	if (sup->client_bound) {
		(void)unlink(sup->client_path);
	}
	if (sup->admin_bound) {
		(void)unlink(sup->admin_path);
	}
	permit_file_clean_up(sup->heritage.config.socket_dir,
	    sup->heritage.permits);
	/* The lock's file stays: somebody may be about to lock it. */
	if (sup->lock_fd >= 0) {
		close(sup->lock_fd);
		sup->lock_fd = -1;
	}
	log_flush();
}
