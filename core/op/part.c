/*
 * part - texts of an answer that are cut, and how to read on.
 */
#include "core/op/op.h"

#include <stdio.h>
#include <string.h>

/* A text that is cut: where it stands, and what it stands in. */
struct place {
	const struct record *record;
	const json_t *item; /* the record's object */
	const struct field *field;
	const json_t *whose; /* the object around the item, or NULL */
};

static bool is_cut(const json_t *item, const struct field *fd)
{
	const json_t *text = json_object_get(item, fd->name);
	char name[80];

	snprintf(name, sizeof(name), "%s_size", fd->name);
	return json_integer_value(json_object_get(item, name)) >
	       (json_int_t)json_string_length(text);
}

static bool find(const struct record *r, const json_t *item, const json_t *whose,
		 struct place *out);

/* Looks into a value that is a record, or a list of them. */
static bool find_in(const struct field *fd, const json_t *value, const json_t *whose,
		    struct place *out)
{
	if (!json_is_array(value))
		return find(fd->type->record, value, whose, out);
	for (size_t i = 0; i < json_array_size(value); i++)
		if (find(fd->type->record, json_array_get(value, i), whose, out))
			return true;
	return false;
}

static bool find(const struct record *r, const json_t *item, const json_t *whose,
		 struct place *out)
{
	for (size_t i = 0; i < r->n_fields; i++) {
		const struct field *fd = &r->fields[i];
		const json_t *value = json_object_get(item, fd->name);

		*out = (struct place){ r, item, fd, whose };
		if (is_cut(item, fd) || (value && fd->type->kind == KIND_RECORD &&
					 find_in(fd, value, item, out)))
			return true;
	}
	return false;
}

/* The operation that reads the text on, or NULL. */
static const struct op *reader_of(const struct place *p)
{
	char word[160];

	snprintf(word, sizeof(word), "%s.%s", p->record->name, p->field->name);
	for (size_t i = 0; i < op_count; i++)
		for (const char *const *w = op_table[i].reads; w && *w; w++)
			if (strcmp(*w, word) == 0)
				return &op_table[i];
	return NULL;
}

static bool has_choice(const struct type *t, const char *name)
{
	for (const struct choice *c = t->choices; c && c->name; c++)
		if (strcmp(c->name, name) == 0)
			return true;
	return false;
}

/* The word for the text among the reader's parts: its own name, or that of the record of
 * which it is the text. */
static const char *part_name(const struct place *p, const struct type *parts)
{
	if (has_choice(parts, p->field->name))
		return p->field->name;
	return has_choice(parts, p->record->name) ? p->record->name : NULL;
}

/* The value of another argument: as the item has it, or the id of the item, or of what it
 * stands in; NULL where the argument may be absent. */
static const json_t *value_of(const struct place *p, const struct field *arg)
{
	const json_t *value = json_object_get(p->item, arg->name);

	if (value || arg->flags & (FIELD_OPTIONAL | FIELD_DEFAULT))
		return value;
	value = json_object_get(p->item, "id");
	return value ? value : json_object_get(p->whose, "id");
}

static void add_argument(const struct place *p, const struct field *arg, struct text *out)
{
	const json_t *value = value_of(p, arg);
	const char *part = part_name(p, arg->type);

	if (part)
		text_addf(out, "%s \"%s\", ", arg->name, part);
	else if (json_is_integer(value))
		text_addf(out, "%s %" JSON_INTEGER_FORMAT ", ", arg->name,
			  json_integer_value(value));
	else if (json_is_string(value))
		text_addf(out, "%s \"%s\", ", arg->name, json_string_value(value));
}

void part_hint(const struct op *op, const json_t *answer, struct text *out)
{
	const struct op *reader;
	struct place p;
	size_t shown;

	if (!find(op->out, answer, NULL, &p) || !(reader = reader_of(&p)))
		return;
	shown = json_string_length(json_object_get(p.item, p.field->name));
	text_addf(out, "Of %s only the first %zu bytes are here. Read on with ",
		  p.field->name, shown);
	if (reader->tool)
		text_addf(out, "%s: ", reader->tool);
	if (reader->action)
		text_addf(out, "action \"%s\", ", reader->action);
	for (size_t i = 0; i < reader->in->n_fields; i++)
		add_argument(&p, &reader->in->fields[i], out);
	text_addf(out, "offset %zu.", shown);
}
