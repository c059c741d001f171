/* SPDX-License-Identifier: ISC */

/*
 * Values as they arrive.
 */
#include "set_stream.h"

#include <stdlib.h>
#include <string.h>

#include "lease_end.h"
#include "stats.h"

void
set_stream_begin(struct set_stream *stream, const struct pool *pool,
    uint64_t body_bytes, uint64_t *budget_used, struct boot_ms now)
{
	memset(stream, 0, offsetof(struct set_stream, prefix));
	stream->pool = pool;
	stream->budget_used = budget_used;
	stream->body_bytes = body_bytes;
	stream->epoch = epoch_now(pool);
	stream->arrived = now;
	stream->result = OK;
}

void
set_stream_is_fill(struct set_stream *stream, struct connection *conn)
{
	stream->conn = conn;
	stream->body_bytes -= WIRE_END_BYTES;
}

/* The head of a FILL.  Returns how many bytes it took. */
static size_t
feed_fill_head(struct set_stream *stream, const uint8_t *bytes, size_t length)
{
	size_t taken = WIRE_END_BYTES - stream->end_seen;

	taken = taken < length ? taken : length;
	memcpy(stream->end_bytes + stream->end_seen, bytes, taken);
	stream->end_seen += taken;
	if (stream->end_seen == WIRE_END_BYTES) {
		stream->fill_known = lease_end_fill_head(stream->conn,
		    stream->end_bytes, &stream->fill_head);
		if (!stream->fill_known) {
			stream->result = INVALID;
		}
	}
	return taken;
}

static void
give_budget_back(struct set_stream *stream)
{
	if (stream->whole != NULL) {
		free(stream->whole);
		stream->whole = NULL;
		*stream->budget_used -= stream->head.value_length;
	}
}

/* The prefix is complete: where does the value go? */
static enum result
open_value(struct set_stream *stream, struct boot_ms now)
{
	const struct pool *pool = stream->pool;
	const uint8_t *key = stream->prefix + stream->prefix_bytes -
	    stream->head.key_length;
	uint64_t value_bytes = stream->head.value_length;
	enum result result = key_init(&stream->key, pool, key,
	    stream->head.key_length);

	if (result != OK) {
		return result;
	}
	request_copy_tags(stream->tags, stream->prefix + WIRE_SET_BYTES,
	    stream->head.tag_count);
	if (stream->head.epoch == 0) {
		/* The number that was current when it came, not now. */
		stream->head.epoch = stream->epoch;
	}
	stream->spec = request_set_spec(pool, &stream->head, stream->tags,
	    stream->arrived);
	stream->spec.key = &stream->key;
	if (stream->fill_known) {
		stream->spec.fill = &stream->fill_head.fill;
		stream->spec.cost_ms = (uint16_t)
		    (stream->fill_head.end.cost_ms < UINT16_MAX ?
		    stream->fill_head.end.cost_ms : UINT16_MAX);
	}
	if (value_bytes > geometry_value_max_bytes(&pool->g)) {
		stats_add(pool->stats, STAT_set_refused_too_large, 1);
		return TOO_LARGE;
	}
	if (value_bytes > geometry_inline_max_bytes(&pool->g)) {
		result = chain_begin(pool, &stream->spec, false, now,
		    &stream->writer);
		stream->chained = result == OK;
		return result;
	}
	if (value_bytes > SET_STREAM_BUDGET_BYTES - *stream->budget_used) {
		return BUSY;
	}
	stream->whole = malloc(value_bytes > 0 ? value_bytes : 1);
	if (stream->whole == NULL) {
		return NO_MEMORY;
	}
	*stream->budget_used += value_bytes;
	return OK;
}

/* Collect the part before the value.  Returns how many bytes it took. */
static size_t
feed_prefix(struct set_stream *stream, const uint8_t *bytes, size_t length,
    struct boot_ms now)
{
	size_t wanted = stream->prefix_bytes == 0 ? WIRE_SET_BYTES :
	    stream->prefix_bytes;
	size_t taken = wanted - (size_t)stream->seen;

	taken = taken < length ? taken : length;
	memcpy(stream->prefix + stream->seen, bytes, taken);
	stream->seen += taken;
	if (stream->seen < wanted) {
		return taken;
	}
	if (stream->prefix_bytes == 0) {
		stream->result = request_parse_set_head(stream->prefix,
		    stream->body_bytes, &stream->head,
		    &stream->prefix_bytes);
	}
	if (stream->result == OK && stream->seen == stream->prefix_bytes) {
		stream->result = open_value(stream, now);
	}
	return taken;
}

static void
feed_value(struct set_stream *stream, const uint8_t *bytes, size_t length,
    struct boot_ms now)
{
	if (stream->chained) {
		stream->result = chain_append(stream->pool, &stream->writer,
		    bytes, length, now);
		if (stream->result != OK) {
			chain_abort(stream->pool, &stream->writer);
			stream->chained = false;
		}
		return;
	}
	memcpy(stream->whole + stream->whole_bytes, bytes, length);
	stream->whole_bytes += length;
}

void
set_stream_feed(struct set_stream *stream, const uint8_t *bytes,
    size_t length, struct boot_ms now)
{
	if (stream->conn != NULL && stream->end_seen < WIRE_END_BYTES) {
		size_t taken = feed_fill_head(stream, bytes, length);

		bytes += taken;
		length -= taken;
	}
	while (length > 0 && stream->result == OK && (stream->prefix_bytes ==
	    0 || stream->seen < stream->prefix_bytes)) {
		size_t taken = feed_prefix(stream, bytes, length, now);

		bytes += taken;
		length -= taken;
	}
	if (length > 0 && stream->result == OK) {
		feed_value(stream, bytes, length, now);
	}
	stream->seen += length;
}

enum result
set_stream_end(struct set_stream *stream, struct boot_ms now,
    uint64_t *version)
{
	if (stream->result == OK && !stream->chained &&
	    stream->whole == NULL) {
		/* It ended before its value began. */
		stream->result = INVALID;
	}
	if (stream->result == OK && stream->chained) {
		stream->result = chain_finish(stream->pool, &stream->writer,
		    now, version);
		stream->chained = false;
		if (stream->result == OK) {
			stats_add(stream->pool->stats, STAT_sets, 1);
		} else {
			chain_abort(stream->pool, &stream->writer);
		}
	} else if (stream->result == OK) {
		stream->spec.value = stream->whole;
		stream->result = write_set(stream->pool, &stream->spec, now,
		    version);
	}
	give_budget_back(stream);
	return stream->result;
}

void
set_stream_drop(struct set_stream *stream)
{
	if (stream->chained) {
		chain_abort(stream->pool, &stream->writer);
		stream->chained = false;
	}
	give_budget_back(stream);
}
