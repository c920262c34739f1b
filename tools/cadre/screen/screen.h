/*
 * screen - turns values of an answer into texts, for the files of this folder.
 */
#ifndef TOOLS_CADRE_SCREEN_SCREEN_H
#define TOOLS_CADRE_SCREEN_SCREEN_H

#include "tools/cadre/cli.h"

enum { INDENT = 2 };

/* Control sequences for a terminal with colours. screen_dim() begins small print,
 * screen_plain() ends any colour. */
const char *screen_dim(const struct cli *cli);
const char *screen_plain(const struct cli *cli);

bool screen_is_empty(const json_t *value);
bool screen_is_list(const struct field *field); /* whether the field is a list of
						   records */
bool screen_is_nested(const struct field *field);
/* Whether a field is a number for people. People read this number in place of the id in the
 * field before. */
bool screen_is_number(const struct field *field);
/* Whether a field is a secret. No screen shows a secret, because other people, recorders, and
 * models that read pipes could see the secret. */
bool screen_is_hidden(const struct field *field);
/* Whether a field of a record is shown. A field is shown if its value is neither empty nor the
 * default. A number that replaces an id is not shown as a field of its own. */
bool screen_is_shown(const struct field *field, const json_t *record);

/* The words that are printed beside a field's value, such as `created` for created_at and
 * `lease ends` for lease_until. */
const char *screen_label(struct arena *a, const struct field *field);

/* The heading of a column: the words in capital letters. */
const char *screen_heading(struct arena *a, const char *words);

/* The text of a value, or of a record's field, on one line. A record inside a record is shown
 * by the inner record's first field, and in some cases also by its state. If an id has a
 * number, screen_field() shows the number, such as #102, in place of the id. The text is in the
 * memory of the answer or of the arena, and may contain control characters. */
const char *screen_value(const struct cli *cli, struct arena *a,
			 const struct field *field, const json_t *value);
const char *screen_field(const struct cli *cli, struct arena *a, const struct record *r,
			 const struct field *field, const json_t *record);
/* A time in a form for people, such as "3 min ago" or the local clock time. For programs the
 * time has the ISO form, in seconds. */
const char *screen_time(const struct cli *cli, struct arena *a, const char *iso);

/* Finds FIELD or FIELD.FIELD of a record. For FIELD.FIELD, `*r` and `*record` become the inner
 * record. NULL: there is no such field. */
const struct field *screen_part(struct arena *a, const char *path,
				const struct record **r, const json_t **record);
/* Fills a template with parts of a record, like the line of an operation. The caller frees the
 * text. */
char *screen_sentence(const struct cli *cli, const struct record *r, const char *said,
		      const json_t *answer);
/* Prints rows as lines of the fields that the operation names (screen_lines.c). `kept`: see
 * print_more_rows(). NULL: `rows` is the whole list. */
void screen_lines(const struct cli *cli, const struct op *op, const struct record *r,
		  const json_t *rows, struct layout *kept);
/* Whether any row of a list has a value of this name. */
bool screen_any_has(const json_t *rows, const char *name);

/* Whether the rows of a list are needs: texts for the person, with commands. */
bool screen_is_needs(const struct record *r);
/* Prints needs in two columns: names, and the texts with the commands (screen_needs.c). */
void screen_needs(const struct cli *cli, const json_t *rows);

/* A copy of a list in the natural order of the names in a field: w-2 before w-10. A list that is
 * not sorted by these names keeps its order. */
json_t *rows_in_order(const json_t *rows, const struct field *field);
/* The field of a record that a terminal draws as a tree, if the rows have it; else NULL. */
const struct field *rows_tree(const struct cli *cli, const struct record *r,
			      const json_t *rows);
/* Leaves out the columns that the drawn tree replaces. Returns the number of the others. */
size_t rows_tree_columns(const struct field **chosen, size_t n, const struct field *tree);
/* Draws the place of the row `at` in the tree, with the row's name. */
const char *rows_tree_text(struct arena *a, const json_t *rows, size_t at,
			   const struct field *field, const char *name);

/* Makes the line that the operation defines for its answers (sentence.c). The caller frees
 * the line. */
char *screen_line(const struct cli *cli, const struct op *op, const json_t *answer);
/* Prints the line of screen_line(), unless the line is empty. */
void screen_says(const struct cli *cli, const struct op *op, const json_t *answer);
/* Prints a line that says what a person may do next. */
void screen_next(const struct cli *cli, const struct op *op, const json_t *answer);

#endif
