#include "core/op/face.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"

const struct face *face_tool(const char *tool, const char *action)
{
	for (size_t i = 0; i < face_count; i++) {
		const struct face *f = &face_table[i];

		if (!f->tool || strcmp(f->tool, tool) != 0 || !f->action != !action)
			continue;
		if (!action || strcmp(f->action, action) == 0)
			return f;
	}
	return NULL;
}

/* --- arguments ------------------------------------------------------------------------ */

/* Returns the name that the operation gives to an argument of the face. */
static const char *own_name(const struct face *face, const struct field *fd)
{
	return face->own ? face->own[fd - face->in->fields] : fd->name;
}

/* Whether an argument is the operation's request key, which every door may add. */
static bool face_is_key(const struct op *op, const char *name)
{
	return strcmp(name, op_key(op)) == 0 && field_find(op->in, name);
}

/* A text that is never a name, because no name begins with a dash. */
#define NOBODY "-"

/* Whether an argument takes a name, but the value cannot be a name. For a value that cannot be
 * a name, the operation gets NOBODY, and the operation's fault lists the names that exist. */
static bool is_no_name(const struct field *fd, const json_t *value)
{
	const char *s = json_string_value(value);

	return s && fd->names && fd->type->kind == KIND_TEXT &&
	       !type_matches(fd->type, s) && type_matches(fd->type, NOBODY);
}

/* Checks a value against an argument of the face. The face's argument may allow less than the
 * operation's argument, for example one name but no list of names. */
static int check_value(const struct field *fd, const char *where, const json_t *value,
		       struct fault *f)
{
	const char *s = json_string_value(value);

	if (json_is_array(value) && !(fd->flags & FIELD_LIST))
		return fault_set(f, FAULT_INVALID, where, "must not be a list");
	if (!s || fd->type->kind != KIND_TEXT || type_matches(fd->type, s))
		return 0;
	if (fd->names)
		return fault_set(f, FAULT_NOT_FOUND, where, "there is no %s %.60s",
				 fd->names, s);
	fault_set(f, FAULT_INVALID, where, "'%.60s' is malformed", s);
	return fault_hint(f, "%s", fd->type->doc);
}

/* Earlier systems accepted some values that the operation refuses. Replaces such a value by a
 * value that the operation accepts. */
static json_t *usual(const struct field *fd, json_t *value)
{
	const struct type *type = fd->type;
	const char *word = json_string_value(value);
	double number = json_number_value(value);

	if (type->kind == KIND_ENUM && word) {
		for (const struct choice *c = type->choices; c->name; c++)
			if (strcmp(c->name, word) == 0)
				return json_incref(value);
		return json_string(type->choices[0].name);
	}
	if (type->kind != KIND_INT || !json_is_number(value) || number < 0 || !type->max)
		return json_incref(value);
	number = number > (double)type->max ? (double)type->max : number;
	return json_integer((int64_t)number + (number > (double)(int64_t)number));
}

/* Sets an argument of the operation. If a face has two arguments for it, such as a subject and a
 * text, joins both. The function takes over `value`. */
static void face_put(json_t *out, const char *name, json_t *value)
{
	json_t *old = json_object_get(out, name);

	if (json_is_array(old) && json_is_array(value))
		json_array_extend(old, value);
	else if (json_is_string(old) && json_is_string(value))
		json_object_set_new(out, name,
				    json_sprintf("%s\n\n%s", json_string_value(old),
						 json_string_value(value)));
	else
		json_object_set(out, name, value);
	json_decref(value);
}

static int face_take(const struct face *face, const char *name, json_t *value,
		     json_t *out, struct fault *f)
{
	const struct field *fd = field_find(face->in, name);
	char where[sizeof(f->where)];

	snprintf(where, sizeof(where), "/%s", name);
	if (!fd && face->lax && !field_instead(face->in, name))
		return 0;
	if (!fd && !face_is_key(face->op, name))
		return field_unknown(face->in, name, where, f);
	if (fd && face->own) {
		if (is_no_name(fd, value)) {
			json_object_set_new(out, own_name(face, fd), json_string(NOBODY));
			return 0;
		}
		if (check_value(fd, where, value, f) < 0)
			return f->code;
		name = own_name(face, fd);
	}
	if (!json_is_null(value))
		face_put(out, name,
			 fd && face->own ? usual(fd, value) : json_incref(value));
	return 0;
}

static int check_there(const struct face *face, const json_t *args, struct fault *f)
{
	for (size_t i = 0; i < face->in->n_fields; i++) {
		const struct field *fd = &face->in->fields[i];
		const json_t *v = json_object_get(args, field_spelling(fd, args));
		char where[sizeof(f->where)];

		if (fd->flags & (FIELD_OPTIONAL | FIELD_DEFAULT) ||
		    (v && !json_is_null(v)))
			continue;
		snprintf(where, sizeof(where), "/%s", fd->name);
		return fault_set(f, FAULT_INVALID, where, "is required");
	}
	return 0;
}

json_t *face_args(const struct face *face, const json_t *args, struct fault *f)
{
	json_t *out = json_object(), *set, *value;
	const char *name;
	int rc = 0;

	json_object_foreach((json_t *)args, name, value)
		if ((rc = face_take(face, name, value, out, f)) < 0)
			break;
	if (rc < 0 || check_there(face, args, f) < 0) {
		json_decref(out);
		return NULL;
	}
	set = face->sets ? json_loads(face->sets, 0, NULL) : NULL;
	json_object_update(out, set);
	json_decref(set);
	return out;
}

void face_operator(const struct face *face, json_t *args)
{
	json_t *own = face->operator? json_loads(face->operator, 0, NULL) : NULL, *value;
	const char *name;

	json_object_foreach(own, name, value) {
		const struct field *fd = field_find(face->op->in, name);
		const char *said = fd ? field_spelling(fd, args) : name;

		if (!json_object_get(args, said))
			json_object_set(args, said, value);
	}
	json_decref(own);
}

void face_move(const struct face *face, struct fault *f)
{
	size_t n = strcspn(f->where + (*f->where == '/'), "/");
	char from[sizeof(f->where)], to[sizeof(f->where)];

	for (size_t i = 0; *f->where && i < face->in->n_fields; i++) {
		const struct field *fd = &face->in->fields[i];
		const char *own = own_name(face, fd);

		if (strncmp(own, f->where + 1, n) != 0 || own[n])
			continue;
		snprintf(from, sizeof(from), "%s", f->where);
		snprintf(to, sizeof(to), "/%s%.*s", fd->name,
			 (int)(sizeof(to) - 1 - n - 1), f->where + 1 + n);
		fault_move(f, from, to);
		return;
	}
}

/* --- templates ------------------------------------------------------------------------ */

/* The values that replace the paths in a template. All values are borrowed. */
struct parts {
	const json_t *said, *args; /* the answer or fault, and the face's arguments */
	const char *list; /* path of the list whose items now fill the template, or
			     NULL */
	size_t n_list;
	json_t *item; /* current item of the list, or NULL; a path that begins with the
			 list names a part of this item */
};

/* Returns the length of the path in "{path}". `s` points at the opening brace. Returns 0 if no
 * path is between the braces, since a template may also show text with braces. */
static size_t face_path_of(const char *s, bool *optional)
{
	size_t n = strspn(s + 1, "abcdefghijklmnopqrstuvwxyz"
				 "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				 "0123456789_.");

	*optional = s[1 + n] == '?';
	return n && s[1 + n + *optional] == '}' ? n : 0;
}

/* Returns a member of an object by its name, or an item of a list by its index. */
static json_t *face_step_of(const json_t *v, const char *step, size_t n)
{
	size_t place = 0;
	char name[64];

	snprintf(name, sizeof(name), "%.*s", (int)n, step);
	if (!json_is_array(v))
		return json_object_get(v, name);
	for (size_t i = 0; i < n && step[i] >= '0' && step[i] <= '9'; i++)
		place = place * 10 + (size_t)(step[i] - '0');
	return json_array_get(v, place);
}

/* Returns the part that a path of `n` bytes names, or NULL if no such part exists. The part is
 * borrowed. */
static json_t *face_part_of(const struct parts *x, const char *path, size_t n)
{
	const char *end = path + n;
	size_t step = strcspn(path, ".?}");
	json_t *v = NULL;

	if (x->item && step == x->n_list && strncmp(path, x->list, step) == 0) {
		v = x->item;
	} else {
		v = face_step_of(x->said, path, step);
		v = v ? v : face_step_of(x->args, path, step);
	}
	for (path += step; v && path < end; path += step) {
		step = strcspn(++path, ".?}");
		v = face_step_of(v, path, step);
	}
	return v;
}

/* Appends a part of an answer to a longer text. */
static void face_add_part(struct text *out, const json_t *v)
{
	char *json;

	if (json_is_string(v)) {
		text_add(out, json_string_value(v), json_string_length(v));
		return;
	}
	json = v ? json_dumps(v, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
	text_add(out, json ? json : "", json ? strlen(json) : 0);
	free(json);
}

static bool says_nothing(const json_t *v)
{
	return !v || json_is_null(v) || json_is_false(v) ||
	       (json_is_integer(v) && !json_integer_value(v)) ||
	       (json_is_array(v) && !json_array_size(v));
}

/* Fills a text of a template. Returns NULL if the member that has this text must be left out. */
static json_t *fill_text(const struct parts *x, const char *s)
{
	struct text out = { 0 };
	bool optional;
	size_t n = *s == '{' ? face_path_of(s, &optional) : 0;
	json_t *v;

	if (n && !s[1 + n + optional + 1]) {
		v = face_part_of(x, s + 1, n);
		if (optional && says_nothing(v))
			return NULL;
		return v ? json_incref(v) : json_null();
	}
	for (; *s; s++) {
		n = *s == '{' ? face_path_of(s, &optional) : 0;
		if (!n) {
			text_add(&out, s, 1);
			continue;
		}
		face_add_part(&out, face_part_of(x, s + 1, n));
		s += n + optional + 1;
	}
	v = json_string(out.data ? out.data : "");
	text_release(&out);
	return v;
}

static json_t *face_fill(const struct parts *x, const json_t *template);

static json_t *fill_object(const struct parts *x, const json_t *template)
{
	json_t *out = json_object(), *value;
	const char *name;

	json_object_foreach((json_t *)template, name, value) {
		json_t *v = face_fill(x, value);

		if (v)
			json_object_set_new(out, name, v);
	}
	return out;
}

/* Returns the first path in a template, such as agents.name, or NULL if the template has no
 * path. */
static const char *first_part(const json_t *template)
{
	const char *name, *at = NULL, *s = json_string_value(template);
	json_t *value;
	bool optional;

	if (s)
		return (s = strchr(s, '{')) && face_path_of(s, &optional) ? s + 1 : NULL;
	json_object_foreach((json_t *)template, name, value)
		if (!at)
			at = first_part(value);
	return at;
}

static json_t *fill_list(const struct parts *x, const json_t *template)
{
	const json_t *one = json_array_get(template, 0);
	const char *path = first_part(one);
	json_t *out = json_array(), *all;
	struct parts each = *x;

	if (!path)
		return out;
	each.list = path;
	each.n_list = strcspn(path, ".?}");
	all = face_part_of(x, path, each.n_list);
	for (size_t i = 0; i < json_array_size(all); i++) {
		each.item = json_array_get(all, i);
		json_array_append_new(out, face_fill(&each, one));
	}
	return out;
}

static json_t *face_fill(const struct parts *x, const json_t *template)
{
	switch (json_typeof(template)) {
	case JSON_OBJECT:
		return fill_object(x, template);
	case JSON_ARRAY:
		return fill_list(x, template);
	case JSON_STRING:
		return fill_text(x, json_string_value(template));
	case JSON_INTEGER:
	case JSON_REAL:
	case JSON_TRUE:
	case JSON_FALSE:
	case JSON_NULL:
		return json_incref((json_t *)template);
	}
	return NULL;
}

/* Fills a template, and returns JSON text that the caller frees. Adds the member `code` unless
 * `code` is NULL. */
static char *write_filled(const char *template, const struct parts *x, const char *code)
{
	json_t *form = json_loads(template, 0, NULL), *filled = face_fill(x, form);
	char *text;

	if (code)
		json_object_set_new(filled, "code", json_string(code));
	text = json_dumps(filled, JSON_COMPACT);
	json_decref(filled);
	json_decref(form);
	if (!text)
		out_of_memory();
	return text;
}

char *face_answer(const struct face *face, const json_t *args, const char *result)
{
	json_t *said;
	char *text;

	if (!face->answer)
		return xstrdup(result);
	said = json_loads(result, 0, NULL);
	text = write_filled(face->answer, &(struct parts){ .said = said, .args = args },
			    NULL);
	json_decref(said);
	return text;
}

static const char *fault_body(const struct face *face, const struct fault *f)
{
	const struct face_fault *t = face->faults;

	while (t->body && ((t->code && t->code != f->code) ||
			   (*t->where && strcmp(t->where, f->where) != 0)))
		t++;
	return t->body;
}

/* Returns the cause of a fault. If an argument is invalid, the text begins with the argument's
 * name. */
static json_t *error_of(const struct fault *f)
{
	bool told = f->code != FAULT_INVALID || !f->where[0];

	return told ? json_string(f->text)
		    : json_sprintf("%s: %s", f->where + 1, f->text);
}

char *face_refusal(const struct face *face, const json_t *args, const struct fault *f,
		   enum hint_style style)
{
	const char *body = fault_body(face, f);
	struct text t = { 0 };
	json_t *said;
	char *text;

	if (!body)
		return NULL;
	fault_write(f, style, &t);
	said = json_loads(t.data, 0, NULL);
	json_object_set_new(said, "error", error_of(f));
	if (strcmp(f->hint, fault_info(f->code)->hint) == 0)
		/* the default hint of a fault code names members that this answer lacks */
		json_object_del(said, "hint");
	text = write_filled(body, &(struct parts){ .said = said, .args = args },
			    fault_info(f->code)->name);
	json_decref(said);
	text_release(&t);
	return text;
}

/* --- descriptions ----------------------------------------------------------------------- */

/* Returns the field at the end of a path, or NULL if the path names no field. */
static const struct field *field_at(const struct face *face, const char *path)
{
	char name[64];
	size_t n = strcspn(path, ".?}");
	const struct field *fd;

	snprintf(name, sizeof(name), "%.*s", (int)n, path);
	fd = field_find(face->op->out, name);
	fd = fd ? fd : field_find(face->in, name);
	for (path += n; fd && *path == '.' && fd->type->kind == KIND_RECORD; path += n) {
		n = strcspn(++path, ".?}");
		snprintf(name, sizeof(name), "%.*s", (int)n, path);
		fd = field_find(fd->type->record, name);
	}
	return fd;
}

/* Makes the schema of a text in a template. The schema allows null for a part that may be
 * missing, unless the member of a missing part is left out. */
static json_t *text_shape(const struct face *face, const char *s, bool one)
{
	bool optional;
	size_t n = *s == '{' ? face_path_of(s, &optional) : 0;
	const struct field *fd = n && !s[1 + n + optional + 1] ? field_at(face, s + 1)
							       : NULL;
	json_t *shape;

	if (!fd)
		return json_pack("{s:s}", "type", "string");
	shape = type_shape(fd->type);
	if (fd->flags & FIELD_LIST && !one)
		shape = json_pack("{s:s, s:o}", "type", "array", "items", shape);
	if (!optional && fd->flags & FIELD_OPTIONAL)
		json_object_set_new(shape, "type",
				    json_pack("[O, s]", json_object_get(shape, "type"),
					      "null"));
	return shape;
}

static bool is_optional(const json_t *template)
{
	const char *s = json_string_value(template);

	return s && *s == '{' && strchr(s, '?');
}

/* Makes the schema of a template. If `one` is set, the template stands for one item of a list. */
static json_t *shape(const struct face *face, const json_t *template, bool one)
{
	json_t *props, *must, *value;
	const char *name;

	if (json_is_string(template))
		return text_shape(face, json_string_value(template), one);
	if (json_is_array(template))
		return json_pack("{s:s, s:o}", "type", "array", "items",
				 shape(face, json_array_get(template, 0), true));
	if (json_is_boolean(template))
		return json_pack("{s:s}", "type", "boolean");
	props = json_object();
	must = json_array();
	json_object_foreach((json_t *)template, name, value) {
		json_object_set_new(props, name, shape(face, value, one));
		if (!is_optional(value))
			json_array_append_new(must, json_string(name));
	}
	return json_pack("{s:s, s:o, s:o}", "type", "object", "properties", props,
			 "required", must);
}

json_t *face_schema(const struct face *face)
{
	json_t *template = json_loads(face->answer, 0, NULL),
	       *s = shape(face, template, false);

	json_decref(template);
	return s;
}
