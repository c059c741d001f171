/* SPDX-License-Identifier: ISC */

/*
 * Runs a fuzz target without a fuzzer: every file of its corpus, every
 * beginning of each, and inputs made by changing them at random.  A fault of
 * the target ends the program, after the seed and the round were printed.
 */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz_target.h"
#include "plain_test.h"
#include "prng.h"

#define FILES_MAX	64
#define INPUT_BYTES	(128u << 10)
#define QUICK_ROUNDS	4000
#define DEEP_ROUNDS	400000

struct input {
	uint8_t	*bytes;
	size_t	length;
};

static struct input corpus[FILES_MAX];
static size_t corpus_count;
static volatile uint64_t round_now;

static void
die(int signal_number)
{
	char text[64];
	int n = snprintf(text, sizeof(text), "fail %s: at round %llu\n",
	    fuzz_name, (unsigned long long)round_now);

	(void)!write(STDOUT_FILENO, text, (size_t)n);
	(void)signal(signal_number, SIG_DFL);
	(void)raise(signal_number);
}

static void
load_file(const char *path)
{
	struct input *input = &corpus[corpus_count];
	FILE *file = fopen(path, "rb");

	if (file == NULL) {
		return;
	}
	input->bytes = malloc(INPUT_BYTES);
	if (input->bytes != NULL) {
		input->length = fread(input->bytes, 1, INPUT_BYTES, file);
		corpus_count++;
	}
	(void)fclose(file);
}

static void
load_corpus(void)
{
	char folder[256], path[600];
	struct dirent *entry;
	DIR *dir;

	(void)snprintf(folder, sizeof(folder), "tests/fuzz/corpus/%s",
	    fuzz_name);
	dir = opendir(folder);
	while (dir != NULL && corpus_count < FILES_MAX &&
	    (entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] != '.') {
			(void)snprintf(path, sizeof(path), "%s/%s", folder,
			    entry->d_name);
			load_file(path);
		}
	}
	if (dir != NULL) {
		(void)closedir(dir);
	}
}

/* From memory of its exact size, so that a sanitizer sees a step beyond. */
static void
run_copy(const uint8_t *bytes, size_t length)
{
	uint8_t *copy = malloc(length > 0 ? length : 1);

	if (copy != NULL) {
		memcpy(copy, bytes, length);
		(void)LLVMFuzzerTestOneInput(copy, length);
		free(copy);
	}
}

static void
run_corpus(void)
{
	for (size_t i = 0; i < corpus_count; i++) {
		size_t step = corpus[i].length / 512 + 1;

		for (size_t n = 0; n < corpus[i].length; n += step) {
			run_copy(corpus[i].bytes, n);
		}
		run_copy(corpus[i].bytes, corpus[i].length);
	}
}

static size_t
mutate(struct prng *prng, uint8_t *bytes, size_t length)
{
	static const uint8_t edges[] = { 0, 1, 0x7f, 0x80, 0xff };
	uint32_t changes = 1 + prng_below(prng, 8);

	for (uint32_t i = 0; i < changes && length > 0; i++) {
		size_t at = prng_below(prng, (uint32_t)length);

		switch (prng_below(prng, 4)) {
		case 0:
			bytes[at] ^= (uint8_t)(1u << prng_below(prng, 8));
			break;
		case 1:
			bytes[at] = edges[prng_below(prng, sizeof(edges))];
			break;
		case 2:
			memmove(bytes + at, bytes + at + 1, length - at - 1);
			length--;
			break;
		default:
			bytes[at] = (uint8_t)prng_next(prng);
			break;
		}
	}
	return prng_one_in(prng, 8) && length > 0 ?
	    prng_below(prng, (uint32_t)length) : length;
}

int
main(int argc, char **argv)
{
	static uint8_t bytes[INPUT_BYTES];
	struct plain_test test;
	struct prng prng;
	uint64_t rounds;

	plain_start(&test, argc, argv);
	prng_init(&prng, test.seed);
	rounds = plain_amount(&test, QUICK_ROUNDS, DEEP_ROUNDS);
	(void)signal(SIGABRT, die);
	(void)signal(SIGILL, die);
	(void)signal(SIGTRAP, die);
	load_corpus();
	if (!plain_check(&test, "corpus_is_there", corpus_count > 0,
	    "no file in tests/fuzz/corpus/%s", fuzz_name)) {
		return plain_end(&test);
	}
	run_corpus();
	plain_pass(&test, "corpus");
	for (round_now = 0; round_now < rounds; round_now++) {
		const struct input *from = &corpus[prng_below(&prng,
		    (uint32_t)corpus_count)];

		memcpy(bytes, from->bytes, from->length);
		run_copy(bytes, mutate(&prng, bytes, from->length));
	}
	plain_pass(&test, "mutated");
	for (size_t i = 0; i < corpus_count; i++) {
		free(corpus[i].bytes);
	}
	return plain_end(&test);
}
