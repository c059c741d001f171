/* SPDX-License-Identifier: ISC */

/*
 * Filling the pool of a live daemon, and readers of it.
 */
#include "live.h"

#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#include "peer_files.h"

#define TAG_TEXT_BYTES	32

void
live_create(const struct bench *b, struct live *l, uint64_t key_count,
    uint64_t value_bytes, uint64_t draw_count)
{
	const char *why = "no temporary folder";

	*l = (struct live){ .workload_fd = workload_create(key_count,
	    value_bytes, draw_count) };
	l->w = l->workload_fd < 0 ? NULL : workload_map(l->workload_fd);
	if (l->w == NULL) {
		bench_fail(b, "no memory for %llu requests",
		    (unsigned long long)draw_count);
	}
	if (peer_folder_create(l->folder, sizeof(l->folder))) {
		why = peer_start(&l->peer, &peer_weir, l->w, l->folder);
	}
	if (why != NULL) {
		peer_folder_remove(l->folder);
		bench_fail(b, "weird: %s", why);
	}
}

void
live_destroy(struct live *l)
{
	weir_close(l->writer);
	peer_stop(&l->peer);
	peer_folder_remove(l->folder);
	close(l->workload_fd);
}

struct weir *
live_open(const struct live *l)
{
	return l->peer.ops->open(l->folder, false);
}

bool
live_get(struct weir *weir, const char *key, void *buffer)
{
	return weir_get(weir, key, WORKLOAD_KEY_BYTES, buffer,
	    WORKLOAD_VALUE_MAX, NULL, NULL) == WEIR_OK;
}

static struct weir_tag
make_tag(char text[TAG_TEXT_BYTES], unsigned tag)
{
	int length = snprintf(text, TAG_TEXT_BYTES, "tag:%u", tag);

	return (struct weir_tag){ .bytes = text, .length = (size_t)length };
}

static bool
store_tagged(const struct live *l, uint32_t number)
{
	static uint8_t value[WORKLOAD_VALUE_MAX];
	struct weir_set_options options = WEIR_SET_OPTIONS_INIT;
	char key[WORKLOAD_KEY_BYTES + 1], text[TAG_TEXT_BYTES];
	struct weir_tag tag = make_tag(text, number % l->tag_count);
	int result;

	options.tags = &tag;
	options.tag_count = 1;
	workload_make_key(key, number);
	workload_make_value(l->w, value, number);
	while ((result = weir_set_async(l->writer, key, WORKLOAD_KEY_BYTES,
	    value, l->w->value_bytes, &options)) == WEIR_FULL) {
		(void)sched_yield();
	}
	return result == WEIR_OK;
}

void
live_tag_all(const struct bench *b, struct live *l, unsigned tag_count)
{
	bool fine;

	l->tag_count = tag_count;
	l->writer = live_open(l);
	fine = l->writer != NULL;
	for (uint32_t number = 0; fine && number < l->w->key_count;
	    number++) {
		fine = store_tagged(l, number);
	}
	if (!fine || weir_flush(l->writer, NULL) != WEIR_OK) {
		bench_fail(b, "the keys could not be stored with tags");
	}
}

bool
live_purge_other_tag(const struct live *l)
{
	char text[TAG_TEXT_BYTES];
	struct weir_tag tag = make_tag(text, l->tag_count);

	return weir_purge_tag(l->writer, tag.bytes, tag.length,
	    WEIR_PURGE_HARD) == WEIR_OK;
}

void
live_start_reader(const struct bench *b, struct live *l, struct side *side,
    unsigned core)
{
	bool fine = peer_start_client(&l->peer, side, core);

	for (unsigned stream = 0; fine && stream < WORKLOAD_STREAM_COUNT;
	    stream++) {
		double figure = side_ask(side, stream);

		fine = figure > 0;
	}
	if (!fine) {
		bench_fail(b, "a reader found another value than was stored");
	}
}
