/* SPDX-License-Identifier: ISC */

/*
 * What the handlers of weir-ctl print their results through: rows of named
 * cells, shown by one of two renderers.  Results go to the stream given at
 * creation; messages never pass here.  One thread.
 */
#ifndef OUTPUT_H
#define OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum cell_kind {
	CELL_TEXT,
	CELL_COUNT,
	CELL_RATIO,		/* a fraction; six digits are shown */
};

struct cell {
	enum cell_kind	kind;
	const char	*text;		/* only read during the call */
	uint64_t	count;
	double		ratio;
};

static inline struct cell
cell_text(const char *text)
{
	return (struct cell){ .kind = CELL_TEXT, .text = text };
}

static inline struct cell
cell_count(uint64_t count)
{
	return (struct cell){ .kind = CELL_COUNT, .count = count };
}

static inline struct cell
cell_ratio(double ratio)
{
	return (struct cell){ .kind = CELL_RATIO, .ratio = ratio };
}

/* How text shows a result; JSON shows both alike. */
enum output_layout {
	LAYOUT_TABLE,		/* a line for a row, aligned columns */
	LAYOUT_RECORD,		/* a line for a cell, led by its name */
};

/*
 * A result is begin, any rows, end; nothing is printed before end.  Each
 * returns false if memory is short or, at end, if the stream fails; the
 * result is then dropped, and the next begin starts afresh.
 */
struct output_ops {
	bool	(*begin)(void *state, enum output_layout layout,
		    const char *const *names, size_t count);
	bool	(*row)(void *state, const struct cell *cells);
	bool	(*end)(void *state);
	void	(*destroy)(void *state);
};

struct output {
	const struct output_ops *ops;
	void		*state;
};

/* False if memory is short.  The stream stays the caller's. */
bool	output_text_init(struct output *out, FILE *stream);
bool	output_json_init(struct output *out, FILE *stream);

static inline void
output_fini(struct output *out)
{
	out->ops->destroy(out->state);
}

/* names and its strings must live until end. */
static inline bool
output_begin(struct output *out, enum output_layout layout,
    const char *const *names, size_t count)
{
	return out->ops->begin(out->state, layout, names, count);
}

/* As many cells as names. */
static inline bool
output_row(struct output *out, const struct cell *cells)
{
	return out->ops->row(out->state, cells);
}

static inline bool
output_end(struct output *out)
{
	return out->ops->end(out->state);
}

#endif
