/* SPDX-License-Identifier: ISC */

/*
 * S3-FIFO over single objects: the reference that the extent-based policy
 * is measured against.  A small queue of 10%, a main queue of the rest, a
 * ghost queue of object numbers worth 90% of the capacity.  A hit counts up
 * to 3; two hits carry an object from small to main, one keeps it in main.
 */
#include "sim_policy.h"

#include <stdlib.h>

#include "sim_list.h"

#define SMALL_SHARE_PCT	10u
#define GHOST_SHARE_PCT	90u
#define MOVE_TO_MAIN	2u
#define COUNT_MAX	3u

/* The mark of a node: which queue, and its count above the low two bits. */
enum {
	ABSENT,
	IN_SMALL,
	IN_MAIN,
	IN_GHOST,
};
#define WHERE_MASK	3u
#define COUNT_ONE	4u

struct s3fifo {
	uint64_t	capacity;
	uint64_t	small_capacity;
	uint64_t	main_capacity;
	uint64_t	ghost_capacity;
	struct sim_list	small;
	struct sim_list	main;
	struct sim_list	ghost;
	struct sim_nodes nodes;
};

static uint64_t
share(uint64_t capacity, unsigned pct)
{
	return capacity / 100 * pct + capacity % 100 * pct / 100;
}

static void *
create(const struct sim_setup *setup)
{
	struct s3fifo *s3 = calloc(1, sizeof(*s3));

	if (s3 != NULL) {
		s3->capacity = setup->capacity;
		s3->small_capacity = share(setup->capacity, SMALL_SHARE_PCT);
		s3->main_capacity = s3->capacity - s3->small_capacity;
		s3->ghost_capacity = share(setup->capacity, GHOST_SHARE_PCT);
		sim_list_init(&s3->small);
		sim_list_init(&s3->main);
		sim_list_init(&s3->ghost);
	}
	return s3;
}

static void
destroy(void *policy)
{
	struct s3fifo *s3 = policy;

	free(s3->nodes.at);
	free(s3);
}

static bool
grow(void *policy, uint32_t count)
{
	struct s3fifo *s3 = policy;

	return sim_nodes_grow(&s3->nodes, count);
}

static void
drop(struct s3fifo *s3, struct sim_list *from, uint32_t object)
{
	sim_list_remove(from, &s3->nodes, object);
	s3->nodes.at[object].mark = ABSENT;
}

static void
append(struct s3fifo *s3, struct sim_list *to, uint32_t object,
    uint32_t mark)
{
	s3->nodes.at[object].mark = mark;
	sim_list_push(to, &s3->nodes, object);
}

static void
append_ghost(struct s3fifo *s3, uint32_t object)
{
	uint64_t size = s3->nodes.at[object].size;

	if (size > s3->ghost_capacity) {
		return;
	}
	while (s3->ghost.bytes + size > s3->ghost_capacity) {
		drop(s3, &s3->ghost, s3->ghost.tail);
	}
	append(s3, &s3->ghost, object, IN_GHOST);
}

static void
evict_small(struct s3fifo *s3)
{
	while (s3->small.tail != SIM_NONE) {
		uint32_t object = s3->small.tail;
		uint32_t count = s3->nodes.at[object].mark / COUNT_ONE;

		drop(s3, &s3->small, object);
		if (count < MOVE_TO_MAIN) {
			append_ghost(s3, object);
			return;
		}
		append(s3, &s3->main, object, IN_MAIN);
	}
}

static void
evict_main(struct s3fifo *s3)
{
	while (s3->main.tail != SIM_NONE) {
		uint32_t object = s3->main.tail;
		uint32_t count = s3->nodes.at[object].mark / COUNT_ONE;

		drop(s3, &s3->main, object);
		if (count == 0) {
			return;
		}
		append(s3, &s3->main, object,
		    IN_MAIN + (count - 1) * COUNT_ONE);
	}
}

static void
make_room(struct s3fifo *s3, uint32_t size)
{
	while (s3->small.bytes + s3->main.bytes + size > s3->capacity) {
		if (s3->main.bytes > s3->main_capacity ||
		    s3->small.tail == SIM_NONE) {
			evict_main(s3);
		} else {
			evict_small(s3);
		}
	}
}

static void
insert(struct s3fifo *s3, const struct sim_request *request, bool was_ghost)
{
	struct sim_node *node = &s3->nodes.at[request->object];

	/* Larger than small is not cached at all, the reference's rule. */
	if (request->size > s3->small_capacity ||
	    request->size > s3->capacity) {
		return;
	}
	make_room(s3, request->size);
	node->size = request->size;
	if (was_ghost) {
		append(s3, &s3->main, request->object, IN_MAIN);
	} else {
		append(s3, &s3->small, request->object, IN_SMALL);
	}
}

/* Returns 1 for a miss. */
static uint64_t
access_object(struct s3fifo *s3, const struct sim_request *request)
{
	struct sim_node *node = &s3->nodes.at[request->object];
	uint32_t where = node->mark & WHERE_MASK;

	if (where == IN_SMALL || where == IN_MAIN) {
		if (node->mark / COUNT_ONE < COUNT_MAX) {
			node->mark += COUNT_ONE;
		}
		sim_list_resize(where == IN_SMALL ? &s3->small : &s3->main,
		    &s3->nodes, request->object, request->size);
		return 0;
	}
	if (where == IN_GHOST) {
		drop(s3, &s3->ghost, request->object);
	}
	insert(s3, request, where == IN_GHOST);
	return 1;
}

static uint64_t
replay(void *policy, const struct sim_request *requests, size_t count)
{
	uint64_t misses = 0;

	for (size_t i = 0; i < count; i++) {
		misses += access_object(policy, &requests[i]);
	}
	return misses;
}

const struct sim_ops sim_s3fifo = {
	.name = "s3fifo",
	.help = "S3-FIFO over single objects, the reference",
	.create = create,
	.destroy = destroy,
	.grow = grow,
	.replay = replay,
};
