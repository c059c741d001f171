/* SPDX-License-Identifier: ISC */

/*
 * All that stands before the first child: each step may refuse to start,
 * and says so in one line.  Nothing of an older daemon is touched before
 * the lock is held.
 */
#include "supervisor_state.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

#include "control_create.h"
#include "listener.h"
#include "log.h"
#include "memory_budget.h"
#include "permit_file.h"
#include "pidlock.h"
#include "runtime_dir.h"

/* Descriptors of a client in its worker: socket, ring, proof of life. */
#define FILES_OF_A_CLIENT	3
/* Segments, sockets, event loop, standard streams, libraries. */
#define FILES_OF_A_PROCESS	128
/* Memory is touched at 1 GiB a second or faster; a manager waits longer. */
#define TOUCH_BYTES_PER_S	(256ull << 20)
#define TOUCH_EXTRA_US		30000000ull
#define US_PER_S		1000000ull

static bool
refuse(const char *text)
{
	log_line(LOG_LEVEL_ERROR, "start_refused", "text=\"%s\"", text);
	return false;
}

static bool
check_memory(const struct config *config)
{
	char error[MEMORY_BUDGET_ERROR_BYTES];
	struct memory_limits limits;
	struct memory_budget sum;

	if (memory_budget_compute(&sum, config) != OK) {
		return refuse("a pool cannot be laid out");
	}
	memory_limits_read(&limits, "");
	if (!memory_limits_allow(&limits, &sum, error)) {
		return refuse(error);
	}
	if (sum.full_bytes > limits.available_bytes ||
	    sum.full_bytes > limits.group_room_bytes) {
		log_line(LOG_LEVEL_WARNING, "memory_is_tight",
		    "sum_bytes=%llu text=\"with all clients connected more "
		    "memory is needed than there is: see weird -t\"",
		    (unsigned long long)sum.full_bytes);
	}
	return true;
}

/* One worker may come to serve all clients. */
static void
raise_file_limit(uint32_t max_clients)
{
	rlim_t need = (rlim_t)max_clients * FILES_OF_A_CLIENT +
	    FILES_OF_A_PROCESS;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= need) {
		return;
	}
	if (limit.rlim_max < need) {
		struct rlimit more = { need, need };

		if (setrlimit(RLIMIT_NOFILE, &more) == 0) {
			return;
		}
		log_line(LOG_LEVEL_WARNING, "file_limit_is_low",
		    "limit=%llu needed=%llu", (unsigned long long)
		    limit.rlim_max, (unsigned long long)need);
		need = limit.rlim_max;
	}
	limit.rlim_cur = need;
	(void)setrlimit(RLIMIT_NOFILE, &limit);	/* up to the hard one */
}

static bool
take_directory(struct supervisor *sup)
{
	const char *dir = sup->heritage.config.socket_dir;
	char error[RUNTIME_DIR_ERROR_BYTES];
	char path[SUPERVISOR_PATH_BYTES];
	pid_t holder;

	if (!runtime_dir_prepare(dir, error)) {
		return refuse(error);
	}
	(void)snprintf(sup->client_path, sizeof(sup->client_path),
	    "%s/weird.sock", dir);
	(void)snprintf(sup->admin_path, sizeof(sup->admin_path),
	    "%s/admin.sock", dir);
	(void)snprintf(path, sizeof(path), "%s/weird.lock", dir);
	switch (pidlock_acquire(path, &sup->lock_fd, &holder)) {
	case OK:
		return true;
	case BUSY:
		log_line(LOG_LEVEL_ERROR, "start_refused", "text=\"another "
		    "weird serves %s\" pid=%d", dir, (int)holder);
		return false;
	default:
		log_line(LOG_LEVEL_ERROR, "start_refused",
		    "text=\"cannot lock %s: %s\"", path, strerror(errno));
		return false;
	}
}

mode_t
supervisor_admin_mode(const struct config *config)
{
	/*
	 * Two groups cannot be in one mode: with one given, workers judge
	 * each peer by its credentials.
	 */
	return config->admin_group != (gid_t)-1 ||
	    config->admin_read_group != (gid_t)-1 ? 0666 : 0600;
}

static bool
bind_sockets(struct supervisor *sup)
{
	const struct config *config = &sup->heritage.config;
	char error[LISTENER_ERROR_BYTES];

	sup->heritage.client_socket = listener_bind_unix(sup->client_path,
	    config->socket_mode, config->socket_group, error);
	if (sup->heritage.client_socket < 0) {
		return refuse(error);
	}
	sup->client_bound = true;
	sup->heritage.admin_socket = listener_bind_unix(sup->admin_path,
	    supervisor_admin_mode(config), (gid_t)-1, error);
	if (sup->heritage.admin_socket < 0) {
		return refuse(error);
	}
	sup->admin_bound = true;
	if (strcmp(config->admin_listen, "off") == 0) {
		return true;
	}
	if (!address_parse(config->admin_listen, &sup->http_address)) {
		return refuse("admin_listen is no address");
	}
	if (!address_is_loopback(&sup->http_address)) {
		log_line(LOG_LEVEL_WARNING, "admin_port_is_open",
		    "address=%s text=\"other machines can reach it\"",
		    config->admin_listen);
	}
	sup->heritage.http_socket = listener_bind_inet(&sup->http_address,
	    error);
	return sup->heritage.http_socket >= 0 || refuse(error);
}

static bool
refuse_pool(const struct config_pool *pool, enum result result)
{
	const char *why = result == SYSTEM ? strerror(errno) :
	    result == NO_MEMORY ? "the memory is not there: it is above what "
	    "the machine or the control group has left" : result_text(result);

	log_line(LOG_LEVEL_ERROR, "start_refused", "pool=%s "
	    "memory_bytes=%llu text=\"%s\"", pool->name,
	    (unsigned long long)pool->memory_bytes, why);
	return false;
}

static bool
make_pool(struct supervisor *sup, uint32_t number, const uint8_t *boot_id,
    struct boot_ms now)
{
	const struct config *config = &sup->heritage.config;
	const struct config_pool *wanted = &config->pools[number];
	struct pool *pool = &sup->heritage.pools[number];
	struct pool_params params = {
		.name = wanted->name,
		.pool_bytes = wanted->memory_bytes,
		.extent_bytes = wanted->extent_bytes,
		.worker_count = config->workers,
		.flights = memory_budget_flights(config),
		.now = now,
	};
	enum result result;

	randombytes_buf(&params.hash_key, sizeof(params.hash_key));
	memcpy(params.boot_id, boot_id, sizeof(params.boot_id));
	(void)notify_send(&sup->notify, "STATUS=taking the memory of pool %s"
	    "\nEXTEND_TIMEOUT_USEC=%llu", wanted->name, (unsigned long long)
	    (wanted->memory_bytes / TOUCH_BYTES_PER_S * US_PER_S +
	    TOUCH_EXTRA_US));
	result = pool_create(pool, &params);
	if (result == OK) {
		result = pool_pretouch(pool);
	}
	return result == OK || refuse_pool(wanted, result);
}

/* The bells of the workers; see wake.h. */
static bool
make_bells(struct supervisor *sup)
{
	for (uint32_t i = 0; i < sup->heritage.config.workers; i++) {
		sup->heritage.wake_fds[i] = eventfd(0, EFD_NONBLOCK |
		    EFD_CLOEXEC);
		if (sup->heritage.wake_fds[i] < 0) {
			return refuse(strerror(errno));
		}
	}
	return true;
}

/* Without the file the daemon serves as well, and says what it lacks. */
static void
take_permits_over(struct supervisor *sup, struct boot_ms now)
{
	struct permit_file_counts counts;

	if (permit_file_create(sup->heritage.config.socket_dir,
	    &sup->heritage.config, sup->heritage.control, now,
	    &sup->heritage.permits, &counts) != OK) {
		log_line(LOG_LEVEL_WARNING, "permits_not_kept", "error=\"%s\" "
		    "text=\"after a restart calls that are under way will "
		    "not count\"", strerror(errno));
	}
	if (counts.damaged) {
		log_line(LOG_LEVEL_WARNING, "permits_unreadable", "file=%s/"
		    PERMIT_FILE_NAME " text=\"calls that began before the "
		    "restart do not count\"", sup->heritage.config.socket_dir);
	}
	if (counts.restored + counts.over + counts.refused != 0) {
		log_line(LOG_LEVEL_INFO, "permits_taken_over", "calls=%u "
		    "over=%u refused=%u text=\"calls that began before the "
		    "restart count until they end\"", counts.restored,
		    counts.over, counts.refused);
	}
}

static bool
make_segments(struct supervisor *sup)
{
	const struct config *config = &sup->heritage.config;
	struct boot_ms now = clock_boot_now();
	uint8_t boot_id[16];
	enum result result;

	randombytes_buf(boot_id, sizeof(boot_id));
	result = control_create(&sup->control_segment,
	    &sup->heritage.control, config, boot_id, now, clock_wall_now());
	if (result == OK) {
		result = segment_pretouch(&sup->control_segment);
	}
	if (result != OK) {
		return refuse(result == SYSTEM ? strerror(errno) :
		    result_text(result));
	}
	for (uint32_t i = 0; i < config->pool_count; i++) {
		if (!make_pool(sup, i, boot_id, now)) {
			return false;
		}
	}
	take_permits_over(sup, clock_boot_now());
	return true;
}

static bool
start_listening(struct supervisor *sup)
{
	const int sockets[] = {
		sup->heritage.client_socket, sup->heritage.admin_socket,
		sup->heritage.http_socket,
	};
	char text[ADDRESS_TEXT_BYTES] = "off";

	for (size_t i = 0; i < sizeof(sockets) / sizeof(sockets[0]); i++) {
		if (sockets[i] >= 0 && listener_start(sockets[i]) < 0) {
			return refuse(strerror(errno));
		}
	}
	if (sup->heritage.http_socket >= 0) {
		/* The port may have been the kernel's to choose. */
		sup->http_address.bytes = sizeof(sup->http_address.storage);
		if (getsockname(sup->heritage.http_socket,
		    (struct sockaddr *)&sup->http_address.storage,
		    &sup->http_address.bytes) == 0) {
			(void)address_format(&sup->http_address, text);
		}
	}
	log_line(LOG_LEVEL_INFO, "listening", "socket=%s admin_socket=%s "
	    "admin_port=%s", sup->client_path, sup->admin_path, text);
	return true;
}

bool
supervisor_prepare(struct supervisor *sup)
{
	const struct config *config = &sup->heritage.config;

	if (!privilege_find(&sup->identity, config->user)) {
		return refuse("the option user names no user to drop to");
	}
	if (!check_memory(config)) {
		return false;
	}
	raise_file_limit(config->max_clients);
	if (!take_directory(sup) || !bind_sockets(sup) ||
	    !make_bells(sup) || !make_segments(sup)) {
		return false;
	}
	if (privilege_reduce_supervisor() < 0) {
		return refuse("cannot give up privileges");
	}
	return start_listening(sup);
}
