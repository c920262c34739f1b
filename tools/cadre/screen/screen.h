/*
 * screen - values of an answer as texts, for the files of this folder.
 */
#ifndef TOOLS_CADRE_SCREEN_SCREEN_H
#define TOOLS_CADRE_SCREEN_SCREEN_H

#include "tools/cadre/cli.h"

enum { INDENT = 2 };

/* Sequences that begin small print on a terminal with colours, and end any colour. */
const char *screen_dim(const struct cli *cli);
const char *screen_plain(const struct cli *cli);

bool screen_is_empty(const json_t *value);
bool screen_is_list(const struct field *field); /* of records */
bool screen_is_nested(const struct field *field);
/* Whether a field is the number that people read for the id which the field before it
 * tells. */
bool screen_is_number(const struct field *field);
/* Whether a field is a secret, which no screen shows: people are behind it, recorders, and
 * models, which read pipes. */
bool screen_is_hidden(const struct field *field);
/* Whether a field of a record tells anything: it is there, and not as it is mostly. */
bool screen_is_shown(const struct field *field, const json_t *record);

/* The words for a field beside its value: `created` of created_at, `lease ends` of
 * lease_until. */
const char *screen_label(struct arena *a, const struct field *field);

/* A value on one line, of a record its first field; a field of a record, where #102 stands
 * for an id that has a number.  Texts are the answer's or in the arena, and not yet plain. */
const char *screen_value(const struct cli *cli, struct arena *a,
			 const struct field *field, const json_t *value);
const char *screen_field(const struct cli *cli, struct arena *a, const struct record *r,
			 const struct field *field, const json_t *record);
/* A time as people read it: "3 min ago", or by the clock of this place; ISO in a pipe. */
const char *screen_time(const struct cli *cli, struct arena *a, const char *iso);

/* The answer's line of an operation that says one, malloc'd (print.c). */
char *screen_line(const struct cli *cli, const struct op *op, const json_t *answer);
/* Prints it; nothing where it is empty. */
void screen_says(const struct cli *cli, const struct op *op, const json_t *answer);
/* Tells what a person may do after it. */
void screen_next(const struct cli *cli, const struct op *op, const json_t *answer);

#endif
