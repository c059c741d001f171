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

struct json_t;

enum cell_kind {
	CELL_TEXT,
	CELL_COUNT,
	CELL_RATIO,		/* a fraction; six digits are shown */
	CELL_BYTES,		/* people see KiB, MiB */
	CELL_MS,		/* a duration; people see s, min, h, d */
	CELL_PERCENT,		/* a ratio; people see it times 100 */
	CELL_NONE,		/* there is no value */
};

/* How a text looks where there are colours. */
enum cell_tone {
	TONE_PLAIN,
	TONE_GOOD,
	TONE_WARN,
	TONE_BAD,
};

struct cell {
	enum cell_kind	kind;
	enum cell_tone	tone;		/* of a text */
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

static inline struct cell
cell_toned(const char *text, enum cell_tone tone)
{
	return (struct cell){
		.kind = CELL_TEXT, .text = text, .tone = tone,
	};
}

static inline struct cell
cell_number(enum cell_kind kind, uint64_t count)
{
	return (struct cell){ .kind = kind, .count = count };
}

/* How text shows a result; JSON shows both alike. */
enum output_layout {
	LAYOUT_TABLE,		/* a line for a row, aligned columns */
	LAYOUT_PROSE,		/* the same, and the last column is wrapped */
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
	/* A blank line between two results of one verb; NULL: no need. */
	void	(*gap)(void *state);
	/* NULL: this renderer wants rows. */
	bool	(*document)(void *state, const struct json_t *document);
	void	(*destroy)(void *state);
};

struct output {
	const struct output_ops *ops;
	void		*state;
};

/*
 * False if memory is short.  The stream stays the caller's.  Text is coloured
 * where the stream is a terminal and NO_COLOR is not set.
 */
bool	output_text_init(struct output *out, FILE *stream);
bool	output_json_init(struct output *out, FILE *stream);

static inline void
output_fini(struct output *out)
{
	out->ops->destroy(out->state);
}

/*
 * Whether a result that is a JSON object already is to be printed as that,
 * by output_document(), and not as rows.
 */
static inline bool
output_wants_document(const struct output *out)
{
	return out->ops->document != NULL;
}

static inline bool
output_document(struct output *out, const struct json_t *document)
{
	return out->ops->document(out->state, document);
}

/* Between two results of one verb. */
static inline void
output_gap(struct output *out)
{
	if (out->ops->gap != NULL) {
		out->ops->gap(out->state);
	}
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
