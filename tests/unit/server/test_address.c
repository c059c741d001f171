/* SPDX-License-Identifier: ISC */

#include "address.h"

#include <criterion/criterion.h>

Test(address, numeric_addresses_come_back_as_they_were)
{
	static const char *const cases[] = {
		"127.0.0.1:9477", "0.0.0.0:0", "[::1]:9477", "[::]:65535",
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct address address;
		char text[ADDRESS_TEXT_BYTES];

		cr_assert(address_parse(cases[i], &address), "%s", cases[i]);
		cr_assert_str_eq(address_format(&address, text), cases[i]);
	}
}

Test(address, names_and_nonsense_are_refused)
{
	static const char *const cases[] = {
		"", ":", "9477", "localhost:80", "127.0.0.1", "127.0.0.1:",
		"127.0.0.1:65536", "127.0.0.1:-1", "::1:80", "[::1]", "[]:80",
		"[127.0.0.1]:80", "256.0.0.1:80", "127.0.0.1:80x",
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct address address;

		cr_assert_not(address_parse(cases[i], &address), "%s",
		    cases[i]);
	}
}

Test(address, loopback_is_told_from_the_rest)
{
	struct address address;

	cr_assert(address_parse("127.1.2.3:1", &address));
	cr_assert(address_is_loopback(&address));
	cr_assert(address_parse("[::1]:1", &address));
	cr_assert(address_is_loopback(&address));
	cr_assert(address_parse("0.0.0.0:1", &address));
	cr_assert_not(address_is_loopback(&address));
	cr_assert(address_parse("[::]:1", &address));
	cr_assert_not(address_is_loopback(&address));
}
