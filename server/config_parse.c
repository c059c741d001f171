/* SPDX-License-Identifier: ISC */

/*
 * The configuration file through libconfuse.  The supervisor alone.
 *
 * The library stops at the first unknown name and knows values by their
 * type alone.  So every option is a text to it, judged by our own tables as
 * it comes by; and an unknown name is written down, added to the grammar as
 * an option without meaning, and the text parsed once more.
 *
 * The library also takes the end of the file for the end of a section.  A
 * last line of ours, known at the top level alone, tells whether it was.
 */
#include "config_parse.h"

#include "config_file.h"

#include <confuse.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Unknown names in one file that are still listed, at each level. */
#define UNKNOWN_MAX	16
#define NAME_BYTES	64
/* No option, so that a file cannot hold it by chance. */
#define LAST_NAME	"end-of-the-file"
#define LAST_LINE	"\n" LAST_NAME " = 1\n"

struct unknown {
	char		name[NAME_BYTES];
	enum config_level level;
	uint32_t	line;
};

/* Of the parse under way. */
static struct {
	struct config_draft *draft;
	struct unknown	unknown[UNKNOWN_MAX];
	uint32_t	unknown_count;
	bool		again;		/* a name was added to the grammar */
	char		syntax[CONFIG_ERROR_BYTES];
	uint32_t	syntax_line;
	uint32_t	line_count;	/* of the file, without ours */
} parse;

static void
note_error(cfg_t *cfg, const char *format, va_list args)
{
	char text[CONFIG_ERROR_BYTES];
	struct unknown *unknown = &parse.unknown[parse.unknown_count];

	(void)vsnprintf(text, sizeof(text), format, args);
	if (parse.unknown_count < UNKNOWN_MAX &&
	    sscanf(text, "no such option '%63[^']'", unknown->name) == 1 &&
	    strcmp(unknown->name, LAST_NAME) != 0) {
		unknown->level = strcmp(cfg->name, "pool") == 0 ?
		    CONFIG_LEVEL_POOL : strcmp(cfg->name, "origin") == 0 ?
		    CONFIG_LEVEL_ORIGIN : CONFIG_LEVEL_TOP;
		unknown->line = (uint32_t)cfg->line;
		parse.unknown_count++;
		parse.again = true;
		return;
	}
	(void)snprintf(parse.syntax, sizeof(parse.syntax), "%s",
	    strstr(text, LAST_NAME) == NULL ? text :
	    "the file ends before its last section does");
	parse.syntax_line = (uint32_t)cfg->line < parse.line_count ?
	    (uint32_t)cfg->line : parse.line_count;
}

static int
find_option(const struct config_option *table, int count, const char *name)
{
	for (int i = 0; i < count; i++) {
		if (strcmp(table[i].name, name) == 0) {
			return i;
		}
	}
	return -1;
}

/* Called when a line of the top level has been read. */
static int
take_option(cfg_t *cfg, cfg_opt_t *opt)
{
	int option = find_option(config_options, CONFIG_OPTIONS, opt->name);
	uint32_t line = (uint32_t)cfg->line;

	if (option < 0) {
		return 0;
	}
	if (parse.draft->sources[option] != CONFIG_SOURCE_BUILTIN) {
		config_draft_add_error(parse.draft, line,
		    "%s: is set in line %u already", opt->name,
		    parse.draft->sources[option]);
		return 0;
	}
	config_draft_set(parse.draft, (enum config_option_index)option,
	    cfg_opt_getstr(opt), line);
	return 0;
}

/* Called for each member of a list, and at its end. */
static void
take_list(cfg_opt_t *opt, uint32_t pool,
    enum config_pool_option_index option, uint32_t line)
{
	config_draft_clear_list(parse.draft, pool, option, line);
	for (unsigned i = 0; i < cfg_opt_size(opt); i++) {
		config_draft_set_pool(parse.draft, pool, option,
		    cfg_opt_getnstr(opt, i), line);
	}
}

static int
take_pool_option(cfg_t *cfg, cfg_opt_t *opt)
{
	int found = find_option(config_pool_options, CONFIG_POOL_OPTIONS,
	    opt->name);
	enum config_pool_option_index option =
	    (enum config_pool_option_index)found;
	uint32_t line = (uint32_t)cfg->line;
	uint32_t pool;

	if (found < 0) {
		return 0;
	}
	pool = config_draft_find_pool(parse.draft, cfg->title, line);
	if (pool == CONFIG_POOLS_MAX) {
		return 0;
	}
	if (option_is_list(&config_pool_options[option])) {
		take_list(opt, pool, option, line);
	} else if (parse.draft->pool_sources[pool][option] !=
	    CONFIG_SOURCE_BUILTIN) {
		config_draft_add_error(parse.draft, line,
		    "pool %s: %s: is set in line %u already", cfg->title,
		    opt->name, parse.draft->pool_sources[pool][option]);
	} else {
		config_draft_set_pool(parse.draft, pool, option,
		    cfg_opt_getstr(opt), line);
	}
	return 0;
}

/*
 * Called at the end of a section: one without options is a pool as well, and
 * a list without members has not come by.
 */
static int
take_pool(cfg_t *cfg, cfg_opt_t *opt)
{
	cfg_t *section = cfg_opt_getnsec(opt, cfg_opt_size(opt) - 1);
	uint32_t line = (uint32_t)cfg->line;
	uint32_t pool = config_draft_find_pool(parse.draft, section->title,
	    line);

	for (int i = 0; i < CONFIG_POOL_OPTIONS; i++) {
		cfg_opt_t *list = cfg_getopt(section,
		    config_pool_options[i].name);

		if (pool != CONFIG_POOLS_MAX && list != NULL &&
		    option_is_list(&config_pool_options[i]) &&
		    (list->flags & CFGF_MODIFIED) != 0 &&
		    cfg_opt_size(list) == 0) {
			config_draft_clear_list(parse.draft, pool,
			    (enum config_pool_option_index)i, line);
		}
	}
	return 0;
}

static int
take_origin_option(cfg_t *cfg, cfg_opt_t *opt)
{
	int option = find_option(config_origin_options, CONFIG_ORIGIN_OPTIONS,
	    opt->name);
	uint32_t line = (uint32_t)cfg->line;
	uint32_t origin;

	if (option < 0) {
		return 0;
	}
	origin = config_draft_find_origin(parse.draft, cfg->title, line);
	if (origin == ORIGINS_MAX) {
		return 0;
	}
	if (parse.draft->origin_sources[origin][option] !=
	    CONFIG_SOURCE_BUILTIN) {
		config_draft_add_error(parse.draft, line,
		    "origin %s: %s: is set in line %u already", cfg->title,
		    opt->name, parse.draft->origin_sources[origin][option]);
	} else {
		config_draft_set_origin(parse.draft, origin,
		    (enum config_origin_option_index)option,
		    cfg_opt_getstr(opt), line);
	}
	return 0;
}

/* Called at the end of a section: one without options is one as well. */
static int
take_origin(cfg_t *cfg, cfg_opt_t *opt)
{
	const cfg_t *section = cfg_opt_getnsec(opt, cfg_opt_size(opt) - 1);

	(void)config_draft_find_origin(parse.draft, section->title,
	    (uint32_t)cfg->line);
	return 0;
}

static cfg_opt_t
make_option(const char *name, bool list, cfg_validate_callback_t take)
{
	cfg_opt_t text = CFG_STR(name, NULL, CFGF_NODEFAULT);
	cfg_opt_t texts = CFG_STR_LIST(name, NULL, CFGF_NODEFAULT);
	cfg_opt_t opt = list ? texts : text;

	opt.validcb = take;
	return opt;
}

static cfg_opt_t
make_section(const char *name, cfg_opt_t *options,
    cfg_validate_callback_t take)
{
	cfg_opt_t section = CFG_SEC(name, options,
	    CFGF_MULTI | CFGF_TITLE | CFGF_NO_TITLE_DUPES);

	section.validcb = take;
	return section;
}

struct grammar {
	cfg_opt_t	pool[CONFIG_POOL_OPTIONS + UNKNOWN_MAX + 1];
	cfg_opt_t	origin[CONFIG_ORIGIN_OPTIONS + UNKNOWN_MAX + 1];
	cfg_opt_t	top[CONFIG_OPTIONS + UNKNOWN_MAX + 4];
};

static void
make_grammar(struct grammar *grammar)
{
	cfg_opt_t end = CFG_END();
	cfg_opt_t *at[] = {
		[CONFIG_LEVEL_TOP] = grammar->top,
		[CONFIG_LEVEL_POOL] = grammar->pool,
		[CONFIG_LEVEL_ORIGIN] = grammar->origin,
	};

	for (int i = 0; i < CONFIG_POOL_OPTIONS; i++) {
		*at[CONFIG_LEVEL_POOL]++ = make_option(
		    config_pool_options[i].name,
		    option_is_list(&config_pool_options[i]),
		    take_pool_option);
	}
	for (int i = 0; i < CONFIG_ORIGIN_OPTIONS; i++) {
		*at[CONFIG_LEVEL_ORIGIN]++ = make_option(
		    config_origin_options[i].name, false, take_origin_option);
	}
	for (int i = 0; i < CONFIG_OPTIONS; i++) {
		*at[CONFIG_LEVEL_TOP]++ = make_option(config_options[i].name,
		    false, take_option);
	}
	for (uint32_t i = 0; i < parse.unknown_count; i++) {
		*at[parse.unknown[i].level]++ = make_option(
		    parse.unknown[i].name, true, NULL);
	}
	*at[CONFIG_LEVEL_POOL] = end;
	*at[CONFIG_LEVEL_ORIGIN] = end;
	*at[CONFIG_LEVEL_TOP]++ = make_option(LAST_NAME, false, NULL);
	*at[CONFIG_LEVEL_TOP]++ = make_section("pool", grammar->pool,
	    take_pool);
	*at[CONFIG_LEVEL_TOP]++ = make_section("origin", grammar->origin,
	    take_origin);
	*at[CONFIG_LEVEL_TOP] = end;
}

/* Once; false if there was an unknown name and it is worth another try. */
static bool
parse_once(const char *text)
{
	struct grammar grammar;
	cfg_t *cfg;

	make_grammar(&grammar);
	parse.again = false;
	parse.syntax[0] = '\0';
	cfg = cfg_init(grammar.top, CFGF_NONE);
	if (cfg == NULL) {
		(void)snprintf(parse.syntax, sizeof(parse.syntax),
		    "out of memory");
		return true;
	}
	(void)cfg_set_error_function(cfg, note_error);
	if (cfg_parse_buf(cfg, text) != CFG_SUCCESS && !parse.again &&
	    parse.syntax[0] == '\0') {
		(void)snprintf(parse.syntax, sizeof(parse.syntax),
		    "cannot be parsed");
	}
	(void)cfg_free(cfg);
	return !parse.again;
}

static void
add_parse_errors(struct config_draft *draft)
{
	static const char *const levels[] = {
		[CONFIG_LEVEL_TOP] = "", [CONFIG_LEVEL_POOL] = " of a pool",
		[CONFIG_LEVEL_ORIGIN] = " of an origin",
	};

	for (uint32_t i = 0; i < parse.unknown_count; i++) {
		const struct unknown *unknown = &parse.unknown[i];
		const char *near = config_suggest(unknown->name,
		    unknown->level);

		config_draft_add_error(draft, unknown->line,
		    "there is no option %s%s%s%s%s", unknown->name,
		    levels[unknown->level],
		    near != NULL ? ": did you mean " : "",
		    near != NULL ? near : "", near != NULL ? "?" : "");
	}
	if (parse.syntax[0] != '\0') {
		config_draft_add_error(draft, parse.syntax_line, "%s",
		    parse.syntax);
	}
}

/* At least 1: the line of an error in an empty file. */
static uint32_t
count_lines(const char *text)
{
	uint32_t lines = 1;

	for (; *text != '\0'; text++) {
		lines += *text == '\n' && text[1] != '\0';
	}
	return lines;
}

void
config_parse_text(struct config_draft *draft, const char *path,
    const char *text)
{
	struct config_draft *clean = malloc(sizeof(*clean));
	char *whole = NULL;

	(void)snprintf(draft->config.file, sizeof(draft->config.file), "%s",
	    path);
	if (clean == NULL || asprintf(&whole, "%s" LAST_LINE, text) < 0) {
		config_draft_add_error(draft, 0, "out of memory");
		free(clean);
		return;
	}
	*clean = *draft;
	memset(&parse, 0, sizeof(parse));
	parse.draft = draft;
	parse.line_count = count_lines(text);
	while (!parse_once(whole)) {
		*draft = *clean;
	}
	free(whole);
	free(clean);
	add_parse_errors(draft);
}

void
config_parse_file(struct config_draft *draft, const char *path)
{
	char *text = config_file_read(path);

	if (text == NULL) {
		(void)snprintf(draft->config.file, sizeof(draft->config.file),
		    "%s", path);
		config_draft_add_error(draft, 0, "%s: %s", path,
		    strerror(errno));
		return;
	}
	config_parse_text(draft, path, text);
	free(text);
}
