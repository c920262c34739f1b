/*
 * help - what there is, from the schema and the table of verbs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/cadre/cli.h"

const struct option_text option_table[] = {
	{ "--json", NULL, "One line of JSON; a fault is an object `error` there." },
	{ "--direct", NULL, "Open the state itself even if a host runs." },
	{ "--home", "DIR", "The state folder." },
	{ "--team", "TEAM", "The team; needed when there are several." },
	{ "--as", "AGENT", "Act as that agent (operator only; events say so)." },
	{ "--key", "KEY", "Idempotency key: the same call again does nothing twice." },
	{ "--section.key", "VALUE", "A key of the configuration: see `cadre config`." },
	{ "--no-color", NULL, "No colour on a terminal." },
	{ "--help", NULL, "Explain the verb." },
	{ NULL, NULL, NULL },
};

static void list_options(void)
{
	for (const struct option_text *o = option_table; o->name; o++) {
		char line[40];

		snprintf(line, sizeof(line), "%s%s%s", o->name, o->value ? " " : "",
			 o->value ? o->value : "");
		printf("  %-19s  %s\n", line, o->doc);
	}
}

/* The words of a command with its bare arguments: `send TO CONTENT...`. */
static void command_line(const struct op *op, char *out, size_t room)
{
	size_t n = 0;

	out[0] = '\0';
	for (size_t i = 0; op->cli[i] && n < room; i++)
		n += (size_t)snprintf(out + n, room - n, "%s%s", i ? " " : "",
				      op->cli[i]);
	for (size_t i = 0; op->cli_fields && op->cli_fields[i] && n < room; i++) {
		const struct field *field = field_find(op->in, op->cli_fields[i]);
		bool may = field->flags & (FIELD_OPTIONAL | FIELD_DEFAULT);
		char *at = out + n;

		n += (size_t)snprintf(
			out + n, room - n, may ? " [%s%s]" : " %s%s", field->name,
			op->cli_rest && !op->cli_fields[i + 1] ? "..." : "");
		for (; *at; at++)
			*at = (char)(*at >= 'a' && *at <= 'z' ? *at - 32 : *at);
	}
}

static void list_verbs(void)
{
	for (const struct verb *v = verb_table; v->name; v++) {
		char line[80];

		if (!v->usage)
			continue;
		snprintf(line, sizeof(line), "%s%s%s", v->name, *v->usage ? " " : "",
			 v->usage);
		printf("  %-32s  %s\n", line, v->summary);
	}
}

/* A verb with code of its own stands for the operation of the same name. */
static bool is_verb(const struct op *op)
{
	for (const struct verb *v = verb_table; v->name && !op->cli[1]; v++)
		if (!strcmp(v->name, op->cli[0]))
			return true;
	return false;
}

/* The operations whose command begins with `word`, or all of them. */
static int list_ops(const char *word)
{
	int n = 0;

	for (size_t i = 0; i < op_count; i++) {
		const struct op *op = &op_table[i];
		char line[120];

		if (!op->cli || is_verb(op) || (word && strcmp(op->cli[0], word)))
			continue;
		command_line(op, line, sizeof(line));
		printf("  %-32s  %s\n", line, op->summary);
		n++;
	}
	return n;
}

static int overview(void)
{
	printf("usage: cadre [OPTIONS] VERB [WORDS]\n\nThis machine:\n");
	list_verbs();
	printf("\nTeams, messages, tasks and workspaces:\n");
	list_ops(NULL);
	printf("\nOptions of every verb:\n");
	list_options();
	printf("\n`cadre help VERB` explains one.  A text may be - (standard input) or @FILE.\n");
	return 0;
}

static int explain_verb(const struct verb *v)
{
	printf("usage: cadre %s%s%s\n\n%s\n", v->name, v->usage && *v->usage ? " " : "",
	       v->usage ? v->usage : "", v->summary);
	return 0;
}

/* The commands that begin with this one: `inbox peek` besides `inbox`. */
static void list_longer(const struct op *op)
{
	bool any = false;

	for (size_t i = 0; i < op_count; i++) {
		const struct op *other = &op_table[i];

		if (!other->cli || other == op || op->cli[1] ||
		    strcmp(other->cli[0], op->cli[0]))
			continue;
		printf("%s `cadre %s %s`", any ? "," : "\nSee also", other->cli[0],
		       other->cli[1]);
		any = true;
	}
	if (any)
		printf(".\n");
}

static int explain_op(const struct op *op)
{
	struct text out = { 0 };

	op_usage(op, &out);
	fwrite(out.data, 1, out.len, stdout);
	text_release(&out);
	list_longer(op);
	if (op->wait)
		printf("\n--wait stands for the longest wait.%s\n",
		       op->flags & OP_REQUEST ? "  --take receives for good." : "");
	printf("\n`cadre help` lists the options of every verb.\n");
	return 0;
}

/* argv[1...] are the words to be explained. */
int help_main(struct cli *cli, int argc, char **argv)
{
	const struct op *op;
	int taken = 0;

	if (argc < 2)
		return overview();
	for (const struct verb *v = verb_table; v->name; v++)
		if (!strcmp(v->name, argv[1]) && strcmp(argv[1], "events") &&
		    strcmp(argv[1], "gc"))
			return explain_verb(v);
	op = op_command(argc - 1, argv + 1, &taken);
	if (op)
		return explain_op(op);
	if (list_ops(argv[1]))
		return 0;
	return cli_usage(cli, "there is no verb `%.60s`", argv[1]);
}
