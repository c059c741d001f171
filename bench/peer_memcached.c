/* SPDX-License-Identifier: ISC */

/*
 * memcached over a Unix socket, with libmemcached; set up as
 * peers/memcached.args says.
 */
#include "peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "peer_files.h"

#if __has_include(<libmemcached/memcached.h>)

#include <libmemcached/memcached.h>

#define MAX_ARGUMENTS	32

static void
execute(const char *folder)
{
	static char words[4096];
	char socket[4096];
	char *argv[MAX_ARGUMENTS + 6];
	int argc = 0;

	(void)snprintf(socket, sizeof(socket), "%s/memcached.sock", folder);
	argv[argc++] = strdup("memcached");
	argv[argc++] = strdup("-s");
	argv[argc++] = socket;
	if (geteuid() == 0) {
		argv[argc++] = strdup("-u");
		argv[argc++] = strdup("root");
	}
	argc += peer_file_words("memcached.args", words, sizeof(words),
	    argv + argc, MAX_ARGUMENTS);
	argv[argc] = NULL;
	(void)execvp("memcached", argv);
}

static void *
connect_to(const char *folder, bool to_write)
{
	memcached_st *m = memcached_create(NULL);
	char socket[4096];
	memcached_return_t result = MEMCACHED_FAILURE;

	(void)to_write;
	(void)snprintf(socket, sizeof(socket), "%s/memcached.sock", folder);
	if (m != NULL && access(socket, F_OK) == 0 &&
	    memcached_server_add_unix_socket(m, socket) == MEMCACHED_SUCCESS) {
		result = memcached_version(m);
	}
	if (result != MEMCACHED_SUCCESS) {
		memcached_free(m);
		return NULL;
	}
	return m;
}

static bool
store(void *handle, const char *key, const void *value, size_t bytes)
{
	return memcached_set(handle, key, WORKLOAD_KEY_BYTES, value, bytes, 0,
	    0) == MEMCACHED_SUCCESS;
}

static bool
finish(void *handle)
{
	memcached_free(handle);
	return true;
}

static bool
get(void *handle, const char *key, void *buffer)
{
	size_t bytes = 0;
	uint32_t flags;
	memcached_return_t result;
	char *value = memcached_get(handle, key, WORKLOAD_KEY_BYTES, &bytes,
	    &flags, &result);

	if (value == NULL || bytes > WORKLOAD_VALUE_MAX) {
		free(value);
		return false;
	}
	memcpy(buffer, value, bytes);
	free(value);
	return true;
}

static void
version(void *handle, char *text, size_t bytes)
{
	const memcached_instance_st *server =
	    memcached_server_instance_by_position(handle, 0);

	(void)snprintf(text, bytes, "%u.%u.%u, libmemcached %s",
	    memcached_server_major_version(server),
	    memcached_server_minor_version(server),
	    memcached_server_micro_version(server), memcached_lib_version());
}

const struct peer_ops peer_memcached = {
	.name = "memcached",
	.execute = execute,
	.open = connect_to,
	.store = store,
	.finish = finish,
	.get = get,
	.version = version,
};

#else

const struct peer_ops peer_memcached = { .name = "memcached" };

#endif
