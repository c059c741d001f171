/* SPDX-License-Identifier: ISC */

/*
 * LMDB; set up as peers/lmdb.txt says.
 */
#include "peer.h"

#include <stdio.h>
#include <stdlib.h>

#if __has_include(<lmdb.h>)

#include <lmdb.h>

#define MAP_BYTES	(8ull << 30)

struct store {
	MDB_env		*env;
	MDB_txn		*txn;
	MDB_dbi		dbi;
};

static void
close_store(struct store *s)
{
	mdb_env_close(s->env);
	free(s);
}

static void *
open_store(const char *folder, bool to_write)
{
	struct store *s = calloc(1, sizeof(*s));
	char path[4096];

	if (s == NULL || mdb_env_create(&s->env) != 0) {
		free(s);
		return NULL;
	}
	(void)snprintf(path, sizeof(path), "%s/lmdb", folder);
	if (mdb_env_set_mapsize(s->env, MAP_BYTES) != 0 ||
	    mdb_env_open(s->env, path, MDB_NOSUBDIR | (to_write ? MDB_NOSYNC :
	    MDB_RDONLY), 0600) != 0 || mdb_txn_begin(s->env, NULL, to_write ?
	    0 : MDB_RDONLY, &s->txn) != 0) {
		close_store(s);
		return NULL;
	}
	if (mdb_dbi_open(s->txn, NULL, 0, &s->dbi) != 0) {
		mdb_txn_abort(s->txn);
		close_store(s);
		return NULL;
	}
	if (!to_write) {
		mdb_txn_reset(s->txn);
	}
	return s;
}

/* The library's type has no const; nothing is written through it. */
static MDB_val
as_value(const void *bytes, size_t length)
{
	union {
		const void *own;
		void *theirs;
	} p = { .own = bytes };

	return (MDB_val){ .mv_size = length, .mv_data = p.theirs };
}

static bool
store(void *handle, const char *key, const void *value, size_t bytes)
{
	struct store *s = handle;
	MDB_val k = as_value(key, WORKLOAD_KEY_BYTES);
	MDB_val v = as_value(value, bytes);

	return mdb_put(s->txn, s->dbi, &k, &v, 0) == 0;
}

static bool
finish(void *handle)
{
	struct store *s = handle;
	bool fine = mdb_txn_commit(s->txn) == 0;

	close_store(s);
	return fine;
}

static bool
get(void *handle, const char *key, void *buffer)
{
	struct store *s = handle;
	MDB_val k = as_value(key, WORKLOAD_KEY_BYTES);
	MDB_val v;
	bool found = mdb_txn_renew(s->txn) == 0 &&
	    mdb_get(s->txn, s->dbi, &k, &v) == 0;

	if (found) {
		memcpy(buffer, v.mv_data, v.mv_size);
	}
	mdb_txn_reset(s->txn);
	return found;
}

static void
version(void *handle, char *text, size_t bytes)
{
	(void)handle;
	(void)snprintf(text, bytes, "%s", mdb_version(NULL, NULL, NULL));
}

const struct peer_ops peer_lmdb = {
	.name = "lmdb",
	.open = open_store,
	.store = store,
	.finish = finish,
	.get = get,
	.version = version,
};

#else

const struct peer_ops peer_lmdb = { .name = "lmdb" };

#endif
