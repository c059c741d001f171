/* SPDX-License-Identifier: ISC */

/*
 * What fetch.c, the fresh hit, shares with fetch_slow.c, all the rest.
 */
#ifndef FETCH_H
#define FETCH_H

#include "get.h"
#include "weir.h"

struct fetch {
	struct weir	*handle;
	const void	*key;
	size_t		key_length;
	void		*buffer;
	size_t		size;
	void		**copy;		/* weir_fetch_dup(); else NULL */
	const struct weir_fetch_options *options;
	weir_compute_fn	compute;
	void		*arg;
	struct weir_fetched *fetched;
	struct get_look	look;
	int		result;		/* of the last look */
	bool		waited;
	bool		early;		/* found, and to be refreshed */
};

/* Look the value up, once. */
void	fetch_look(struct fetch *fetch);

/* Say that it is there, as found. */
int	fetch_take_found(struct fetch *fetch, enum weir_source source,
    int why);

/* Anything but a fresh hit that is to be served and no more. */
int	fetch_slowly(struct fetch *fetch);

/* A fresh hit that may be refreshed or renewed, or not be served. */
int	fetch_tended(struct fetch *fetch);

#endif
