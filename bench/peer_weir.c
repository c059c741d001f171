/* SPDX-License-Identifier: ISC */

/*
 * The daemon of this tree, started as build/weird from beside build/bench,
 * and its client library.  Set up as it comes, but for the folder, a pool
 * that holds the workload or a configuration file, and no admin port.
 */
#include "peer.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "weir.h"

/* Header, a tag, alignment and index of an entry, and then some. */
#define ENTRY_EXTRA_BYTES	96
/* Extents that are open, spare or pages, and entries that fill none. */
#define POOL_EXTRA_PARTS	3
#define POOL_EXTRA_MIB		32
#define MIB_SHIFT		20

/* build/weird for build/bench/NAME. */
static bool
find_daemon(char *path, size_t bytes)
{
	ssize_t length = readlink("/proc/self/exe", path, bytes - 1);
	char *slash;

	if (length <= 0) {
		return false;
	}
	path[length] = '\0';
	for (int i = 0; i < 2; i++) {
		slash = strrchr(path, '/');
		if (slash == NULL) {
			return false;
		}
		*slash = '\0';
	}
	if (strlen(path) + sizeof("/weird") > bytes) {
		return false;
	}
	(void)strcat(path, "/weird");
	return true;
}

static void
execute(const struct peer *p)
{
	char path[4096], memory[32];
	uint64_t bytes = p->memory_bytes;

	if (!find_daemon(path, sizeof(path))) {
		return;
	}
	if (p->config_path != NULL) {
		(void)execl(path, "weird", "-s", p->folder, "-f",
		    p->config_path, "-a", "off", "-l", "error",
		    (char *)NULL);
		return;
	}
	if (bytes == 0) {
		bytes = p->w->key_count * (WORKLOAD_KEY_BYTES +
		    p->w->value_bytes + ENTRY_EXTRA_BYTES);
		bytes += bytes / POOL_EXTRA_PARTS;
	}
	(void)snprintf(memory, sizeof(memory), "%lluM",
	    (unsigned long long)(bytes >> MIB_SHIFT) + POOL_EXTRA_MIB);
	(void)execl(path, "weird", "-s", p->folder, "-m", memory, "-a", "off",
	    "-l", "error", (char *)NULL);
}

static void *
connect_to(const char *folder, bool to_write)
{
	struct weir_options options = WEIR_OPTIONS_INIT;
	struct weir *weir = NULL;
	char socket[4096];

	(void)to_write;
	(void)snprintf(socket, sizeof(socket), "%s/weird.sock", folder);
	options.socket_path = socket;
	if (weir_open(&weir, &options) != WEIR_OK ||
	    weir_connect(weir) != WEIR_OK) {
		weir_close(weir);
		return NULL;
	}
	return weir;
}

static bool
store(void *handle, const char *key, const void *value, size_t bytes)
{
	int result;

	while ((result = weir_set_async(handle, key, WORKLOAD_KEY_BYTES,
	    value, bytes, NULL)) == WEIR_FULL) {
		(void)sched_yield();
	}
	return result == WEIR_OK;
}

static bool
finish(void *handle)
{
	uint64_t failed = 0;
	bool fine = weir_flush(handle, &failed) == WEIR_OK && failed == 0;

	weir_close(handle);
	return fine;
}

static bool
get(void *handle, const char *key, void *buffer)
{
	return weir_get(handle, key, WORKLOAD_KEY_BYTES, buffer,
	    WORKLOAD_VALUE_MAX, NULL, NULL) == WEIR_OK;
}

static bool
set(void *handle, const char *key, const void *value, size_t bytes)
{
	return weir_set(handle, key, WORKLOAD_KEY_BYTES, value, bytes, NULL,
	    NULL) == WEIR_OK;
}

static void
version(void *handle, char *text, size_t bytes)
{
	(void)handle;
	(void)snprintf(text, bytes, "%s", weir_version());
}

const struct peer_ops peer_weir = {
	.name = "weir",
	.execute = execute,
	.open = connect_to,
	.store = store,
	.finish = finish,
	.get = get,
	.set = set,
	.version = version,
};
