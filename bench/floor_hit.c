/* SPDX-License-Identifier: ISC */

/* The floor of a hit: SipHash, a line of slots, key compare, value copy. */
#include <sodium/crypto_shorthash.h>

#include "run_floor.h"

struct item { uint32_t key_bytes, value_bytes; char bytes[]; };

static inline uint64_t hash_of(const char *key)
{
	uint64_t hash;

	(void)crypto_shorthash((uint8_t *)&hash, (const uint8_t *)key,
	    WORKLOAD_KEY_BYTES, (const uint8_t *)"sixteen of them.");
	return hash;
}
static bool get(void *floor, const char *key, void *buffer)
{
	struct floor *f = floor;
	uint64_t slot, hash = hash_of(key), at = hash * 8 & f->mask;

	for (; (slot = f->slots[at]) != 0; at = (at + 1) & f->mask) {
		struct item *item = (void *)(f->items + (slot << 16 >> 13));

		if (slot >> 48 == hash >> 48 &&
		    item->key_bytes == WORKLOAD_KEY_BYTES &&
		    memcmp(item->bytes, key, WORKLOAD_KEY_BYTES) == 0) {
			memcpy(buffer, item->bytes + WORKLOAD_KEY_BYTES,
			    item->value_bytes);
			return true;
		}
	}
	return false;
}
static void put(struct floor *f, const char *key, const void *value)
{
	uint64_t hash = hash_of(key), at = hash * 8 & f->mask;
	struct item *item = (void *)(f->items + f->used * 8);

	while (f->slots[at] != 0) {
		at = (at + 1) & f->mask;
	}
	f->slots[at] = hash >> 48 << 48 | f->used;	/* tag | offset / 8 */
	f->used += (sizeof(*item) + f->key_and_value_bytes + 7) / 8;
	item->key_bytes = WORKLOAD_KEY_BYTES;
	item->value_bytes = (uint32_t)f->w->value_bytes;
	memcpy(item->bytes, key, WORKLOAD_KEY_BYTES);
	memcpy(item->bytes + WORKLOAD_KEY_BYTES, value, f->w->value_bytes);
}
static double run(void *floor, uint32_t order)
{
	return workload_pass(((struct floor *)floor)->w, order, get, floor);
}
int main(int argc, char **argv)
{
	return run_floor(argc, argv, put, run);
}
