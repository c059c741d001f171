/* SPDX-License-Identifier: ISC */

/*
 * The order of the sources of a configuration: built-in, file, command
 * line, and at last what stands for values that nobody gave.
 */
#include "config_load.h"

#include <pwd.h>
#include <stdio.h>

#include "config_parse.h"

static void
apply_options(struct config_draft *draft, const struct options *options)
{
	const struct {
		const char	*text;
		enum config_option_index option;
		char		letter;
	} given[] = {
		{ options->workers, CONFIG_OPTION_workers, 'w' },
		{ options->admin_listen, CONFIG_OPTION_admin_listen, 'a' },
		{ options->log_level, CONFIG_OPTION_log_level, 'l' },
		{ options->socket_dir, CONFIG_OPTION_socket_dir, 's' },
	};

	for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++) {
		if (given[i].text != NULL) {
			config_draft_set(draft, given[i].option,
			    given[i].text,
			    CONFIG_SOURCE_OF_OPTION(given[i].letter));
		}
	}
}

static void
apply_builtin_pool(struct config_draft *draft, const char *memory)
{
	uint32_t source = CONFIG_SOURCE_OF_OPTION('m');
	uint32_t pool;

	if (draft->config.pool_count != 0) {
		if (memory != NULL) {
			config_draft_add_error(draft, source, "is for the "
			    "built-in pool, but %s has pools of its own",
			    draft->config.file);
		}
		return;
	}
	pool = config_draft_find_pool(draft, CONFIG_BUILTIN_POOL,
	    CONFIG_SOURCE_BUILTIN);
	config_draft_set_pool(draft, pool, CONFIG_POOL_OPTION_memory,
	    memory != NULL ? memory : CONFIG_BUILTIN_POOL_MEMORY,
	    memory != NULL ? source : CONFIG_SOURCE_BUILTIN);
}

bool
config_load(struct config_draft *draft, const struct options *options)
{
	config_draft_init(draft);
	if (options->file != NULL) {
		config_parse_file(draft, options->file);
	}
	apply_options(draft, options);
	apply_builtin_pool(draft, options->memory);
	for (uint32_t i = 0; i < draft->config.origin_count; i++) {
		origin_config_derive(&draft->config.origins[i].config);
	}
	if (draft->config.user[0] == '\0') {
		(void)snprintf(draft->config.user, sizeof(draft->config.user),
		    "%s", getpwnam("_weir") != NULL ? "_weir" : "nobody");
	}
	config_check(draft);
	return draft->error_count == 0;
}
