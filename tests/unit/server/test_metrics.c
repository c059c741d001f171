/* SPDX-License-Identifier: ISC */

#include "metrics.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "daemon_fixture.h"
#include "origins_fixture.h"

/* The document; the caller frees. */
static char *
write_document(const struct heritage *heritage)
{
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);

	cr_assert_not_null(out);
	metrics_write(out, heritage, origins_fixture_create(),
	    FIXTURE_ORIGINS, fixture_at(5));
	cr_assert_eq(fclose(out), 0);
	origins_fixture_destroy();
	return text;
}

Test(metrics, has_every_counter_of_the_pool)
{
	struct heritage *heritage = fixture_create();
	char *text, name[100];

	fixture_set(&heritage->pools[0], "key", "value");
	text = write_document(heritage);
	for (unsigned i = 0; i < STAT_COUNT; i++) {
		(void)snprintf(name, sizeof(name),
		    "\nweir_%s_total{pool=\"default\"} ",
		    stats_name((enum stat_id)i));
		cr_assert_not_null(strstr(text, name), "%s", name);
	}
	cr_assert_not_null(strstr(text,
	    "\nweir_sets_total{pool=\"default\"} 1\n"));
	free(text);
	fixture_destroy(heritage);
}

Test(metrics, ends_with_its_mark_and_has_no_empty_line)
{
	struct heritage *heritage = fixture_create();
	char *text = write_document(heritage);
	size_t length = strlen(text);

	cr_assert_gt(length, 6);
	cr_assert_str_eq(text + length - 6, "# EOF\n");
	cr_assert_null(strstr(text, "\n\n"));
	free(text);
	fixture_destroy(heritage);
}

Test(metrics, tells_each_family_once)
{
	struct heritage *heritage = fixture_create();
	char *text = write_document(heritage);

	for (char *at = strstr(text, "# TYPE "); at != NULL;
	    at = strstr(at + 1, "# TYPE ")) {
		char line[128];
		size_t length = strcspn(at + 7, " ") + 8;

		cr_assert_lt(length, sizeof(line));
		memcpy(line, at, length);
		line[length] = '\0';
		cr_assert_null(strstr(at + 1, line), "%s", line);
	}
	free(text);
	fixture_destroy(heritage);
}

Test(metrics, escapes_the_name_of_a_pool)
{
	struct heritage *heritage = fixture_create();
	char *text;

	memcpy(heritage->config.pools[0].name, "a\"b\\c", 6);
	text = write_document(heritage);
	cr_assert_not_null(strstr(text, "{pool=\"a\\\"b\\\\c\"}"));
	free(text);
	fixture_destroy(heritage);
}
