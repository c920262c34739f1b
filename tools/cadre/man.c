/*
 * man - writes the manual page from the schema, the faults and the table of verbs.
 */
#include <stdio.h>
#include <string.h>

#include "core/base/version.h"
#include "tools/cadre/cli.h"
#include "tools/cadre/reference.h"
#include "tools/cadre/status.h"

/* Writes a character beyond ASCII as its number, which every roff understands. Returns a
 * pointer to the character's last byte. */
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

/* Writes text for roff: no line may begin with a dot or quote, and a dash must stay a dash. */
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

/* Prints an entry: `before` and `name` in bold, then `end`, and below them `doc`, indented. */
static void man_put_entry(const char *before, const char *name, const char *end,
			  const char *doc)
{
	printf(".TP\n\\fB%s", before);
	man_put(name);
	printf(*end ? "\\fR " : "\\fR");
	man_put_line(end);
	man_put_line(doc);
}

static void man_put_options(void)
{
	for (const struct option_text *o = option_table; o->name; o++)
		man_put_entry("", o->name, o->value ? o->value : "", o->doc);
}

static void man_put_verbs(void)
{
	for (const struct verb *v = verb_table; v->name; v++)
		if (v->usage)
			man_put_entry("cadre ", v->name, v->usage, v->summary);
}

static void man_put_ops(void)
{
	char line[120];

	for (size_t i = 0; i < op_count; i++)
		if (op_table[i].cli) {
			help_command(&op_table[i], line, sizeof(line));
			man_put_entry("cadre ", line, "", op_table[i].summary);
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
		char status[16];

		snprintf(status, sizeof(status), "%d", faults[i].status);
		man_put_entry("", status, faults[i].name, faults[i].doc);
	}
}

/* Prints the examples of all commands as one list. */
static void put_examples(void)
{
	printf(".SH EXAMPLES\n");
	for (size_t i = 0; i < op_count; i++)
		if (op_table[i].example)
			man_put_entry("cadre ", op_table[i].example, "",
				      op_table[i].summary);
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
	".TP\n\\fIcadre.toml\\fR\nThe configuration, of the user (~/.config/cadre/), the state or the project: "
	"\\fBcadre config\\fR shows its keys and what holds.\n"
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
	printf(".SH COMMANDS\n\\fBcadre help\\fR \\fICOMMAND\\fR explains one, with its "
	       "options; docs/reference.md has all of them.\n");
	man_put_ops();
	put_status();
	put_examples();
	printf("%s", tail);
	return 0;
}

static int man_write_part(const char *data, size_t len, void *file)
{
	return fwrite(data, 1, len, file) == len ? 0 : -1;
}

/* Prints the JSON schema of agents' cards, for programs that read or write cards. */
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
			  "description",
			  "For a mirrored card: the event that the card shows.", "sum",
			  "type", "string", "description",
			  "For a mirrored card: checksum of the other fields."));
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
	/* Writes the reference with the HTTP paths and the rates of calls. */
	reference_write(REFERENCE_ROUTES | REFERENCE_RATES, &out);
	fwrite(out.data, 1, out.len, stdout);
	text_release(&out);
	return 0;
}
