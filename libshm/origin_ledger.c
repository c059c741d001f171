/* SPDX-License-Identifier: ISC */

/*
 * Entering permits, clearing them, and putting them back in the daemon's next
 * life.
 */
#include "origin_ledger.h"

#include "fault.h"
#include "limiter_rows.h"
#include "limiter_slots.h"
#include "origin_record.h"
#include "shm_fence.h"

bool
origin_keep_ledger(struct origin *origin, const struct origin_ledger *ledger)
{
	if (ledger->call_count != origin->limiter.permit_capacity ||
	    ledger->upload_count != origin->upload.permit_capacity) {
		return false;
	}
	origin->ledger = *ledger;
	return true;
}

static struct origin_ledger_entry *
entry_of(const struct origin *origin, bool upload, uint32_t number)
{
	const struct origin_ledger *ledger = &origin->ledger;
	struct origin_ledger_entry *entries = upload ? ledger->uploads :
	    ledger->calls;

	if (entries == NULL || number == 0 || number >
	    (upload ? ledger->upload_count : ledger->call_count)) {
		return NULL;
	}
	return &entries[number - 1];
}

static uint32_t *
top_of(const struct origin *origin, bool upload)
{
	return upload ? &origin->record->ledger_upload_top :
	    &origin->record->ledger_top;
}

static bool
is_closing(const struct origin *origin)
{
	/* Relaxed: who closes a connection has stored or seen it before. */
	return origin->ledger.closing != NULL && atomic_load_explicit(
	    origin->ledger.closing, memory_order_relaxed) != 0;
}

/*
 * The token is stored last.  Only a death parts one store from another, and
 * who reads it after that is another process: the compiler must not change
 * their order.
 */
static void
write_entry(struct origin *origin, bool upload, uint32_t number,
    const struct origin_ledger_entry *from)
{
	struct origin_ledger_entry *entry = entry_of(origin, upload, number);
	uint32_t *top = top_of(origin, upload);

	if (*top < number) {
		*top = number;
	}
	entry->token = 0;
	shm_fence_compiler();
	entry->owner = from->owner;
	entry->client = from->client;
	entry->partition = from->partition;
	entry->host = from->host;
	entry->number = from->number;
	entry->deadline_ms = from->deadline_ms;
	entry->caller = from->caller;
	entry->cap = from->cap;
	shm_fence_compiler();
	entry->token = from->token;
	shm_fence_compiler();
}

void
origin_ledger_enter_locked(struct origin *origin, bool upload,
    uint32_t number, const struct limiter_permit *permit)
{
	const struct origin_ledger *ledger = &origin->ledger;
	struct origin_ledger_entry *entry = entry_of(origin, upload, number);
	struct origin_ledger_entry made = {
		.token = permit->token,
		.owner = permit->owner,
		.client = permit->client,
		.partition = permit->partition,
		.host = permit->host,
		.number = permit->number,
		.deadline_ms = permit->deadline_ms,
		.cap = permit->cap,
	};

	if (entry == NULL || FAULT(ledger_enters_nothing)) {
		return;
	}
	if (ledger->caller == NULL || !ledger->caller(ledger->arg,
	    permit->owner, &made.caller)) {
		/* What stood there is over. */
		entry->token = 0;
		return;
	}
	write_entry(origin, upload, number, &made);
}

void
origin_ledger_clear_locked(struct origin *origin, bool upload,
    uint32_t number, uint64_t token, bool with_a_result)
{
	struct origin_ledger_entry *entry = entry_of(origin, upload, number);

	if (entry != NULL && entry->token == token &&
	    (with_a_result || !is_closing(origin))) {
		entry->token = 0;
		shm_fence_compiler();
	}
}

/* The top is a word that may be anything, and a smaller one is found. */
static void
settle(struct origin *origin, const struct limiter *pool, bool upload)
{
	uint32_t *top = top_of(origin, upload);
	uint32_t used = 0;

	for (uint32_t i = 1; i <= *top && i <= pool->permit_capacity; i++) {
		struct origin_ledger_entry *entry = entry_of(origin, upload,
		    i);

		if (entry == NULL) {
			return;
		}
		if (entry->token != 0 &&
		    limiter_permit(pool, i, entry->token) == NULL) {
			entry->token = 0;
		}
		used = entry->token != 0 ? i : used;
	}
	*top = used;
}

void
origin_ledger_settle_locked(struct origin *origin)
{
	if (!is_closing(origin)) {
		settle(origin, &origin->limiter, false);
		settle(origin, &origin->upload, true);
	}
}

static bool
has_sense(const struct limiter *pool, uint32_t number,
    const struct origin_ledger_entry *entry, struct boot_ms now)
{
	return number >= 1 && number <= pool->permit_capacity &&
	    entry->owner != 0 && entry->token != 0 &&
	    entry->token < LIMITER_NUMBER_MAX && entry->number != 0 &&
	    entry->number <= entry->token &&
	    now.ms < entry->deadline_ms;
}

enum result
origin_restore(struct origin *origin, bool upload, uint32_t number,
    const struct origin_ledger_entry *entry, struct boot_ms now)
{
	struct limiter *pool = upload ? &origin->upload : &origin->limiter;
	struct origin_ledger_entry *mine = entry_of(origin, upload, number);
	struct limiter_permit *permit;

	if (!has_sense(pool, number, entry, now)) {
		return INVALID;
	}
	if (!origin_lock(origin, now)) {
		return BUSY;
	}
	permit = limiter_permit_at(pool, number);
	if (permit->owner != 0) {
		origin_unlock(origin);
		return FULL;
	}
	/* Rows and totals are origin_restored()'s to make. */
	*permit = (struct limiter_permit){
		.client = entry->client,
		.partition = entry->partition,
		.host = entry->host,
		.deadline_ms = entry->deadline_ms,
		.token = entry->token,
		.number = entry->number,
		.cap = entry->cap,
	};
	limiter_owner_store(&permit->owner, entry->owner);
	if (mine != NULL) {
		write_entry(origin, upload, number, entry);
	}
	origin_unlock(origin);
	return OK;
}

bool
origin_restored(struct origin *origin, struct boot_ms now)
{
	if (!origin_lock(origin, now)) {
		return false;
	}
	origin_sweep_locked(origin, now, true);
	origin_unlock(origin);
	return true;
}
