/* SPDX-License-Identifier: ISC */

/*
 * The sum of a configuration.  What the daemon has from its start is backed
 * by memory before it serves; rings come with clients.
 */
#include "memory_budget.h"

#include <string.h>

#include "config_value.h"
#include "control_create.h"
#include "geometry.h"
#include "permit_file.h"

/* A mapping costs each process that fills it 8 bytes for each page. */
#define PAGE_TABLE_SHARE	(PAGE_BYTES / 8)
/* The supervisor and the keeper, beside the workers. */
#define OTHER_PROCESSES		2
/* An idle worker has 80 KiB of its own; buffers of its clients add to it. */
#define PROCESS_BYTES		(2u << 20)

uint32_t
memory_budget_flights(const struct config *config)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < config->origin_count; i++) {
		const struct limiter_config *limiter =
		    &config->origins[i].config.limiter;

		sum += (uint64_t)limiter->limit + limiter->places;
	}
	if (sum < FLIGHTS_DEFAULT) {
		return FLIGHTS_DEFAULT;
	}
	return sum > FLIGHTS_MAX ? FLIGHTS_MAX : (uint32_t)sum;
}

enum result
memory_budget_compute(struct memory_budget *budget,
    const struct config *config)
{
	uint64_t processes = config->workers + OTHER_PROCESSES;
	uint64_t shared = 0;
	uint64_t largest = 0;

	memset(budget, 0, sizeof(*budget));
	for (uint32_t i = 0; i < config->pool_count; i++) {
		struct geometry geometry;

		if (geometry_compute_for(&geometry,
		    config->pools[i].memory_bytes,
		    config->pools[i].extent_bytes, config->workers,
		    memory_budget_flights(config)) != OK) {
			return INVALID;
		}
		budget->segment_bytes[i] = geometry.segment_bytes;
		budget->private_bytes[i] = geometry.private_bytes;
		if (geometry.segment_bytes > largest) {
			largest = geometry.segment_bytes;
		}
		shared += geometry.segment_bytes + geometry.private_bytes;
	}
	for (uint32_t i = 0; i < config->origin_count; i++) {
		budget->origins_bytes += origin_bytes(
		    &config->origins[i].config);
	}
	budget->control_bytes = control_bytes(config);
	/* That file lies on a tmpfs, as a rule. */
	budget->permits_bytes = permit_file_bytes(config);
	shared += budget->control_bytes + budget->permits_bytes;
	budget->page_table_bytes = shared / PAGE_TABLE_SHARE * processes;
	budget->process_bytes = PROCESS_BYTES * processes;
	budget->start_bytes = shared + budget->page_table_bytes +
	    budget->process_bytes;
	budget->ring_bytes = (uint64_t)config->max_clients *
	    config->ring_bytes;
	/* A client maps one pool: at worst, each the largest. */
	budget->client_page_table_bytes = largest / PAGE_TABLE_SHARE *
	    config->max_clients;
	budget->full_bytes = budget->start_bytes + budget->ring_bytes +
	    budget->client_page_table_bytes;
	return OK;
}

static void
print_row(FILE *stream, const char *what, uint64_t bytes)
{
	char text[32];

	fprintf(stream, "  %-44s %12s\n", what,
	    config_value_round_size(bytes, text, sizeof(text)));
}

void
memory_budget_print(const struct memory_budget *budget,
    const struct config *config, FILE *stream)
{
	char row[POOL_NAME_BYTES + 64];
	char text[32];

	fputs("memory from the start:\n", stream);
	for (uint32_t i = 0; i < config->pool_count; i++) {
		(void)snprintf(row, sizeof(row), "pool %s, %s of entries",
		    config->pools[i].name, config_value_round_size(
		    config->pools[i].memory_bytes, text, sizeof(text)));
		print_row(stream, row, budget->segment_bytes[i]);
		(void)snprintf(row, sizeof(row), "pool %s, private",
		    config->pools[i].name);
		print_row(stream, row, budget->private_bytes[i]);
	}
	print_row(stream, "control", budget->control_bytes -
	    budget->origins_bytes);
	(void)snprintf(row, sizeof(row), "control, %u origins",
	    config->origin_count);
	print_row(stream, row, budget->origins_bytes);
	print_row(stream, "permits, kept over a restart",
	    budget->permits_bytes);
	(void)snprintf(row, sizeof(row), "page tables of %u processes",
	    config->workers + OTHER_PROCESSES);
	print_row(stream, row, budget->page_table_bytes);
	print_row(stream, "their own memory", budget->process_bytes);
	print_row(stream, "sum at the start", budget->start_bytes);
	fprintf(stream, "with %u clients at most:\n", config->max_clients);
	print_row(stream, "rings", budget->ring_bytes);
	print_row(stream, "page tables of the clients",
	    budget->client_page_table_bytes);
	print_row(stream, "sum with all clients", budget->full_bytes);
}
