/*
 * spell_paths - arguments of a command that mean something else elsewhere: paths.
 */
#include <limits.h>
#include <stdlib.h>

#include "core/home/project.h"
#include "tools/cadre/cli.h"

/* A text that may also name a workspace is a directory if it looks like one. */
static bool names_directory(const struct field *f, const char *given)
{
	return f->type->given == GIVEN_PATH ||
	       (f->type->given == GIVEN_PLACE && (*given == '.' || *given == '/'));
}

/* Turns a path relative to this directory into a path relative to the project's top.  A path
 * outside the project stays unchanged, and is refused. */
static json_t *from_top(const struct project *p, json_t *given)
{
	const char *text = json_string_value(given);
	char path[4096];
	json_t *item;
	size_t i;

	json_array_foreach(given, i, item)
		json_array_set_new(given, i, from_top(p, item));
	return text && project_path(p, text, path) && *path ? json_string(path)
							    : json_incref(given);
}

/* A directory is named from here, and may be opened by a host elsewhere. */
void spell_paths(struct cli *cli, const struct op *op, json_t *args)
{
	for (size_t i = 0; i < op->in->n_fields; i++) {
		const struct field *f = &op->in->fields[i];
		json_t *value = json_object_get(args, f->name);
		const char *given = json_string_value(value);
		struct fault none = { 0 };
		struct project p;
		char path[PATH_MAX];

		if (value && f->type->given == GIVEN_TREE) {
			run_client(cli, op, &none); /* its fault comes again */
			if (project_here(&p, &cli->home))
				json_object_set_new(args, f->name, from_top(&p, value));
		} else if (given && names_directory(f, given) && realpath(given, path)) {
			json_object_set_new(args, f->name, json_string(path));
		}
	}
}
