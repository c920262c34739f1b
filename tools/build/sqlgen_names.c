/*
 * Numbers by name: what stands in braces is found in schema/.
 *
 *     {task_state.pending}                  the number of a value
 *     {event.message_sent}                  the number of an event
 *     IN {task_state.claimed in_progress}   one of these values
 *     IN {task_state.open}                  one of a set that storage/enums declares
 *     BETWEEN {task_state.open}             the same; a range with both its ends, if it is one
 *     {most.task_lease}                     the highest number of a type
 *     BETWEEN {events.task}                 the numbers that are kept for a noun's events
 *     {words}                               rows of `word`: the enums that storage/enums names, and events
 *
 * Values behind IN that are all the first of their enum become `< N`, three or more in
 * a row a BETWEEN, others a list: SQLite walks an index along the first two, and would
 * build a table of a longer list each time.
 */
#include "tools/build/sqlgen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/near.h"
#include "tools/build/opgen.h"

enum { NAMES_MOST = 32 };

/* Where a name stands, and where what replaces it goes. */
struct names {
	struct sqlgen_build *b;
	struct sqlgen_statement at; /* for refusals */
	char *out;
	size_t n;
};

static void sqlgen_names_put(struct names *w, const char *s, size_t len)
{
	w->out = realloc(w->out, w->n + len + 1);
	if (!w->out)
		abort();
	memcpy(w->out + w->n, s, len);
	w->n += len;
	w->out[w->n] = '\0';
}

static void put_number(struct names *w, const char *before, long long number)
{
	char text[64];
	int n = snprintf(text, sizeof(text), "%s%lld", before, number);

	sqlgen_names_put(w, text, (size_t)n);
}

/* --- looking up ----------------------------------------------------------------- */

/* The i-th name of a list, NULL behind its end; its number in *number. */
static const char *name_at(const struct schema *s, const struct decl *list, size_t i,
			   int *number)
{
	if (list) {
		*number = (int)i;
		return i < list->in.n ? list->in.items[i]->id : NULL;
	}
	for (size_t j = 0; j < s->n; j++)
		if (s->decls[j]->kind == DECL_EVENT && i-- == 0) {
			*number = s->decls[j]->number;
			return s->decls[j]->id;
		}
	return NULL;
}

static const struct decl *enum_named(const struct schema *s, const char *name)
{
	const struct decl *d = schema_find(s, DECL_ENUM, name);

	return d && d->kind == DECL_ENUM ? d : NULL;
}

static void refuse_list(struct names *w, const char *name)
{
	const struct schema *s = w->b->schema;
	const char *nearest = "event";

	for (size_t i = 0; i < s->n; i++)
		if (s->decls[i]->kind == DECL_ENUM &&
		    near_distance(s->decls[i]->name, name) < near_distance(nearest, name))
			nearest = s->decls[i]->name;
	sqlgen_refuse(w->b, &w->at, "no enum of schema/ is called %s; the nearest is %s",
		      name, nearest);
}

static int sqlgen_names_number_of(struct names *w, const struct decl *list,
				  const char *name)
{
	const char *of = list ? list->name : "event", *have, *nearest = "?";
	size_t best = (size_t)-1;
	int number = 0;

	for (size_t i = 0; (have = name_at(w->b->schema, list, i, &number)); i++) {
		size_t d = near_distance(have, name);

		if (d == 0)
			return number;
		if (d < best) {
			best = d;
			nearest = have;
		}
	}
	sqlgen_refuse(w->b, &w->at, "%s has no value %s; the nearest is {%s.%s}", of,
		      name, of, nearest);
	return 0;
}

/* --- writing --------------------------------------------------------------------- */

/* Takes the keyword back that was written last, with the blank behind it. */
static bool sqlgen_names_take_back(struct names *w, const char *keyword)
{
	size_t len = strlen(keyword);

	if (w->n < len || strncmp(w->out + w->n - len, keyword, len) != 0)
		return false;
	w->n -= len;
	w->out[w->n] = '\0';
	return true;
}

static int by_value(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static void put_list(struct names *w, const int *numbers, int n, const char *keyword)
{
	sqlgen_names_put(w, keyword, strlen(keyword));
	for (int i = 0; i < n; i++)
		put_number(w, i ? ", " : "(", numbers[i]);
	sqlgen_names_put(w, ")", 1);
}

static void put_set(struct names *w, const struct decl *list, int *numbers, int n)
{
	bool between = sqlgen_names_take_back(w, "BETWEEN "), not, row;

	if (!between && !sqlgen_names_take_back(w, "IN ")) {
		sqlgen_refuse(w->b, &w->at, "several values stand behind IN or BETWEEN");
		return;
	}
	qsort(numbers, (size_t)n, sizeof(*numbers), by_value);
	row = numbers[n - 1] - numbers[0] == n - 1;
	for (int i = 1; i < n; i++)
		if (numbers[i] == numbers[i - 1])
			sqlgen_refuse(w->b, &w->at, "a value stands there twice");
	if (!row || (!between && n < 3 && (numbers[0] || !list))) {
		put_list(w, numbers, n, "IN ");
	} else if (!between && list && !numbers[0]) {
		not = sqlgen_names_take_back(w, "NOT ");
		put_number(w, not ? "> " : "< ", numbers[n - 1] + !not );
	} else {
		put_number(w, "BETWEEN ", numbers[0]);
		put_number(w, " AND ", numbers[n - 1]);
	}
}

static void sqlgen_names_put_events(struct names *w, const char *noun)
{
	const struct decl *d = schema_events(w->b->schema, noun, strlen(noun));

	if (!d) {
		sqlgen_refuse(w->b, &w->at, "no numbers are kept for the events of %s",
			      noun);
		return;
	}
	if (!sqlgen_names_take_back(w, "BETWEEN "))
		sqlgen_refuse(w->b, &w->at, "{events.%s} stands behind BETWEEN", noun);
	put_number(w, "BETWEEN ", d->min);
	put_number(w, " AND ", d->max);
}

static void put_most(struct names *w, const char *type)
{
	const struct decl *d = schema_find(w->b->schema, DECL_TYPE, type);

	if (d && d->max)
		put_number(w, "", d->max);
	else
		sqlgen_refuse(w->b, &w->at,
			      "no type of schema/ is called %s, or it has no end", type);
}

static void sqlgen_names_put_row(struct names *w, const char *list, int number,
				 const char *word)
{
	char text[256];
	int n = snprintf(text, sizeof(text), "%s('%s', %d, '%s')",
			 sqlgen_names_take_back(w, ";") ? ",\n\t" : "", list, number,
			 word);

	sqlgen_names_put(w, text, (size_t)n);
	sqlgen_names_put(w, ";", 1);
}

/* A statement of its own. */
static void put_words(struct names *w)
{
	const struct schema *s = w->b->schema;
	static const char insert[] = "INSERT INTO word (list, n, word) VALUES\n\t";

	sqlgen_names_put(w, insert, sizeof(insert) - 1);
	for (size_t i = 0; i < s->n; i++)
		if (s->decls[i]->kind == DECL_EVENT)
			sqlgen_names_put_row(w, "event", s->decls[i]->number,
					     s->decls[i]->name);
	for (size_t i = 0; i < s->n; i++) {
		const struct decl *d = s->decls[i];

		if (d->kind == DECL_ENUM && sqlgen_is_stored(w->b, d->name))
			for (size_t j = 0; j < d->in.n; j++)
				sqlgen_names_put_row(w, d->name, (int)j,
						     d->in.items[j]->name);
	}
}

/* --- reading ---------------------------------------------------------------------- */

/* The numbers of values with blanks between them; how many. */
static int numbers_of(struct names *w, const struct decl *list, char *values,
		      int *numbers)
{
	char *rest = NULL;
	int n = 0;

	for (char *v = strtok_r(values, " ", &rest); v; v = strtok_r(NULL, " ", &rest)) {
		if (n == NAMES_MOST) {
			sqlgen_refuse(w->b, &w->at, "more than %d values stand there",
				      NAMES_MOST);
			break;
		}
		numbers[n++] = sqlgen_names_number_of(w, list, v);
	}
	return n;
}

static void sqlgen_names_put_values(struct names *w, const char *list, char *values)
{
	const struct decl *d = enum_named(w->b->schema, list);
	const char *set = sqlgen_set_find(w->b, list, values);
	char *named = set ? sqlgen_copy(set, strlen(set)) : values;
	int numbers[NAMES_MOST], n = 0;

	if (!d && strcmp(list, "event") != 0)
		refuse_list(w, list);
	else
		n = numbers_of(w, d, named, numbers);
	if (n == 1 && !set)
		put_number(w, "", numbers[0]);
	else if (n > 0)
		put_set(w, d, numbers, n);
	if (set)
		free(named);
}

/* Writes the numbers for the name between two braces. */
static void sqlgen_names_put_named(struct names *w, char *inside)
{
	char *dot = strchr(inside, '.');

	if (strcmp(inside, "words") == 0) {
		put_words(w);
		return;
	}
	if (!dot || !dot[1]) {
		sqlgen_refuse(w->b, &w->at,
			      "{%s}: a name is {ENUM.VALUE}, {event.NOUN_PAST}, "
			      "{events.NOUN}, {most.TYPE} or {words}",
			      inside);
		return;
	}
	*dot = '\0';
	if (strcmp(inside, "events") == 0)
		sqlgen_names_put_events(w, dot + 1);
	else if (strcmp(inside, "most") == 0)
		put_most(w, dot + 1);
	else
		sqlgen_names_put_values(w, inside, dot + 1);
}

char *sqlgen_put_numbers(struct sqlgen_build *b, const char *file, int line,
			 const char *text, size_t len)
{
	struct names w = { .b = b, .at = { .file = file, .line = line } };
	const char *end = text + len;

	sqlgen_names_put(&w, "", 0);
	while (text < end) {
		size_t n = strcspn(text, "{\n");

		n = n < (size_t)(end - text) ? n : (size_t)(end - text);
		sqlgen_names_put(&w, text, n);
		text += n;
		if (text < end && *text == '\n') {
			sqlgen_names_put(&w, text++, 1);
			w.at.line++;
		} else if (text < end) {
			size_t name = strcspn(++text, "}\n");
			char *inside = sqlgen_copy(text, name);

			if (text[name] != '}')
				sqlgen_refuse(b, &w.at, "a { is not closed in its line");
			else
				sqlgen_names_put_named(&w, inside);
			free(inside);
			text += name + (text[name] == '}');
		}
	}
	return w.out;
}
