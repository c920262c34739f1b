/*
 * man - writes the manual pages from the schema, the faults and the table of verbs.
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

/* Finds the noun of an operation that is a command. Returns the noun's length, or 0 if the
 * operation is no command, or if an operation before has the same noun. */
static size_t man_noun_of(size_t i)
{
	const size_t n = strcspn(op_table[i].name, ".");

	if (!op_table[i].cli)
		return 0;
	for (size_t k = 0; k < i; k++)
		if (op_table[k].cli &&
		    !strncmp(op_table[k].name, op_table[i].name, n + 1))
			return 0;
	return n;
}

/* Whether the verb has two words, and the first word is the noun. */
static bool man_is_about(const struct verb *v, const char *noun)
{
	const size_t n = strlen(noun);

	return v->usage && !strncmp(v->name, noun, n) && v->name[n] == ' ';
}

/* Prints a text of help. A line that begins with two blanks begins an entry, and a line with
 * more blanks continues an entry. */
static void man_put_help(const char *text)
{
	while (*text) {
		const size_t n = strcspn(text, "\n"), blanks = strspn(text, " ");
		struct arena a = { 0 };
		char *line = arena_strndup(&a, text, n), *doc;

		if (!n) {
			printf(".PP\n");
		} else if (blanks == 2) {
			doc = strstr(line + 2, "  ");
			if (doc)
				*doc = '\0';
			printf(".TP\n\\fB");
			man_put(line + 2);
			printf("\\fR\n");
			if (doc)
				man_put_line(doc + 1 + strspn(doc + 1, " "));
		} else {
			man_put_line(line + (blanks < n ? blanks : 0));
		}
		text += n + (text[n] == '\n');
		arena_release(&a);
	}
}

static void man_put_op(const struct op *op)
{
	struct text help = { 0 };
	char line[120];

	help_command(op, line, sizeof(line));
	printf(".SS cadre ");
	man_put_line(line);
	op_usage(op, &help);
	man_put_help(help.data);
	text_release(&help);
}

/* Writes the page of a noun: the verbs and operations that `cadre help NOUN` lists, each with
 * the text of `cadre help VERB`. */
static int man_page(const struct cli *cli, const char *noun)
{
	bool any = false;

	for (size_t i = 0; i < op_count; i++)
		any |= op_table[i].cli && op_has_noun(&op_table[i], noun);
	if (!any)
		return cli_usage(cli, "there is no page about `%.40s`", noun);
	printf(".\\\" made by `cadre man %s` from the schema\n.TH CADRE-", noun);
	for (const char *c = noun; *c; c++)
		putchar(*c - 32);
	printf(" 1 \"\" \"cadre %s\" \"User Commands\"\n.SH NAME\ncadre-%s \\- commands about "
	       "the noun %s\n.SH COMMANDS\n",
	       CADRE_VERSION, noun, noun);
	for (const struct verb *v = verb_table; v->name; v++)
		if (man_is_about(v, noun)) {
			printf(".SS cadre ");
			man_put(v->name);
			putchar(' ');
			man_put_line(v->usage);
			man_put_line(v->summary);
			if (help_verb_doc(v->name))
				man_put_help(help_verb_doc(v->name));
		}
	for (size_t i = 0; i < op_count; i++)
		if (op_table[i].cli && op_has_noun(&op_table[i], noun))
			man_put_op(&op_table[i]);
	printf(".SH SEE ALSO\n\\fBcadre\\fR(1) has the options of every verb and the exit "
	       "status.\n");
	return 0;
}

/* Lists the nouns that have pages, one on each line. */
static int man_put_nouns(void)
{
	for (size_t i = 0; i < op_count; i++) {
		const size_t n = man_noun_of(i);

		if (n)
			printf("%.*s\n", (int)n, op_table[i].name);
	}
	return 0;
}

static void man_put_pages(void)
{
	printf(".SH COMMANDS\nEach noun has a page of its own. \\fBcadre help\\fR \\fINOUN\\fR lists "
	       "the commands of a noun, and \\fBcadre help\\fR \\fICOMMAND\\fR explains one "
	       "command.\n");
	for (size_t i = 0; i < op_count; i++) {
		const size_t n = man_noun_of(i);
		const char *comma = "";
		char noun[40];

		if (!n)
			continue;
		snprintf(noun, sizeof(noun), "%.*s", (int)n, op_table[i].name);
		printf(".TP\n\\fBcadre\\-%s\\fR(1)\n", noun);
		for (size_t k = i; k < op_count; k++) {
			const struct op *op = &op_table[k];

			if (!op->cli || !op_has_noun(op, noun))
				continue;
			printf("%s%s", comma, op->cli[0]);
			if (op->cli[1])
				printf(" %s", op->cli[1]);
			comma = ", ";
		}
		putchar('\n');
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

static const char head[] =
	".SH NAME\ncadre \\- coordination of teams of AI coding agents\n"
	".SH SYNOPSIS\n\\fBcadre\\fR [\\fIOPTIONS\\fR] \\fIVERB\\fR [\\fIWORDS\\fR]\n"
	".SH DESCRIPTION\n"
	"cadre keeps teams, agents, messages, tasks and workspaces in one SQLite file.\n"
	"cadre keeps everything that it has acknowledged. While one agent holds a task, no\n"
	"other agent can hold this task. If a host runs (\\fBcadre up\\fR), the command uses the\n"
	"host's socket; otherwise the command opens the file itself. The operations and the\n"
	"guarantees are the same.\n"
	".PP\nA text may be \\fB\\-\\fR, which reads standard input, or \\fB@\\fR\\fIFILE\\fR; "
	"\\fB@@\\fR stands for one @.\n"
	".SH OPTIONS\nOf every verb:\n";

static const char tail[] =
	".SH ENVIRONMENT\n"
	".TP\n\\fBCADRE_HOME\\fR\nThe state folder.\n"
	".TP\n\\fBCADRE_TEAM\\fR, \\fBCADRE_AGENT\\fR, \\fBCADRE_TOKEN\\fR\n"
	"The caller. Without an agent, the caller is the operator.\n"
	".TP\n\\fBCADRE_SESSION\\fR\nThe name of the receiver's session; if "
	"absent, the session of the shell.\n"
	".TP\n\\fBCADRE_SOCKET\\fR\nInside a workspace: the socket at which its guest takes calls.\n"
	".TP\n\\fBNO_COLOR\\fR\nNo colour.\n"
	".SH FILES\n"
	".TP\n\\fI.cadre/\\fR\nThe state of the project, found upward from the working "
	"directory; all worktrees of a repository share one state. The state counts only if "
	"it was made there by \\fBcadre init\\fR, or trusted by \\fBcadre trust\\fR.\n"
	".TP\n\\fI~/.local/state/cadre/\\fR\nThe state that is used outside projects, if it is there (\\fBcadre --home DIR init\\fR)."
	"\n"
	".TP\n\\fI~/.local/state/cadre/known\\fR\nThe states that were made or trusted.\n"
	".TP\n\\fIcadre.toml\\fR\nThe configuration of the user (~/.config/cadre/), of the state or of the project: "
	"\\fBcadre config\\fR shows each key, its value and its source.\n"
	".SH SEE ALSO\n\\fBsqlite3\\fR(1), \\fBgit\\-worktree\\fR(1)\n";

int man_main(struct cli *cli, int argc, char **argv)
{
	if (argc > 1)
		return man_page(cli, argv[1]);
	printf(".\\\" made by `cadre man` from the schema\n.TH CADRE 1 \"\" \"cadre %s\" "
	       "\"User Commands\"\n%s",
	       CADRE_VERSION, head);
	man_put_options();
	printf(".SH THIS MACHINE\n");
	man_put_verbs();
	man_put_pages();
	put_status();
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

	if (argc >= 2 && argc <= 3 && !strcmp(argv[1], "man"))
		return man_main(cli, argc - 1, argv + 1);
	if (argc == 2 && !strcmp(argv[1], "nouns"))
		return man_put_nouns();
	if (argc == 2 && !strcmp(argv[1], "agent-card"))
		return put_card_schema();
	if (argc != 2 || strcmp(argv[1], "reference"))
		return cli_usage(
			cli, "`docs` takes reference, man [NOUN], nouns or agent-card");
	/* Writes the reference with the HTTP paths and the rates of calls. */
	reference_write(REFERENCE_ROUTES | REFERENCE_RATES, &out);
	fwrite(out.data, 1, out.len, stdout);
	text_release(&out);
	return 0;
}
