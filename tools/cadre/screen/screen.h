/*
 * screen - values of an answer as texts, for the files of this folder.
 */
#ifndef TOOLS_CADRE_SCREEN_SCREEN_H
#define TOOLS_CADRE_SCREEN_SCREEN_H

#include "tools/cadre/cli.h"

enum { INDENT = 2 };

/* The control sequences that begin small print and that end any colour, on a terminal with
 * colours. */
const char *screen_dim(const struct cli *cli);
const char *screen_plain(const struct cli *cli);

bool screen_is_empty(const json_t *value);
bool screen_is_list(const struct field *field); /* a list of records */
bool screen_is_nested(const struct field *field);
/* Whether a field is the number that people read in place of the id in the field before it. */
bool screen_is_number(const struct field *field);
/* Whether a field is a secret. No screen shows a secret: other people, recorders, and models
 * that read pipes could see it. */
bool screen_is_hidden(const struct field *field);
/* Whether a field of a record is worth showing: it has a value that is not empty and not the
 * default. */
bool screen_is_shown(const struct field *field, const json_t *record);

/* The words printed beside a field's value: `created` for created_at, `lease ends` for
 * lease_until. */
const char *screen_label(struct arena *a, const struct field *field);

/* The text of a value, or of a record's field, on one line. A record that is a value is shown
 * by its first field. In screen_field(), #102 replaces an id that has a number. Texts belong to
 * the answer or to the arena, and may have control characters. */
const char *screen_value(const struct cli *cli, struct arena *a,
			 const struct field *field, const json_t *value);
const char *screen_field(const struct cli *cli, struct arena *a, const struct record *r,
			 const struct field *field, const json_t *record);
/* A time in a form for people: "3 min ago", or local clock time; ISO in a pipe. */
const char *screen_time(const struct cli *cli, struct arena *a, const char *iso);

/* The line that the operation's definition makes from the answer, malloc'd (print.c). */
char *screen_line(const struct cli *cli, const struct op *op, const json_t *answer);
/* Prints the line of screen_line(), unless the line is empty. */
void screen_says(const struct cli *cli, const struct op *op, const json_t *answer);
/* Prints a line that says what a person may do next. */
void screen_next(const struct cli *cli, const struct op *op, const json_t *answer);

#endif
