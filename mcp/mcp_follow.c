/*
 * mcp_follow - the hints that tell a client how to read the rest of a cut answer.
 *
 * The hint contains calls that can be made unchanged, such as `task action=part task="001"`.
 * The schema names the operation that reads the rest (op.c, `reads`, `rest`). The arguments get
 * their values from the present call and from its answer.
 */
#include "core/call/space.h"
#include "mcp/mcp_peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Maximum number of bytes of a hint in JSON, less than HINT in tools.c. */
enum { ROOM = 340 };

/* A field with a cut text, and the objects around the field. */
struct place {
	const struct record *record;
	const json_t *item; /* the JSON object that has the field */
	const json_t *whose; /* the object around `item`; NULL: the whole answer */
	const struct field *field;
};

struct follow {
	const struct request *r;
	const json_t *answer;
	struct text *hint;
	size_t calls; /* calls in the hint so far */
	bool left; /* a call had no room in the hint */
};

static const json_t *asked(const struct follow *w, const struct field *fd)
{
	return json_object_get(w->r->args, field_spelling(fd, w->r->args));
}

static int64_t offset_asked(const struct follow *w, const char *name)
{
	const struct field *fd = field_find(w->r->op->in, name);

	return fd ? json_integer_value(asked(w, fd)) : 0;
}

/* --- calls ------------------------------------------------------------------------------- */

/* Whether a text may be written without quotes. Such a text cannot be read as a number, and no
 * character in the text could end the text. */
static bool mcp_follow_is_plain(const char *s)
{
	static const char letters[] =
		"-_/0123456789"
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

	return s && *s > '9' && !s[strspn(s, letters)];
}

/* Writes an argument as NAME=VALUE. A number that stands for a text is quoted, because some
 * clients refuse a number where the tool's schema has a string. */
static void mcp_follow_add_value(struct text *call, const struct field *arg,
				 const json_t *value)
{
	const char *s = json_string_value(value);
	const char *quote = arg->type->kind == KIND_TEXT && json_is_integer(value) ? "\""
										   : "";
	char *dump = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);

	text_addf(call, " %s=%s%s%s", arg->name, quote,
		  mcp_follow_is_plain(s) ? s
		  : dump                 ? dump
					 : "null",
		  quote);
	free(dump);
}

static void add_number(struct text *call, const char *name, int64_t n)
{
	text_addf(call, " %s=%lld", name, (long long)n);
}

static void add_tool(struct text *call, const struct op *op)
{
	text_adds(call, op->tool);
	if (op->action)
		text_addf(call, " action=%s", op->action);
}

/* Appends a call to the hint if there is room. */
static void add_call(struct follow *w, const char *before, struct text *call)
{
	size_t room = text_json_size(w->hint->data ? w->hint->data : "") +
		      text_json_size(call->data) + strlen(before);

	w->left |= room > ROOM;
	if (!w->left)
		text_addf(w->hint, "%s%s%s", w->hint->len && !w->calls ? " " : "",
			  w->calls ? "; " : before, call->data);
	w->calls += !w->left;
	text_release(call);
}

/* --- texts that are cut -------------------------------------------------------------------- */

static bool mcp_follow_has_choice(const struct type *t, const char *name)
{
	for (const struct choice *c = t->choices; c && c->name; c++)
		if (strcmp(c->name, name) == 0)
			return true;
	return false;
}

/* Returns the choice of the type `parts` that stands for the text of a place. The choice is
 * named like the field or like the field's record. Returns NULL if no choice has one of these
 * two names. */
static const char *part_name(const struct place *p, const struct type *parts)
{
	if (mcp_follow_has_choice(parts, p->field->name))
		return p->field->name;
	return mcp_follow_has_choice(parts, p->record->name) ? p->record->name : NULL;
}

/* Returns the argument by which the present operation can be asked for this one text only.
 * Returns NULL if the operation has no such argument, or no argument `offset`. */
static const struct field *mcp_follow_own_part(const struct follow *w,
					       const struct place *p)
{
	const struct op *op = w->r->op;

	for (size_t i = 0; !p->whose && i < op->in->n_fields; i++)
		if (mcp_follow_has_choice(op->in->fields[i].type, p->field->name))
			return field_find(op->in, "offset") ? &op->in->fields[i] : NULL;
	return NULL;
}

/* Whether the call asked for one part only, and the field of this place is another part. */
static bool asked_another(const struct follow *w, const struct place *p,
			  const struct field *part)
{
	const char *one = part ? json_string_value(asked(w, part)) : NULL;

	return one && strcmp(one, p->field->name) != 0;
}

/* Returns the operation that reads the rest of RECORD.FIELD, or NULL if no operation reads the
 * rest. If `fd` is NULL, returns the first operation that reads the rest of at least one field
 * of the record. */
static const struct op *reader_of(const struct record *r, const struct field *fd)
{
	size_t n = strlen(r->name);

	for (size_t i = 0; i < op_count; i++)
		for (const char *const *w = op_table[i].reads; w && *w; w++)
			if (op_table[i].tool && strncmp(*w, r->name, n) == 0 &&
			    (*w)[n] == '.' && (!fd || strcmp(*w + n + 1, fd->name) == 0))
				return &op_table[i];
	return NULL;
}

/* Returns the item's field `name`. If the item tells only the number that stands for this
 * field's id, returns the number. */
static const json_t *item_field(const struct place *p, const char *name)
{
	const json_t *value = json_object_get(p->item, name);
	const struct field *fd = value ? NULL : field_find(p->record, name);
	const struct field *end = p->record->fields + p->record->n_fields;

	if (fd && fd + 1 < end && fd[1].type->given == GIVEN_NUMBER)
		return json_object_get(p->item, fd[1].name);
	return value;
}

static const json_t *item_value(const struct place *p, const struct field *arg)
{
	const json_t *value = item_field(p, arg->name);

	for (size_t i = 0; !value && arg->aliases && arg->aliases[i]; i++)
		value = item_field(p, arg->aliases[i]);
	return value;
}

/* Returns the value of an argument for the next call, or NULL if the argument may be absent.
 * The value is a field of the item, or the id of the item, or the id of the object around the
 * item, or an argument of the present call. */
static const json_t *mcp_follow_value_of(const struct follow *w, const struct place *p,
					 const struct field *arg)
{
	const json_t *value = item_value(p, arg);

	if (value || (arg->flags & (FIELD_OPTIONAL | FIELD_DEFAULT) &&
		      strcmp(arg->name, "team") != 0))
		return value;
	if (!(arg->flags & FIELD_OPTIONAL)) {
		value = json_object_get(p->item, "id");
		value = value ? value : json_object_get(p->whose, "id");
	}
	return value ? value : asked(w, arg);
}

/* Whether `name` is `team` and the caller is an agent. An agent has one team, so the tools of
 * an agent have no argument `team`. */
static bool is_own_team(const struct follow *w, const char *name)
{
	return w->r->mcp->identity.agent && strcmp(name, "team") == 0;
}

static void add_arguments(struct follow *w, const struct place *p, const struct op *op,
			  struct text *call)
{
	for (size_t i = 0; i < op->in->n_fields; i++) {
		const struct field *arg = &op->in->fields[i];
		const char *part = p->field ? part_name(p, arg->type) : NULL;
		const json_t *value = part ? NULL : mcp_follow_value_of(w, p, arg);

		if (is_own_team(w, arg->name))
			continue;
		if (part)
			text_addf(call, " %s=%s", arg->name, part);
		else if (json_is_string(value) || json_is_integer(value))
			mcp_follow_add_value(call, arg, value);
	}
}

static void follow_text(struct follow *w, const struct place *p)
{
	const struct field *own = mcp_follow_own_part(w, p);
	const struct op *op = own ? w->r->op : reader_of(p->record, p->field);
	size_t shown = json_string_length(json_object_get(p->item, p->field->name));
	int64_t from = own ? offset_asked(w, "offset") : 0;
	struct text call = { 0 };
	char name[80];

	snprintf(name, sizeof(name), "%s_size", p->field->name);
	if (!op || asked_another(w, p, own) ||
	    json_int_at(p->item, name) <= from + (json_int_t)shown)
		return;
	add_tool(&call, op);
	add_arguments(w, p, op, &call);
	add_number(&call, "offset", from + (int64_t)shown);
	add_call(w, "Texts are cut. Read on: ", &call);
}

/* If a record's field `more` is true, adds a call for each field F that can be read in parts,
 * unless the record has a field F_size. A field without F_size is a list, or a text that had no
 * room at all. */
static void follow_lists(struct follow *w, const struct place *p)
{
	const struct op *op = reader_of(p->record, NULL);
	const struct field *part = op ? field_find(op->in, "part") : NULL;
	char name[80];

	if (!part || !json_is_true(json_object_get(p->item, "more")))
		return;
	for (const struct choice *c = part->type->choices; c && c->name; c++) {
		struct text call = { 0 };

		snprintf(name, sizeof(name), "%s_size", c->name);
		if (!field_find(p->record, c->name) || field_find(p->record, name))
			continue;
		add_tool(&call, op);
		add_arguments(w, p, op, &call);
		text_addf(&call, " part=%s", c->name);
		add_call(w, "More of it: ", &call);
	}
}

static void visit(struct follow *w, const struct record *r, const json_t *item,
		  const json_t *whose)
{
	struct place p = { r, item, whose, NULL };

	for (size_t i = 0; i < r->n_fields && !w->left; i++) {
		const struct field *fd = &r->fields[i];
		const json_t *value = json_object_get(item, fd->name);

		p.field = fd;
		if (fd->type->kind != KIND_RECORD)
			follow_text(w, &p);
		else if (json_is_object(value))
			visit(w, fd->type->record, value, item);
		for (size_t k = 0; fd->type->record && k < json_array_size(value); k++)
			visit(w, fd->type->record, json_array_get(value, k), item);
	}
	p.field = NULL;
	if (whose)
		follow_lists(w, &p);
}

/* --- pages, bytes and streams ---------------------------------------------------------------- */

/* Writes arguments with which a call continues output streams: the argument X_offset gets the
 * number of bytes of the stream X that are already received. */
static void add_offsets(const struct follow *w, const struct record *in,
			struct text *call)
{
	for (size_t i = 0; i < in->n_fields; i++) {
		const char *name = in->fields[i].name, *end = strstr(name, "_offset");
		char stream[80];

		snprintf(stream, sizeof(stream), "%.*s", end ? (int)(end - name) : 0,
			 name);
		if (end)
			add_number(call, name,
				   offset_asked(w, name) +
					   (int64_t)json_string_length(
						   json_object_get(w->answer, stream)));
	}
}

/* Adds the call that reads the rest of a command's output, if the guest keeps the rest. */
static void follow_rest(struct follow *w, const struct op *rest)
{
	const struct place p = { w->r->op->out, w->answer, NULL, NULL };
	struct text call = { 0 };

	if (!json_object_get(w->answer, "stdout_size") &&
	    !json_object_get(w->answer, "stderr_size"))
		return;
	if (!json_object_get(w->answer, "job_id")) {
		text_addf(w->hint, "%sThe rest is lost: let the command write to a file.",
			  w->hint->len ? " " : "");
		return;
	}
	add_tool(&call, rest);
	add_arguments(w, &p, rest, &call);
	add_offsets(w, rest->in, &call);
	add_call(w, "Output is cut. Read on: ", &call);
}

/* Writes the arguments with which a call reads the next page. */
static void add_next(const struct follow *w, struct text *next)
{
	const struct op *op = w->r->op;
	const struct field *arg = page_argument(op);
	const json_t *value = page_next(op, w->answer);

	if (value)
		mcp_follow_add_value(next, arg, value);
	else if (arg && op->bytes_out)
		add_number(next, arg->name,
			   offset_asked(w, arg->name) + json_int_at(w->answer, "size"));
	else if (!arg)
		add_offsets(w, op->in, next);
}

/* Adds a call of the tool that reads the same data as the resource. The call has the arguments
 * of this page, and then the text `next`, with the arguments of the next page. */
static void follow_resource(struct follow *w, const struct text *next)
{
	struct text call = { 0 };
	const struct field *arg;
	const json_t *value;
	const char *name;

	add_tool(&call, w->r->op);
	json_object_foreach(w->r->args, name, value)
		if (!is_own_team(w, name) && (arg = field_find(w->r->op->in, name)))
			mcp_follow_add_value(&call, arg, value);
	text_adds(&call, next->data);
	add_call(w, "There is more. Read on: ", &call);
}

static void follow_page(struct follow *w)
{
	struct text next = { 0 };

	add_next(w, &next);
	if (next.len && w->r->reads)
		follow_resource(w, &next);
	else if (next.len && text_json_size(next.data) < ROOM / 2)
		text_addf(w->hint, "There is more: call again with%s.", next.data);
	else if (next.len)
		text_addf(w->hint,
			  "There is more: call again with `%s` from the last entry.",
			  page_argument(w->r->op)->name);
	text_release(&next);
}

void follow_hint(const struct request *r, const json_t *answer, struct text *hint)
{
	struct follow w = { .r = r, .answer = answer, .hint = hint };
	bool more = json_is_true(json_object_get(answer, "more"));

	if (more)
		follow_page(&w);
	if (r->op->rest)
		follow_rest(&w, r->op->rest);
	visit(&w, r->op->out, answer, NULL);
	if (w.calls)
		text_adds(hint, w.left ? "; the others in the same way." : ".");
	if (more && !hint->len)
		text_addf(hint, "There is more: call again%s.",
			  r->op->flags & OP_WRITE ? "" : " and ask for less");
}
