/* SPDX-License-Identifier: ISC */

/*
 * Lives of a daemon, one after the other, in one process: what the file of
 * permits carries from one to the next.
 */
#include "permit_file.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client_table.h"
#include "control_create.h"
#include "holder.h"
#include "prng.h"

#define POOL		1u
#define SCRIBBLES	300u

static char dir[] = "/tmp/weir-test-XXXXXX";
static char file_path[64];

static void
make_directory(void)
{
	cr_assert_not_null(mkdtemp(dir));
	(void)snprintf(file_path, sizeof(file_path), "%s/" PERMIT_FILE_NAME,
	    dir);
}

static void
remove_directory(void)
{
	(void)unlink(file_path);
	cr_assert_eq(rmdir(dir), 0, "something was left behind");
}

TestSuite(permit_file, .init = make_directory, .fini = remove_directory);

struct life {
	struct config	config;
	struct segment	segment;
	struct control	*control;
	struct permit_file_head *file;
	struct permit_file_counts counts;
	struct origin	origins[2];
	struct boot_ms	now;
};

static bool
describe(void *arg, uint64_t owner, struct origin_caller *caller)
{
	const struct life *life = arg;
	const struct control_client *row = holder_row(life->control, owner);

	cr_assert_not_null(row);
	caller->pid = atomic_load(&row->pid);
	caller->uid = atomic_load(&row->uid);
	caller->pool = atomic_load(&row->pool);
	caller->started = atomic_load(&row->started);
	caller->secret = atomic_load(&row->secret);
	return true;
}

static void
bind_origin(struct life *life, uint32_t index)
{
	const struct origin_door door = { .arg = NULL };
	struct origin_ledger ledger = { .caller = describe, .arg = life };
	uint64_t at = life->control->origin_offsets[index];

	cr_assert(origin_bind(&life->origins[index],
	    (uint8_t *)life->control + at, life->control->bytes - at, index,
	    &door));
	cr_assert(permit_file_ledger(life->file, index, &ledger));
	cr_assert(origin_keep_ledger(&life->origins[index], &ledger));
}

/* With these origins; the second may be NULL. */
static struct life *
begin_life(const char *first, const char *second)
{
	static const uint8_t boot_id[16];
	const char *const names[] = { first, second };
	struct life *life = calloc(1, sizeof(*life));

	cr_assert_not_null(life);
	life->config.workers = 2;
	life->config.max_clients = 8;
	life->config.pool_count = 2;
	life->now = clock_boot_now();
	for (uint32_t i = 0; i < 2 && names[i] != NULL; i++) {
		struct config_origin *origin = &life->config.origins[i];

		memcpy(origin->name, names[i], strlen(names[i]) + 1);
		origin_config_init(&origin->config);
		life->config.origin_count++;
	}
	cr_assert_eq(control_create(&life->segment, &life->control,
	    &life->config, boot_id, life->now, (struct wall_ms){ 0 }), OK);
	cr_assert_eq(permit_file_create(dir, &life->config, life->control,
	    life->now, &life->file, &life->counts), OK);
	for (uint32_t i = 0; i < life->config.origin_count; i++) {
		bind_origin(life, i);
	}
	return life;
}

static void
end_life(struct life *life)
{
	(void)munmap(life->file, life->file->bytes);
	segment_destroy(&life->segment);
	free(life);
}

struct held {
	struct peer	peer;
	uint64_t	holder;
	uint64_t	secret;
	struct origin_ticket ticket;
};

/* A client of that process, and its call to an origin. */
static struct held
hold(struct life *life, uint32_t origin, pid_t pid)
{
	struct held held = { .peer = { .pid = pid, .uid = getuid() } };
	struct control_client *row;
	struct origin_request request = {
		.class = LIMITER_FOREGROUND,
		.worker = limiter_worker(0, 1),
	};

	cr_assert_eq(client_table_claim(life->control, 0, 1, &held.peer,
	    POOL, life->now, &row), OK);
	held.holder = holder_of_row(life->control, row);
	held.secret = atomic_load(&row->secret);
	request.owner = held.holder;
	cr_assert_eq(origin_acquire(&life->origins[origin], &request, 1,
	    life->now, &held.ticket), ORIGIN_GRANTED);
	return held;
}

static uint32_t
in_flight(struct life *life, uint32_t origin)
{
	struct origin_view view;

	cr_assert_eq(origin_look(&life->origins[origin], life->now, &view),
	    OK);
	cr_assert_eq(origin_verify(&life->origins[origin], life->now), 0);
	return view.in_flight;
}

/* That client is back, and says whose its permits are. */
static enum result
claim(struct life *life, const struct held *held)
{
	struct control_client *row;

	cr_assert_eq(client_table_claim(life->control, 0, 1, &held->peer,
	    POOL, life->now, &row), OK);
	return holder_claim(life->control, 0, 1, &held->peer, held->holder,
	    held->secret, &row);
}

static enum result
give_back(struct life *life, uint32_t origin, const struct held *held)
{
	unsigned events;

	return origin_release(&life->origins[origin], held->ticket.permit,
	    false, held->ticket.token, held->holder, BREAKER_SUCCESS, 1,
	    life->now, &events);
}

Test(permit_file, a_call_counts_in_the_next_life_and_is_claimed)
{
	struct life *life = begin_life("db", NULL);
	struct held held = hold(life, 0, getpid());
	struct held wrong = held;

	end_life(life);
	life = begin_life("db", NULL);
	cr_assert_eq(life->counts.restored, 1);
	cr_assert_not(life->counts.damaged);
	cr_assert_eq(in_flight(life, 0), 1);
	cr_assert_not(holder_is_dead(life->control, held.holder));
	wrong.secret++;
	cr_assert_eq(claim(life, &wrong), DENIED);
	cr_assert_eq(claim(life, &held), OK);
	cr_assert_eq(give_back(life, 0, &held), OK);
	cr_assert_eq(in_flight(life, 0), 0);
	end_life(life);
	life = begin_life("db", NULL);
	cr_assert_eq(life->counts.restored, 0);
	end_life(life);
}

Test(permit_file, a_call_that_nobody_claims_counts_in_a_third_life)
{
	struct life *life = begin_life("db", NULL);
	struct held held = hold(life, 0, getpid());

	for (unsigned i = 0; i < 3; i++) {
		end_life(life);
		life = begin_life("db", NULL);
		cr_assert_eq(in_flight(life, 0), 1, "life %u", i);
	}
	cr_assert_eq(claim(life, &held), OK);
	end_life(life);
}

Test(permit_file, a_process_that_ended_meanwhile_holds_nothing)
{
	struct life *life = begin_life("db", NULL);
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		(void)pause();
		_exit(0);
	}
	(void)hold(life, 0, pid);
	end_life(life);
	cr_assert_eq(kill(pid, SIGKILL), 0);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	life = begin_life("db", NULL);
	cr_assert_eq(life->counts.over, 1);
	cr_assert_eq(in_flight(life, 0), 0);
	end_life(life);
}

/* The file's bytes, changed by the test. */
static struct permit_file_head *
map_file(size_t *bytes)
{
	int fd = open(file_path, O_RDWR | O_CLOEXEC);
	struct stat st;
	void *base;

	cr_assert_geq(fd, 0);
	cr_assert_eq(fstat(fd, &st), 0);
	*bytes = (size_t)st.st_size;
	base = mmap(NULL, *bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	cr_assert_neq(base, MAP_FAILED);
	(void)close(fd);
	return base;
}

Test(permit_file, a_later_process_of_the_number_holds_nothing)
{
	struct life *life = begin_life("db", NULL);
	struct held held = hold(life, 0, getpid());
	struct permit_file_head *file;
	struct origin_ledger ledger = { .arg = NULL };
	size_t bytes;

	end_life(life);
	file = map_file(&bytes);
	cr_assert(permit_file_ledger(file, 0, &ledger));
	ledger.calls[held.ticket.permit - 1].caller.started++;
	(void)munmap(file, bytes);
	life = begin_life("db", NULL);
	cr_assert_eq(life->counts.over, 1);
	cr_assert_eq(in_flight(life, 0), 0);
	end_life(life);
}

Test(permit_file, of_another_run_of_the_kernel_says_nothing)
{
	struct life *life = begin_life("db", NULL);
	struct permit_file_head *file;
	size_t bytes;

	(void)hold(life, 0, getpid());
	end_life(life);
	file = map_file(&bytes);
	file->kernel_id[3] ^= 1;
	(void)munmap(file, bytes);
	life = begin_life("db", NULL);
	cr_assert_eq(life->counts.restored, 0);
	cr_assert_not(life->counts.damaged);
	cr_assert_eq(in_flight(life, 0), 0);
	end_life(life);
}

Test(permit_file, numbers_of_another_space_of_processes_are_not_looked_up)
{
	struct life *life = begin_life("db", NULL);
	struct permit_file_head *file;
	size_t bytes;

	(void)hold(life, 0, INT32_MAX);
	end_life(life);
	file = map_file(&bytes);
	file->pid_space++;
	(void)munmap(file, bytes);
	life = begin_life("db", NULL);
	cr_assert_eq(life->counts.restored, 1, "its time ends it");
	cr_assert_eq(in_flight(life, 0), 1);
	end_life(life);
}

Test(permit_file, of_an_origin_that_is_no_more_says_nothing)
{
	struct life *life = begin_life("db", "web");

	(void)hold(life, 1, getpid());
	end_life(life);
	life = begin_life("db", NULL);
	cr_assert_eq(life->counts.refused, 1);
	cr_assert_eq(in_flight(life, 0), 0);
	end_life(life);
}

Test(permit_file, a_permit_of_an_origin_with_another_number_is_not_claimed)
{
	struct life *life = begin_life("db", "web");
	struct held held = hold(life, 1, getpid());

	end_life(life);
	life = begin_life("web", "db");
	cr_assert_eq(in_flight(life, 0), 1, "it counts where it goes");
	cr_assert_eq(in_flight(life, 1), 0);
	cr_assert_eq(claim(life, &held), DENIED);
	end_life(life);
}

Test(permit_file, is_taken_away_when_nobody_calls)
{
	struct life *life = begin_life("db", NULL);
	struct held held = hold(life, 0, getpid());

	permit_file_close(life->file);
	permit_file_clean_up(dir, life->file);
	cr_assert_eq(access(file_path, F_OK), 0, "somebody calls");
	cr_assert_eq(give_back(life, 0, &held), OK);
	permit_file_clean_up(dir, life->file);
	cr_assert_neq(access(file_path, F_OK), 0);
	permit_file_clean_up(dir, NULL);
	end_life(life);
}

Test(permit_file, that_others_may_write_is_not_believed)
{
	struct life *life = begin_life("db", NULL);

	(void)hold(life, 0, getpid());
	end_life(life);
	cr_assert_eq(chmod(file_path, 0620), 0);
	life = begin_life("db", NULL);
	cr_assert(life->counts.damaged);
	cr_assert_eq(in_flight(life, 0), 0);
	end_life(life);
}

Test(permit_file, cut_short_is_not_believed)
{
	struct life *life = begin_life("db", NULL);
	size_t bytes = life->file->bytes;

	(void)hold(life, 0, getpid());
	end_life(life);
	cr_assert_eq(truncate(file_path, (off_t)bytes - 1), 0);
	life = begin_life("db", NULL);
	cr_assert(life->counts.damaged);
	end_life(life);
	cr_assert_eq(truncate(file_path, 10), 0);
	life = begin_life("db", NULL);
	cr_assert(life->counts.damaged);
	end_life(life);
}

Test(permit_file, may_be_a_link_and_is_not_followed)
{
	struct life *life;
	struct stat st;

	cr_assert_eq(symlink("/etc/passwd", file_path), 0);
	life = begin_life("db", NULL);
	cr_assert(life->counts.damaged);
	cr_assert_eq(lstat(file_path, &st), 0);
	cr_assert(S_ISREG(st.st_mode), "the link gave way to the file");
	end_life(life);
}

/* Whatever it says: the next life is sound. */
Test(permit_file, full_of_anything_leaves_sound_origins)
{
	struct prng prng;

	prng_init(&prng, 20);
	for (unsigned i = 0; i < SCRIBBLES; i++) {
		struct life *life = begin_life("db", "web");
		struct held held = hold(life, 0, getpid());
		struct permit_file_head *file;
		size_t bytes, from, span;

		end_life(life);
		file = map_file(&bytes);
		/* The head, or what lies around the entry in use. */
		from = prng_below(&prng, 2) == 0 ? 0 : (size_t)
		    file->origins[0].offset + (held.ticket.permit - 1) *
		    sizeof(struct origin_ledger_entry);
		span = from == 0 ? sizeof(*file) : 96;
		for (unsigned b = 0; b < 4; b++) {
			((uint8_t *)file)[from + prng_below(&prng,
			    (uint32_t)span)] ^= (uint8_t)(1 + prng_below(
			    &prng, 255));
		}
		(void)munmap(file, bytes);
		life = begin_life("db", "web");
		cr_assert_leq(in_flight(life, 0), 1);
		cr_assert_leq(in_flight(life, 1), 1);
		end_life(life);
		(void)unlink(file_path);
	}
}

Test(permit_file, in_a_directory_that_is_missing_is_an_error,
    .init = NULL, .fini = NULL)
{
	static struct config config = { .max_clients = 1 };
	struct permit_file_counts counts;
	struct permit_file_head *file;

	cr_assert_eq(permit_file_create("/nonexistent", &config, NULL,
	    (struct boot_ms){ 1 }, &file, &counts), SYSTEM);
	cr_assert_eq(errno, ENOENT);
}
