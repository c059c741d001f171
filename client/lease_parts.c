/* SPDX-License-Identifier: ISC */

/*
 * From structs of weir_fetch.h to requests, and from answers back.
 */
#include "lease_parts.h"

#include "hash.h"
#include "limiter.h"

#include <string.h>
#include <time.h>

static uint64_t
monotonic_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * CLOCK_MS_PER_S +
	    (uint64_t)now.tv_nsec / (CLOCK_NS_PER_S / CLOCK_MS_PER_S);
}

/* Different threads of a process differ; 0 is none. */
static uint32_t
thread_number(void)
{
	static _Atomic uint32_t last;
	static _Thread_local uint32_t own;

	if (own == 0) {
		/* Relaxed: only its being different counts. */
		own = 1 + atomic_fetch_add_explicit(&last, 1,
		    memory_order_relaxed);
	}
	return own;
}

/*
 * What the limiter is fair between is the machine's, whatever the pool: no
 * pool's key.
 */
static uint64_t
hash_name(const void *bytes, size_t length)
{
	static const struct hash_key none;
	uint64_t hash;

	if (bytes == NULL || length == 0) {
		return 0;
	}
	hash = hash_bytes(&none, bytes, length);
	return hash == 0 ? 1 : hash;
}

static void
ask_origin(struct request *request, const struct weir_origin *origin)
{
	request->name = origin->name != NULL ? origin->name : "default";
	request->lease.partition = hash_name(origin->partition,
	    origin->partition_length);
	request->lease.host = hash_name(origin->host, origin->host_length);
	request->lease.flags |= (origin->background != 0 ?
	    WIRE_BACKGROUND : 0) | (origin->upload != 0 ? WIRE_UPLOAD : 0);
}

static uint32_t
or_default(uint32_t given, uint32_t otherwise)
{
	return given != 0 ? given : otherwise;
}

void
lease_make(struct request *request, const void *key, size_t key_length,
    const struct weir_fetch_options *options, const struct lease_ask *ask)
{
	*request = (struct request){
		.type = FRAME_LEASE,
		.key = key,
		.key_length = key_length,
		.lease = {
			.flags = ask->no_wait ? WIRE_NO_WAIT : 0,
			.thread = thread_number(),
			.lease_ms = or_default(options->lease_ms,
			    LEASE_DEFAULT_MS),
			.wait_ms = or_default(options->wait_ms,
			    LEASE_WAIT_DEFAULT_MS),
			.seen_version = ask->seen_version,
			.hits = ask->hits,
		},
	};
	ask_origin(request, &options->origin);
}

/* Answers of these statuses say more than a text. */
bool
lease_has_answer(int status)
{
	return status == OK || status == LEAD || status == ALONE ||
	    status == SHED || status == CIRCUIT_OPEN || status == FAILED ||
	    status == BACKING_OFF || status == TIMEOUT;
}

static const char *
reason_text(int status, uint32_t reason)
{
	return status != SHED ? "" : limiter_refusal_name(
	    (enum limiter_refusal)(reason < LIMITER_REFUSALS ? reason : 0));
}

/* False: it makes no sense. */
bool
lease_read_answer(const struct answer *answer, struct wire_lease_answer *out)
{
	memset(out, 0, sizeof(*out));
	if (!lease_has_answer(answer->status)) {
		return true;
	}
	if (answer->length != WIRE_LEASE_ANSWER_BYTES) {
		return false;
	}
	wire_lease_answer_decode(answer->body, out);
	return true;
}

static void
put_permit(uint64_t *secret, const struct wire_permit *permit)
{
	secret[SECRET_PERMIT] = permit->origin |
	    (uint64_t)permit->number << 32;
	secret[SECRET_PERMIT_TOKEN] = permit->token;
}

void
lease_put(const struct wire_lease_answer *answer, int status,
    struct weir_lease *lease)
{
	put_permit(lease->secret, &answer->permit);
	lease->secret[SECRET_TOKEN] = answer->token;
	lease->secret[SECRET_SINCE_MS] = status == WEIR_LEAD ||
	    status == WEIR_ALONE ? monotonic_ms() : 0;
	lease->left_ms = answer->left_ms;
	lease->retry_after_ms = answer->retry_after_ms;
	lease->code = answer->code;
	lease->reason = reason_text(status, answer->reason);
}

bool
lease_options_are_sound(const struct weir_fetch_options *options)
{
	return options != NULL && options->size == sizeof(*options) &&
	    (options->tag_count == 0 || options->tags != NULL) &&
	    options->jitter_percent <= 100;
}

/* Used up: what was given goes back with this. */
static struct wire_end
take_end(uint64_t *secret, bool is_lease)
{
	struct wire_end end = {
		.permit = {
			.origin = (uint32_t)secret[SECRET_PERMIT],
			.number = (uint32_t)(secret[SECRET_PERMIT] >> 32),
			.token = secret[SECRET_PERMIT_TOKEN],
		},
	};

	if (is_lease) {
		uint64_t cost_ms = monotonic_ms() - secret[SECRET_SINCE_MS];

		end.token = secret[SECRET_TOKEN];
		end.cost_ms = cost_ms < UINT32_MAX ? (uint32_t)cost_ms :
		    UINT32_MAX;
		secret[SECRET_TOKEN] = 0;
		secret[SECRET_SINCE_MS] = 0;
	}
	secret[SECRET_PERMIT] = 0;
	secret[SECRET_PERMIT_TOKEN] = 0;
	return end;
}

bool
lease_make_fill(struct request *request, struct weir_lease *lease,
    const void *key, size_t key_length, const void *value, size_t length,
    const struct weir_set_options *options, int *result)
{
	/* The key first: without one the lease cannot even be given back. */
	*request = (struct request){
		.type = FRAME_FILL,
		.key = key,
		.key_length = key_length,
	};
	*result = (int)request_check(request, NULL);
	if (*result == OK) {
		*result = request_make_set(request, key, key_length, value,
		    length, options);
	}
	if (*result == OK) {
		request->type = FRAME_FILL;
		*result = (int)request_check(request, NULL);
	}
	if (*result == OK && lease->secret[SECRET_TOKEN] == 0) {
		*result = LEASE_LOST;
	}
	if (*result == OK) {
		request->end = take_end(lease->secret, true);
	}
	return *result == OK;
}

enum lease_given
lease_make_end(struct request *request, enum frame_type type,
    struct weir_lease *lease, const void *key, size_t key_length,
    enum weir_outcome outcome, int code, uint32_t note_ms)
{
	enum lease_given given = lease->secret[SECRET_TOKEN] != 0 ||
	    lease->secret[SECRET_PERMIT] >> 32 != 0 ? LEASE_GIVEN :
	    lease->secret[SECRET_SINCE_MS] != 0 ? LEASE_BARE : LEASE_NONE;

	*request = (struct request){
		.type = type,
		.key = key,
		.key_length = key_length,
		.end = take_end(lease->secret, true),
	};
	request->end.outcome = (uint32_t)outcome;
	request->end.code = code;
	request->end.note_ms = type == FRAME_FAIL ?
	    or_default(note_ms, LEASE_BACK_OFF_MS) : note_ms;
	return given;
}

void
lease_make_permit(struct request *request, const struct weir_origin *origin,
    uint32_t wait_ms)
{
	static const struct weir_origin plain;

	*request = (struct request){
		.type = FRAME_PERMIT,
		.lease = {
			.flags = wait_ms == 0 ? WIRE_NO_WAIT : 0,
			.wait_ms = wait_ms,
		},
	};
	ask_origin(request, origin != NULL ? origin : &plain);
}

void
lease_put_permit(const struct wire_lease_answer *answer, int status,
    struct weir_permit *permit)
{
	put_permit(permit->secret, &answer->permit);
	permit->left_ms = answer->left_ms;
	permit->retry_after_ms = answer->retry_after_ms;
	permit->reason = reason_text(status, answer->reason);
}

void
lease_of_permit(const struct weir_permit *permit, struct weir_lease *lease)
{
	*lease = (struct weir_lease){
		.left_ms = permit->left_ms,
		.retry_after_ms = permit->retry_after_ms,
		.reason = permit->reason,
	};
	lease->secret[SECRET_PERMIT] = permit->secret[SECRET_PERMIT];
	lease->secret[SECRET_PERMIT_TOKEN] =
	    permit->secret[SECRET_PERMIT_TOKEN];
	lease->secret[SECRET_SINCE_MS] = monotonic_ms();
}

bool
lease_make_release(struct request *request, struct weir_permit *permit,
    enum weir_outcome outcome)
{
	*request = (struct request){
		.type = FRAME_RELEASE,
		.end = take_end(permit->secret, false),
	};
	request->end.outcome = (uint32_t)outcome;
	return request->end.permit.number != 0;
}
