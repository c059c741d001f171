/* SPDX-License-Identifier: ISC */

/*
 * Candidates and what an answer leaves of them.
 */
#include "model.h"

#include <string.h>

void
model_init(struct model *model)
{
	memset(model, 0, sizeof(*model));
	for (uint32_t i = 0; i < MODEL_KEYS_MAX; i++) {
		model->key[i].count = 1;	/* absent */
	}
}

static uint64_t
word_of(uint64_t stamp, uint64_t i)
{
	uint64_t x = stamp * 0x9e3779b97f4a7c15ull ^ i;

	x *= 0xff51afd7ed558ccdull;
	return x ^ x >> 32;
}

void
model_fill(uint8_t *value, uint64_t stamp, size_t bytes)
{
	for (size_t at = 0; at < bytes; at += 8) {
		uint64_t word = word_of(stamp, at / 8);

		memcpy(value + at, &word, bytes - at < 8 ? bytes - at : 8);
	}
}

static bool
bytes_are(const uint8_t *value, uint64_t stamp, size_t bytes)
{
	for (size_t at = 0; at < bytes; at += 8) {
		uint64_t word = word_of(stamp, at / 8);

		if (memcmp(value + at, &word, bytes - at < 8 ? bytes - at :
		    8) != 0) {
			return false;
		}
	}
	return true;
}

void
model_set(struct model *model, uint32_t key, const struct candidate *is)
{
	model->key[key].candidate[0] = *is;
	model->key[key].count = 1;
}

void
model_add(struct model *model, uint32_t key, const struct candidate *maybe)
{
	struct model_key *k = &model->key[key];

	/* The caller asks the pool before so many deaths add up. */
	if (k->count < MODEL_CANDIDATES) {
		k->candidate[k->count++] = *maybe;
	}
}

void
model_clear(struct model *model, uint32_t key)
{
	static const struct candidate absent;

	model_set(model, key, &absent);
}

/* Highest number of a kind of purge (3: that may count) over a candidate. */
static uint64_t
purged(const struct model *model, const struct candidate *c, unsigned kind)
{
	uint64_t highest = 0;

	for (unsigned t = 0; t <= MODEL_ALL; t++) {
		const struct model_purges *p = &model->purges[t];
		uint64_t number = kind == 3 ? p->maybe : p->kind[kind];

		if ((t == MODEL_ALL || (c->tags >> t & 1) != 0) &&
		    number > highest) {
			highest = number;
		}
	}
	return highest;
}

bool
model_is_dead(const struct model *model, const struct candidate *c,
    uint64_t now_ms)
{
	return c->hard_ms <= now_ms ||
	    purged(model, c, EPOCH_KIND_HARD) > c->epoch;
}

bool
model_may_hold(const struct model *model, uint32_t key, uint64_t now_ms)
{
	const struct model_key *k = &model->key[key];

	for (unsigned i = 0; i < k->count; i++) {
		if (k->candidate[i].present &&
		    !model_is_dead(model, &k->candidate[i], now_ms)) {
			return true;
		}
	}
	return false;
}

bool
model_must_hold(const struct model *model, uint32_t key, uint64_t now_ms)
{
	const struct model_key *k = &model->key[key];

	for (unsigned i = 0; i < k->count; i++) {
		const struct candidate *c = &k->candidate[i];

		if (!c->present || c->growing ||
		    model_is_dead(model, c, now_ms) ||
		    purged(model, c, 3) > c->epoch) {
			return false;
		}
	}
	return true;
}

static bool
head_is(const struct candidate *c, const struct entry_head *head)
{
	return entry_expiry_ms(head, head->soft) == c->soft_ms &&
	    entry_expiry_ms(head, head->hard) == c->hard_ms &&
	    head->epoch == c->epoch &&
	    ((head->flags & ENTRY_COUNTER) != 0) == c->counter;
}

static bool
value_is(const struct candidate *c, const struct model_answer *answer)
{
	uint64_t number = (uint64_t)c->number;

	if (c->growing != (answer->result == GROWING)) {
		return false;
	}
	if (c->growing ? answer->value_bytes > c->bytes :
	    answer->value_bytes != c->bytes) {
		return false;
	}
	if (answer->value == NULL) {
		return true;
	}
	if (c->counter) {
		return memcmp(answer->value, &number, sizeof(number)) == 0;
	}
	return bytes_are(answer->value, c->stamp, answer->value_bytes);
}

/* Staleness: never less than was asked for, more only if nobody can tell. */
static const char *
judge_freshness(const struct model *model, const struct candidate *c,
    uint64_t now_ms, const struct model_answer *answer)
{
	enum epoch_verdict wanted = EPOCH_ALIVE;
	bool certain = purged(model, c, 3) <= c->epoch;

	if (purged(model, c, EPOCH_KIND_SOFT) > c->epoch) {
		wanted = EPOCH_SOFT;
	}
	if (purged(model, c, EPOCH_KIND_INVALID) > c->epoch) {
		wanted = EPOCH_INVALID;
	}
	if (answer->hit->freshness < wanted) {
		return "fresher than a purge allows";
	}
	if (certain && answer->hit->freshness > wanted) {
		return "staler than any purge asked for";
	}
	if (answer->result != GROWING && (answer->result == STALE) !=
	    (answer->hit->freshness != EPOCH_ALIVE || c->soft_ms <= now_ms)) {
		return "OK and STALE do not fit the expiry";
	}
	return NULL;
}

const char *
model_hit(struct model *model, uint32_t key, uint64_t now_ms,
    const struct model_answer *answer)
{
	struct model_key *k = &model->key[key];
	const char *why = NULL;
	unsigned kept = 0;

	for (unsigned i = 0; i < k->count; i++) {
		struct candidate c = k->candidate[i];

		if (!c.present || !head_is(&c, &answer->hit->head) ||
		    !value_is(&c, answer) || (c.version != 0 &&
		    c.version != answer->hit->version)) {
			continue;
		}
		if (model_is_dead(model, &c, now_ms)) {
			why = "read after its end or its purge";
			continue;
		}
		why = judge_freshness(model, &c, now_ms, answer);
		if (why != NULL) {
			return why;
		}
		c.version = answer->hit->version;
		k->candidate[kept++] = c;
	}
	if (kept == 0) {
		return why != NULL ? why : "none of what it may hold";
	}
	k->count = kept;
	return NULL;
}

bool
model_knows_head(const struct model *model, uint32_t key, uint64_t now_ms,
    const struct entry_head *head)
{
	const struct model_key *k = &model->key[key];

	for (unsigned i = 0; i < k->count; i++) {
		const struct candidate *c = &k->candidate[i];

		if (c->present && head_is(c, head) &&
		    !model_is_dead(model, c, now_ms)) {
			return true;
		}
	}
	return false;
}

uint64_t
model_version(const struct model *model, uint32_t key)
{
	const struct model_key *k = &model->key[key];

	return k->count == 1 && k->candidate[0].present ?
	    k->candidate[0].version : 0;
}
