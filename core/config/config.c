#include "core/config/config.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* --- a single value -------------------------------------------------------------- */

static struct config_origin *config_origin_of(struct config_set *s,
					      const struct field *key)
{
	return &s->origins[key - record_config.fields];
}

const char *config_whence(struct config_set *s, const struct field *key)
{
	const struct config_origin *origin = config_origin_of(s, key);
	char variable[CONFIG_VARIABLE_SIZE];

	switch (origin->source) {
	case CONFIG_DEFAULT:
		return "default";
	case CONFIG_FILE:
		return arena_printf(&s->arena, "%s:%d", origin->file, origin->at.line);
	case CONFIG_VARIABLE:
		config_variable(key, variable);
		return arena_strdup(&s->arena, variable);
	case CONFIG_FLAG:
		return arena_printf(&s->arena, "--%s", key->name);
	}
	return "";
}

/* Makes a directory's path absolute. A path that begins with ~/ is relative to the user's
 * folder. Any other path in a file is relative to the file's folder. Any other path in a
 * variable or a flag is relative to the folder in which the command runs. */
static json_t *place_dir(struct config_set *s, const struct field *key,
			 enum config_source source, json_t *value)
{
	const char *path = json_string_value(value), *base = s->cwd;
	json_t *whole;

	if (!path || !*path || *path == '/' || strcmp(key->type->name, "directory") != 0)
		return value;
	if (source == CONFIG_FILE)
		base = arena_strndup(&s->arena, s->file,
				     (size_t)(strrchr(s->file, '/') - s->file));
	if (strncmp(path, "~/", 2) == 0) {
		base = s->user;
		path += 2;
	}
	if (!base)
		return value; /* op_decode() refuses this value with a better fault */
	whole = json_sprintf("%s/%s", base, path);
	json_decref(value);
	return whole ? whole : json_null();
}

/* Refuses a value, and names the source of the value. */
static int config_refuse(struct config_set *s, const struct field *key,
			 const struct fault *why, struct fault *f)
{
	const struct config_origin *origin = config_origin_of(s, key);
	char variable[CONFIG_VARIABLE_SIZE];

	config_variable(key, variable);
	if (origin->source == CONFIG_FILE)
		toml_refuse(s->file, origin->at, f, "%s %.90s", key->name, why->text);
	else
		fault_set(f, FAULT_INVALID, "", "%s%s %s",
			  origin->source == CONFIG_FLAG ? "--" : "",
			  origin->source == CONFIG_FLAG ? key->name : variable,
			  why->text);
	return fault_hint(f, "%s", key->doc);
}

/* Takes ownership of `value`; the caller has already stored the origin of the value. */
static int config_take(struct config_set *s, const struct field *key, json_t *value,
		       struct fault *f)
{
	json_t *alone = json_object();
	struct fault why = { 0 };
	struct config scratch = { 0 };
	int rc = 0;

	value = place_dir(s, key, config_origin_of(s, key)->source, value);
	json_object_set_new(alone, key->name, value);
	if (!json_object_get(alone, key->name) || json_is_null(value))
		fault_set(&why, FAULT_INVALID, "", "is not UTF-8");
	else
		op_decode(&record_config, alone, &scratch, DECODE_STRICT, &s->arena,
			  &why);
	if (why.code)
		rc = config_refuse(s, key, &why, f);
	if (!s->given)
		s->given = json_object();
	json_object_update(s->given, alone);
	json_decref(alone);
	return rc;
}

int config_take_word(struct config_set *s, enum config_source source,
		     const struct field *key, const char *word, struct fault *f)
{
	*config_origin_of(s, key) = (struct config_origin){ .source = source };
	return config_take(s, key, field_word(key, word), f);
}

int config_take_flag(struct config_set *s, const char *flag, struct fault *f)
{
	size_t n = strcspn(flag, "=");
	const char *name = arena_strndup(&s->arena, flag, n);
	const struct field *key = field_find(&record_config, name);

	if (!key) {
		fault_set(f, FAULT_INVALID, "", "--%.60s: unknown key", name);
		return config_unknown(&record_config, name, f);
	}
	return config_take_word(s, CONFIG_FLAG, key, flag + n + (flag[n] == '='), f);
}

/* --- the file -------------------------------------------------------------------- */

/* No key takes a table, a list or a time. Each table, list or time becomes an object here, and
 * op_decode() refuses an object. */
static json_t *scalar_json(const struct toml_value *v)
{
	return v->kind == TOML_ARRAY || v->kind == TOML_TABLE ? json_object()
							      : toml_json(v);
}

static bool config_is_section(const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < record_config.n_fields; i++)
		if (strncmp(record_config.fields[i].name, name, n) == 0 &&
		    record_config.fields[i].name[n] == '.')
			return true;
	return false;
}

/* Anybody may have written a project's file, so the file may not set the keys of a state. */
static int refuse_state_key(struct config_set *s, const struct toml_entry *e,
			    const char *name, struct fault *f)
{
	toml_refuse(s->file, e->at, f, "a project's file cannot set %.60s", name);
	if (s->state)
		return fault_hint(f,
				  "set the key in %.100s/cadre.toml, or in your own "
				  "file: ~/.config/cadre/cadre.toml",
				  s->state);
	return fault_hint(f, "set the key in your own file: ~/.config/cadre/cadre.toml");
}

static int take_entry(struct config_set *s, const struct toml_entry *e, const char *name,
		      bool projects, struct fault *f)
{
	const struct field *key = field_find(&record_config, name);
	struct config_origin *origin;

	if (!key || strlen(e->key.data) != e->key.len) {
		toml_refuse(s->file, e->at, f, "unknown key '%.60s'", name);
		return config_unknown(&record_config, name, f);
	}
	if (projects && !(key->flags & FIELD_CALLER))
		return refuse_state_key(s, e, name, f);
	origin = config_origin_of(s, key);
	if (origin->source == CONFIG_FILE && origin->file == s->file)
		return toml_refuse(s->file, e->at, f, "%s is set already, in line %d",
				   name, origin->at.line);
	*origin = (struct config_origin){ CONFIG_FILE, s->file, e->value.at };
	return config_take(s, key, scalar_json(&e->value), f);
}

/* `prefix` ends with a dot, or is empty. */
static int take_table(struct config_set *s, const struct toml_table *t,
		      const char *prefix, bool projects, struct fault *f)
{
	for (const struct toml_entry *e = t->first; e; e = e->next) {
		const char *name = arena_printf(&s->arena, "%s%s", prefix, e->key.data);
		int rc;

		if (e->value.kind == TOML_TABLE && config_is_section(name))
			rc = take_table(s, e->value.table,
					arena_printf(&s->arena, "%s.", name), projects,
					f);
		else
			rc = take_entry(s, e, name, projects, f);
		if (rc < 0)
			return rc;
	}
	return 0;
}

int config_take_file(struct config_set *s, const struct config_file *file,
		     struct fault *f)
{
	struct toml_table *root;

	s->file = arena_strdup(&s->arena, file->path);
	if (toml_read(&s->arena, s->file, file->data, file->len, &root, f) < 0)
		return f->code;
	return take_table(s, root, "", file->projects, f);
}

/* --- the whole --------------------------------------------------------------------- */

void config_read(struct config_set *s, struct config *c)
{
	struct fault f = { 0 };
	json_t *none = s->given ? NULL : json_object();

	*c = (struct config){ 0 };
	op_decode(&record_config, s->given ? s->given : none, c, DECODE_STRICT, &s->arena,
		  &f);
	assert(!f.code); /* each value was checked when it was taken */
	json_decref(none);
}

void config_defaults(struct config *c)
{
	struct config_set none = { 0 };

	config_read(&none, c);
	config_release(&none);
}

void config_release(struct config_set *s)
{
	json_decref(s->given);
	arena_release(&s->arena);
	*s = (struct config_set){ 0 };
}
