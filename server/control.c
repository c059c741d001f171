/* SPDX-License-Identifier: ISC */

/*
 * The segment through which the processes of the daemon know of each other.
 */
#include "control_create.h"

#include <string.h>
#include <unistd.h>

static void
copy_settings(struct control *control, const struct config *config)
{
	control->log_level = (uint32_t)config->log_level;
	control->drain_timeout_ms = config->drain_timeout_ms;
	control->admin_group = config->admin_group;
	control->admin_read_group = config->admin_read_group;
	for (uint32_t i = 0; i < config->pool_count; i++) {
		control->access[i] = config->pools[i].access;
	}
}

static uint64_t
round_up(uint64_t bytes)
{
	return (bytes + CACHE_LINE_BYTES - 1) & ~(uint64_t)
	    (CACHE_LINE_BYTES - 1);
}

/* Where the origins begin. */
static uint64_t
fixed_bytes(const struct config *config)
{
	return round_up(sizeof(struct control) +
	    (uint64_t)config->max_clients * sizeof(struct control_client));
}

uint64_t
control_bytes(const struct config *config)
{
	uint64_t bytes = fixed_bytes(config);

	for (uint32_t i = 0; i < config->origin_count; i++) {
		bytes += round_up(origin_bytes(&config->origins[i].config));
	}
	return bytes;
}

static enum result
create_origins(struct control *control, const struct config *config)
{
	uint64_t at = fixed_bytes(config);

	for (uint32_t i = 0; i < config->origin_count; i++) {
		const struct config_origin *origin = &config->origins[i];
		enum result result = origin_create((uint8_t *)control + at,
		    origin->name, &origin->config);

		if (result != OK) {
			return result;
		}
		control->origin_offsets[i] = at;
		at += round_up(origin_bytes(&origin->config));
	}
	control->origin_count = config->origin_count;
	return OK;
}

enum result
control_create(struct segment *segment, struct control **out,
    const struct config *config, const uint8_t boot_id[16],
    struct boot_ms now, struct wall_ms wall)
{
	enum result result = segment_create(segment, "weir-control",
	    control_bytes(config));
	struct control *control;

	if (result != OK) {
		return result;
	}
	control = segment->base;
	control->magic = CONTROL_MAGIC;
	control->bytes = segment->bytes;
	memcpy(control->boot_id, boot_id, sizeof(control->boot_id));
	control->worker_count = config->workers;
	control->client_capacity = config->max_clients;
	control->started_boot_ms = now.ms;
	control->started_wall_ms = wall.ms;
	control->supervisor_pid = (uint32_t)getpid();
	copy_settings(control, config);
	for (uint32_t i = 0; i <= config->workers; i++) {
		/* Relaxed: no other process has the segment yet. */
		atomic_store_explicit(&control->processes[i].incarnation, 1,
		    memory_order_relaxed);
	}
	result = lock_init(&control->settings_lock);
	if (result == OK) {
		result = lock_init(&control->clients_lock);
	}
	if (result == OK) {
		result = create_origins(control, config);
	}
	if (result != OK) {
		segment_destroy(segment);
		return result;
	}
	*out = control;
	return OK;
}

enum result
control_publish(struct control *control, const struct config *config)
{
	enum lock_state held = lock_acquire(&control->settings_lock,
	    LOCK_TIMEOUT_MS);

	if (held == LOCK_HELD_OWNER_DIED) {
		/* Children only read under it: nothing is half done. */
		lock_mark_consistent(&control->settings_lock);
	} else if (held != LOCK_HELD) {
		return BUSY;
	}
	copy_settings(control, config);
	/*
	 * Release: who sees the new number and then takes the lock sees the
	 * new settings.  Pairs with the acquire load of the children.
	 */
	atomic_fetch_add_explicit(&control->settings_generation, 1,
	    memory_order_release);
	lock_release(&control->settings_lock);
	return OK;
}
