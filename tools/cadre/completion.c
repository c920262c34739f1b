/*
 * completion - lists candidates for the word that a user is typing. The candidates are from the
 * schema, the verbs of the program, and the state.
 *
 * A shell's script calls `cadre complete --` with the words behind `cadre`. The last of the
 * words is incomplete or still empty. Each line of the answer is one candidate, a tab and a
 * description. If the answer is empty, the shell offers files.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "tools/cadre/cli.h"
#include "tools/cadre/hook/hook.h"

/* --- candidates ------------------------------------------------------------------- */

static bool is_begun(const char *begun, const char *word)
{
	return !strncmp(word, begun, strlen(begun));
}

static void completion_put(const char *begun, const char *word, const char *doc)
{
	struct arena arena = { 0 };

	if (is_begun(begun, word))
		printf("%s\t%s\n", word, doc ? cli_plain(&arena, doc, false) : "");
	arena_release(&arena);
}

/* --- names that the state knows ---------------------------------------------------- */

/* Prints `by:VALUE` as a candidate, once for each value of the field `by` in the records of a
 * list. */
static void put_groups(const json_t *list, const char *by, const char *begun)
{
	char word[80];

	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *value = json_text_at(json_array_get(list, i), by);
		size_t first = 0;

		while (strcmp(json_text_at(json_array_get(list, first), by), value) != 0)
			first++;
		snprintf(word, sizeof(word), "%s:%s", by, value);
		if (first == i && *value)
			completion_put(begun, word, NULL);
	}
}

/* A call with an epoch changes a task that the caller holds, or that an agent holds if the
 * caller is the operator. */
static bool completion_is_of_held(const struct op *op, const char *name)
{
	return op && !strcmp(name, "task") && field_find(op->in, "epoch");
}

/* Calls the operation that lists the things of the noun `name`, and prints the names of these
 * things. `changes`: the typed operation, or NULL. If the operation fails, prints no names and
 * reports no error. */
static void completion_put_named(struct cli *cli, const struct op *changes,
				 const char *name, const char *by, const char *begun)
{
	const struct noun *noun = noun_find(name);
	const struct op *op = op_find(noun->list);
	const bool held = completion_is_of_held(changes, name);
	json_t *args = json_object(), *answer, *list, *item;
	struct fault f = { 0 };
	size_t i;

	if (cli->team && field_find(op->in, "team"))
		json_object_set_new(args, "team", json_string(cli->team));
	if (field_find(op->in, "recursive"))
		json_object_set_new(args, "recursive", json_true());
	if (held)
		json_object_set_new(args, "status",
				    json_pack("[sss]", "claimed", "in_progress",
					      "blocked"));
	if (held && cli_client(cli, HOME_LOOK, &f) >= 0 && cli->home.identity.agent)
		json_object_set_new(args, "mine", json_true());
	answer = run_args(cli, op, json_incref(args), &f);
	if (held && !json_array_size(json_object_get(answer, noun->rows))) {
		json_decref(answer); /* nothing is held: all tasks are offered */
		json_object_del(args, "status");
		json_object_del(args, "mine");
		answer = run_args(cli, op, json_incref(args), &f);
	}
	json_decref(args);
	list = json_object_get(answer, noun->rows);
	json_array_foreach(list, i, item) {
		completion_put(begun, json_find_text(item, noun->called),
			       json_find_text(item, noun->doc));
	}
	if (by)
		put_groups(list, by, begun);
	json_decref(answer);
}

static void completion_put_values(struct cli *cli, const struct op *op,
				  const struct field *field, const char *begun)
{
	if (field->type->kind == KIND_ENUM)
		for (const struct choice *c = field->type->choices; c->name; c++)
			completion_put(begun, c->name, c->doc);
	else if (field->names)
		completion_put_named(cli, op, field->names, field->by, begun);
}

/* --- words of commands -------------------------------------------------------------- */

static bool completion_is_verb(const char *name)
{
	for (const struct verb *v = verb_table; v->name; v++)
		if (!strcmp(v->name, name))
			return true;
	return false;
}

/* Whether an earlier command of op_table has the same first word as the command at `index`. */
static bool is_repeated(size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (op_table[i].cli &&
		    !strcmp(op_table[i].cli[0], op_table[index].cli[0]))
			return true;
	return false;
}

/* Prints the second words of all commands that begin with the word `first`. */
static void put_seconds(const char *first, const char *begun)
{
	size_t n = strlen(first);

	for (const struct verb *v = verb_table; v->name; v++)
		if (v->usage && !strncmp(v->name, first, n) && v->name[n] == ' ')
			completion_put(begun, v->name + n + 1, v->summary);
	for (size_t i = 0; i < op_count; i++)
		if (op_table[i].cli && op_table[i].cli[1] &&
		    !strcmp(op_table[i].cli[0], first))
			completion_put(begun, op_table[i].cli[1], op_table[i].summary);
}

/* Describes the first word of an operation's command. If the command has only one word, the
 * description is the operation's summary. The description of any other first word lists the
 * second words of all operations that begin with this word. */
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

static void completion_put_verbs(const char *begun)
{
	char doc[300];

	for (const struct verb *v = verb_table; v->name; v++)
		if (v->usage && !strchr(v->name, ' '))
			completion_put(begun, v->name, v->summary);
	for (size_t i = 0; i < op_count; i++) {
		if (!op_table[i].cli || is_repeated(i) ||
		    completion_is_verb(op_table[i].cli[0]))
			continue;
		describe_word(&op_table[i], doc, sizeof(doc));
		completion_put(begun, op_table[i].cli[0], doc);
	}
}

/* --- options -------------------------------------------------------------------------- */

/* Prints the keys of the configuration as candidates, each behind the text `before`. */
static void put_keys(const char *before, const char *begun)
{
	char word[80];

	for (size_t i = 0; i < record_config.n_fields; i++) {
		snprintf(word, sizeof(word), "%s%s", before,
			 record_config.fields[i].name);
		completion_put(begun, word, record_config.fields[i].doc);
	}
}

/* Prints an option as a candidate. Returns whether the option's name begins with `begun`. */
static bool completion_put_option(const char *begun, const char *name, const char *doc)
{
	completion_put(begun, name, doc);
	return is_begun(begun, name);
}

/* Prints the options that all commands have. `any`: an option of the typed command begins with
 * `begun`. The configuration has many keys. A key is printed if `begun` contains a dot. A key
 * is also printed if `begun` has more than two characters and no other option begins with
 * `begun`. If the keys were always printed, a shell could not complete `--st` to `--status`. */
static void put_common(const char *begun, bool any)
{
	for (const struct option_text *o = option_table; o->name; o++)
		if (!strchr(o->name, '.'))
			any |= completion_put_option(begun, o->name, o->doc);
	if (strchr(begun, '.') || (!any && strlen(begun) > 2))
		put_keys("--", begun);
}

/* Whether an argument is offered as an option. The idempotency key is not offered, because the
 * command makes the key itself. The team is not offered, because --team is an option of all
 * commands. */
static bool completion_is_offered(const struct field *field)
{
	return !field_is_key(field) && strcmp(field->name, "team");
}

static void completion_put_options(const struct op *op, const char *begun)
{
	bool any = false;

	for (size_t i = 0; i < op->in->n_fields; i++) {
		const struct field *field = &op->in->fields[i];
		bool on = field->type->kind == KIND_BOOL &&
			  (field->flags & FIELD_DEFAULT) && field->def_int;
		char name[80];

		if (!completion_is_offered(field))
			continue;
		snprintf(name, sizeof(name), "--%s%s", on ? "no-" : "", field->name);
		for (char *s = name; *s; s++)
			*s = *s == '_' ? '-' : *s;
		any |= completion_put_option(begun, name, field->doc);
	}
	if (op->wait && !op->reached)
		any |= completion_put_option(begun, "--wait",
					     "Wait as long as possible.");
	if (op->until)
		any |= completion_put_option(begun, "--wait",
					     "End when the work that the command begins "
					     "is done.");
	if (op->flags & OP_IDENTIFIES)
		any |= completion_put_option(begun, "--here",
					     "From now on, this worktree acts as that "
					     "agent.");
	put_common(begun, any);
}

/* --- the typed word -------------------------------------------------------------------- */

/* Finds the field that the typed word fills. If an option that takes a value is directly before
 * the typed word, the typed word fills the option's field. Otherwise the typed word fills the
 * next field that needs no option. NULL: the operation takes no further word. */
static const struct field *next_field(const struct op *op, int argc, char **argv)
{
	const char *const *bare = op->cli_fields;

	for (int i = 0; i < argc; i++) {
		const struct field *field = run_option(op, argv[i]);

		if (field && ++i == argc)
			return field;
		if (field || argv[i][0] == '-' || !bare || !*bare)
			continue;
		if (!op->cli_rest || bare[1])
			bare++;
	}
	return bare && *bare ? field_find(op->in, *bare) : NULL;
}

static void complete_op(struct cli *cli, const struct op *op, int argc, char **argv,
			const char *begun)
{
	const struct field *field = next_field(op, argc, argv);
	bool value = argc && run_option(op, argv[argc - 1]);

	if (*begun == '-' && !value)
		completion_put_options(op, begun);
	else if (field)
		completion_put_values(cli, op, field, begun);
}

/* Finds the noun that is the whole usage of a verb, like `TASK` of `task edit`. NULL: the usage
 * is not a single noun. */
static const char *first_noun(const struct verb *v)
{
	for (size_t i = 0; v && v->usage && i < noun_count; i++)
		if (!strcasecmp(v->usage, noun_table[i].name))
			return noun_table[i].name;
	return NULL;
}

static void complete_verb(struct cli *cli, int argc, char **argv, const char *begun)
{
	const char *verb = argv[0], *noun;
	int taken;

	noun = first_noun(cli_verb(argc, argv, &taken));
	if (noun && argc == taken && *begun != '-')
		completion_put_named(cli, NULL, noun, NULL, begun);
	if (!strcmp(verb, "help"))
		completion_put_verbs(begun);
	if (!strcmp(verb, "config"))
		put_keys("", begun);
	if (!strcmp(verb, "undo"))
		undo_names(cli, begun, completion_put);
	for (const char *const *s = completion_shells; !strcmp(verb, "completion") && *s;
	     s++)
		completion_put(begun, *s, NULL);
	for (const struct hook_client *c = hook_clients; !strcmp(verb, "hook") && c->name;
	     c++)
		completion_put(begun, c->name, NULL);
	if (!strcmp(verb, "hook"))
		completion_put(begun, "pre-commit", NULL);
	if (*begun == '-')
		put_common(begun, false);
}

/* Completes the value of --team or --as. For --home and --key, prints no candidates, and
 * returns true. Returns false for any other word. */
static bool complete_common(struct cli *cli, const char *option, const char *begun)
{
	if (!strcmp(option, "--team"))
		completion_put_named(cli, NULL, "team", NULL, begun);
	else if (!strcmp(option, "--as"))
		completion_put_named(cli, NULL, "agent", NULL, begun);
	else
		return !strcmp(option, "--home") || !strcmp(option, "--key");
	return true;
}

/* Completes the word `begun`. `argv` has the words before `begun`; argv[0] stands for `cadre`. */
static void completion_complete(struct cli *cli, int argc, char **argv, const char *begun)
{
	const struct op *op;
	int taken;

	argc = cli_options(cli, argc, argv);
	if (complete_common(cli, argv[argc - 1], begun) ||
	    run_is_command(argc - 1, argv + 1))
		return;
	argc--;
	argv++;
	op = op_command(argc, argv, &taken);
	if (argc == 0 && *begun == '-')
		put_common(begun, false);
	else if (argc == 0)
		completion_put_verbs(begun);
	else if (!op)
		complete_verb(cli, argc, argv, begun);
	else
		complete_op(cli, op, argc - taken, argv + taken, begun);
	if (argc == 1)
		put_seconds(argv[0], begun);
}

int complete_main(struct cli *cli, int argc, char **argv)
{
	const struct op *op;
	int taken;

	/* A shell's script always gives `--`. A person may type `complete` without `--` as
	 * another name of `cadre done`. */
	if (argc < 3 || strcmp(argv[1], "--")) {
		op = op_command(argc, argv, &taken);
		return run_words(cli, op, argc - taken, argv + taken);
	}
	completion_complete(cli, argc - 2, argv + 1, argv[argc - 1]);
	return 0;
}

/* --- the scripts -------------------------------------------------------------------- */

static const char bash_script[] =
	"# bash completion for cadre, made by `cadre completion bash`\n"
	"_cadre() {\n"
	"\tlocal IFS=$'\\n' n=$((COMP_CWORD - 1)) begun=${COMP_WORDS[COMP_CWORD]} before=\n"
	"\t# Bash splits `role:x` into three words, and completes only the last word.\n"
	"\tif [[ $begun == : ]]; then\n"
	"\t\tbefore=${COMP_WORDS[n]}: n=$((n - 1)) begun=\n"
	"\telif [[ ${COMP_WORDS[n]} == : ]]; then\n"
	"\t\tbefore=${COMP_WORDS[n - 1]}: n=$((n - 2))\n"
	"\tfi\n"
	"\tCOMPREPLY=($(cadre complete -- \"${COMP_WORDS[@]:1:n}\" \"$before$begun\" "
	"2>/dev/null | cut -f 1))\n"
	"\tCOMPREPLY=(\"${COMPREPLY[@]#\"$before\"}\")\n"
	"}\n"
	"complete -o default -F _cadre cadre\n";

static const char zsh_script[] =
	"#compdef cadre\n# zsh completion for cadre, made by `cadre completion zsh`\n"
	"_cadre() {\n"
	"\tlocal -a found\n"
	"\tfound=(${(f)\"$(cadre complete -- \"${(@)words[2,CURRENT]}\" 2>/dev/null)\"})\n"
	"\tif (( $#found )); then\n"
	"\t\tcompadd -l -d found -- \"${(@)found%%$'\\t'*}\"\n"
	"\telse\n"
	"\t\t_files\n"
	"\tfi\n"
	"}\n"
	"if [ \"$funcstack[1]\" = _cadre ]; then _cadre; else compdef _cadre cadre; fi\n";

static const char fish_script[] =
	"# fish completion for cadre, made by `cadre completion fish`\n"
	"function __cadre\n"
	"\tset -l words (commandline -opc) (commandline -ct)\n"
	"\tset -l found (cadre complete -- $words[2..] 2>/dev/null)\n"
	"\tif set -q found[1]\n"
	"\t\tprintf '%s\\n' $found\n"
	"\telse\n"
	"\t\t__fish_complete_path (commandline -ct)\n"
	"\tend\n"
	"end\n"
	"complete -c cadre -f -a '(__cadre)'\n";

const char *const completion_shells[] = { "bash", "zsh", "fish", NULL };

int completion_main(struct cli *cli, int argc, char **argv)
{
	static const char *const scripts[] = { bash_script, zsh_script, fish_script };

	for (size_t i = 0; argc == 2 && completion_shells[i]; i++)
		if (!strcmp(argv[1], completion_shells[i]))
			return fputs(scripts[i], stdout), 0;
	return cli_usage(cli, "`completion` takes bash, zsh or fish");
}
