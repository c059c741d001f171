/* SPDX-License-Identifier: ISC */

/*
 * LEASE, PERMIT and what ends them, for a client's session.  Workers.
 *
 *	         begin          granted
 *	LEASE -----------> permit -----> LEAD, ALONE
 *	   |   joined         | place
 *	   '--------> FLIGHT  '-------> PLACE
 *
 * An ask is a request on its way: it is answered once, then it is gone.  A
 * leader whose permit is refused ends its flight for a reason that is the
 * origin's, and hands it over for one that is its own.  What a connection
 * leads is kept in a list, so that its end hands all of it over at once.
 */
#ifndef LEASE_SESSION_H
#define LEASE_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "connection.h"
#include "event_loop.h"
#include "lease.h"
#include "origin.h"
#include "pool.h"
#include "protocol.h"

#define ASK_LEADS_MAX	64u	/* of a connection, in their time */
#define ASK_LEADS_TEXT	"the connection holds as many leases as it may"
#define ASK_WAITS_MAX	1024u	/* of a connection */

enum ask_state {
	ASK_NEW,
	ASK_FLIGHT,
	ASK_PLACE,
};

struct flight_group;

struct ask {
	LIST_ENTRY(ask)	of_connection;
	LIST_ENTRY(ask)	of_group;	/* or of a row of places */
	struct connection *conn;
	struct frame	frame;
	struct wire_lease want;
	enum ask_state	state;
	bool		in_frame;	/* its connection has its turn now */
	bool		leads;		/* lease is led */
	bool		alone;		/* computes without a flight */
	bool		counted;	/* the origin has its miss and hits */
	struct flight_group *group;
	struct event_timer timer;
	uint64_t	deadline_ms;	/* of the whole wait */
	struct lease	lease;
	struct origin	*origin;	/* NULL: none */
	struct origin_ticket ticket;
	struct key	key;
	uint8_t		key_bytes[];
};

LIST_HEAD(ask_list, ask);

/* What was granted to the connection: a lease, a permit, or both. */
struct led {
	LIST_ENTRY(led)	link;
	uint64_t	id;		/* of the request */
	bool		has_lease;
	struct lease	lease;
	struct wire_permit permit;	/* number 0: none */
	uint64_t	permit_until_ms; /* it is overdue then */
};

LIST_HEAD(led_list, led);

/* The part of a session that is this file's. */
struct lease_session {
	uint64_t	holder;
	bool		claimed;	/* an earlier connection's, too */
	bool		claim_unread;	/* no frame came after it */
	uint32_t	leads;		/* leases in led */
	uint32_t	waits;
	uint64_t	origins_used;	/* a bit each */
	struct ask_list	asks;
	struct led_list	led;
	uint32_t	led_count;
	uint32_t	led_drop_at;	/* then late ones are looked for */
};

void	lease_session_begin(struct lease_session *session, uint64_t holder);

/* LEASE, PERMIT, ABANDON; lease_end.c has what ends them. */
void	lease_session_ask(struct connection *conn, const struct frame *frame,
    const uint8_t *body);
void	lease_session_abandon(struct connection *conn,
    const struct frame *frame, const uint8_t *body);

/* The connection ends; its row of the client table is released already. */
void	lease_session_end(struct connection *conn);

/*
 * Give back what was granted, by the number of its request or all of it;
 * lease: the flight goes to another.
 */
void	lease_session_give_back(struct connection *conn, struct led *led);

/* What was granted with that token; NULL: not over this connection. */
struct led *lease_session_find(struct connection *conn, uint64_t token,
    const struct wire_permit *permit);
void	lease_session_forget(struct connection *conn, struct led *led);

/*
 * Remember it: takes it over.  Those whose time is over, which nobody ended,
 * are forgotten now and then, so that the list is as long as what is held.
 */
void	lease_session_note(struct connection *conn, struct led *led,
    struct boot_ms now);

/*
 * Room for one more lease: those that wait for a place in the queue are
 * counted as waits, for their time has not begun.
 */
bool	lease_session_may_hold(struct connection *conn, struct boot_ms now);

/* Forget leases and permits whose time is over: they are others'. */
void	lease_session_drop_late(struct connection *conn, struct boot_ms now);

/* For waiters.c: go on. */
void	ask_again(struct ask *ask);		/* from the beginning */
void	ask_led(struct ask *ask);		/* it leads now: its permit */
void	ask_ended(struct ask *ask, const struct flight_ending *ending);
void	ask_collect_place(struct ask *ask);

#endif
