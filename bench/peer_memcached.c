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
execute(const struct peer *p)
{
	static char words[4096];
	char socket[4096];
	char *argv[MAX_ARGUMENTS + 6];
	int argc = 0;

	(void)snprintf(socket, sizeof(socket), "%s/memcached.sock",
	    p->folder);
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

struct slabs {
	uint64_t	chunk_bytes;	/* of the class that is listed */
	uint64_t	sum_bytes;	/* of chunks in use */
	uint64_t	hash_bytes;
};

/* "12:chunk_size" comes before "12:used_chunks"; "hash_bytes" is alone. */
static memcached_return_t
see_number(const memcached_instance_st *server, const char *key,
    size_t key_length, const char *value, size_t value_length, void *arg)
{
	struct slabs *slabs = arg;
	char name[64], digits[32];
	const char *colon;
	uint64_t number;

	(void)server;
	(void)snprintf(name, sizeof(name), "%.*s", (int)key_length, key);
	(void)snprintf(digits, sizeof(digits), "%.*s", (int)value_length,
	    value);
	number = strtoull(digits, NULL, 10);
	colon = strchr(name, ':');
	if (colon != NULL && strcmp(colon, ":chunk_size") == 0) {
		slabs->chunk_bytes = number;
	} else if (colon != NULL && strcmp(colon, ":used_chunks") == 0) {
		slabs->sum_bytes += number * slabs->chunk_bytes;
	} else if (strcmp(name, "hash_bytes") == 0) {
		slabs->hash_bytes = number;
	}
	return MEMCACHED_SUCCESS;
}

static bool
count_bytes(void *handle, uint64_t *bytes)
{
	struct slabs slabs = { 0 };
	bool fine = memcached_stat_execute(handle, "slabs", see_number,
	    &slabs) == MEMCACHED_SUCCESS && memcached_stat_execute(handle,
	    NULL, see_number, &slabs) == MEMCACHED_SUCCESS;

	/* With no entries its first table would count for nothing. */
	*bytes = slabs.sum_bytes == 0 ? 0 :
	    slabs.sum_bytes + slabs.hash_bytes;
	return fine;
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
	.set = store,
	.count_bytes = count_bytes,
	.version = version,
};

#else

const struct peer_ops peer_memcached = { .name = "memcached" };

#endif
