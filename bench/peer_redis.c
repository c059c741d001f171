/* SPDX-License-Identifier: ISC */

/*
 * redis over a Unix socket, with hiredis; set up as peers/redis.conf says.
 */
#include "peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "peer_files.h"

#if __has_include(<hiredis/hiredis.h>)

#include <hiredis/hiredis.h>

/* Answers that are fetched together while filling. */
#define BATCH	256

struct connection {
	redisContext	*context;
	unsigned	waiting;
};

static void
execute(const struct peer *p)
{
	char conf[4096], socket[4096];

	(void)snprintf(socket, sizeof(socket), "%s/redis.sock", p->folder);
	if (peer_file_path("redis.conf", conf, sizeof(conf))) {
		(void)execlp("redis-server", "redis-server", conf,
		    "--unixsocket", socket, "--dir", p->folder,
		    (char *)NULL);
	}
}

static void *
connect_to(const char *folder, bool to_write)
{
	struct connection *c = calloc(1, sizeof(*c));
	char socket[4096];

	(void)to_write;
	(void)snprintf(socket, sizeof(socket), "%s/redis.sock", folder);
	if (c == NULL) {
		return NULL;
	}
	c->context = redisConnectUnix(socket);
	if (c->context == NULL || c->context->err != 0) {
		redisFree(c->context);
		free(c);
		return NULL;
	}
	return c;
}

static bool
fetch_answers(struct connection *c)
{
	bool fine = true;

	for (; c->waiting > 0; c->waiting--) {
		void *reply = NULL;

		fine = redisGetReply(c->context, &reply) == REDIS_OK &&
		    ((redisReply *)reply)->type == REDIS_REPLY_STATUS && fine;
		freeReplyObject(reply);
	}
	return fine;
}

static bool
store(void *handle, const char *key, const void *value, size_t bytes)
{
	struct connection *c = handle;

	if (redisAppendCommand(c->context, "SET %b %b", key,
	    (size_t)WORKLOAD_KEY_BYTES, value, bytes) != REDIS_OK) {
		return false;
	}
	return ++c->waiting < BATCH || fetch_answers(c);
}

static bool
finish(void *handle)
{
	struct connection *c = handle;
	bool fine = fetch_answers(c);

	redisFree(c->context);
	free(c);
	return fine;
}

static bool
get(void *handle, const char *key, void *buffer)
{
	struct connection *c = handle;
	redisReply *reply = redisCommand(c->context, "GET %b", key,
	    (size_t)WORKLOAD_KEY_BYTES);
	bool found = reply != NULL && reply->type == REDIS_REPLY_STRING &&
	    reply->len <= WORKLOAD_VALUE_MAX;

	if (found) {
		memcpy(buffer, reply->str, reply->len);
	}
	freeReplyObject(reply);
	return found;
}

static bool
set(void *handle, const char *key, const void *value, size_t bytes)
{
	struct connection *c = handle;
	redisReply *reply = redisCommand(c->context, "SET %b %b", key,
	    (size_t)WORKLOAD_KEY_BYTES, value, bytes);
	bool fine = reply != NULL && reply->type == REDIS_REPLY_STATUS;

	freeReplyObject(reply);
	return fine;
}

static bool
count_bytes(void *handle, uint64_t *bytes)
{
	static const char name[] = "used_memory:";
	struct connection *c = handle;
	redisReply *reply = redisCommand(c->context, "INFO memory");
	const char *line = reply == NULL || reply->str == NULL ? NULL :
	    strstr(reply->str, name);

	*bytes = line == NULL ? 0 :
	    strtoull(line + sizeof(name) - 1, NULL, 10);
	freeReplyObject(reply);
	return line != NULL;
}

static void
version(void *handle, char *text, size_t bytes)
{
	struct connection *c = handle;
	redisReply *reply = redisCommand(c->context, "INFO server");
	const char *line = reply == NULL || reply->str == NULL ? NULL :
	    strstr(reply->str, "redis_version:");

	(void)snprintf(text, bytes, "%.*s", line == NULL ? 0 :
	    (int)strcspn(line, "\r"), line == NULL ? "" : line);
	freeReplyObject(reply);
}

const struct peer_ops peer_redis = {
	.name = "redis",
	.execute = execute,
	.open = connect_to,
	.store = store,
	.finish = finish,
	.get = get,
	.set = set,
	.count_bytes = count_bytes,
	.version = version,
};

#else

const struct peer_ops peer_redis = { .name = "redis" };

#endif
