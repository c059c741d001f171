/* SPDX-License-Identifier: ISC */

/*
 * What a value alone cannot tell: pools that can be laid out, paths that fit
 * a socket, sums that fit a number.  The supervisor alone.
 */
#include "config_load.h"

#include <string.h>
#include <sys/un.h>

#include "address.h"
#include "config_value.h"
#include "geometry.h"
#include "memory_budget.h"

/* The longer of the names of the sockets, with its slash. */
#define SOCKET_NAME	"/admin.sock"

static void
check_pool(struct config_draft *draft, uint32_t number)
{
	const struct config_pool *pool = &draft->config.pools[number];
	uint32_t source =
	    draft->pool_sources[number][CONFIG_POOL_OPTION_extent_size];
	struct geometry geometry;
	char text[32];

	if (pool->extent_bytes != 0 &&
	    (pool->extent_bytes < EXTENT_MIN_BYTES ||
	    (pool->extent_bytes & (pool->extent_bytes - 1)) != 0)) {
		config_draft_add_error(draft, source, "pool %s: extent_size: "
		    "%s is no power of two within 16K and 64M", pool->name,
		    config_value_format_size(pool->extent_bytes, text,
		    sizeof(text)));
		return;
	}
	if (geometry_compute_for(&geometry, pool->memory_bytes,
	    pool->extent_bytes, draft->config.workers,
	    memory_budget_flights(&draft->config)) != OK) {
		config_draft_add_error(draft, source != 0 ? source :
		    draft->pool_lines[number], "pool %s: memory and "
		    "extent_size do not fit: a pool has 16 to %u extents",
		    pool->name, EXTENTS_MAX);
	}
}

void
config_check(struct config_draft *draft)
{
	const struct config *config = &draft->config;
	struct sockaddr_un unix_address;

	if ((config->ring_bytes & (config->ring_bytes - 1)) != 0) {
		config_draft_add_error(draft,
		    draft->sources[CONFIG_OPTION_ring_size],
		    "ring_size: %u is no power of two", config->ring_bytes);
	}
	if (strlen(config->socket_dir) + sizeof(SOCKET_NAME) >
	    sizeof(unix_address.sun_path)) {
		config_draft_add_error(draft,
		    draft->sources[CONFIG_OPTION_socket_dir],
		    "socket_dir: the path of a socket has at most %zu bytes, "
		    "%s%s has %zu", sizeof(unix_address.sun_path) - 1,
		    config->socket_dir, SOCKET_NAME,
		    strlen(config->socket_dir) + strlen(SOCKET_NAME));
	}
	config_check_origins(draft);
	for (uint32_t i = 0; i < config->pool_count; i++) {
		check_pool(draft, i);
	}
}
