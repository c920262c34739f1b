/*
 * man - the manual page, from the schema, the faults and the table of verbs.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/version.h"
#include "core/config/config.h"
#include "tools/cadre/cli.h"
#include "tools/cadre/reference.h"
#include "tools/cadre/status.h"

/* A character beyond ASCII by its number, which every roff understands; returns
 * its last byte. */
static const char *put_wide(const char *s)
{
	unsigned char c = (unsigned char)*s;
	int more = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : 1;
	unsigned code = c & (0x3f >> more);

	for (; more && s[1]; more--)
		code = code << 6 | ((unsigned char)*++s & 0x3f);
	printf("\\[u%04X]", code);
	return s;
}

/* Text for roff: a dot or quote must not begin a line, a dash is a dash. */
static void man_put(const char *s)
{
	bool start = true;

	for (; *s; s++) {
		if (start && (*s == '.' || *s == '\''))
			printf("\\&");
		if (*s == '\\')
			printf("\\e");
		else if (*s == '-')
			printf("\\-");
		else if (*s & 0x80)
			s = put_wide(s);
		else
			putchar(*s);
		start = *s == '\n';
	}
}

static void man_put_line(const char *s)
{
	man_put(s);
	putchar('\n');
}

static void man_put_part(const char *s, size_t n)
{
	struct text part = { 0 };

	text_add(&part, s, n);
	man_put_line(part.data);
	text_release(&part);
}

static void man_put_prose(const char *s)
{
	for (const char *end; *s; s = end) {
		end = strstr(s, "\n\n");
		printf(".PP\n");
		if (!end) {
			man_put_line(s);
			return;
		}
		man_put_part(s, (size_t)(end - s));
		end += 2;
	}
}

static bool man_is_bare(const struct op *op, const struct field *field)
{
	for (size_t i = 0; op->cli_fields && op->cli_fields[i]; i++)
		if (!strcmp(op->cli_fields[i], field->name))
			return true;
	return false;
}

static void man_put_choices(const struct type *t)
{
	printf("One of");
	for (const struct choice *c = t->choices; c->name; c++)
		printf(" %s%s", c->name, c[1].name ? "," : ".\n");
}

static void man_put_option(const struct op *op, const struct field *field)
{
	char value[32];

	field_value(field, value);
	printf(".TP\n");
	if (man_is_bare(op, field)) {
		printf("\\fI");
		for (const char *s = field->name; *s; s++)
			putchar(toupper((unsigned char)*s));
		printf("\\fR\n");
	} else {
		printf("\\fB\\-\\-");
		for (const char *s = field->name; *s; s++)
			*s == '_' ? (void)printf("\\-") : (void)putchar(*s);
		printf(*value ? "\\fR \\fI%s\\fR\n" : "\\fR\n", value);
	}
	man_put_line(field->doc);
	if (field->type->kind == KIND_ENUM)
		man_put_choices(field->type);
}

static void man_put_op(const struct op *op)
{
	printf(".SS cadre");
	for (size_t i = 0; op->cli[i]; i++)
		printf(" %s", op->cli[i]);
	printf("\n");
	man_put_line(op->summary);
	man_put_prose(op->doc);
	if (op->runs)
		man_put_prose(op_command_text);
	for (size_t i = 0; i < op->in->n_fields; i++)
		man_put_option(op, &op->in->fields[i]);
	if (op->until)
		printf(".TP\n\\fB\\-\\-wait\\fR[=\\fISECONDS\\fR]\nThen wait as "
		       "\\fBcadre %s %s\\fR does, with its exit status.\n",
		       op->until->cli[0], op->until->cli[1]);
}

static void man_put_options(void)
{
	for (const struct option_text *o = option_table; o->name; o++) {
		printf(".TP\n\\fB");
		man_put(o->name);
		printf(o->value ? "\\fR \\fI%s\\fR\n" : "\\fR\n", o->value);
		man_put_line(o->doc);
	}
}

static void man_put_verbs(void)
{
	for (const struct verb *v = verb_table; v->name; v++) {
		if (!v->usage)
			continue;
		printf(".TP\n\\fBcadre %s\\fR ", v->name);
		man_put_line(v->usage);
		man_put_line(v->summary);
	}
}

/* Prints the range and the default of a key. */
static void put_range(const struct field *key)
{
	const struct type *t = key->type;

	if (t->kind == KIND_ENUM) {
		man_put_choices(t);
		printf("Default: %s.\n", t->choices[key->def_int].name);
	} else if (t->kind == KIND_INT) {
		printf("%" PRId64 " to %" PRId64 ". Default: %" PRId64 ".\n", t->min,
		       t->max, key->def_int);
	}
}

static void man_put_config(void)
{
	printf(".SH CONFIGURATION\n"
	       "\\fIcadre.toml\\fR is read in ~/.config/cadre/, then in the state folder, then "
	       "in the project around the working directory; the later wins. A project's "
	       "file may set only what concerns the caller, as team.default. Another user's "
	       "is passed over. A variable of the environment wins over the files, a flag "
	       "over both. \\fBcadre config\\fR shows what holds. A host reads it when it "
	       "starts.\n");
	for (size_t i = 0; i < record_config.n_fields; i++) {
		const struct field *key = &record_config.fields[i];
		char variable[CONFIG_VARIABLE_SIZE];

		config_variable(key, variable);
		printf(".TP\n\\fB%s\\fR, %s\n", key->name, variable);
		man_put_line(key->doc);
		put_range(key);
	}
}

static void put_status(void)
{
	static const struct {
		const char *name, *doc;
		int status;
	} faults[] = {
#define X(id, name, exit, http, wire, doc, hint) { name, doc, exit },
		FAULT_LIST(X)
#undef X
#define X(id, status, doc) { "", doc, status },
			STATUS_LIST(X)
#undef X
	};

	printf(".SH EXIT STATUS\n.TP\n\\fB0\\fR\nDone.\n");
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		printf(".TP\n\\fB%d\\fR ", faults[i].status);
		man_put_line(faults[i].name);
		man_put_line(faults[i].doc);
	}
}

/* Prints the examples of all commands, as a list to read through. */
static void put_examples(void)
{
	printf(".SH EXAMPLES\n");
	for (size_t i = 0; i < op_count; i++) {
		const struct op *op = &op_table[i];

		if (!op->example)
			continue;
		printf(".TP\n\\fBcadre ");
		man_put(op->example);
		printf("\\fR\n");
		man_put_line(op->summary);
	}
}

static const char head[] =
	".SH NAME\ncadre \\- coordination of teams of AI coding agents\n"
	".SH SYNOPSIS\n\\fBcadre\\fR [\\fIOPTIONS\\fR] \\fIVERB\\fR [\\fIWORDS\\fR]\n"
	".SH DESCRIPTION\n"
	"cadre keeps teams, agents, messages, tasks and workspaces in one SQLite file.\n"
	"What it acknowledged it keeps, and what one agent claimed no other agent holds.\n"
	"With a host running (\\fBcadre up\\fR) it talks to its socket; without one it opens\n"
	"the file itself: the same operations with the same guarantees.\n"
	".PP\nA text may be \\fB\\-\\fR, which reads standard input, or \\fB@\\fR\\fIFILE\\fR; "
	"\\fB@@\\fR stands for one @.\n"
	".SH OPTIONS\nOf every verb:\n";

static const char tail[] =
	".SH ENVIRONMENT\n"
	".TP\n\\fBCADRE_HOME\\fR\nThe state folder.\n"
	".TP\n\\fBCADRE_TEAM\\fR, \\fBCADRE_AGENT\\fR, \\fBCADRE_TOKEN\\fR\n"
	"Who calls; without an agent it is the operator.\n"
	".TP\n\\fBCADRE_SESSION\\fR\nNames the receiver's session; the shell's when absent.\n"
	".TP\n\\fBCADRE_SOCKET\\fR\nInside a workspace: the socket of its door.\n"
	".TP\n\\fBNO_COLOR\\fR\nNo colour.\n"
	".SH FILES\n"
	".TP\n\\fI.cadre/\\fR\nThe state of the project, found upward from the working "
	"directory; all worktrees of a repository share one. It counts only if it was made "
	"there by \\fBcadre init\\fR, or trusted by \\fBcadre trust\\fR.\n"
	".TP\n\\fI~/.local/state/cadre/\\fR\nThe state that is used outside projects, if it is there (\\fBcadre --home DIR init\\fR)."
	"\n"
	".TP\n\\fI~/.local/state/cadre/known\\fR\nThe states that were made or trusted.\n"
	".TP\n\\fIcadre.toml\\fR\nThe configuration, see above.\n"
	".SH SEE ALSO\n\\fBsqlite3\\fR(1), \\fBgit\\-worktree\\fR(1)\n";

int man_main(struct cli *cli, int argc, char **argv)
{
	(void)cli;
	(void)argc;
	(void)argv;
	printf(".\\\" made by `cadre man` from the schema\n.TH CADRE 1 \"\" \"cadre %s\" "
	       "\"User Commands\"\n%s",
	       CADRE_VERSION, head);
	man_put_options();
	printf(".SH THIS MACHINE\n");
	man_put_verbs();
	printf(".SH COMMANDS\n");
	for (size_t i = 0; i < op_count; i++)
		if (op_table[i].cli)
			man_put_op(&op_table[i]);
	man_put_config();
	put_status();
	put_examples();
	printf("%s", tail);
	return 0;
}

static int man_write_part(const char *data, size_t len, void *file)
{
	return fwrite(data, 1, len, file) == len ? 0 : -1;
}

/* The definition of agents' cards, for programs that read or write them. */
static int put_card_schema(void)
{
	json_t *schema = json_pack("{s:s, s:s, s:s}", "$schema",
				   "https://json-schema.org/draft/2020-12/schema", "$id",
				   "urn:cadre:agent-card", "title",
				   "The card of an agent");

	json_object_update_new(schema, op_schema(&record_card));
	json_object_update_new(
		json_object_get(schema, "properties"),
		json_pack("{s:{s:s, s:s}, s:{s:s, s:s}}", "rev", "type", "integer",
			  "description", "Of a mirrored card: the event that it shows.",
			  "sum", "type", "string", "description",
			  "Of a mirrored card: what the rest of it sums up to."));
	json_dump_callback(schema, man_write_part, stdout,
			   JSON_INDENT(2) | JSON_PRESERVE_ORDER);
	printf("\n");
	json_decref(schema);
	return 0;
}

int docs_main(struct cli *cli, int argc, char **argv)
{
	struct text out = { 0 };

	if (argc == 2 && !strcmp(argv[1], "man"))
		return man_main(cli, argc, argv);
	if (argc == 2 && !strcmp(argv[1], "agent-card"))
		return put_card_schema();
	if (argc != 2 || strcmp(argv[1], "reference"))
		return cli_usage(cli, "`docs` takes reference, man or agent-card");
	/* The reference without HTTP paths and without counts of calls. */
	reference_write(REFERENCE_ROUTES | REFERENCE_RATES, &out);
	fwrite(out.data, 1, out.len, stdout);
	text_release(&out);
	return 0;
}
