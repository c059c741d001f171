/* SPDX-License-Identifier: ISC */

/*
 * One call of the segment's library each, with the key and the time that a
 * caller has to make for it.
 */
#include "micro_steps.h"

#include "epoch.h"
#include "write.h"

static enum result
get(struct micro *m, const char *bytes, struct read_hit *hit)
{
	struct key key;

	(void)key_init(&key, &m->data.pool, bytes, WORKLOAD_KEY_BYTES);
	return read_copy(&m->data.pool, &key, clock_cached_now(&m->clock),
	    m->buffer, sizeof(m->buffer), hit);
}

bool
micro_key(struct micro *m, const struct workload_draw *draw)
{
	struct key key;

	(void)key_init(&key, &m->data.pool, draw->key, WORKLOAD_KEY_BYTES);
	m->done += key.hash;
	return true;
}

bool
micro_get(struct micro *m, const struct workload_draw *draw)
{
	struct read_hit hit;
	uint64_t word;

	if (get(m, draw->key, &hit) != OK) {
		return false;
	}
	memcpy(&word, m->buffer + m->data.w->value_bytes - sizeof(word),
	    sizeof(word));
	return word == workload_last_word(m->data.w, draw->number);
}

bool
micro_miss(struct micro *m, const struct workload_draw *draw)
{
	struct read_hit hit;

	return get(m, draw->key, &hit) == MISS;
}

bool
micro_hit(struct micro *m, const struct workload_draw *draw)
{
	struct read_hit hit;

	if (get(m, draw->key, &hit) != OK) {
		return false;
	}
	access_touch(&m->data.pool, &hit);
	return true;
}

bool
micro_set(struct micro *m, const struct workload_draw *draw)
{
	struct key key;
	struct entry_spec spec = {
		.key = &key,
		.value = m->buffer,
		.value_bytes = m->data.w->value_bytes,
		.soft_ms = UINT64_MAX,
		.hard_ms = m->hard_ms,
		.epoch = epoch_now(&m->data.pool),
	};
	uint64_t version;
	uint64_t word = workload_last_word(m->data.w, draw->number);

	memcpy(m->buffer + spec.value_bytes - sizeof(word), &word,
	    sizeof(word));
	(void)key_init(&key, &m->data.pool, draw->key, WORKLOAD_KEY_BYTES);
	return write_set(&m->data.pool, &spec, clock_cached_now(&m->clock),
	    &version) == OK;
}

bool
micro_delete(struct micro *m, const struct workload_draw *draw)
{
	struct key key;

	(void)key_init(&key, &m->data.pool, draw->key, WORKLOAD_KEY_BYTES);
	return write_delete(&m->data.pool, &key, 0,
	    clock_cached_now(&m->clock)) == OK;
}

bool
micro_touch_expiry(struct micro *m, const struct workload_draw *draw)
{
	struct key key;

	(void)key_init(&key, &m->data.pool, draw->key, WORKLOAD_KEY_BYTES);
	return write_touch(&m->data.pool, &key, UINT64_MAX, UINT64_MAX, 0,
	    clock_cached_now(&m->clock)) == OK;
}

bool
micro_counter(struct micro *m, const struct workload_draw *draw)
{
	struct key key;
	struct entry_spec spec = {
		.key = &key,
		.soft_ms = UINT64_MAX,
		.hard_ms = UINT64_MAX,
		.epoch = epoch_now(&m->data.pool),
	};
	int64_t number;
	char bytes[WORKLOAD_KEY_BYTES];

	memcpy(bytes, draw->key, sizeof(bytes));
	bytes[0] = 'c';		/* beside the values of the same number */
	(void)key_init(&key, &m->data.pool, bytes, sizeof(bytes));
	return write_counter_add(&m->data.pool, &key, 1, 0, &spec,
	    clock_cached_now(&m->clock), &number) == OK;
}

bool
micro_miss_and_set(struct micro *m, const struct workload_draw *draw)
{
	return micro_miss(m, draw) && micro_set(m, draw);
}
