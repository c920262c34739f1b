/*
 * fault_print - a fault as people read it, and as programs do.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/cadre/cli.h"

static void fault_as_json(const struct fault *f)
{
	struct text out = { 0 };

	text_addf(&out, "{\"error\":");
	fault_write(f, HINT_COMMAND, &out);
	text_addf(&out, "}\n");
	fwrite(out.data, 1, out.len, stdout);
	text_release(&out);
}

static bool fault_print_is_bare(const struct cli *cli, const char *name)
{
	const char *const *n = cli->op ? cli->op->cli_fields : NULL;

	while (n && *n && strcmp(*n, name))
		n++;
	return n && *n;
}

/* Whether the command has an option of this name (with its dashes). */
static bool fault_print_is_option(const struct cli *cli, const char *option,
				  const char *field)
{
	const struct option_text *o = option_table;

	while (o->name && strcmp(o->name, option))
		o++;
	return o->name || (cli->op && field_find(cli->op->in, field)) ||
	       (cli->usage && strstr(cli->usage, option));
}

/* The word that a person types for what a fault is about, as help spells it: NAME, --team,
 * or `--roles 2 name` for a part of a list; NULL where there is no such word. */
static const char *fault_word(const struct cli *cli, struct arena *a, const char *where)
{
	const size_t n = strcspn(where + 1, "/");
	const char *field = arena_strndup(a, where + 1, n), *rest = where + 1 + n;
	char *option = arena_printf(a, "--%s", field), *name = arena_strdup(a, field);
	const char *word;

	for (size_t i = 0; i < n; i++) {
		option[i + 2] = (char)(field[i] == '_' ? '-' : field[i]);
		name[i] = (char)(field[i] >= 'a' && field[i] <= 'z' ? field[i] - 32
								    : field[i]);
	}
	if (fault_print_is_bare(cli, field) || (cli->usage && strstr(cli->usage, name)))
		word = name;
	else if (fault_print_is_option(cli, option, field))
		word = option;
	else
		return NULL;
	while (*rest) {
		const size_t part = strcspn(rest + 1, "/");
		const char *text = arena_strndup(a, rest + 1, part);
		char *end;
		const long number = strtol(text, &end, 10);

		word = *end ? arena_printf(a, "%s %s", word, text)
			    : arena_printf(a, "%s %ld", word, number + 1);
		rest += part + 1;
	}
	return word;
}

/* Whether a text has the word, in either case, as a word of its own: the TO of "tool" or of
 * a path is none. */
static bool fault_print_has_word(const char *text, const char *word)
{
	static const char inside[] = "abcdefghijklmnopqrstuvwxyz"
				     "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-/";
	const size_t n = strlen(word);

	for (const char *p = text; (p = strcasestr(p, word)); p++)
		if ((p == text || !strchr(inside, p[-1])) &&
		    (!p[n] || !strchr(inside, p[n])))
			return true;
	return false;
}

/* Text about an argument begins with the argument's name: "to is required"; text
 * about another one ends with the word for it. */
static void fault_as_text(const struct cli *cli, const struct fault *f)
{
	bool follows = f->where[0] &&
		       (!strncmp(f->text, "is ", 3) || !strncmp(f->text, "must ", 5));
	struct arena arena = { 0 };
	struct text hint = { 0 };
	const char *text = cli_plain(&arena, f->text, false);
	/* The hint says how to confirm. */
	bool named = f->where[0] && strcmp(f->where, "/confirm") != 0;
	const char *word = named ? fault_word(cli, &arena, f->where) : NULL;

	if (follows && !word)
		word = f->where + 1;
	word = word ? cli_plain(&arena, word, false) : NULL;
	if (follows)
		text = arena_printf(&arena, "%s %s", word, text);
	else if (word && !fault_print_has_word(text, word))
		text = arena_printf(&arena, "%s (%s)", text, word);
	cli_tell("cadre: %s: %s", fault_info(f->code)->name, text);
	hint_write(f->hint, HINT_COMMAND, &hint);
	if (f->hint[0])
		cli_tell("hint: %s", cli_plain(&arena, hint.data, false));
	text_release(&hint);
	arena_release(&arena);
}

int cli_say_fault(const struct cli *cli, const struct fault *f)
{
	fflush(stdout);
	fault_as_text(cli, f);
	return fault_info(f->code)->exit_status;
}

int cli_fault(const struct cli *cli, const struct fault *f)
{
	fflush(stdout);
	if (cli->json)
		fault_as_json(f);
	else
		fault_as_text(cli, f);
	if (!cli->json && !cli->reminded)
		cli_kept(&cli->home);
	return fault_info(f->code)->exit_status;
}

int cli_usage(const struct cli *cli, const char *fmt, ...)
{
	struct fault f = { 0 };
	char text[200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fault_set(&f, FAULT_INVALID, "", "%s", text);
	fault_hint(&f, "see `cadre help`");
	return cli_fault(cli, &f);
}
