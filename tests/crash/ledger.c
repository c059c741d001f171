/* SPDX-License-Identifier: ISC */

/*
 * Values that can be told apart, and the judgement of what was read.
 */
#include "ledger.h"

#include <string.h>

#define STAMP_MAGIC	0x70657453746e6956ull

/* The filler behind the stamp: word i of that version. */
static uint64_t
filler(uint32_t key, uint64_t version, size_t i)
{
	uint64_t x = (uint64_t)key << 40 ^ version << 16 ^ i;

	x *= 0x9e3779b97f4a7c15ull;
	return x ^ x >> 29;
}

void
ledger_fill(uint8_t *value, size_t bytes, uint32_t key, uint64_t version,
    struct ledger_life life)
{
	struct stamp stamp = {
		.magic = STAMP_MAGIC,
		.key = key,
		.version = version,
		.epoch = life.epoch,
		.hard_ms = life.hard_ms,
		.bytes = bytes,
	};

	memcpy(value, &stamp, sizeof(stamp));
	for (size_t at = sizeof(stamp); at < bytes; at += 8) {
		uint64_t word = filler(key, version, at / 8);

		memcpy(value + at, &word, bytes - at < 8 ? bytes - at : 8);
	}
}

bool
ledger_parse(const uint8_t *value, size_t bytes, bool whole, uint32_t key,
    struct stamp *stamp, const char **why)
{
	if (bytes < sizeof(*stamp)) {
		*why = "shorter than any value";
		return false;
	}
	memcpy(stamp, value, sizeof(*stamp));
	if (stamp->magic != STAMP_MAGIC) {
		*why = "bytes of no value";
		return false;
	}
	if (stamp->key != key) {
		*why = "value of another key";
		return false;
	}
	if (whole ? stamp->bytes != bytes : stamp->bytes < bytes) {
		*why = "value of another length";
		return false;
	}
	for (size_t at = sizeof(*stamp); at < bytes; at += 8) {
		uint64_t word = filler(key, stamp->version, at / 8);

		if (memcmp(value + at, &word, bytes - at < 8 ? bytes - at :
		    8) != 0) {
			*why = "bytes of two versions";
			return false;
		}
	}
	return true;
}

struct ledger_view
ledger_before(const struct ledger *ledger, uint32_t key, uint64_t now_ms)
{
	const struct ledger_tag *tag = &ledger->tag[ledger_tag_of(key)];
	const struct ledger_tag *all = &ledger->tag[LEDGER_TAGS];
	/* Acquire: the read comes after what was acked. */
	struct ledger_view view = {
		.low = atomic_load_explicit(&ledger->key[key].lowest,
		    memory_order_acquire),
		.hard = atomic_load_explicit(&tag->hard,
		    memory_order_acquire),
		.soft = atomic_load_explicit(&tag->soft,
		    memory_order_acquire),
		.now_ms = now_ms,
	};
	uint64_t all_hard = atomic_load_explicit(&all->hard,
	    memory_order_acquire);
	uint64_t all_soft = atomic_load_explicit(&all->soft,
	    memory_order_acquire);

	view.hard = all_hard > view.hard ? all_hard : view.hard;
	view.soft = all_soft > view.soft ? all_soft : view.soft;
	return view;
}

/* What was seen may not be followed by something older. */
static void
raise_lowest(struct ledger_key *key, uint64_t version)
{
	uint64_t seen = atomic_load_explicit(&key->lowest,
	    memory_order_relaxed);

	while (seen < version && !atomic_compare_exchange_weak_explicit(
	    &key->lowest, &seen, version, memory_order_release,
	    memory_order_relaxed)) {
		continue;
	}
}

const char *
ledger_judge_number(struct ledger *ledger, uint32_t key,
    const struct ledger_view *view, uint64_t number)
{
	if (number < view->low) {
		return "older than what was acked or seen";
	}
	if (number > atomic_load_explicit(&ledger->key[key].highest,
	    memory_order_acquire)) {
		return "newer than what was ever begun";
	}
	raise_lowest(&ledger->key[key], number);
	return NULL;
}

const char *
ledger_judge(struct ledger *ledger, uint32_t key,
    const struct ledger_view *view, const struct stamp *stamp, bool is_fresh)
{
	if (stamp->epoch < view->hard) {
		return "purged before";
	}
	if (is_fresh && stamp->epoch < view->soft) {
		return "fresh after a soft purge";
	}
	if (stamp->hard_ms <= view->now_ms) {
		return "expired before";
	}
	return ledger_judge_number(ledger, key, view, stamp->version);
}

uint64_t
ledger_begin(struct ledger *ledger, uint32_t key, uint64_t step,
    enum ledger_flight flight, struct ledger_life coming)
{
	struct ledger_key *k = &ledger->key[key];
	uint64_t version = atomic_load_explicit(&k->highest,
	    memory_order_relaxed) + step;

	k->coming = coming;
	atomic_store_explicit(&k->flight, flight, memory_order_release);
	/* Before the change: a reader that meets it finds it allowed. */
	atomic_store_explicit(&k->highest, version, memory_order_seq_cst);
	return version;
}

void
ledger_ack(struct ledger *ledger, uint32_t key, uint64_t version,
    enum ledger_kind kind)
{
	struct ledger_key *k = &ledger->key[key];

	raise_lowest(k, version);
	k->kind = kind;
	k->life = k->coming;
	/* Last: a death before it leaves the change in flight. */
	atomic_store_explicit(&k->flight, FLIGHT_NONE, memory_order_release);
}

void
ledger_refused(struct ledger *ledger, uint32_t key)
{
	struct ledger_key *k = &ledger->key[key];

	if (k->flight == FLIGHT_ANY) {
		k->kind = LEDGER_NOTHING;
	}
	atomic_store_explicit(&k->flight, FLIGHT_NONE, memory_order_release);
}

void
ledger_purge_begin(struct ledger *ledger, uint32_t tag, uint64_t number,
    bool hard)
{
	struct ledger_tag *t = &ledger->tag[tag];

	t->pending_hard = hard;
	atomic_store_explicit(&t->pending, number, memory_order_release);
}

void
ledger_purge_ack(struct ledger *ledger, uint32_t tag, uint64_t number)
{
	struct ledger_tag *t = &ledger->tag[tag];

	atomic_store_explicit(t->pending_hard ? &t->hard : &t->soft, number,
	    memory_order_release);
	atomic_store_explicit(&t->pending, 0, memory_order_release);
}

void
ledger_purge_cancel(struct ledger *ledger, uint32_t tag)
{
	atomic_store(&ledger->tag[tag].pending, 0);
}

void
ledger_purge_settle(struct ledger *ledger, uint64_t newest)
{
	for (uint32_t i = 0; i <= LEDGER_TAGS; i++) {
		struct ledger_tag *t = &ledger->tag[i];
		uint64_t pending = atomic_load(&t->pending);

		if (pending == 0) {
			continue;
		}
		if (newest >= pending) {
			ledger_purge_ack(ledger, i, pending);
		} else if (t->pending_hard) {
			t->maybe = pending;
		}
		atomic_store(&t->pending, 0);
	}
}

static bool
lives(const struct ledger *ledger, uint32_t key, uint64_t now_ms,
    const struct ledger_life *life)
{
	const struct ledger_tag *tag = &ledger->tag[ledger_tag_of(key)];
	const struct ledger_tag *all = &ledger->tag[LEDGER_TAGS];

	return life->hard_ms > now_ms && life->epoch >= tag->maybe &&
	    life->epoch >= all->maybe &&
	    life->epoch >= atomic_load(&tag->hard) &&
	    life->epoch >= atomic_load(&all->hard);
}

bool
ledger_must_hold(const struct ledger *ledger, uint32_t key, uint64_t now_ms)
{
	const struct ledger_key *k = &ledger->key[key];

	return k->kind == LEDGER_VALUE && k->flight != FLIGHT_ANY &&
	    lives(ledger, key, now_ms, &k->life) &&
	    (k->flight == FLIGHT_NONE ||
	    lives(ledger, key, now_ms, &k->coming));
}

void
ledger_settle(struct ledger *ledger, uint32_t key)
{
	struct ledger_key *k = &ledger->key[key];

	if (k->flight != FLIGHT_NONE) {
		k->kind = LEDGER_NOTHING;
		k->flight = FLIGHT_NONE;
	}
}

void
ledger_forget(struct ledger *ledger, uint32_t key)
{
	ledger->key[key].kind = LEDGER_NOTHING;
}
