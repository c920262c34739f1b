/*
 * config_verb - prints the configuration: every key, its value, and the source of the value.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/near.h"
#include "core/home/home_config.h"
#include "tools/cadre/cli.h"

struct shown {
	struct cli *cli;
	struct config_set set;
	struct config config;
};

/* --- values ---------------------------------------------------------------------- */

/* The value of a key as text; NULL: the key has no value. */
static const char *value_text(struct shown *s, const struct field *key)
{
	const char *at = (const char *)&s->config + key->at;
	int64_t n;

	if (key->type->kind == KIND_TEXT)
		return *(const char *const *)at;
	if (key->type->kind == KIND_BOOL)
		return *(const bool *)at ? "true" : "false";
	memcpy(&n, at, sizeof(n));
	if (key->type->kind == KIND_ENUM)
		return key->type->choices[n].name;
	return arena_printf(&s->set.arena, "%" PRId64, n);
}

static json_t *value_json(struct shown *s, const struct field *key)
{
	const char *text = value_text(s, key);

	return text ? field_word(key, text) : json_null();
}

static json_t *key_json(struct shown *s, const struct field *key)
{
	static const char *const sources[] = { "default", "file", "environment", "flag" };
	enum config_source source = s->set.origins[key - record_config.fields].source;
	char variable[CONFIG_VARIABLE_SIZE];

	config_variable(key, variable);
	return json_pack("{ss,so,ss,ss,ss,ss}", "key", key->name, "value",
			 value_json(s, key), "source", sources[source], "from",
			 config_whence(&s->set, key), "variable", variable, "meaning",
			 key->doc);
}

/* --- printing ---------------------------------------------------------------------- */

/* Whether a key is shown. `only` is a key, or a section, or NULL for all keys. */
static bool config_verb_wants(const struct field *key, const char *only)
{
	const size_t n = only ? strlen(only) : 0;

	return !only ||
	       (!strncmp(key->name, only, n) && (!key->name[n] || key->name[n] == '.'));
}

static void config_verb_show_json(struct shown *s, const char *section)
{
	json_t *keys = json_array();

	for (size_t i = 0; i < record_config.n_fields; i++)
		if (config_verb_wants(&record_config.fields[i], section))
			json_array_append_new(keys,
					      key_json(s, &record_config.fields[i]));
	print_json_new(json_pack("{ss*,so}", "file", s->set.file, "keys", keys));
}

/* Tells a person what a key means. The meaning names the unit of the value. */
static void config_verb_tell(const struct shown *s, const struct field *key)
{
	struct arena a = { 0 };

	cli_prose(s->cli, arena_printf(&a, "%s: %s", key->name, key->doc), 0);
	arena_release(&a);
}

static int show_table(struct shown *s, const char *section, struct fault *f)
{
	static const char *const names[] = { "key", "value", "from" };
	struct table t = { 0 };

	if (table_begin(s->cli, &t, names, 3, f) < 0)
		return f->code;
	for (size_t i = 0; i < record_config.n_fields; i++) {
		const struct field *key = &record_config.fields[i];
		const char *value = value_text(s, key);

		if (!config_verb_wants(key, section))
			continue;
		table_cell(&t, key->name);
		table_cell(&t, value ? value : s->cli->people ? "-" : "");
		table_cell(&t, config_whence(&s->set, key));
	}
	table_print(s->cli, &t, true, 0);
	for (size_t i = 0; section && s->cli->terminal && i < record_config.n_fields; i++)
		if (config_verb_wants(&record_config.fields[i], section))
			config_verb_tell(s, &record_config.fields[i]);
	return 0;
}

static void config_verb_show_key(struct shown *s, const struct field *key)
{
	const char *value = value_text(s, key);

	if (s->cli->json) {
		print_json_new(key_json(s, key));
	} else if (s->cli->terminal) {
		cli_say("%s = %s, from %s", key->name, value ? value : "-",
			config_whence(&s->set, key));
		config_verb_tell(s, key);
	} else if (value) {
		puts(value);
	}
}

/* Refuses a word that is no section, and names the section whose name is nearest. */
static int config_verb_refuse(struct shown *s, const char *word, struct fault *f)
{
	const char *near = "";
	size_t least = strlen(word);

	for (size_t i = 0; i < record_config.n_fields; i++) {
		const char *key = record_config.fields[i].name,
			   *section =
				   arena_strndup(&s->set.arena, key, strcspn(key, "."));
		const size_t far = near_distance(section, word);

		if (far < least) {
			least = far;
			near = section;
		}
	}
	fault_set(f, FAULT_INVALID, "", "the configuration has no section `%.60s`", word);
	return least <= strlen(word) / 2
		       ? fault_hint(f, "did you mean `cadre config %s`?", near)
		       : fault_hint(f, "`cadre config` lists all keys");
}

static int config_verb_show(struct shown *s, const char *name, struct fault *f)
{
	const struct field *key = name ? field_find(&record_config, name) : NULL;
	bool any = !name;

	for (size_t i = 0; i < record_config.n_fields && !any; i++)
		any = config_verb_wants(&record_config.fields[i], name);
	if (!any)
		return strchr(name, '.') ? config_unknown(&record_config, name, f)
					 : config_verb_refuse(s, name, f);
	if (key)
		config_verb_show_key(s, key);
	else if (s->cli->json)
		config_verb_show_json(s, name);
	else
		return show_table(s, name, f);
	return 0;
}

/* --- the verb ------------------------------------------------------------------------ */

/* Loads the configuration. If there is a state, the vault's folder and the network's range are
 * those of the state. A missing state is no fault, because a person may configure a project
 * before its state exists. Inside a workspace the function fails, because the state is
 * elsewhere. */
static int config_verb_find(struct shown *s, struct fault *f)
{
	struct cli *cli = s->cli;

	if (cli_folder(cli, HOME_LOOK, f) < 0 &&
	    (f->code != FAULT_NOT_FOUND || cli->home.gone))
		return f->code;
	*f = (struct fault){ 0 };
	if (config_load(&s->set, cli->home.vault[0] ? cli->home.dir : NULL, cli->flags,
			f) < 0)
		return f->code;
	config_read(&s->set, &s->config);
	if (!cli->home.vault[0])
		return 0;
	s->config.vault_root = cli->home.vault;
	s->config.network_range = cli->home.settings.network_range;
	return 0;
}

int config_main(struct cli *cli, int argc, char **argv)
{
	struct shown s = { .cli = cli };
	struct fault f = { 0 };
	int status = 0;

	if (argc > 2)
		return cli_usage(cli, "`%s` takes one key or section", argv[0]);
	pager_begin(cli);
	if (config_verb_find(&s, &f) < 0 ||
	    config_verb_show(&s, argc > 1 ? argv[1] : NULL, &f) < 0)
		status = cli_fault(cli, &f);
	config_release(&s.set);
	return status;
}
