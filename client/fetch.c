/* SPDX-License-Identifier: ISC */

/*
 * The fresh hit of a fetch: a get, and a look at what the options want of a
 * hit.  It must not cost more than a few instructions above weir_get().
 */
#include "fetch.h"

#include "hit_count.h"
#include "lane.h"

#include <stdlib.h>

void
fetch_look(struct fetch *fetch)
{
	if (fetch->copy != NULL) {
		free(*fetch->copy);
		fetch->result = get_dup(fetch->handle, fetch->key,
		    fetch->key_length, fetch->copy, &fetch->look);
	} else {
		fetch->result = get_copy(fetch->handle, fetch->key,
		    fetch->key_length, fetch->buffer, fetch->size,
		    &fetch->look);
	}
}

int
fetch_take_found(struct fetch *fetch, enum weir_source source, int why)
{
	struct weir_fetched *fetched = fetch->fetched;

	if (fetched != NULL) {
		*fetched = (struct weir_fetched){
			.length = fetch->look.hit.value_bytes,
			.source = source,
			.why = why,
			.reason = "",
		};
	}
	return source == WEIR_FROM_STALE ? WEIR_STALE : WEIR_OK;
}

/* What the options want of a fresh hit, beside serving it. */
static inline bool
is_tended(const struct weir_fetch_options *options)
{
	return (options->refresh_ahead_ms | options->early_percent |
	    options->sliding) != 0;
}

static int
fetch_checked(struct fetch *fetch)
{
	const struct weir_fetch_options *options = fetch->options;

	if (fetch->compute == NULL || options->size != sizeof(*options) ||
	    (options->tag_count > 0 && options->tags == NULL) ||
	    options->jitter_percent > 100) {
		struct lane *lane = lane_of(fetch->handle);

		return lane == NULL ? WEIR_NO_MEMORY :
		    lane_fail_plain(lane, WEIR_INVALID);
	}
	return fetch_slowly(fetch);
}

int
weir_fetch(struct weir *handle, const void *key, size_t key_length,
    void *buffer, size_t size, const struct weir_fetch_options *options,
    weir_compute_fn compute, void *arg, struct weir_fetched *fetched)
{
	static const struct weir_fetch_options plain =
	    WEIR_FETCH_OPTIONS_INIT;
	struct fetch fetch;

	if (options == NULL) {
		options = &plain;
	}
	fetch.result = get_copy(handle, key, key_length, buffer, size,
	    &fetch.look);
	fetch.fetched = fetched;
	if (__builtin_expect(fetch.result == WEIR_OK, 1) &&
	    (is_tended(options) | (fetch.look.bypassed != 0)) == 0) {
		hit_count_note(fetch.look.lane, &options->origin);
		return fetch_take_found(&fetch, WEIR_FROM_HIT, WEIR_OK);
	}
	fetch.handle = handle;
	fetch.key = key;
	fetch.key_length = key_length;
	fetch.buffer = buffer;
	fetch.size = size;
	fetch.copy = NULL;
	fetch.options = options;
	fetch.compute = compute;
	fetch.arg = arg;
	fetch.waited = false;
	fetch.early = false;
	return fetch.result == WEIR_OK ? fetch_tended(&fetch) :
	    fetch_checked(&fetch);
}

int
weir_fetch_dup(struct weir *handle, const void *key, size_t key_length,
    void **value, const struct weir_fetch_options *options,
    weir_compute_fn compute, void *arg, struct weir_fetched *fetched)
{
	static const struct weir_fetch_options plain =
	    WEIR_FETCH_OPTIONS_INIT;
	struct fetch fetch = {
		.handle = handle,
		.key = key,
		.key_length = key_length,
		.copy = value,
		.options = options != NULL ? options : &plain,
		.compute = compute,
		.arg = arg,
		.fetched = fetched,
	};

	int result;

	*value = NULL;
	fetch_look(&fetch);
	if (fetch.result != WEIR_OK) {
		result = fetch_checked(&fetch);
	} else if (is_tended(fetch.options) || fetch.look.bypassed != 0) {
		result = fetch_tended(&fetch);
	} else {
		hit_count_note(fetch.look.lane, &fetch.options->origin);
		return fetch_take_found(&fetch, WEIR_FROM_HIT, WEIR_OK);
	}
	if (result != WEIR_OK && result != WEIR_STALE) {
		/* What was looked at on the way is nobody's. */
		free(*value);
		*value = NULL;
	}
	return result;
}
