/*
 * completion - scripts for bash, zsh and fish, from the schema.
 *
 * Each script is a fixed program around a list that is printed here: one line
 * per command with its options, and what its first bare word is (the choices
 * of an enum, or @agents, @teams, @tasks, which are asked of `cadre` itself).
 */
#include <stdio.h>
#include <string.h>

#include "tools/cadre/cli.h"

/* --- what there is ---------------------------------------------------------------- */

/* Whether an earlier command begins with the same word. */
static bool is_repeated(size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (op_table[i].cli &&
		    !strcmp(op_table[i].cli[0], op_table[index].cli[0]))
			return true;
	return false;
}

static bool is_verb(const char *name)
{
	for (const struct verb *v = verb_table; v->name; v++)
		if (!strcmp(v->name, name))
			return true;
	return false;
}

/* What a word does: its summary, or the words that may follow it. */
static void describe_word(const struct op *op, char *out, size_t room)
{
	size_t n = 0;

	if (!op->cli[1]) {
		snprintf(out, room, "%s", op->summary);
		return;
	}
	for (size_t i = 0; i < op_count && n < room; i++)
		if (op_table[i].cli && op_table[i].cli[1] &&
		    !strcmp(op_table[i].cli[0], op->cli[0]))
			n += (size_t)snprintf(out + n, room - n, "%s%s", n ? ", " : "",
					      op_table[i].cli[1]);
}

/* The first words of all commands with what they do. */
static void each_verb(void (*put)(const char *name, const char *summary))
{
	for (const struct verb *v = verb_table; v->name; v++)
		if (v->usage)
			put(v->name, v->summary);
	for (size_t i = 0; i < op_count; i++) {
		char summary[300];

		if (!op_table[i].cli || is_repeated(i) || is_verb(op_table[i].cli[0]))
			continue;
		describe_word(&op_table[i], summary, sizeof(summary));
		put(op_table[i].cli[0], summary);
	}
}

/* The first bare word, unless it names what is about to be made. */
static const struct field *first_bare(const struct op *op)
{
	if (!op->cli_fields || !op->cli_fields[0] ||
	    (op->rate == RATE_CREATE && !(op->flags & OP_DESTRUCTIVE)))
		return NULL;
	return field_find(op->in, op->cli_fields[0]);
}

/* Keys are made by the command itself; they would only be in the way. */
static bool is_offered(const struct field *field)
{
	return strcmp(field->name, "idempotency_key") &&
	       strcmp(field->name, "request_id");
}

static void put_option(const struct field *field)
{
	printf("--");
	for (const char *s = field->name; *s; s++)
		putchar(*s == '_' ? '-' : *s);
}

/* What a field may be: @LIST, or words with commas between them. */
static void put_values(const struct field *field)
{
	const char *type = field->type->name;

	if (field->type->kind == KIND_ENUM)
		for (const struct choice *c = field->type->choices; c->name; c++)
			printf("%s%s", c == field->type->choices ? "" : ",", c->name);
	else if (!strcmp(type, "task_id"))
		printf("@tasks");
	else if (!strcmp(field->name, "team"))
		printf("@teams");
	else if (!strcmp(type, "name") || !strcmp(type, "address"))
		printf("@agents");
}

/* WORDS|VALUES OF THE FIRST BARE WORD|--option=VALUES ... */
static void put_line(const struct op *op)
{
	for (size_t i = 0; op->cli[i]; i++)
		printf("%s%s", i ? " " : "", op->cli[i]);
	putchar('|');
	if (first_bare(op))
		put_values(first_bare(op));
	putchar('|');
	for (size_t i = 0; i < op->in->n_fields; i++) {
		if (!is_offered(&op->in->fields[i]))
			continue;
		put_option(&op->in->fields[i]);
		putchar('=');
		put_values(&op->in->fields[i]);
		putchar(' ');
	}
	printf("%s\n", op->wait ? "--wait=" : "");
}

static void put_lines(void)
{
	for (size_t i = 0; i < op_count; i++)
		if (op_table[i].cli)
			put_line(&op_table[i]);
	printf("completion|bash,zsh,fish|\n");
}

/* --- the scripts -------------------------------------------------------------------- */

/* Understands the list; bash and zsh both run it.  Prints candidates for the
 * words before the one that is being typed, and that one. */
static const char finder[] =
	"_cadre_values() {\n"
	"\tcase $1 in\n"
	"\t@agents) cadre agent list 2>/dev/null | awk 'NR > 1 { print $1 }' ;;\n"
	"\t@teams) cadre team list 2>/dev/null | awk 'NR > 1 { print $1 }' ;;\n"
	"\t@tasks) cadre task list 2>/dev/null | awk 'NR > 1 { print $1 }' ;;\n"
	"\t*) printf '%s\\n' \"$1\" | tr , '\\n' ;;\n"
	"\tesac\n"
	"}\n"
	"_cadre_find() { # CURRENT WORDS-BEFORE...\n"
	"\tlocal cur=$1 first='' second='' bare=0 prev=''\n"
	"\tshift\n"
	"\twhile [ $# -gt 0 ]; do\n"
	"\t\tprev=$1\n"
	"\t\tcase $1 in\n"
	"\t\t--home|--team|--as|--key) [ $# -gt 1 ] && shift && prev='' ;;\n"
	"\t\t-*) ;;\n"
	"\t\t*) bare=$((bare + 1)); prev=''\n"
	"\t\t\tif [ $bare = 1 ]; then first=$1; elif [ $bare = 2 ]; then second=$1; fi ;;\n"
	"\t\tesac\n"
	"\t\tshift\n"
	"\tdone\n"
	"\tcase $prev in\n"
	"\t--team) _cadre_values @teams; return ;;\n"
	"\t--as) _cadre_values @agents; return ;;\n"
	"\tesac\n"
	"\t_cadre_list | awk -F '|' -v cur=\"$cur\" -v first=\"$first\" -v second=\"$second\" "
	"-v bare=$bare -v prev=\"$prev\" '\n"
	"\tBEGIN { if (bare == 0 && cur !~ /^-/) print \"verbs\" }\n"
	"\tbare > 0 {\n"
	"\t\tn = split($1, w, \" \")\n"
	"\t\tif (w[1] != first) next\n"
	"\t\tif (n == 2 && bare == 1 && cur !~ /^-/) print \":\" w[2]\n"
	"\t\tif (n == 2 && (bare == 1 || w[2] != second)) next\n"
	"\t\tm = split($3, o, \" \")\n"
	"\t\tfor (i = 1; i <= m; i++) {\n"
	"\t\t\teq = index(o[i], \"=\")\n"
	"\t\t\tif (prev == substr(o[i], 1, eq - 1) && length(o[i]) > eq)\n"
	"\t\t\t\tprint substr(o[i], eq + 1)\n"
	"\t\t\telse if (cur ~ /^-/) print \":\" substr(o[i], 1, eq - 1)\n"
	"\t\t}\n"
	"\t\tif (cur !~ /^-/ && prev == \"\" && bare == n && $2 != \"\") print $2\n"
	"\t}' | while read -r line; do\n"
	"\t\tcase $line in\n"
	"\t\tverbs) _cadre_verbs ;;\n"
	"\t\t:*) printf '%s\\n' \"${line#:}\" ;;\n"
	"\t\t*) _cadre_values \"$line\" ;;\n"
	"\t\tesac\n"
	"\tdone\n"
	"\tcase $cur in\n"
	"\t-*) printf '%s\\n' --json --direct --home --team --as --key --no-color --help ;;\n"
	"\tesac\n"
	"}\n";

static void put_name(const char *name, const char *summary)
{
	(void)summary;
	printf("%s\n", name);
}

static void put_finder(void)
{
	printf("_cadre_list() {\n\tcat <<'END'\n");
	put_lines();
	printf("END\n}\n_cadre_verbs() {\n\tcat <<'END'\n");
	each_verb(put_name);
	printf("END\n}\n%s", finder);
}

static void bash_script(void)
{
	printf("# bash completion for cadre, made by `cadre completion bash`\n");
	put_finder();
	printf("_cadre() {\n"
	       "\tlocal cur=${COMP_WORDS[COMP_CWORD]}\n"
	       "\tlocal IFS=$'\\n'\n"
	       "\tCOMPREPLY=($(compgen -W \"$(_cadre_find \"$cur\" "
	       "\"${COMP_WORDS[@]:1:COMP_CWORD-1}\")\" -- \"$cur\"))\n"
	       "}\n"
	       "complete -o default -F _cadre cadre\n");
}

static void zsh_script(void)
{
	printf("#compdef cadre\n# zsh completion for cadre, made by `cadre completion zsh`\n");
	put_finder();
	printf("_cadre() {\n"
	       "\tlocal -a found before\n"
	       "\tbefore=(\"${(@)words[2,CURRENT-1]}\")\n"
	       "\tfound=(${(f)\"$(_cadre_find \"$words[CURRENT]\" $before)\"})\n"
	       "\tif (( $#found )); then compadd -- $found; else _files; fi\n"
	       "}\n"
	       "if [ \"$funcstack[1]\" = _cadre ]; then _cadre; else compdef _cadre cadre; fi\n");
}

/* In single quotes, where only these two mean something to fish. */
static void put_quoted(const char *s)
{
	putchar('\'');
	for (; *s; s++)
		printf(*s == '\'' || *s == '\\' ? "\\%c" : "%c", *s);
	putchar('\'');
}

static void fish_verb(const char *name, const char *summary)
{
	printf("complete -c cadre -n __fish_use_subcommand -a %s -d ", name);
	put_quoted(summary);
	putchar('\n');
}

static void fish_values(const struct field *field)
{
	const char *type = field->type->name;

	if (field->type->kind == KIND_ENUM) {
		printf(" -a '");
		for (const struct choice *c = field->type->choices; c->name; c++)
			printf("%s ", c->name);
		printf("'");
	} else if (!strcmp(type, "task_id")) {
		printf(" -a '(__cadre_names task)'");
	} else if (!strcmp(field->name, "team")) {
		printf(" -a '(__cadre_names team)'");
	} else if (!strcmp(type, "name") || !strcmp(type, "address")) {
		printf(" -a '(__cadre_names agent)'");
	}
}

static void fish_op(const struct op *op)
{
	char when[200] = "";

	snprintf(when, sizeof(when), "__fish_seen_subcommand_from %s%s%s", op->cli[0],
		 op->cli[1] ? "; and __fish_seen_subcommand_from " : "",
		 op->cli[1] ? op->cli[1] : "");
	if (op->cli[1]) {
		printf("complete -c cadre -n '__fish_seen_subcommand_from %s' -a %s -d ",
		       op->cli[0], op->cli[1]);
		put_quoted(op->summary);
		putchar('\n');
	}
	for (size_t i = 0; i < op->in->n_fields; i++) {
		const struct field *field = &op->in->fields[i];

		if (!is_offered(field))
			continue;
		printf("complete -c cadre -n '%s' -l ", when);
		for (const char *s = field->name; *s; s++)
			putchar(*s == '_' ? '-' : *s);
		printf("%s -d ", field->type->kind == KIND_BOOL ? "" : " -x");
		put_quoted(field->doc);
		fish_values(field);
		putchar('\n');
	}
	if (first_bare(op)) {
		printf("complete -c cadre -n '%s'", when);
		fish_values(first_bare(op));
		putchar('\n');
	}
}

static void fish_script(void)
{
	printf("# fish completion for cadre, made by `cadre completion fish`\n"
	       "function __cadre_names\n"
	       "\tcadre $argv[1] list 2>/dev/null | awk 'NR > 1 { print $1 }'\n"
	       "end\n"
	       "complete -c cadre -f\n"
	       "complete -c cadre -l json -d 'One line of JSON'\n"
	       "complete -c cadre -l direct -d 'Open the state itself'\n"
	       "complete -c cadre -l home -r -d 'The state folder'\n"
	       "complete -c cadre -l team -x -a '(__cadre_names team)' -d 'The team'\n"
	       "complete -c cadre -l as -x -a '(__cadre_names agent)' -d 'Act as that agent'\n"
	       "complete -c cadre -n '__fish_seen_subcommand_from completion' "
	       "-a 'bash zsh fish'\n");
	each_verb(fish_verb);
	for (size_t i = 0; i < op_count; i++)
		if (op_table[i].cli)
			fish_op(&op_table[i]);
}

int completion_main(struct cli *cli, int argc, char **argv)
{
	static const struct {
		const char *shell;
		void (*print)(void);
	} scripts[] = { { "bash", bash_script },
			{ "zsh", zsh_script },
			{ "fish", fish_script } };

	for (size_t i = 0; argc == 2 && i < sizeof(scripts) / sizeof(scripts[0]); i++)
		if (!strcmp(argv[1], scripts[i].shell))
			return scripts[i].print(), 0;
	return cli_usage(cli, "`completion` takes bash, zsh or fish");
}
