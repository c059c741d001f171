/* SPDX-License-Identifier: ISC */

#include "trace_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include <criterion/criterion.h>

#include "prng.h"
#include "trace_file.h"

#define MANY	50000u		/* records: several of the reader's buffers */
#define BATCH	777u

/* What a file read to its end gives. */
struct reading {
	size_t		records;
	enum trace_fault fault;
	char		text[256];
	struct trace_record last;
};

static void
read_path(struct reading *reading, const char *path)
{
	static struct trace_record batch[BATCH];
	struct trace_reader *reader = trace_open(path);
	ssize_t got;

	cr_assert_not_null(reader);
	memset(reading, 0, sizeof(*reading));
	while ((got = trace_read(reader, batch, BATCH)) > 0) {
		reading->records += (size_t)got;
		reading->last = batch[got - 1];
	}
	cr_assert_eq(got == 0, trace_fault(reader) == TRACE_FINE);
	reading->fault = trace_fault(reader);
	(void)strncpy(reading->text, trace_fault_text(reader),
	    sizeof(reading->text) - 1);
	trace_close(reader);
}

static void
read_bytes(struct reading *reading, const void *bytes, size_t length)
{
	struct trace_file file;

	trace_file_create(&file, bytes, length);
	read_path(reading, file.path);
	trace_file_remove(&file);
}

static void
expect_refused(const void *bytes, size_t length, size_t records,
    const char *text)
{
	struct reading reading;

	read_bytes(&reading, bytes, length);
	cr_expect_eq(reading.fault, TRACE_DAMAGED, "wanted: %s", text);
	cr_expect_eq(reading.records, records, "%zu records, wanted %zu: %s",
	    reading.records, records, text);
	cr_expect_not_null(strstr(reading.text, text), "'%s' has no '%s'",
	    reading.text, text);
}

/* count records of different content. */
static uint8_t *
encode_many(size_t count)
{
	uint8_t *bytes = malloc(count * TRACE_RECORD_BYTES);

	cr_assert_not_null(bytes);
	for (size_t i = 0; i < count; i++) {
		trace_file_encode(bytes + i * TRACE_RECORD_BYTES,
		    (uint32_t)i, i * 0x9e3779b97f4a7c15ull,
		    (uint32_t)(i % 1000 + 1), (int64_t)(2 * i + 2));
	}
	return bytes;
}

Test(trace_reader, gives_every_field_of_a_record)
{
	struct reading reading;
	uint8_t bytes[TRACE_RECORD_BYTES];

	trace_file_encode(bytes, 0xfedcba98u, 0xf123456789abcdefull,
	    TRACE_SIZE_MAX, 0x123456789abll);
	read_bytes(&reading, bytes, sizeof(bytes));
	cr_assert_eq(reading.fault, TRACE_FINE, "%s", reading.text);
	cr_assert_eq(reading.records, 1u);
	cr_assert_eq(reading.last.time_s, 0xfedcba98u);
	cr_assert_eq(reading.last.object_id, 0xf123456789abcdefull);
	cr_assert_eq(reading.last.size, TRACE_SIZE_MAX);
	cr_assert_eq(reading.last.next, 0x123456789abll);
}

Test(trace_reader, reads_both_forms_of_no_next_access_as_never)
{
	static const int64_t forms[] = { -1, INT64_MAX };

	for (size_t i = 0; i < 2; i++) {
		struct reading reading;
		uint8_t bytes[TRACE_RECORD_BYTES];

		trace_file_encode(bytes, 0, 1, 1, forms[i]);
		read_bytes(&reading, bytes, sizeof(bytes));
		cr_assert_eq(reading.fault, TRACE_FINE, "%s", reading.text);
		cr_assert_eq(reading.last.next, TRACE_NEVER);
	}
}

Test(trace_reader, reads_more_than_its_buffers_hold)
{
	struct reading plain, packed;
	struct trace_file file;
	uint8_t *bytes = encode_many(MANY);

	read_bytes(&plain, bytes, MANY * TRACE_RECORD_BYTES);
	cr_assert_eq(plain.fault, TRACE_FINE, "%s", plain.text);
	cr_assert_eq(plain.records, MANY);
	cr_assert_eq(plain.last.object_id,
	    (MANY - 1) * 0x9e3779b97f4a7c15ull);

	trace_file_create_zstd(&file, bytes, MANY * TRACE_RECORD_BYTES);
	read_path(&packed, file.path);
	trace_file_remove(&file);
	cr_assert_eq(packed.fault, TRACE_FINE, "%s", packed.text);
	cr_assert_eq(packed.records, MANY);
	cr_assert_eq(packed.last.object_id, plain.last.object_id);
	free(bytes);
}

Test(trace_reader, reads_several_zstd_frames_that_part_a_record)
{
	struct reading reading;
	uint8_t *bytes = encode_many(100);
	uint8_t packed[2 * 4096];
	size_t first = ZSTD_compress(packed, 4096, bytes, 1000, 1);
	size_t second = ZSTD_compress(packed + first, 4096, bytes + 1000,
	    100 * TRACE_RECORD_BYTES - 1000, 1);

	read_bytes(&reading, packed, first + second);
	cr_assert_eq(reading.fault, TRACE_FINE, "%s", reading.text);
	cr_assert_eq(reading.records, 100u);
	free(bytes);
}

Test(trace_reader, says_what_cannot_be_opened)
{
	struct reading reading;

	read_path(&reading, "/nonexistent/trace");
	cr_assert_eq(reading.fault, TRACE_NOT_FOUND, "%s", reading.text);
	read_path(&reading, "/tmp");
	cr_assert_eq(reading.fault, TRACE_SYSTEM, "%s", reading.text);
}

Test(trace_reader, refuses_an_empty_file_in_both_forms)
{
	uint8_t packed[64];
	size_t length = ZSTD_compress(packed, sizeof(packed), "", 0, 1);

	expect_refused("", 0, 0, "record 1");
	expect_refused(packed, length, 0, "record 1");
}

Test(trace_reader, refuses_a_plain_file_cut_at_any_byte)
{
	uint8_t *bytes = encode_many(3);

	for (size_t length = 1; length < 3 * TRACE_RECORD_BYTES; length++) {
		char text[64];

		if (length % TRACE_RECORD_BYTES == 0) {
			continue;	/* a shorter trace, and a whole one */
		}
		(void)snprintf(text, sizeof(text), "record %zu is cut",
		    length / TRACE_RECORD_BYTES + 1);
		expect_refused(bytes, length, length / TRACE_RECORD_BYTES,
		    text);
	}
	free(bytes);
}

Test(trace_reader, refuses_a_zstd_file_cut_at_any_byte)
{
	uint8_t *bytes = encode_many(40);
	uint8_t packed[4096];
	size_t whole = ZSTD_compress(packed, sizeof(packed), bytes,
	    40 * TRACE_RECORD_BYTES, 1);

	for (size_t length = 1; length < whole; length++) {
		struct reading reading;

		read_bytes(&reading, packed, length);
		cr_expect_eq(reading.fault, TRACE_DAMAGED, "cut at %zu",
		    length);
		cr_expect_not_null(strstr(reading.text, "record"), "%s",
		    reading.text);
	}
	free(bytes);
}

/* The data so far end with a whole record: only the frame tells. */
Test(trace_reader, refuses_a_zstd_file_cut_between_records)
{
	uint8_t *bytes = encode_many(10);
	uint8_t packed[4096];
	ZSTD_inBuffer in = { bytes, 10 * TRACE_RECORD_BYTES, 0 };
	ZSTD_outBuffer out = { packed, sizeof(packed), 0 };
	ZSTD_CCtx *zstd = ZSTD_createCCtx();

	cr_assert_not_null(zstd);
	cr_assert_eq(ZSTD_compressStream2(zstd, &out, &in, ZSTD_e_flush), 0u);
	expect_refused(packed, out.pos, 10, "cut in record 11");
	ZSTD_freeCCtx(zstd);
	free(bytes);
}

Test(trace_reader, refuses_what_follows_a_zstd_frame)
{
	uint8_t *bytes = encode_many(2);
	uint8_t packed[512];
	size_t length = ZSTD_compress(packed, sizeof(packed) - 24, bytes,
	    2 * TRACE_RECORD_BYTES, 1);

	memcpy(packed + length, bytes, TRACE_RECORD_BYTES);
	expect_refused(packed, length + TRACE_RECORD_BYTES, 2,
	    "after record 2");
	free(bytes);
}

static void
expect_record_refused(uint32_t size, int64_t next, const char *text)
{
	uint8_t bytes[3 * TRACE_RECORD_BYTES];

	trace_file_encode(bytes, 0, 1, 1, -1);
	trace_file_encode(bytes + TRACE_RECORD_BYTES, 0, 2, size, next);
	trace_file_encode(bytes + 2 * TRACE_RECORD_BYTES, 0, 3, 1, -1);
	expect_refused(bytes, sizeof(bytes), 1, text);
}

Test(trace_reader, refuses_senseless_sizes_and_names_the_record)
{
	expect_record_refused(0, -1, "record 2: size 0");
	expect_record_refused(TRACE_SIZE_MAX + 1u, -1,
	    "record 2: size 2147483648");
	expect_record_refused(UINT32_MAX, -1, "record 2: size 4294967295");
}

Test(trace_reader, refuses_a_next_access_that_is_not_later)
{
	expect_record_refused(1, 0, "record 2: next access 0");
	expect_record_refused(1, 1, "record 2: next access 1");
	expect_record_refused(1, 2, "record 2: next access 2");
	expect_record_refused(1, -2, "record 2: next access -2");
	expect_record_refused(1, INT64_MIN, "record 2: next access");
	expect_record_refused(1, TRACE_REQUESTS_MAX + 1, "record 2: next");
}

Test(trace_reader, refuses_text_at_its_first_record)
{
	static const char text[] =
	    "time,key,size\n1,alpha,100\n2,beta,200\n3,gamma,300\n";

	expect_refused(text, sizeof(text) - 1, 0, "record 1");
}

Test(trace_reader, gives_the_same_fault_when_asked_again)
{
	struct trace_file file;
	struct trace_record record;
	struct trace_reader *reader;

	trace_file_create(&file, "cut", 3);
	reader = trace_open(file.path);
	cr_assert_eq(trace_read(reader, &record, 1), -1);
	cr_assert_eq(trace_read(reader, &record, 1), -1);
	cr_assert_eq(trace_fault(reader), TRACE_DAMAGED);
	trace_close(reader);
	trace_file_remove(&file);
}

/* Whatever the bytes, the reading ends; a sanitizer sees the rest. */
Test(trace_reader, ends_on_damaged_bytes_of_any_kind)
{
	enum { ROUNDS = 2000 };
	uint8_t *bytes = encode_many(200);
	uint8_t packed[16384];
	size_t whole = ZSTD_compress(packed, sizeof(packed), bytes,
	    200 * TRACE_RECORD_BYTES, 1);
	struct prng prng;
	unsigned refused = 0;

	prng_init(&prng, 6);
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct reading reading;
		size_t at = 4 + prng_below(&prng, (uint32_t)whole - 4);
		uint8_t kept = packed[at];

		packed[at] ^= (uint8_t)(1 + prng_below(&prng, 255));
		read_bytes(&reading, packed, whole);
		cr_expect_leq(reading.records, 1u << 20);
		refused += reading.fault == TRACE_DAMAGED;
		packed[at] = kept;
	}
	cr_assert_gt(refused, ROUNDS / 2u, "%u refused", refused);
	free(bytes);
}
