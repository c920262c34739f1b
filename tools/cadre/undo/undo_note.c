/* undo_note - brings back deleted notes: one note by its path, or all notes below a folder. */
#include <string.h>

#include "ops.gen.h"
#include "tools/cadre/undo/undo_inside.h"

bool undo_is_note(const char *name)
{
	const char *slash = strrchr(name, '/');

	return strchr(slash ? slash : name, '.') || (slash && !slash[1]);
}

static int bring_back_note(struct cli *cli, const char *path, const char *to)
{
	json_t *args = json_pack("{s:s, s:s*}", "path", path, "to", to), *answer;
	int status;

	answer = undo_run(cli, op_vault_restore, args, &status);
	if (answer)
		print_answer(cli, op_vault_restore, answer);
	json_decref(answer);
	return status;
}

/* The paths of all notes that were removed below a folder, each once. */
static json_t *removed_below(struct cli *cli, const char *folder, struct fault *f)
{
	json_t *below = json_string(folder), *row, *paths = json_object();
	json_t *rows = run_rows(cli, op_vault_removed, "notes", "path", below, f);
	size_t i;

	json_array_foreach(rows, i, row)
		json_object_set_new(paths,
				    json_string_value(json_object_get(row, "path")),
				    json_true());
	json_decref(rows);
	json_decref(below);
	return paths;
}

static int bring_back_folder(struct cli *cli, const char *folder)
{
	struct fault f = { 0 };
	json_t *paths = removed_below(cli, folder, &f), *value;
	const char *path;
	int status = 0;

	if (!f.code && !json_object_size(paths)) {
		fault_set(&f, FAULT_NOT_FOUND, "/name",
			  "the trash holds no note of %.100s", folder);
		fault_hint(&f, "See them with: cadre undo.");
	}
	json_object_foreach(paths, path, value) {
		int rc = f.code ? 0 : bring_back_note(cli, path, NULL);

		status = rc ? rc : status;
	}
	json_decref(paths);
	return f.code ? cli_fault(cli, &f) : status;
}

int undo_note(struct cli *cli, const char *name, const char *to)
{
	return name[strlen(name) - 1] == '/' ? bring_back_folder(cli, name)
					     : bring_back_note(cli, name, to);
}
