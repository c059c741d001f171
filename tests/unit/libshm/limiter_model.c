/* SPDX-License-Identifier: ISC */

#include "limiter_model.h"

#include <stddef.h>
#include <string.h>

static bool
is_out(const struct model_caller *caller)
{
	return caller->state == MODEL_GRANTED || caller->state == MODEL_HELD;
}

uint32_t
model_count(const struct model *model, enum model_state state)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < model->count; i++) {
		count += model->callers[i].state == state;
	}
	return count;
}

uint32_t
model_in_flight(const struct model *model)
{
	return model_count(model, MODEL_GRANTED) +
	    model_count(model, MODEL_HELD);
}

static bool
same_partition(const struct limiter_request *one,
    const struct limiter_request *other)
{
	return one->host == other->host &&
	    one->partition == other->partition;
}

static uint32_t *
cap_of(struct model *model, const struct limiter_request *request)
{
	return &model->caps[request->host][request->partition];
}

static uint32_t
reserve_of(const struct limiter_config *config)
{
	uint32_t reserve = config->limit * config->reserve_pct / 100;

	return config->reserve_pct != 0 && reserve == 0 ? 1 : reserve;
}

static bool
may_run(struct model *model, const struct limiter_config *config,
    const struct limiter_request *request)
{
	int64_t spare = (int64_t)config->limit - reserve_of(config) -
	    config->partition_cap;
	uint32_t of_host = 0, of_partition = 0;
	uint32_t cap = *cap_of(model, request);

	for (uint32_t i = 0; i < model->count; i++) {
		const struct model_caller *other = &model->callers[i];

		of_host += is_out(other) &&
		    other->request.host == request->host;
		of_partition += is_out(other) &&
		    same_partition(&other->request, request);
	}
	if (request->host != 0 && config->host_cap != 0 &&
	    of_host >= config->host_cap) {
		return false;
	}
	cap = cap != 0 ? cap : config->partition_cap;
	return request->partition == 0 || cap == 0 || of_partition < cap ||
	    (request->marked && request->class == LIMITER_FOREGROUND &&
	    model_in_flight(model) < spare);
}

void
model_grant(struct model *model, const struct limiter_config *config,
    struct boot_ms now)
{
	bool again = true;

	while (again) {
		again = false;
		for (uint32_t i = 0; i < model->count && !again; i++) {
			struct model_caller *caller = &model->callers[i];

			if (caller->state != MODEL_WAITING ||
			    model_in_flight(model) >= config->limit ||
			    !may_run(model, config, &caller->request)) {
				continue;
			}
			caller->state = MODEL_GRANTED;
			caller->deadline_ms = now.ms + config->permit_ms;
			caller->listed = ++model->grants;
			model->told |= UINT64_C(1) << limiter_worker_index(
			    caller->request.worker);
			again = true;
		}
	}
}

static bool
has_row(const struct model *model, const struct limiter_request *request)
{
	for (uint32_t i = 0; i < model->count; i++) {
		if (model->callers[i].state != MODEL_GONE &&
		    same_partition(&model->callers[i].request, request)) {
			return true;
		}
	}
	return false;
}

static enum limiter_refusal
why_refused(const struct model *model, const struct limiter_config *config,
    const struct limiter_request *request)
{
	uint32_t of_partition = 0;

	for (uint32_t i = 0; i < model->count; i++) {
		of_partition += same_partition(&model->callers[i].request,
		    request) && model->callers[i].state == MODEL_WAITING;
	}
	if (request->class == LIMITER_BACKGROUND) {
		return LIMITER_BACKGROUND_SHED;
	}
	if (request->wait_ms == 0) {
		return LIMITER_NO_WAIT;
	}
	if (model_count(model, MODEL_WAITING) >= config->places) {
		return LIMITER_QUEUE_FULL;
	}
	return request->partition != 0 &&
	    of_partition >= config->partition_places ?
	    LIMITER_PARTITION_QUEUE_FULL : LIMITER_NOT_REFUSED;
}

static bool
client_is_full(const struct model *model, const struct limiter_config *config,
    uint64_t client)
{
	uint32_t of_client = 0;

	for (uint32_t i = 0; i < model->count; i++) {
		of_client += model->callers[i].state != MODEL_GONE &&
		    model->callers[i].request.client == client;
	}
	return client != 0 && config->client_cap != 0 &&
	    of_client >= config->client_cap;
}

/* Room at the end: those who are gone are left out. */
static struct model_caller *
new_caller(struct model *model)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < model->count; i++) {
		if (model->callers[i].state != MODEL_GONE) {
			model->callers[kept++] = model->callers[i];
		}
	}
	model->count = kept + 1;
	memset(&model->callers[kept], 0, sizeof(model->callers[kept]));
	return &model->callers[kept];
}

enum result
model_acquire(struct model *model, const struct limiter_config *config,
    const struct limiter_request *request, struct boot_ms now,
    struct model_caller **caller, enum limiter_refusal *why)
{
	uint32_t limit = config->limit;
	bool runs;

	model->told = 0;
	if (has_row(model, request)) {
		*cap_of(model, request) = request->partition_cap;
	}
	model_grant(model, config, now);
	*why = LIMITER_CLIENT_CAP;
	if (client_is_full(model, config, request->client)) {
		model->refused[*why]++;
		return BUSY;
	}
	if (request->class == LIMITER_BACKGROUND) {
		limit -= reserve_of(config);
	}
	runs = model_in_flight(model) < limit &&
	    may_run(model, config, request);
	*why = runs ? LIMITER_NOT_REFUSED :
	    why_refused(model, config, request);
	if (*why != LIMITER_NOT_REFUSED) {
		model->refused[*why]++;
		return BUSY;
	}
	*caller = new_caller(model);
	(*caller)->request = *request;
	(*caller)->state = runs ? MODEL_HELD : MODEL_WAITING;
	(*caller)->deadline_ms = now.ms + (runs ? config->permit_ms :
	    request->wait_ms);
	*cap_of(model, request) = request->partition_cap;
	return runs ? OK : GROWING;
}

void
model_end(struct model *model, struct model_caller *caller)
{
	caller->state = MODEL_GONE;
	caller->listed = 0;
	if (!has_row(model, &caller->request)) {
		*cap_of(model, &caller->request) = 0;
	}
}

struct model_caller *
model_next_granted(struct model *model, uint64_t worker)
{
	for (;;) {
		struct model_caller *first = NULL;

		for (uint32_t i = 0; i < model->count; i++) {
			struct model_caller *caller = &model->callers[i];

			if (caller->listed != 0 && limiter_worker_index(
			    caller->request.worker) ==
			    limiter_worker_index(worker) &&
			    (first == NULL ||
			    caller->listed < first->listed)) {
				first = caller;
			}
		}
		if (first == NULL) {
			return NULL;
		}
		first->listed = 0;
		if (first->request.worker == worker) {
			return first;
		}
	}
}

void
model_sweep(struct model *model, const bool *dead, uint64_t dead_worker,
    struct boot_ms now)
{
	model->told = 0;
	for (uint32_t i = 0; i < model->count; i++) {
		struct model_caller *caller = &model->callers[i];

		if (caller->state != MODEL_GONE &&
		    (dead[caller->request.owner] ||
		    (is_out(caller) && now.ms >= caller->deadline_ms) ||
		    (caller->state != MODEL_HELD &&
		    caller->request.worker == dead_worker))) {
			model_end(model, caller);
		}
	}
}

void
model_rebuild(struct model *model)
{
	memset(model->caps, 0, sizeof(model->caps));
	for (uint32_t i = 0; i < model->count; i++) {
		struct model_caller *caller = &model->callers[i];

		if (caller->state == MODEL_GONE) {
			continue;
		}
		*cap_of(model, &caller->request) =
		    caller->request.partition_cap;
		if (caller->state == MODEL_GRANTED) {
			caller->listed = ++model->grants;
			model->told |= UINT64_C(1) << limiter_worker_index(
			    caller->request.worker);
		}
	}
}
