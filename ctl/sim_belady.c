/* SPDX-License-Identifier: ISC */

/*
 * Belady's rule: evict what is asked for again last.  It needs the future
 * (the trace's next access), so it is the limit, not a policy.
 */
#include "sim_policy.h"

#include <stdlib.h>
#include <string.h>

struct object {
	int64_t		next;
	uint32_t	size;
	uint32_t	place;		/* in the heap, from 1; 0 = absent */
};

/* A binary max-heap of object numbers by next access; heap[0] is unused. */
struct belady {
	uint64_t	capacity;
	uint64_t	bytes;
	struct object	*objects;
	uint32_t	*heap;
	uint32_t	object_count;
	uint32_t	heap_count;
};

static void *
create(const struct sim_setup *setup)
{
	struct belady *belady = calloc(1, sizeof(*belady));

	if (belady != NULL) {
		belady->capacity = setup->capacity;
	}
	return belady;
}

static void
destroy(void *policy)
{
	struct belady *belady = policy;

	free(belady->objects);
	free(belady->heap);
	free(belady);
}

static bool
grow(void *policy, uint32_t count)
{
	struct belady *belady = policy;
	struct object *objects;
	uint32_t *heap;

	if (count <= belady->object_count) {
		return true;
	}
	objects = reallocarray(belady->objects, count, sizeof(*objects));
	if (objects == NULL) {
		return false;
	}
	belady->objects = objects;
	heap = reallocarray(belady->heap, (size_t)count + 1, sizeof(*heap));
	if (heap == NULL) {
		return false;
	}
	belady->heap = heap;
	memset(objects + belady->object_count, 0,
	    (size_t)(count - belady->object_count) * sizeof(*objects));
	belady->object_count = count;
	return true;
}

static void
place_object(struct belady *belady, uint32_t place, uint32_t object)
{
	belady->heap[place] = object;
	belady->objects[object].place = place;
}

static void
sift_up(struct belady *belady, uint32_t object)
{
	uint32_t place = belady->objects[object].place;
	int64_t next = belady->objects[object].next;

	while (place > 1 &&
	    belady->objects[belady->heap[place / 2]].next < next) {
		place_object(belady, place, belady->heap[place / 2]);
		place /= 2;
	}
	place_object(belady, place, object);
}

static void
sift_down(struct belady *belady, uint32_t object)
{
	uint64_t place = belady->objects[object].place;
	int64_t next = belady->objects[object].next;

	while (place * 2 <= belady->heap_count) {
		uint64_t child = place * 2;

		if (child < belady->heap_count &&
		    belady->objects[belady->heap[child + 1]].next >
		    belady->objects[belady->heap[child]].next) {
			child++;
		}
		if (belady->objects[belady->heap[child]].next <= next) {
			break;
		}
		place_object(belady, (uint32_t)place, belady->heap[child]);
		place = child;
	}
	place_object(belady, (uint32_t)place, object);
}

static void
evict(struct belady *belady)
{
	uint32_t victim = belady->heap[1];
	uint32_t last = belady->heap[belady->heap_count--];

	belady->bytes -= belady->objects[victim].size;
	belady->objects[victim].place = 0;
	if (last != victim) {
		belady->objects[last].place = 1;
		sift_down(belady, last);
	}
}

static void
insert(struct belady *belady, const struct sim_request *request)
{
	struct object *object = &belady->objects[request->object];

	if (request->size > belady->capacity) {
		return;
	}
	while (belady->bytes + request->size > belady->capacity) {
		evict(belady);
	}
	belady->bytes += request->size;
	object->size = request->size;
	object->next = request->next;
	object->place = ++belady->heap_count;
	sift_up(belady, request->object);
}

static uint64_t
replay(void *policy, const struct sim_request *requests, size_t count)
{
	struct belady *belady = policy;
	uint64_t misses = 0;

	for (size_t i = 0; i < count; i++) {
		const struct sim_request *request = &requests[i];
		struct object *object = &belady->objects[request->object];

		if (object->place == 0) {
			misses++;
			insert(belady, request);
			continue;
		}
		belady->bytes += request->size;
		belady->bytes -= object->size;
		object->size = request->size;
		/* Down only if the file contradicts itself. */
		object->next = request->next;
		sift_up(belady, request->object);
		sift_down(belady, request->object);
	}
	return misses;
}

const struct sim_ops sim_belady = {
	.name = "belady",
	.help = "the limit: evicts what is asked for again last",
	.create = create,
	.destroy = destroy,
	.grow = grow,
	.replay = replay,
};
