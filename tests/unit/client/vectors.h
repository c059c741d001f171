/* SPDX-License-Identifier: ISC */

/*
 * The frozen bytes of tests/vectors, by name.  Where the test does not run in
 * the tree, the file beside its source is read.
 */
#ifndef VECTORS_H
#define VECTORS_H

#include <stddef.h>
#include <stdint.h>

#include "encode.h"

#define VECTOR_BYTES_MAX	512

/* Its length; a name that is not there fails the test. */
size_t	vector_read(const char *name, uint8_t bytes[VECTOR_BYTES_MAX]);

void	vector_expect(const char *name, const uint8_t *made, size_t length);

/* The request, encoded without a pool, is these bytes. */
void	vector_expect_request(const char *name,
    const struct request *request, uint64_t id, uint64_t ring_tail);

/* An answer with that body is these bytes. */
void	vector_expect_answer(const char *name, enum frame_type type,
    uint64_t id, int status, const void *body, size_t length);

#endif
