/*
 * rows - the order and the form of the rows of a list, for people: names in natural order, and
 * trees.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "tools/cadre/screen/screen.h"

/* --- order -------------------------------------------------------------------------------- */

/* A row with the name by which it is sorted. */
struct rows_named {
	const char *name;
	json_t *row;
};

static int rows_compare(const void *a, const void *b)
{
	const struct rows_named *one = a, *other = b;

	return strverscmp(one->name, other->name);
}

json_t *rows_in_order(const json_t *rows, const struct field *field)
{
	const size_t n = json_array_size(rows);
	struct rows_named *named = xcalloc(n + 1, sizeof(*named));
	json_t *sorted = json_array(), *row;
	bool by_name = field->type->kind == KIND_TEXT;
	size_t i;

	json_array_foreach(rows, i, row) {
		named[i] = (struct rows_named){ json_text_at(row, field->name), row };
		by_name &= !i || strcmp(named[i - 1].name, named[i].name) <= 0;
	}
	if (by_name)
		qsort(named, n, sizeof(*named), rows_compare);
	for (i = 0; i < n; i++)
		json_array_append(sorted, named[i].row);
	free(named);
	return sorted;
}

/* --- trees -------------------------------------------------------------------------------- */

static const char rows_between[] = " / "; /* separates the names of a branch */

const struct field *rows_tree(const struct cli *cli, const struct record *r,
			      const json_t *rows)
{
	for (size_t i = 0; cli->people && i < r->n_fields; i++)
		if (r->fields[i].type->given == GIVEN_BRANCH &&
		    screen_any_has(rows, r->fields[i].name))
			return &r->fields[i];
	return NULL;
}

size_t rows_tree_columns(const struct field **chosen, size_t n, const struct field *tree)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (chosen[i] != tree && strcmp(chosen[i]->name, "parent") != 0)
			chosen[kept++] = chosen[i];
	return kept;
}

/* The number of names above the last name of a branch. */
static size_t rows_depth(const json_t *row, const struct field *field)
{
	const char *s = json_text_at(row, field->name);
	size_t n = 0;

	while ((s = strstr(s, rows_between)))
		s += sizeof(rows_between) - 1, n++;
	return n;
}

/* Whether a later row is a sibling, at the given depth, of the row `at` or of a row above it. */
static bool rows_go_on(const json_t *rows, size_t at, const struct field *field,
		       size_t depth)
{
	size_t n = depth + 1;

	for (size_t i = at + 1; n > depth && i < json_array_size(rows); i++)
		if ((n = rows_depth(json_array_get(rows, i), field)) == depth)
			return true;
	return false;
}

const char *rows_tree_text(struct arena *a, const json_t *rows, size_t at,
			   const struct field *field, const char *name)
{
	const size_t depth = rows_depth(json_array_get(rows, at), field);
	const char *lines = "";

	for (size_t i = 1; i <= depth; i++) {
		const bool more = rows_go_on(rows, at, field, i);

		lines = arena_printf(a, "%s%s", lines,
				     i < depth ? (more ? "│  " : "   ")
					       : (more ? "├─ " : "└─ "));
	}
	return arena_printf(a, "%s%s", lines, name);
}
