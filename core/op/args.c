#include "core/base/money.h"
#include "core/base/alloc.h"
#include "core/op/op.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- commands --------------------------------------------------------------------- */

/* Whether `typed` is word `n` of a command. People often type the second word of a command as
 * an option, as in `inbox --peek`. */
static bool args_is_word(const char *word, int n, const char *typed)
{
	return !strcmp(word, typed) ||
	       (n == 1 && !strncmp(typed, "--", 2) && !strcmp(word, typed + 2));
}

/* Whether `word` is one of the other words for the command. */
static bool args_is_also(const struct op *op, const char *word)
{
	const char *const *also = op->also;

	while (also && *also && strcmp(*also, word))
		also++;
	return also && *also;
}

/* Whether two words name the operation by its noun: `task complete`, `task done` and `task close`
 * are `done`. In `search find`, the second word is what `search` looks for. */
static bool args_is_own(const struct op *op, const char *noun, const char *word)
{
	if (!op_has_noun(op, noun) || (!op->cli[1] && !strcmp(op->cli[0], noun)))
		return false;
	return !strcmp(strchr(op->name, '.') + 1, word) ||
	       (!op->cli[1] && !strcmp(op->cli[0], word)) || args_is_also(op, word);
}

static int words_taken(const struct op *op, int argc, char **argv)
{
	int n = 0;

	if (!op->cli)
		return 0;
	if (argc && args_is_also(op, argv[0]))
		return 1;
	if (argc > 1 && args_is_own(op, argv[0], argv[1]))
		return 2;
	while (op->cli[n]) {
		if (n >= argc || !args_is_word(op->cli[n], n, argv[n]))
			return 0;
		n++;
	}
	return n;
}

const struct op *op_command(int argc, char **argv, int *taken)
{
	const struct op *best = NULL;

	*taken = 0;
	for (size_t i = 0; i < op_count; i++) {
		int n = words_taken(&op_table[i], argc, argv);

		if (n > *taken) {
			*taken = n;
			best = &op_table[i];
		}
	}
	return best;
}

/* --- words to values --------------------------------------------------------------- */

static json_t *int_word(const char *word)
{
	/* Screens show the numbers of messages and events with a `#`. */
	const char *digits = word + (*word == '#' && isdigit((unsigned char)word[1]));
	char *end;
	long long n;

	errno = 0;
	n = strtoll(digits, &end, 10);
	if (!*word || *end || errno || isspace((unsigned char)*word))
		return json_string(word);
	return json_integer(n);
}

static json_t *bool_word(const char *word)
{
	if (strcmp(word, "true") == 0)
		return json_true();
	return strcmp(word, "false") == 0 ? json_false() : json_string(word);
}

const struct field *record_short(const struct record *r)
{
	const struct field *only = NULL;

	for (size_t i = 0; i < r->n_fields; i++) {
		if (r->fields[i].flags & (FIELD_OPTIONAL | FIELD_DEFAULT))
			continue;
		if (only)
			return NULL;
		only = &r->fields[i];
	}
	if (!only || only->type->kind != KIND_TEXT || (only->flags & FIELD_LIST))
		return NULL;
	return only;
}

static json_t *record_word(const struct record *r, const char *word)
{
	const struct field *only = *word == '{' ? NULL : record_short(r);

	return only ? json_pack("{s:s}", only->name, word) : NULL;
}

json_t *field_word(const struct field *fd, const char *word)
{
	json_t *v = NULL;
	int64_t money;

	switch (fd->type->kind) {
	case KIND_INT:
		v = fd->type->given == GIVEN_MONEY && money_read(word, &money)
			    ? json_integer(money)
			    : int_word(word);
		break;
	case KIND_BOOL:
		v = bool_word(word);
		break;
	case KIND_RECORD:
		v = record_word(fd->type->record, word);
		if (v)
			break;
		/* fall through */
	case KIND_JSON:
	case KIND_MAP:
		v = json_loads(word, JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, NULL);
		break;
	case KIND_TEXT:
	case KIND_TIME:
	case KIND_ENUM:
		break;
	}
	if (!v)
		v = json_string(word);
	return v ? v : json_null(); /* a word that is not UTF-8 becomes null, which
				       op_decode() treats as missing */
}

bool type_splits(const struct type *t)
{
	const struct field *name = t->kind == KIND_RECORD ? record_short(t->record)
							  : NULL;

	if (name)
		return type_splits(name->type);
	return t->kind == KIND_INT || t->kind == KIND_ENUM || t->kind == KIND_TIME ||
	       (t->kind == KIND_TEXT && (t->pattern || (t->max && t->max <= 64)));
}

static void add_items(json_t *list, const struct field *fd, const char *word)
{
	char *copy = xstrdup(word), *rest = copy, *item;

	while ((item = strsep(&rest, ",")))
		if (*item)
			json_array_append_new(list, field_word(fd, item));
	free(copy);
}

static int bad_word(struct fault *f, const struct field *fd, const char *fmt,
		    const char *word)
{
	char where[64];

	snprintf(where, sizeof(where), "/%.60s", fd->name);
	return fault_set(f, FAULT_INVALID, where, fmt, word);
}

static int add_to_list(json_t *args, const struct field *fd, const char *word, bool whole)
{
	json_t *list = json_object_get(args, fd->name), *all;

	if (!list) {
		list = json_array();
		json_object_set_new(args, fd->name, list);
	}
	all = *word == '[' && (fd->type->kind == KIND_RECORD || !type_splits(fd->type))
		      ? json_loads(word, JSON_REJECT_DUPLICATES, NULL)
		      : NULL;
	whole |= *word == '{' && fd->type->kind == KIND_RECORD;
	if (json_is_array(all))
		json_array_extend(list, all);
	else if (whole || !type_splits(fd->type))
		json_array_append_new(list, field_word(fd, word));
	else
		add_items(list, fd, word);
	json_decref(all);
	return 0;
}

static int add_pair(json_t *args, const struct field *fd, const char *word,
		    struct fault *f)
{
	json_t *map = json_object_get(args, fd->name), *all;
	const char *equals = strchr(word, '=');

	if (!map) {
		map = json_object();
		json_object_set_new(args, fd->name, map);
	}
	all = *word == '{' ? json_loads(word, JSON_REJECT_DUPLICATES, NULL) : NULL;
	if (json_is_object(all)) {
		json_object_update(map, all);
		json_decref(all);
		return 0;
	}
	json_decref(all);
	if (!equals || equals == word)
		return bad_word(f, fd, "'%.100s' is not NAME=VALUE", word);
	json_object_setn_new(map, word, (size_t)(equals - word), json_string(equals + 1));
	return 0;
}

/* Adds a word to the text of an argument that takes all remaining words. */
static int args_add_words(json_t *args, const struct field *fd, const char *word)
{
	const char *old = json_string_value(json_object_get(args, fd->name));
	json_t *both = old ? json_sprintf("%s %s", old, word) : field_word(fd, word);

	return json_object_set_new(args, fd->name, both);
}

/* Sets an argument. An argument may be given twice with the same value, since a team may also
 * be given before the verb. */
static int args_add_word(json_t *args, const struct field *fd, const char *word,
			 struct fault *f)
{
	json_t *old, *value;

	if (fd->flags & FIELD_LIST)
		return add_to_list(args, fd, word, false);
	if (fd->type->kind == KIND_MAP)
		return add_pair(args, fd, word, f);
	old = json_object_get(args, fd->name);
	value = field_word(fd, word);
	if (old && !json_equal(old, value)) {
		json_decref(value);
		return bad_word(f, fd, "is given twice: '%.100s'", word);
	}
	return json_object_set_new(args, fd->name, value);
}

/* --- a command line ------------------------------------------------------------------ */

struct words {
	const struct op *op;
	json_t *args;
	struct fault *fault;
	size_t bare; /* number of cli_fields that have a value */
	bool options_over; /* `--` was read */
};

/* Copies a word to `name`, and replaces each `from` by `to`. A word that is longer than `name`
 * is cut. For example, the option `lease-seconds` becomes the field lease_seconds. */
static void args_option_name(char name[64], const char *word, size_t n, char from,
			     char to)
{
	snprintf(name, 64, "%.*s", n > 100 ? 100 : (int)n, word);
	for (; *name; name++)
		*name = *name == from ? to : *name;
}

/* Finds the field of an option, by its name or an alias. */
static const struct field *args_option_field(const struct op *op, const char *word,
					     size_t n)
{
	char name[64];

	args_option_name(name, word, n, '-', '_');
	return n < sizeof(name) ? field_find(op->in, name) : NULL;
}

/* Tells how to write a text that looks like an option, if the command takes a text. */
static int hint_dashes(struct words *w)
{
	return fault_hint(w->fault, "See `{%s} --help`.%s", w->op->name,
			  w->op->cli_fields ? " Put -- before a text that begins with -."
					    : "");
}

static int unknown_option(struct words *w, const char *word, size_t n)
{
	const struct field *near;
	char name[64];

	args_option_name(name, word, n, '-', '_');
	fault_set(w->fault, FAULT_INVALID, "", "unknown option --%.*s",
		  n > 100 ? 100 : (int)n, word);
	if (field_instead(w->op->in, name))
		return fault_hint(w->fault, "%s", field_instead(w->op->in, name));
	near = field_nearest(w->op->in, name);
	if (!near)
		return hint_dashes(w);
	args_option_name(name, near->name, strlen(near->name), '_', '-');
	return fault_hint(w->fault, "Did you mean --%s?", name);
}

static bool args_is_utf8(const char *word)
{
	json_t *s = json_string(word);

	json_decref(s);
	return s != NULL;
}

/* Takes `--name value`, `--name=value`, `--flag` or `--no-flag` from the words. Returns the
 * number of words that were taken, or a negative fault code. */
static int take_option(struct words *w, int argc, char **argv)
{
	const char *word = argv[0] + 2, *value = strchr(word, '=');
	size_t n = value ? (size_t)(value - word) : strlen(word);
	const struct field *fd = args_option_field(w->op, word, n);
	bool flag = fd && fd->type->kind == KIND_BOOL && !(fd->flags & FIELD_LIST);
	bool no = false;

	if (!fd && !value && strncmp(word, "no-", 3) == 0) {
		fd = args_option_field(w->op, word + 3, n - 3);
		no = fd && fd->type->kind == KIND_BOOL;
		fd = no ? fd : NULL;
	}
	if (!fd)
		return unknown_option(w, word, n);
	if (value)
		value++;
	else if (flag || no)
		value = no ? "false" : "true";
	else if (argc < 2)
		return bad_word(w->fault, fd, "%s needs a value", argv[0]);
	else
		value = argv[1];
	if (!args_is_utf8(value))
		return bad_word(w->fault, fd, "the value of %s is not UTF-8", argv[0]);
	if (args_add_word(w->args, fd, value, w->fault) < 0)
		return w->fault->code;
	return value == argv[1] && argc > 1 ? 2 : 1;
}

/* Refuses a word for which the command has no argument. NAME=VALUE is meant as an option. */
static int args_unexpected(struct words *w, const char *word)
{
	const size_t n = strcspn(word, "=");

	if (word[n] && args_option_field(w->op, word, n)) {
		fault_set(w->fault, FAULT_INVALID, "", "unexpected '%.100s'", word);
		return fault_hint(w->fault, "Write --%.100s.", word);
	}
	if (word[n] && n)
		return unknown_option(w, word, n);
	return fault_set(w->fault, FAULT_INVALID, "", "unexpected '%.100s'", word);
}

/* Whether a word without the zeros of an id, such as 1, belongs to a list of numbers. */
static bool args_is_number_of(const struct field *list, const char *word)
{
	return list->type->kind == KIND_INT && list->flags & FIELD_LIST && *word >= '1' &&
	       *word <= '9' && strlen(word) < 3;
}

static int take_bare(struct words *w, const char *word)
{
	const char *const *names = w->op->cli_fields;
	const struct field *fd, *next;
	bool last;

	if (!names || !names[w->bare])
		return args_unexpected(w, word);
	fd = field_find(w->op->in, names[w->bare]);
	next = names[w->bare + 1] ? field_find(w->op->in, names[w->bare + 1]) : NULL;
	/* In `done "all is well"` and `tick 1 2`, the first word is no task, so the word is the
	 * value of the next argument. */
	if (next && fd->flags & FIELD_OPTIONAL && fd->type->kind == KIND_TEXT &&
	    (!type_matches(fd->type, word) || args_is_number_of(next, word))) {
		fd = next;
		w->bare++;
	}
	last = w->op->cli_rest && !names[w->bare + 1];
	if (!last)
		w->bare++;
	if (last && (fd->flags & FIELD_LIST))
		return add_to_list(w->args, fd, word, true);
	if (last)
		return args_add_words(w->args, fd, word);
	return args_add_word(w->args, fd, word, w->fault);
}

/* Whether a word is an option. `-` alone and words after `--` are not options. `-1` is not an
 * option, since no option begins with a digit. `- one thing` is a text, since the name of an
 * option has no blanks. The value of an option may have blanks, as in `--title=one thing`. */
static bool args_is_option(const struct words *w, const char *word)
{
	size_t name;

	if (w->options_over || word[0] != '-' || !word[1] ||
	    isdigit((unsigned char)word[1]))
		return false;
	name = word[1] == '-' ? strcspn(word, "=") : strlen(word);
	return strcspn(word, " \t\n") >= name;
}

static int args_take_word(struct words *w, int argc, char **argv)
{
	if (!args_is_utf8(argv[0]))
		return fault_set(w->fault, FAULT_INVALID, "", "an argument is not UTF-8");
	if (!args_is_option(w, argv[0]))
		return take_bare(w, argv[0]) < 0 ? -1 : 1;
	if (strcmp(argv[0], "--") == 0) {
		w->options_over = true;
		return 1;
	}
	if (argv[0][1] != '-') {
		fault_set(w->fault, FAULT_INVALID, "", "unknown option %.100s", argv[0]);
		return hint_dashes(w);
	}
	return take_option(w, argc, argv);
}

json_t *op_args(const struct op *op, int argc, char **argv, struct fault *f)
{
	struct words w = { .op = op, .args = json_object(), .fault = f };

	for (int i = 0; i < argc;) {
		int n = args_take_word(&w, argc - i, argv + i);

		if (n < 0) {
			json_decref(w.args);
			return NULL;
		}
		i += n;
	}
	return w.args;
}
