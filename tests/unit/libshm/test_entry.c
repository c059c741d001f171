/* SPDX-License-Identifier: ISC */

#include "entry.h"

#include <criterion/criterion.h>

#include <string.h>

#define YEAR_MS	(365ull * 24 * 3600 * CLOCK_MS_PER_S)

static _Alignas(8) uint8_t memory[4096];
static struct entry *const entry = (struct entry *)(void *)memory;

static struct entry_head
full_head(void)
{
	return (struct entry_head){
		.value_bytes = 5,
		.hash = 0xfedcba9876543210ull,
		.sequence = (1ull << ENTRY_SEQUENCE_BITS) - 2,
		.created_ms = (1ull << ENTRY_CREATED_BITS) - 1,
		.epoch = (1ull << ENTRY_EPOCH_BITS) - 3,
		.soft = 7,
		.hard = 9,
		.key_bytes = KEY_MAX_BYTES,
		.tag_count = TAGS_MAX,
		.flags = ENTRY_USER_FLAGS,
		.cost_ms = 65535,
	};
}

Test(entry, every_field_comes_back_at_its_largest)
{
	struct entry_head head = full_head(), back;
	uint64_t tags[TAGS_MAX];
	uint8_t key[KEY_MAX_BYTES];

	memset(tags, 0x55, sizeof(tags));
	memset(key, 0xaa, sizeof(key));
	entry_write(entry, &head, tags, key, "value");
	back = entry_load(entry);
	cr_expect_eq(back.value_bytes, 5);
	cr_expect_eq(back.hash, head.hash);
	cr_expect_eq(back.sequence, head.sequence);
	cr_expect_eq(back.created_ms, head.created_ms);
	cr_expect_eq(back.epoch, head.epoch);
	cr_expect_eq(back.soft, 7);
	cr_expect_eq(back.hard, 9);
	cr_expect_eq(back.key_bytes, KEY_MAX_BYTES);
	cr_expect_eq(back.tag_count, TAGS_MAX);
	cr_expect_eq(back.flags, ENTRY_USER_FLAGS);
	cr_expect_eq(back.cost_ms, 65535);
	cr_expect_arr_eq(memory + 48, tags, sizeof(tags));
	cr_expect_arr_eq(memory + 48 + 256, key, sizeof(key));
	cr_expect_arr_eq(memory + 48 + 256 + 1024, "value", 5);
	cr_expect(entry_checksum_ok(entry, &back));
}

Test(entry, a_changed_bit_of_what_never_changes_breaks_the_sum)
{
	struct entry_head head = full_head();
	uint64_t tag = 77;

	head.key_bytes = 3;
	head.tag_count = 1;
	entry_write(entry, &head, &tag, "key", "value");
	for (unsigned bit = 0; bit < (48 + 8 + 3 + 5) * 8; bit++) {
		struct entry_head back;

		if (bit / 64 == 4 || bit / 64 == 5) {
			continue;	/* expiries, epoch and cost */
		}
		memory[bit / 8] ^= (uint8_t)(1u << (bit % 8));
		back = entry_load(entry);
		if (entry_fits(&back, sizeof(memory))) {
			cr_expect_not(entry_checksum_ok(entry, &back),
			    "bit %u", bit);
		}
		memory[bit / 8] ^= (uint8_t)(1u << (bit % 8));
	}
}

Test(entry, expiry_epoch_and_a_counter_lie_outside_the_sum)
{
	struct entry_head head = full_head();
	uint64_t number = 1;

	head.key_bytes = 3;
	head.tag_count = 0;
	head.flags = ENTRY_COUNTER;
	head.value_bytes = sizeof(number);
	entry_write(entry, &head, NULL, "key", &number);
	entry_store_expiry(entry, 1, 2);
	entry_store_epoch(entry, UINT64_MAX);
	head = entry_load(entry);
	cr_expect_eq(head.cost_ms, 65535);
	cr_expect_eq(head.epoch, (1ull << ENTRY_EPOCH_BITS) - 1);
	entry_store_epoch(entry, 3);
	number = 99;
	memcpy(memory + entry_value_at(&head), &number, sizeof(number));
	head = entry_load(entry);
	cr_expect_eq(head.soft, 1);
	cr_expect_eq(head.hard, 2);
	cr_expect_eq(head.epoch, 3);
	cr_expect_eq(head.cost_ms, 65535, "it stays with the value");
	cr_expect(entry_checksum_ok(entry, &head));
}

Test(entry, a_counter_is_aligned_whatever_the_key)
{
	for (uint16_t length = 1; length <= 17; length++) {
		struct entry_head head = {
			.value_bytes = 8, .key_bytes = length,
			.flags = ENTRY_COUNTER,
		};

		cr_expect_eq(entry_value_at(&head) % 8, 0, "key of %u",
		    length);
		cr_expect_geq(entry_value_at(&head), 48u + length);
		cr_expect_eq(entry_bytes(&head), entry_value_at(&head) + 8);
	}
}

Test(entry, lengths_that_make_no_sense_do_not_fit)
{
	struct entry_head head = full_head();
	uint64_t bytes = entry_bytes(&head);

	cr_expect(entry_fits(&head, bytes));
	cr_expect_not(entry_fits(&head, bytes - 1));
	cr_expect_not(entry_fits(&head, 0));
	head.key_bytes = 0;
	cr_expect_not(entry_fits(&head, UINT64_MAX));
	head.key_bytes = KEY_MAX_BYTES + 1;
	cr_expect_not(entry_fits(&head, UINT64_MAX));
	head = full_head();
	head.tag_count = TAGS_MAX + 1;
	cr_expect_not(entry_fits(&head, UINT64_MAX));
	head = full_head();
	head.value_bytes = UINT32_MAX;
	cr_expect_not(entry_fits(&head, 64u << 20));
}

static uint64_t
expiry_after(uint64_t span_ms)
{
	struct entry_head head = { .created_ms = 1234 };

	return entry_expiry_ms(&head, entry_span(1234, 1234 + span_ms));
}

Test(entry, spans_below_2_to_the_31_are_exact_in_ms)
{
	cr_expect_eq(expiry_after(0), 1234);
	cr_expect_eq(expiry_after(1), 1235);
	cr_expect_eq(expiry_after(0x7fffffffull), 1234 + 0x7fffffffull);
	cr_expect_eq(entry_span(5000, 4999), 0, "over already");
	cr_expect_eq(entry_span(5000, 0), 0);
}

Test(entry, longer_spans_are_rounded_up_to_seconds)
{
	uint64_t span = 0x80000000ull;	/* 2147483.648 s */

	cr_expect_eq(expiry_after(span), 1234 + 2147484000ull);
	cr_expect_eq(expiry_after(span + 352), 1234 + 2147484000ull);
	cr_expect_eq(expiry_after(span + 353), 1234 + 2147485000ull);
	cr_expect_eq(expiry_after(60 * YEAR_MS), 1234 + 60 * YEAR_MS);
}

Test(entry, past_68_years_is_never)
{
	uint64_t last_s = 0x7ffffffeull;

	cr_expect_eq(expiry_after(last_s * 1000), 1234 + last_s * 1000);
	cr_expect_eq(expiry_after(last_s * 1000 + 1), UINT64_MAX);
	cr_expect_eq(expiry_after(69 * YEAR_MS), UINT64_MAX);
	cr_expect_eq(entry_span(1, UINT64_MAX), EXPIRY_NEVER);
	cr_expect_eq(entry_span(1, UINT64_MAX - 1), EXPIRY_NEVER);
}

Test(entry, expires_at_the_ms_and_not_before)
{
	struct entry_head head = { .created_ms = 100, .hard = 50 };

	cr_expect_not(entry_expired(&head, (struct boot_ms){ 149 }));
	cr_expect(entry_expired(&head, (struct boot_ms){ 150 }));
	head.hard = EXPIRY_NEVER;
	cr_expect_not(entry_expired(&head,
	    (struct boot_ms){ UINT64_MAX - 1 }));
}
