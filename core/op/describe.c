#include "core/op/face.h"

#include <string.h>

/* --- JSON Schema ---------------------------------------------------------------- */

/* How much detail a schema has.
 *
 * BRIEF is for lists of tools, which every model reads as a whole. A BRIEF schema leaves out
 * details that do not help to choose a tool. The details that are left out are limits,
 * patterns, additionalProperties, and descriptions that only repeat the name. op_decode()
 * checks the limits and patterns nevertheless, and op_schema() shows them.
 *
 * REFERS is for a document that describes each record once. A REFERS schema gives a record
 * inside a record only by name. */
enum detail { WHOLE, BRIEF, REFERS };

static json_t *record_schema(const struct record *r, enum detail detail);

static json_t *choice_list(const struct type *t)
{
	json_t *list = json_array();

	for (const struct choice *c = t->choices; c->name; c++)
		json_array_append_new(list, json_string(c->name));
	return list;
}

static json_t *text_schema(const struct type *t, enum detail detail)
{
	json_t *s = json_pack("{s:s}", "type", "string");

	if (detail == BRIEF)
		return s;
	if (t->min)
		json_object_set_new(s, "minLength", json_integer(t->min));
	if (t->max)
		json_object_set_new(s, "maxLength", json_integer(t->max));
	if (t->pattern)
		json_object_set_new(s, "pattern", json_string(t->pattern));
	return s;
}

static json_t *int_schema(const struct type *t, enum detail detail)
{
	json_t *s = json_pack("{s:s}", "type", "integer");

	if ((detail != BRIEF || t->given == GIVEN_WAIT) && (t->min || t->max)) {
		json_object_set_new(s, "minimum", json_integer(t->min));
		json_object_set_new(s, "maximum", json_integer(t->max));
	}
	return s;
}

/* Whether lists of tools show an argument. */
static bool is_listed(const struct field *fd)
{
	return !field_is_key(fd) && !(fd->flags & FIELD_UNLISTED);
}

/* Describes a record in a tool's arguments by the names of the record's fields. A record of one
 * or two fields whose only required field is a text is described as a text. */
static json_t *record_words(const struct record *r)
{
	struct text words = { 0 };
	json_t *s;

	if (record_short(r) && r->n_fields <= 2)
		return json_pack("{s:s}", "type", "string");
	for (const struct field *fd = r->fields; fd < r->fields + r->n_fields; fd++)
		if (is_listed(fd))
			text_addf(&words, "%s%s%s", words.len ? "," : "", fd->name,
				  fd->flags & (FIELD_OPTIONAL | FIELD_DEFAULT) ? "?"
									       : "");
	s = json_pack("{s:s, s:s}", "type", "object", "description", words.data);
	text_release(&words);
	return s;
}

static json_t *type_schema(const struct type *t, enum detail detail)
{
	switch (t->kind) {
	case KIND_TEXT:
		return text_schema(t, detail);
	case KIND_INT:
		return int_schema(t, detail);
	case KIND_BOOL:
		return json_pack("{s:s}", "type", "boolean");
	case KIND_TIME:
		return json_pack("{s:s, s:s}", "type", "string", "format", "date-time");
	case KIND_ENUM:
		return json_pack("{s:s, s:o}", "type", "string", "enum", choice_list(t));
	case KIND_JSON:
		return json_pack("{s:s}", "type", "object");
	case KIND_MAP:
		return json_pack("{s:s, s:{s:s}}", "type", "object",
				 "additionalProperties", "type", "string");
	case KIND_RECORD:
		if (detail == REFERS)
			return json_pack("{s:o}", "$ref",
					 json_sprintf("#/components/schemas/%s",
						      t->record->name));
		return detail == BRIEF ? record_words(t->record)
				       : record_schema(t->record, WHOLE);
	}
	return NULL;
}

static json_t *default_value(const struct field *fd)
{
	char time[25];

	if (fd->flags & FIELD_LIST)
		return json_array();
	switch (fd->type->kind) {
	case KIND_TEXT:
		return json_string(fd->def_text);
	case KIND_INT:
		return json_integer(fd->def_int);
	case KIND_BOOL:
		return json_boolean(fd->def_int);
	case KIND_ENUM:
		return json_string(fd->type->choices[fd->def_int].name);
	case KIND_TIME:
		time_format(fd->def_int, time);
		return json_string(time);
	case KIND_JSON:
	case KIND_MAP:
	case KIND_RECORD:
		return json_object();
	}
	return NULL;
}

/* Whether a default needs no description, since readers expect empty values, false and 0. */
static bool is_plain_default(const json_t *value)
{
	return json_is_false(value) ||
	       (json_is_string(value) && !json_string_length(value)) ||
	       (json_is_integer(value) && !json_integer_value(value)) ||
	       (json_is_array(value) && !json_array_size(value)) ||
	       (json_is_object(value) && !json_object_size(value));
}

static json_t *field_schema(const struct field *fd, enum detail detail)
{
	json_t *s = type_schema(fd->type, detail);

	if (fd->flags & FIELD_LIST)
		s = json_pack("{s:s, s:o}", "type", "array", "items", s);
	if (fd->most && detail != BRIEF)
		json_object_set_new(s, "maxItems", json_integer(fd->most));
	if (fd->flags & FIELD_DEFAULT)
		json_object_set_new(s, "default", default_value(fd));
	if (detail == BRIEF && is_plain_default(json_object_get(s, "default")))
		json_object_del(s, "default");
	if (!(detail == BRIEF && (fd->flags & FIELD_PLAIN)))
		json_object_set_new(s, "description", json_string(fd->doc));
	return s;
}

static json_t *record_schema(const struct record *r, enum detail detail)
{
	json_t *props = json_object(), *required = json_array(), *s;

	for (size_t i = 0; i < r->n_fields; i++) {
		const struct field *fd = &r->fields[i];

		if (detail == BRIEF && !is_listed(fd))
			continue;
		json_object_set_new(props, fd->name, field_schema(fd, detail));
		if (!(fd->flags & (FIELD_OPTIONAL | FIELD_DEFAULT)))
			json_array_append_new(required, json_string(fd->name));
	}
	s = json_pack("{s:s, s:o}", "type", "object", "properties", props);
	if (json_array_size(required))
		json_object_set(s, "required", required);
	json_decref(required);
	if (detail != BRIEF)
		json_object_set_new(s, "additionalProperties", json_false());
	return s;
}

json_t *op_schema(const struct record *r)
{
	return record_schema(r, WHOLE);
}

json_t *op_schema_naming(const struct record *r)
{
	return record_schema(r, REFERS);
}

json_t *field_schema_naming(const struct field *fd)
{
	return field_schema(fd, REFERS);
}

/* --- schemas of tools ---------------------------------------------------------------- */

static bool in_tool(const struct op *op, const char *tool)
{
	return op->tool && strcmp(op->tool, tool) == 0;
}

static size_t doc_length(const json_t *property)
{
	return json_string_length(json_object_get(property, "description"));
}

/* Adds a field to the properties of a tool. A field of several actions is described once, by
 * the longest of its descriptions. If the actions have different defaults, the schema names no
 * default. */
static void add_property(json_t *props, const struct field *fd, bool cursor)
{
	json_t *old = json_object_get(props, fd->name);
	json_t *s = field_schema(fd, BRIEF);

	if (cursor) /* the hint of the previous page gives the argument's value */
		json_object_del(s, "description");
	if (!old)
		json_object_set(props, fd->name, s);
	else if (!json_equal(json_object_get(old, "default"),
			     json_object_get(s, "default")))
		json_object_del(old, "default");
	if (old && doc_length(s) > doc_length(old))
		json_object_set(old, "description", json_object_get(s, "description"));
	json_decref(s);
}

/* Whether an argument says where the next page begins. Every action with pages takes an
 * argument for the next page. The hint of an answer gives the argument's value. */
static bool is_cursor(const struct op *op, const struct field *fd)
{
	return fd == page_argument(op);
}

/* Whether an argument says nothing about the purpose of an action. */
static bool describe_is_common(const struct op *op, const struct field *fd)
{
	static const char *const names[] = { "team", "epoch", "limit", "agent", "from" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(fd->name, names[i]) == 0)
			return fd->flags & (FIELD_OPTIONAL | FIELD_DEFAULT);
	return !is_listed(fd) || is_cursor(op, fd);
}

/* Writes an action with its arguments, as in `block(task?,text)`. Leaves out arguments that say
 * nothing about the action's purpose. */
static void add_action(struct text *out, const struct op *op)
{
	const char *before = "(";

	text_addf(out, "%s%s", out->len ? " " : "", op->action);
	for (size_t i = 0; i < op->in->n_fields; i++) {
		const struct field *fd = &op->in->fields[i];

		if (describe_is_common(op, fd))
			continue;
		text_addf(out, "%s%s%s", before, fd->name,
			  fd->flags & (FIELD_OPTIONAL | FIELD_DEFAULT) ? "?" : "");
		before = ",";
	}
	if (*before == ',')
		text_add(out, ")", 1);
}

static json_t *bundle_schema(const char *tool, enum who most)
{
	json_t *props = json_object(), *action;
	struct text actions = { 0 };

	json_object_set_new(props, "action", json_null());
	for (size_t i = 0; i < op_count; i++) {
		const struct op *op = &op_table[i];

		if (!in_tool(op, tool) || op->who > most)
			continue;
		add_action(&actions, op);
		for (size_t j = 0; j < op->in->n_fields; j++)
			if (is_listed(&op->in->fields[j]))
				add_property(props, &op->in->fields[j],
					     is_cursor(op, &op->in->fields[j]));
	}
	action = json_pack("{s:s, s:s}", "type", "string", "description", actions.data);
	json_object_set_new(props, "action", action);
	text_release(&actions);
	return json_pack("{s:s, s:o, s:[s]}", "type", "object", "properties", props,
			 "required", "action");
}

json_t *tool_schema(const char *tool, enum who most)
{
	const struct op *alone = op_tool(tool, NULL);
	const struct face *face = face_tool(tool, NULL);
	json_t *s;

	if (!alone && !face)
		return bundle_schema(tool, most);
	s = record_schema(alone ? alone->in : face->in, BRIEF);
	json_object_del(json_object_get(s, "properties"), "idempotency_key");
	return s;
}

/* --- shapes of answers ------------------------------------------------------------------ */

json_t *type_shape(const struct type *t)
{
	static const char *const types[] = {
		[KIND_TEXT] = "string", [KIND_INT] = "integer",   [KIND_BOOL] = "boolean",
		[KIND_TIME] = "string", [KIND_ENUM] = "string",   [KIND_JSON] = "object",
		[KIND_MAP] = "object",  [KIND_RECORD] = "object",
	};

	return json_pack("{s:s}", "type", types[t->kind]);
}

static json_t *shape_of(const struct type *t, json_t *defs)
{
	json_t *def;

	if (t->kind != KIND_RECORD)
		return type_shape(t);
	if (!json_object_get(defs, t->record->name)) {
		json_object_set_new(defs, t->record->name,
				    json_null()); /* a record may contain itself */
		def = json_object();
		record_shape(t->record, def, defs);
		json_object_set_new(defs, t->record->name,
				    json_pack("{s:s, s:o}", "type", "object",
					      "properties", def));
	}
	return json_pack("{s:o}", "$ref", json_sprintf("#/$defs/%s", t->record->name));
}

void record_shape(const struct record *r, json_t *props, json_t *defs)
{
	for (size_t i = 0; i < r->n_fields; i++) {
		const struct field *fd = &r->fields[i];
		json_t *s = shape_of(fd->type, defs), *old;

		if (fd->flags & FIELD_LIST)
			s = json_pack("{s:s, s:o}", "type", "array", "items", s);
		old = json_object_get(props, fd->name);
		/* Several actions use this name for different values, so the schema allows any
		 * value. */
		if (old && !json_equal(old, s)) {
			json_decref(s);
			s = json_object();
		}
		json_object_set_new(props, fd->name, s);
	}
}
