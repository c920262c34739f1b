/* reference - writes the reference in Markdown: the interfaces of all doors in one document. */
#include "tools/cadre/reference.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "core/config/config.h"
#include "core/op/face.h"
#include "tools/cadre/status.h"

/* --- cells and fields ------------------------------------------------------------ */

/* Writes prose into a table cell. A bar or a line break would end the cell. */
static void put_cell(struct text *out, const char *s)
{
	for (; *s; s++) {
		if (*s == '|')
			text_add(out, "\\|", 2);
		else
			text_add(out, *s == '\n' ? " " : s, 1);
	}
}

static void reference_put_limits(struct text *out, const struct type *t)
{
	const char *unit = t->kind == KIND_INT ? "" : " bytes";

	if (!t->min && !t->max)
		return;
	if (t->min == t->max)
		text_addf(out, ", %" PRId64 "%s", t->min, unit);
	else
		text_addf(out, ", %" PRId64 " to %" PRId64 "%s", t->min, t->max, unit);
}

static void reference_put_choices(struct text *out, const struct type *t)
{
	for (const struct choice *c = t->choices; c->name; c++)
		text_addf(out, "%s`%s`", c == t->choices ? "" : " ", c->name);
}

static void reference_put_type(struct text *out, const struct field *fd)
{
	static const char *const kinds[] = {
		[KIND_TEXT] = "text", [KIND_INT] = "int",   [KIND_BOOL] = "bool",
		[KIND_TIME] = "time", [KIND_JSON] = "json", [KIND_MAP] = "map",
		[KIND_ENUM] = "",     [KIND_RECORD] = "",
	};
	const struct type *t = fd->type;

	if (fd->flags & FIELD_LIST)
		text_addf(out, "list of ");
	if (fd->most)
		text_addf(out, "at most %" PRId64 " ", fd->most);
	if (t->kind == KIND_RECORD)
		text_addf(out, "[%s](#%s)", t->name, t->name);
	else if (t->kind == KIND_ENUM)
		reference_put_choices(out, t);
	else
		text_addf(out, "%s", kinds[t->kind]);
	reference_put_limits(out, t);
	if (fd->flags & FIELD_OPTIONAL)
		text_addf(out, ", optional");
}

static void reference_put_default(struct text *out, const struct field *fd)
{
	const struct type *t = fd->type;

	if (!(fd->flags & FIELD_DEFAULT))
		return;
	text_addf(out, " Default: ");
	if (fd->flags & FIELD_LIST)
		text_addf(out, "none.");
	else if (t->kind == KIND_TEXT || t->kind == KIND_JSON)
		text_addf(out, *fd->def_text ? "`%s`." : "empty%s.", fd->def_text);
	else if (t->kind == KIND_BOOL)
		text_addf(out, "%s.", fd->def_int ? "true" : "false");
	else if (t->kind == KIND_ENUM)
		text_addf(out, "`%s`.", t->choices[fd->def_int].name);
	else if (t->kind == KIND_MAP)
		text_addf(out, "empty.");
	else
		text_addf(out, "%" PRId64 ".", fd->def_int);
}

static void put_aliases(struct text *out, const struct field *fd)
{
	const char *before = " Also taken as ";

	for (const char *const *a = fd->aliases; a && *a; a++) {
		text_addf(out, "%s`%s`", before, *a);
		before = ", ";
	}
	if (fd->aliases)
		text_addf(out, ".");
}

static void put_fields(struct text *out, const struct record *r, const char *title)
{
	bool any = false;

	for (size_t i = 0; i < r->n_fields; i++) {
		const struct field *fd = &r->fields[i];

		if (strcmp(fd->name, "idempotency_key") == 0)
			continue; /* the top of the reference describes the key */
		if (!any)
			text_addf(out,
				  "\n| %s | type | meaning |\n"
				  "| --- | --- | --- |\n",
				  title);
		any = true;
		text_addf(out, "| `%s` | ", fd->name);
		reference_put_type(out, fd);
		text_addf(out, " | ");
		put_cell(out, fd->doc);
		reference_put_default(out, fd);
		put_aliases(out, fd);
		text_addf(out, " |\n");
	}
}

/* --- operations --------------------------------------------------------------------- */

/* Writes words, or the names of arguments in capitals. */
static void put_names(struct text *out, const char *const *names, bool arguments)
{
	for (; *names; names++) {
		text_addf(out, " ");
		for (const char *s = *names; *s; s++)
			text_addf(out, "%c", arguments ? toupper((unsigned char)*s) : *s);
	}
}

static void reference_put_doors(unsigned served, struct text *out, const struct op *op)
{
	if (op->cli) {
		text_addf(out, "- Command: `cadre");
		put_names(out, op->cli, false);
		if (op->cli_fields)
			put_names(out, op->cli_fields, true);
		text_addf(out, "%s`\n", op->cli_rest ? "..." : "");
	}
	if (op->example)
		text_addf(out, "- Example: `cadre %s`\n", op->example);
	if (op->tool && op->action)
		text_addf(out, "- MCP: tool `%s`, action `%s`\n", op->tool, op->action);
	else if (op->tool)
		text_addf(out, "- MCP: tool `%s`\n", op->tool);
	if (op->http_path && served & REFERENCE_ROUTES)
		text_addf(out, "- HTTP: `%s %s`\n", op->http_method, op->http_path);
}

static void put_facts(unsigned served, struct text *out, const struct op *op)
{
	static const char *const whos[] = {
		[WHO_OBSERVER] = "observers, members, the lead, the operator",
		[WHO_MEMBER] = "members, the lead, the operator",
		[WHO_LEAD] = "the lead and the operator",
		[WHO_OPERATOR] = "the operator",
		[WHO_HOST] = "the host itself",
	};
	static const char *const rates[] = {
		[RATE_DEFAULT] = "default", [RATE_CREATE] = "create",
		[RATE_EXEC] = "exec",       [RATE_TEAM_MESSAGE] = "team_message",
		[RATE_FREE] = "free",
	};

	text_addf(out, "- %s%s%s; for %s", op->flags & OP_WRITE ? "Writes" : "Reads",
		  op->flags & OP_IDEMPOTENT ? ", idempotent" : "",
		  op->flags & OP_DESTRUCTIVE ? ", destructive" : "", whos[op->who]);
	if (served & REFERENCE_RATES)
		text_addf(out, "; rate `%s`", rates[op->rate]);
	text_addf(out, "\n");
	if (op->flags & OP_NEEDS_HOST)
		text_addf(out, "- Needs a running host\n");
	if (op->wait)
		text_addf(out, "- Waits up to `%s` seconds\n", op->wait->name);
	if (op->until)
		text_addf(out, "- With `--wait`, the command then waits with `%s`\n",
			  op->until->name);
}

static void put_outcomes(struct text *out, const struct op *op)
{
	const char *comma = "";

	text_addf(out, "\nFaults: ");
	for (const enum fault_code *c = op->faults; *c; c++, comma = ", ")
		text_addf(out, "%s`%s`", comma, fault_info(*c)->name);
	text_addf(out, ".\n");
	if (!*op->events)
		return;
	comma = "";
	text_addf(out, "\nEvents: ");
	for (const int *e = op->events; *e; e++, comma = ", ")
		text_addf(out, "%s`%s`", comma, event_kind(*e)->name);
	text_addf(out, ".\n");
}

static void reference_put_op(unsigned served, struct text *out, const struct op *op)
{
	text_addf(out, "\n### %s\n\n%s\n", op->name, op->summary);
	if (*op->doc)
		text_addf(out, "\n%s\n", op->doc);
	text_addf(out, "\n");
	put_facts(served, out, op);
	reference_put_doors(served, out, op);
	put_fields(out, op->in, "argument");
	put_fields(out, op->out, "result");
	put_outcomes(out, op);
}

static void reference_put_ops(unsigned served, struct text *out)
{
	size_t noun = 0;

	for (size_t i = 0; i < op_count; i++) {
		const char *name = op_table[i].name;
		size_t n = strcspn(name, ".");

		if (!i || n != noun || strncmp(name, op_table[i - 1].name, n + 1) != 0)
			text_addf(out, "\n## %.*s\n", (int)n, name);
		noun = n;
		reference_put_op(served, out, &op_table[i]);
	}
}

/* --- the configuration -------------------------------------------------------------- */

/* Finds the record of the configuration by its name, because a reference can also be written
 * for tables without a configuration. NULL: the tables have no configuration. */
static const struct record *config_record(void)
{
	for (size_t i = 0; i < type_count; i++)
		if (strcmp(type_table[i]->name, "config") == 0)
			return type_table[i]->record;
	return NULL;
}

static void reference_put_key(struct text *out, const struct field *key)
{
	char variable[CONFIG_VARIABLE_SIZE];

	config_variable(key, variable);
	text_addf(out, "| `%s` | `%s` | ", key->name, variable);
	reference_put_type(out, key);
	text_addf(out, "%s | ", key->flags & FIELD_CALLER ? ", *caller*" : "");
	put_cell(out, key->doc);
	reference_put_default(out, key);
	text_addf(out, " |\n");
}

static void reference_put_config(struct text *out)
{
	const struct record *r = config_record();

	if (!r)
		return;
	text_addf(
		out,
		"\n"
		"## Configuration\n"
		"\n"
		"cadre reads up to three files `cadre.toml`: of the user (`$XDG_CONFIG_HOME/cadre/` or "
		"`~/.config/cadre/`), of the state, and of the project. The project's file is the "
		"nearest one from the working directory upward, in the project of that state. For each "
		"key, the later file wins. A project's file may come with a clone, so this file sets "
		"only the keys marked *caller*. A file of another project, or of another user except "
		"root, is ignored. A variable wins over the files. A flag (`--section.key VALUE`) wins "
		"over variables and files. cadre ignores an unknown variable `CADRE_...`, because hooks "
		"and workspaces pass the variables of one version to another version. `cadre doctor` "
		"names unknown variables. `cadre config` shows each value and its source. A host reads "
		"the files when it starts, so restart the host after a change. A host uses its own "
		"configuration, not the configuration of its callers.\n"
		"\n"
		"```toml\n"
		"[inbox]\n"
		"capacity = 1_000\n"
		"\n"
		"[vault]\n"
		"root = \"notes\"\n"
		"```\n"
		"\n"
		"| key | variable | type | meaning |\n"
		"| --- | --- | --- | --- |\n");
	for (size_t i = 0; i < r->n_fields; i++)
		reference_put_key(out, &r->fields[i]);
}

/* --- tables --------------------------------------------------------------------------- */

static void reference_put_types(struct text *out)
{
	text_addf(out, "\n## Records\n");
	for (size_t i = 0; i < type_count; i++) {
		const struct type *t = type_table[i];

		if (t->kind != KIND_RECORD || t->record == config_record())
			continue;
		text_addf(out, "\n### %s\n\n%s\n", t->name, t->doc);
		put_fields(out, t->record, "field");
	}
	text_addf(out, "\n## Values\n");
	for (size_t i = 0; i < type_count; i++) {
		const struct type *t = type_table[i];

		if (t->kind != KIND_ENUM)
			continue;
		text_addf(out, "\n%s (`%s`)\n\n", t->doc, t->name);
		for (const struct choice *c = t->choices; c->name; c++)
			text_addf(out, "- `%s`: %s\n", c->name, c->doc);
	}
}

static void reference_put_faults(struct text *out)
{
	text_addf(
		out,
		"\n"
		"## Faults\n"
		"\n"
		"Every door gives the same faults, with the place of the mistake and a hint.\n"
		"\n"
		"| code | exit | HTTP | wire | when | what to do |\n"
		"| --- | --- | --- | --- | --- | --- |\n");
	for (int i = 0; i < FAULT_COUNT; i++) {
		const struct fault_info *row = fault_info((enum fault_code)(-1 - i));

		text_addf(out, "| `%s` | %d | %d | %s | %s | ", row->name,
			  row->exit_status, row->http_status, row->wire, row->doc);
		hint_write(row->hint, HINT_ROUTE, out);
		text_addf(out, " |\n");
	}
	text_addf(out, "\nThe command also ends with\n\n"
		       "| exit | when |\n| --- | --- |\n");
#define X(id, status, doc) text_addf(out, "| %d | %s |\n", status, doc);
	STATUS_LIST(X)
#undef X
}

static void reference_put_events(struct text *out)
{
	text_addf(out, "\n## Events\n\n| number | event | meaning |\n"
		       "| --- | --- | --- |\n");
	for (size_t i = 0; i < event_count; i++) {
		text_addf(out, "| %d | `%s` | ", event_table[i].number,
			  event_table[i].name);
		put_cell(out, event_table[i].doc);
		text_addf(out, " |\n");
	}
}

static void reference_put_tools(struct text *out)
{
	text_addf(out, "\n## MCP tools\n\n| tool | set | what it is for |\n"
		       "| --- | --- | --- |\n");
	for (size_t i = 0; i < tool_count; i++) {
		text_addf(out, "| `%s` | %s | ", tool_table[i].name, tool_table[i].set);
		put_cell(out, tool_table[i].doc);
		text_addf(out, " |\n");
	}
}

static void put_refusals(struct text *out, const struct face *face)
{
	text_addf(out, "\n| fault | at | answer |\n| --- | --- | --- |\n");
	for (const struct face_fault *t = face->faults; t->body; t++)
		text_addf(out, "| %s | %s | `%s` |\n",
			  t->code ? fault_info(t->code)->name : "any other", t->where,
			  t->body);
}

static void reference_put_face(unsigned served, struct text *out, const struct face *face)
{
	text_addf(out, "\n### %s\n\n%s\n\n- Calls `%s`\n", face->name, face->doc,
		  face->op->name);
	if (face->tool)
		text_addf(out, "- MCP: tool `%s`%s%s%s\n", face->tool,
			  face->action ? ", action `" : "",
			  face->action ? face->action : "", face->action ? "`" : "");
	if (face->http_path && served & REFERENCE_ROUTES)
		text_addf(out, "- HTTP: `%s %s`\n", face->http_method, face->http_path);
	if (face->own)
		put_fields(out, face->in, "argument");
	if (face->answer)
		text_addf(out, "\nAnswer: `%s`\n", face->answer);
	if (face->faults->body)
		put_refusals(out, face);
}

static void put_faces(unsigned served, struct text *out)
{
	if (!face_count)
		return;
	text_addf(
		out,
		"\n"
		"## Faces\n"
		"\n"
		"A face is an operation under the name that another system uses, with answers in the "
		"form that clients of that system read. Braces contain a part of the operation's answer, "
		"a part of its fault, or an argument. A member with a `?` is left out if it is empty. A "
		"fault always has `code` as well.\n");
	for (size_t i = 0; i < face_count; i++)
		reference_put_face(served, out, &face_table[i]);
}

static void reference_put_wires(struct text *out)
{
	static const char *const ports[] = { "", "port 5000", "port 5001", "both ports" };
	static const char *const sides[] = { "", "host", "guest", "host and guest" };

	text_addf(out,
		  "\n## Guest wire\n\nA frame is a 4-byte big-endian "
		  "length and one JSON object. The object has its kind in `type`.\n");
	for (size_t i = 0; i < wire_count; i++) {
		const struct wire *w = &wire_table[i];

		text_addf(out, "\n### %s\n\n%s\n", w->name, w->doc);
		if (w->ports)
			text_addf(out, "\nFrom %s on %s; answered by `%s`%s%s%s.\n",
				  sides[w->senders], ports[w->ports],
				  wire_answer(w, SIDE_HOST)->name,
				  w->guest_answer ? "; a guest gets `" : "",
				  w->guest_answer ? w->guest_answer->name : "",
				  w->guest_answer ? "`" : "");
		put_fields(out, w->record, "field");
	}
}

void reference_write(unsigned served, struct text *out)
{
	text_addf(
		out,
		"# Reference\n"
		"\n"
		"`make docs` writes this file from `schema/`. A name, an id, or the beginning of an id "
		"names a team, workspace or snapshot. The beginning must have at least 4 characters, and "
		"belong to only one id. A name wins over an id.\n"
		"\n"
		"Every operation that writes also takes an optional `idempotency_key` (text, 1 to 64 "
		"bytes), unless it has a `request_id`. A repeated call with the same key changes nothing "
		"more, and returns the result of the first call. The key of a refused call stays free. "
		"The key also stays free if a guest answers that it did nothing (`invalid`, `not_found`, "
		"`conflict`, `denied`, `exhausted`: for example, the text that an edit replaces is "
		"missing, or the job does not exist). A guest's answer is kept for a day. Of a command, "
		"the first 4,096 bytes of output and 2,048 bytes of errors are kept, with the sizes of "
		"both. If no answer is kept, the first call still runs, or ended with `timeout`, `io` "
		"or `unavailable` and may have had an effect. A repeated command, signal or edit is then "
		"refused as `conflict`, and nothing runs twice. A repeated write of a whole file, or of "
		"variables, is done again.\n");
	reference_put_ops(served, out);
	reference_put_config(out);
	reference_put_types(out);
	reference_put_faults(out);
	reference_put_events(out);
	reference_put_tools(out);
	put_faces(served, out);
	reference_put_wires(out);
}
