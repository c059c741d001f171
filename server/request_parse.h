/* SPDX-License-Identifier: ISC */

/*
 * The bodies of requests, from bytes that a client sent to numbers whose
 * lengths were checked.  Pure; workers call, for frames and for records of
 * the ring.  Pointers in a result point into the body.
 *
 * A function that returns false found lengths that contradict each other or
 * a number outside its enumeration.  Limits of keys and tags are left to
 * those who store, so that they get their own results.
 */
#ifndef REQUEST_PARSE_H
#define REQUEST_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clock.h"
#include "epoch.h"
#include "layout.h"
#include "protocol.h"
#include "write.h"

/* The longest beginning of a SET, up to the value, that can be right. */
#define REQUEST_SET_PREFIX_MAX \
	(WIRE_SET_BYTES + TAGS_MAX * 8u + KEY_MAX_BYTES)

struct request_hello {
	uint32_t	protocol;
	uint32_t	pid;		/* as the client sees itself */
	const char	*name;		/* not terminated */
	uint16_t	name_length;
	uint64_t	holder;		/* of the connection before; 0 none */
	uint64_t	secret;
};

struct request_set {
	struct wire_set	head;
	uint64_t	tags[TAGS_MAX];
	const uint8_t	*key;
	const uint8_t	*value;
};

struct request_delete {
	uint64_t	version;
	const uint8_t	*key;
	size_t		key_length;
};

struct request_touch {
	uint64_t	ttl_ms;
	uint64_t	soft_ttl_ms;
	const uint8_t	*key;
	size_t		key_length;
};

struct request_counter {
	int64_t		delta;
	int64_t		initial;
	uint64_t	ttl_ms;
	bool		create;
	const uint8_t	*key;
	size_t		key_length;
};

struct request_purge {
	enum purge_what	what;
	enum epoch_kind	how;
	uint64_t	tag_hash;
};

bool	request_parse_hello(const uint8_t *body, size_t length,
    struct request_hello *hello);

/*
 * The fixed part of a SET whose body has length bytes: how long is the part
 * before the value?  TOO_MANY_TAGS, KEY_INVALID; INVALID: the lengths do not
 * add up, or when is none of ours.
 */
enum result request_parse_set_head(const uint8_t in[WIRE_SET_BYTES],
    uint64_t length, struct wire_set *head, size_t *prefix_bytes);

/* A whole SET.  Results as above. */
enum result request_parse_set(const uint8_t *body, size_t length,
    struct request_set *set);

/* Tags are 8 bytes each and lie anywhere. */
void	request_copy_tags(uint64_t tags[TAGS_MAX], const uint8_t *from,
    unsigned tag_count);

bool	request_parse_delete(const uint8_t *body, size_t length,
    struct request_delete *delete);
bool	request_parse_touch(const uint8_t *body, size_t length,
    struct request_touch *touch);
bool	request_parse_counter(const uint8_t *body, size_t length,
    struct request_counter *counter);
bool	request_parse_purge(const uint8_t *body, size_t length,
    struct request_purge *purge);

/* The moment that a time to live ends: UINT64_MAX for 0, and for too far. */
static inline uint64_t
request_expiry_ms(struct boot_ms now, uint64_t ttl_ms)
{
	return ttl_ms == 0 || ttl_ms > UINT64_MAX - now.ms ? UINT64_MAX :
	    now.ms + ttl_ms;
}

/*
 * What is to be stored, from a SET that arrived at now; the key and the
 * value are the caller's to fill in.
 */
struct entry_spec request_set_spec(const struct pool *pool,
    const struct wire_set *head, const uint64_t *tags, struct boot_ms now);

#endif
