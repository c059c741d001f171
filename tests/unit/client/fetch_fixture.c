/* SPDX-License-Identifier: ISC */

/*
 * The callback, and one call.
 */
#include "fetch_fixture.h"

#include "lease_send.h"

#include <criterion/criterion.h>
#include <string.h>

struct fake_daemon fetch_daemon;
struct weir *fetch_handle;
char fetch_buffer[16];
struct weir_fetched fetch_said;

void
fetch_begin(void)
{
	fake_daemon_start(&fetch_daemon, NULL, 1);
	fake_daemon_age(&fetch_daemon);
	fetch_handle = fake_daemon_open(&fetch_daemon, 0);
	cr_assert_eq(weir_connect(fetch_handle), WEIR_OK);
}

void
fetch_end(void)
{
	weir_close(fetch_handle);
	fake_daemon_stop(&fetch_daemon);
}

struct source
fetch_source(const char *value)
{
	return (struct source){
		.said = { .value = value, .length = strlen(value) },
	};
}

static void
release(void *arg, const void *value)
{
	struct source *source = arg;

	cr_assert_eq(value, source->said.value);
	source->released++;
}

int
fetch_compute_source(void *arg, struct weir_computed *computed)
{
	struct source *source = arg;

	source->calls++;
	if (source->meanwhile != NULL) {
		source->meanwhile(source);
	}
	computed->value = source->said.value;
	computed->length = source->said.length;
	computed->uncacheable_ms = source->said.uncacheable_ms;
	computed->code = source->said.code;
	computed->release = release;
	return source->result;
}

int
fetch_k(const struct weir_fetch_options *options, struct source *source)
{
	int result;

	memset(&fetch_said, 0xff, sizeof(fetch_said));
	memset(fetch_buffer, 0, sizeof(fetch_buffer));
	result = weir_fetch(fetch_handle, "k", 1, fetch_buffer,
	    sizeof(fetch_buffer), options, fetch_compute_source, source,
	    &fetch_said);
	(void)lease_settle(fetch_handle);
	return result;
}

int
fetch_dup(const char *key, void **copy, struct source *source)
{
	int result;

	memset(&fetch_said, 0xff, sizeof(fetch_said));
	*copy = fetch_buffer;
	result = weir_fetch_dup(fetch_handle, key, strlen(key), copy, NULL,
	    fetch_compute_source, source, &fetch_said);
	(void)lease_settle(fetch_handle);
	return result;
}

void
fetch_expect(size_t length, enum weir_source from, int why, int stored)
{
	cr_assert_eq(fetch_said.length, length, "%zu", fetch_said.length);
	cr_assert_eq(fetch_said.source, from, "%u", fetch_said.source);
	cr_assert_eq(fetch_said.why, why, "%s",
	    weir_errname(fetch_said.why));
	cr_assert_eq(fetch_said.stored, stored, "%s",
	    weir_errname(fetch_said.stored));
	cr_assert_not_null(fetch_said.reason);
}
