#include "core/op/op.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { WIDTH = 80, INDENT = 24 };

static bool usage_is_bare(const struct op *op, const struct field *fd)
{
	for (const char *const *n = op->cli_fields; n && *n; n++)
		if (strcmp(*n, fd->name) == 0)
			return true;
	return false;
}

static bool is_last(const struct op *op, const struct field *fd)
{
	const char *const *n = op->cli_fields;

	while (n[1])
		n++;
	return strcmp(*n, fd->name) == 0;
}

static bool is_required(const struct field *fd)
{
	return !(fd->flags & (FIELD_OPTIONAL | FIELD_DEFAULT));
}

static bool is_on(const struct field *fd)
{
	return fd->type->kind == KIND_BOOL && (fd->flags & FIELD_DEFAULT) && fd->def_int;
}

/* A type with a pattern is a type of names or ids, and its own name is the placeholder. Types
 * of other texts have no pattern. */
void field_value(const struct field *fd, char out[32])
{
	static const char *const values[] = {
		[KIND_TEXT] = "TEXT", [KIND_INT] = "N",       [KIND_BOOL] = "",
		[KIND_TIME] = "TIME", [KIND_ENUM] = "WORD",   [KIND_JSON] = "JSON",
		[KIND_MAP] = "K=V",   [KIND_RECORD] = "JSON",
	};
	const struct field *brief =
		fd->type->kind == KIND_RECORD ? record_short(fd->type->record) : NULL;

	snprintf(out, 32, "%s",
		 brief               ? brief->name
		 : fd->type->pattern ? fd->type->name
				     : values[fd->type->kind]);
	for (char *p = out; *p; p++)
		*p = (char)toupper((unsigned char)*p);
}

/* Whether a field is an option that people give. The command itself gives a further read of a wait
 * the values of the answer before. */
static bool usage_is_option(const struct op *op, const struct field *fd)
{
	return !usage_is_bare(op, fd) && !(op->reached && fd->flags & FIELD_UNLISTED &&
					   field_find(op->out, fd->name));
}

/* Writes a field in the form of the usage, such as `TASK`, `--epoch N` or `--no-open`. */
static void name_field(const struct op *op, const struct field *fd, const char *no,
		       char *out, size_t room)
{
	bool bare = usage_is_bare(op, fd);
	char name[40], value[32];

	field_value(fd, value);
	snprintf(name, sizeof(name), "%s", fd->name);
	for (char *p = name; *p; p++) {
		if (bare)
			*p = (char)toupper((unsigned char)*p);
		else if (*p == '_')
			*p = '-';
	}
	if (bare)
		snprintf(out, room, "%s%s", name,
			 op->cli_rest && is_last(op, fd) ? "..." : "");
	else
		snprintf(out, room, "--%s%s%s%s", is_on(fd) ? no : "", name,
			 *value ? " " : "", value);
}

/* Appends a piece that must not be broken. If the line would be too long, the piece begins a
 * new line. */
static void put_piece(struct text *out, const char *s, size_t n, size_t *column,
		      size_t indent)
{
	if (*column + 1 + n > WIDTH && *column > indent) {
		text_addf(out, "\n%*s", (int)indent, "");
		*column = indent;
	} else if (*column > indent) {
		text_add(out, " ", 1);
		++*column;
	}
	text_add(out, s, n);
	*column += n;
}

static void usage_put_prose(struct text *out, const char *s, size_t *column)
{
	while (*s) {
		size_t n = strcspn(s, " \n");

		put_piece(out, s, n, column, INDENT);
		s += n + strspn(s + n, " \n");
	}
}

static void usage_put_part(const struct op *op, const struct field *fd, struct text *out,
			   size_t *column)
{
	char name[80], part[90];

	name_field(op, fd, "no-", name, sizeof(name));
	snprintf(part, sizeof(part), is_required(fd) ? "%s" : "[%s]", name);
	put_piece(out, part, strlen(part), column, 7);
}

static void usage_put_options(const struct op *op, struct text *out, size_t *column)
{
	for (size_t i = 0; i < op->in->n_fields; i++)
		if (usage_is_option(op, &op->in->fields[i]))
			usage_put_part(op, &op->in->fields[i], out, column);
}

static void put_synopsis(const struct op *op, struct text *out)
{
	size_t start = out->len, column;

	text_addf(out, "usage: cadre");
	for (const char *const *w = op->cli; w && *w; w++)
		text_addf(out, " %s", *w);
	column = out->len - start;
	if (op->runs)
		usage_put_options(op, out, &column);
	for (const char *const *n = op->cli_fields; n && *n; n++)
		usage_put_part(op, field_find(op->in, *n), out, &column);
	if (op->flags & OP_IDENTIFIES)
		put_piece(out, "[--here]", 8, &column, 7);
	if (!op->runs)
		usage_put_options(op, out, &column);
	text_addf(out, "\n");
}

static void usage_put_default(struct text *out, const struct field *fd, size_t *column)
{
	char s[200] = "";

	if (!(fd->flags & FIELD_DEFAULT) || (fd->flags & FIELD_LIST) ||
	    fd->type->kind == KIND_MAP || (fd->type->kind == KIND_BOOL && !is_on(fd)))
		return;
	if (is_on(fd))
		snprintf(s, sizeof(s), "(default yes)");
	else if (fd->type->kind == KIND_TEXT || fd->type->kind == KIND_JSON)
		snprintf(s, sizeof(s), *fd->def_text ? "(default %s)" : "%s",
			 fd->def_text);
	else if (fd->type->kind == KIND_ENUM)
		snprintf(s, sizeof(s), "(default %s)",
			 fd->type->choices[fd->def_int].name);
	else
		snprintf(s, sizeof(s), "(default %" PRId64 ")", fd->def_int);
	if (*s)
		put_piece(out, s, strlen(s), column, INDENT);
}

/* Appends a text that explains how to write a record as a word, and how to give a list. */
static void put_shape(struct text *out, const struct op *op, const struct field *fd,
		      size_t *column)
{
	const struct record *r = fd->type->kind == KIND_RECORD ? fd->type->record : NULL;

	char value[32], alone[64];

	field_value(fd, value);
	snprintf(alone, sizeof(alone), "%s alone, or JSON with", value);
	if (r)
		usage_put_prose(out, record_short(r) ? alone : "JSON with", column);
	for (size_t i = 0; r && i < r->n_fields; i++) {
		char name[64];

		snprintf(name, sizeof(name), "%s%s", r->fields[i].name,
			 i + 1 < r->n_fields ? "," : ".");
		usage_put_prose(out, name, column);
	}
	if (!(fd->flags & FIELD_LIST) ||
	    (usage_is_bare(op, fd) && op->cli_rest && is_last(op, fd)))
		return;
	usage_put_prose(out,
			type_splits(fd->type) ? "Separate several by commas."
					      : "You can give it several times.",
			column);
}

static void put_argument(const struct op *op, const struct field *fd, struct text *out)
{
	size_t column = INDENT;
	char name[80];

	name_field(op, fd, "[no-]", name, sizeof(name));
	if (strlen(name) + 3 < INDENT)
		text_addf(out, "  %-*s", INDENT - 2, name);
	else
		text_addf(out, "  %s\n%*s", name, INDENT, "");
	usage_put_prose(out, fd->doc, &column);
	if (fd->type->kind == KIND_ENUM) {
		usage_put_prose(out, "One of", &column);
		for (const struct choice *c = fd->type->choices; c->name; c++)
			usage_put_prose(out, c->name, &column);
	}
	put_shape(out, op, fd, &column);
	if (!op->reached || fd != op->wait) /* the command repeats the wait */
		usage_put_default(out, fd, &column);
	text_addf(out, "\n");
}

const char op_command_text[] =
	"From the command's first word on, all words belong to the command.  Options of cadre,\n"
	"such as --json, come before the command.  One word is a line for the shell.  Several\n"
	"words are a program and its arguments, which the program gets unchanged.  A -- may\n"
	"stand before the command.\n";

/* Appends the operation's faults, each with its exit status. */
static void usage_put_faults(const struct op *op, struct text *out)
{
	size_t line = out->len + 1;

	text_addf(out, "\nFaults (exit status):");
	for (const enum fault_code *c = op->faults; *c; c++) {
		const struct fault_info *info = fault_info(*c);

		if (out->len - line + strlen(info->name) + 4 > WIDTH) {
			text_addf(out, "\n ");
			line = out->len - 1;
		}
		text_addf(out, " %s %d%s", info->name, info->exit_status,
			  c[1] ? "," : "");
	}
	text_addf(out, "\n");
}

void op_usage(const struct op *op, struct text *out)
{
	put_synopsis(op, out);
	text_addf(out, "\n%s\n", op->summary);
	if (*op->doc)
		text_addf(out, "\n%s\n", op->doc);
	if (op->runs)
		text_addf(out, "\n%s", op_command_text);
	if (op->in->n_fields)
		text_addf(out, "\n");
	for (const char *const *n = op->cli_fields; n && *n; n++)
		put_argument(op, field_find(op->in, *n), out);
	for (size_t i = 0; i < op->in->n_fields; i++)
		if (usage_is_option(op, &op->in->fields[i]))
			put_argument(op, &op->in->fields[i], out);
	if (op->example)
		text_addf(out, "\nExample:\n  cadre %s\n", op->example);
	usage_put_faults(op, out);
}
