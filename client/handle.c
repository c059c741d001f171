/* SPDX-License-Identifier: ISC */

/*
 * Opening and closing, and what a handle says of itself.
 */
#include "handle.h"

#include "lane.h"
#include "life.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define TIMEOUT_DEFAULT_MS	1000
#define TIMEOUT_MAX_MS		3600000u

static _Atomic uint64_t last_serial;

/* The pool's name, and a socket that neither options nor default name. */
static bool
copy_names(struct weir *handle, const struct weir_options *options)
{
	const char *path = options->socket_path;

	if (path == NULL) {
		path = secure_getenv("WEIR_SOCKET");
	}
	if (path != NULL && path[0] != '\0') {
		handle->socket_path = strdup(path);
		if (handle->socket_path == NULL) {
			return false;
		}
	}
	handle->pool_name = strdup(options->pool != NULL ? options->pool :
	    "default");
	return handle->pool_name != NULL;
}

static bool
options_are_valid(const struct weir_options *options)
{
	return options->size == sizeof(*options) && options->no_hints <= 1 &&
	    options->timeout_ms <= TIMEOUT_MAX_MS && (options->pool == NULL ||
	    strlen(options->pool) - 1 < POOL_NAME_BYTES - 1);
}

static bool
is_turned_off(void)
{
	const char *value = secure_getenv("WEIR_DISABLE");

	return value != NULL && strcmp(value, "1") == 0;
}

static void
free_handle(struct weir *handle)
{
	free(handle->socket_path);
	free(handle->pool_name);
	free(handle);
}

int
weir_open(struct weir **out, const struct weir_options *options)
{
	static const struct weir_options plain = WEIR_OPTIONS_INIT;
	struct weir *handle;

	if (out == NULL) {
		return WEIR_INVALID;
	}
	*out = NULL;
	if (options == NULL) {
		options = &plain;
	}
	if (!options_are_valid(options)) {
		return WEIR_INVALID;
	}
	if (!life_begin() || !lane_begin_process()) {
		return WEIR_NO_MEMORY;
	}
	handle = calloc(1, sizeof(*handle));
	if (handle == NULL) {
		return WEIR_NO_MEMORY;
	}
	if (!copy_names(handle, options)) {
		free_handle(handle);
		return WEIR_NO_MEMORY;
	}
	/* Relaxed: only its being different counts. */
	handle->serial = 1 + atomic_fetch_add_explicit(&last_serial, 1,
	    memory_order_relaxed);
	handle->timeout_ms = options->timeout_ms != 0 ? options->timeout_ms :
	    TIMEOUT_DEFAULT_MS;
	handle->hints = options->no_hints == 0;
	handle->disabled = is_turned_off();
	/* Relaxed: no other thread has the handle. */
	atomic_store_explicit(&handle->life, life_number(),
	    memory_order_relaxed);
	/* It parts processes from each other; without it they meet. */
	(void)!getrandom(&handle->jitter, sizeof(handle->jitter),
	    GRND_NONBLOCK);
	(void)pthread_mutex_init(&handle->lock, NULL);
	(void)pthread_mutex_init(&handle->ring_lock, NULL);
	channel_init(&handle->channel);
	*out = handle;
	return WEIR_OK;
}

int
weir_connect(struct weir *handle)
{
	struct lane *lane = lane_of(handle);
	struct deadline deadline = deadline_after(handle->timeout_ms);
	int result;

	if (lane == NULL) {
		return WEIR_NO_MEMORY;
	}
	if (handle->disabled) {
		return lane_fail(lane, NO_SERVER, "WEIR_DISABLE is set");
	}
	result = channel_lock(handle, deadline);
	if (result != OK) {
		return lane_fail(lane, result, "other threads use the "
		    "connection: %s", result_text((enum result)result));
	}
	if (handle->channel.wire.fd >= 0 && channel_receive(handle) != OK) {
		channel_drop(handle);
	}
	result = attach_ensure(handle, lane, deadline);
	channel_unlock(handle);
	return result;
}

int
weir_after_fork(struct weir *handle)
{
	/* The first thing that weir_connect() does is to see the fork. */
	return weir_connect(handle);
}

/* Started requests that were not sent yet go out, if the daemon reads. */
static void
send_the_rest(struct weir *handle)
{
	struct wire *wire = &handle->channel.wire;
	struct deadline deadline = deadline_after(handle->timeout_ms);

	while (wire->fd >= 0) {
		enum result result = wire_flush(wire);

		if (result == BUSY) {
			result = channel_receive(handle);
			if (result == OK) {
				result = wire_wait(wire, true, deadline);
			}
			if (result == OK) {
				continue;
			}
		}
		if (result == OK) {
			(void)channel_receive(handle);
		}
		return;
	}
}

void
weir_close(struct weir *handle)
{
	struct lane *lane;

	if (handle == NULL) {
		return;
	}
	lane = lane_of(handle);
	if (lane != NULL) {
		ring_out_last(handle, lane);
	}
	(void)pthread_mutex_lock(&handle->lock);
	send_the_rest(handle);
	channel_drop(handle);
	handle->disabled = true;	/* for what a done callback starts */
	channel_leave(handle);
	lane_close_all(handle);
	attach_close(handle);
	if (handle->channel.bell >= 0) {
		(void)close(handle->channel.bell);
	}
	(void)pthread_mutex_destroy(&handle->lock);
	(void)pthread_mutex_destroy(&handle->ring_lock);
	free_handle(handle);
}

const char *
weir_detail(struct weir *handle)
{
	struct lane *lane = lane_of(handle);

	return lane != NULL ? lane->detail : "";
}

uint64_t
weir_value_max(struct weir *handle)
{
	struct lane *lane = lane_of(handle);
	const struct attachment *a;
	uint64_t bytes = 0;

	if (lane == NULL) {
		return 0;
	}
	a = lane_enter(handle, lane);
	if (a != NULL) {
		bytes = a->value_max_bytes;
	}
	lane_leave(lane);
	return bytes;
}
