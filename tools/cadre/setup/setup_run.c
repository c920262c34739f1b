/*
 * setup_run - gives a client that `cadre agent run` starts the MCP server and the hooks of
 * cadre, without a change of the project's or the user's files.
 *
 * A worktree has only the files that are committed, so a client in the worktree may lack the
 * entries that `cadre setup` has written. Words of the command line and variables of the
 * client add these entries to those that the client reads from its files. Claude Code and
 * Gemini CLI run a hook once if two places name the hook. Codex and OpenCode run the hook
 * twice, so setup_run_needs() looks into their files first.
 *
 * The words and variables were tried with the clients (tests/clients/run_as.mjs).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "storage/durable.h"
#include "tools/cadre/setup/setup.h"

enum { RUN_WORDS_MOST = 32 };

struct setup_run {
	struct arena *arena;
	const struct setup_client *c;
	struct setup_plan plan; /* of the folder in which the client starts */
	const char
		*folder; /* folder for files that the client reads; NULL: there is none */
	const char *words[RUN_WORDS_MOST]; /* words that the client gets */
	size_t n;
	struct fault *f;
};

/* --- entries ------------------------------------------------------------------------------ */

/* Puts a part of the client into the text `given` (NULL: no text), which comes from `name`.
 * Returns the whole text in the arena, or NULL if there is a fault. */
static const char *setup_run_put(struct setup_run *r, enum setup_part part,
				 const char *given, const char *name)
{
	struct setup_draft d = { .name = name, .there = given != NULL };
	struct setup_tally ignored = { 0 };
	const char *out = NULL;

	if (given)
		text_add(&d.text, given, strlen(given));
	if (setup_put(r->c, part, r->plan.command, &d, &ignored, r->f) == 0)
		out = arena_strdup(r->arena, d.text.data);
	text_release(&d.text);
	return out;
}

/* Whether neither the project's nor the user's files have all of a part. */
static bool setup_run_needs(struct setup_run *r, enum setup_part part)
{
	char *const place = r->plan.project;
	struct setup_tally t;
	struct fault ignored = { 0 };

	for (;; *place = '\0') {
		if (setup_plan_look(&r->plan, r->c, part, &t, &ignored) == 0 && t.found &&
		    !t.missing)
			return false;
		if (!*place)
			return true;
	}
}

static void setup_run_add(struct setup_run *r, const char *word)
{
	if (word && r->n < RUN_WORDS_MOST)
		r->words[r->n++] = word;
}

/* Writes a file that the client reads. Returns its path, or NULL if there is a fault. */
static const char *setup_run_write(struct setup_run *r, const char *name,
				   const char *text)
{
	struct setup_target t = { 0 };
	const char *path = arena_printf(r->arena, "%s/%s", r->folder, name);
	int lock;

	if (!text || dir_have(r->folder, 0700) || (lock = setup_lock(true, r->f)) < 0)
		return NULL;
	if (setup_target_find(&t, path, path, NULL, r->f) == 0 &&
	    setup_target_read(&t, r->f) == 0) {
		draft_splice(&t.draft, 0, t.draft.text.len, text, strlen(text));
		t.draft.there = true;
		if (setup_target_changed(&t))
			setup_target_write(&t, r->f);
	}
	setup_target_release(&t);
	close(lock);
	return r->f->code ? NULL : path;
}

/* --- clients ------------------------------------------------------------------------------ */

/* Reads a text of JSON with comments. Returns NULL if there is a fault. */
static json_t *setup_run_read(struct setup_run *r, const char *text)
{
	struct setup_draft d = { .name = r->c->name, .there = true };
	struct jsonc *root = NULL;
	json_t *out = NULL;

	if (!text)
		return NULL;
	text_add(&d.text, text, strlen(text));
	if (jsonc_read(r->arena, &d, &root, r->f) == 0 && root)
		out = jsonc_value(r->arena, &d, root);
	text_release(&d.text);
	return out;
}

/* Prints JSON on one line, in the arena. Takes `value`; NULL gives NULL. */
static const char *setup_run_print(struct setup_run *r, json_t *value)
{
	char *line = value ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
	const char *out = arena_strdup(r->arena, line);

	free(line);
	json_decref(value);
	return out;
}

/* Adds an option whose value is a part of the client in JSON. */
static void setup_run_option(struct setup_run *r, const char *option,
			     enum setup_part part)
{
	json_t *value = setup_run_read(r, setup_run_put(r, part, NULL, option));

	if (value)
		setup_run_add(r, arena_printf(r->arena, "%s=%s", option,
					      setup_run_print(r, value)));
}

/* The option --mcp-config takes all words behind it, unless its value follows a `=`. */
static void setup_run_claude(struct setup_run *r)
{
	setup_run_option(r, "--mcp-config", PART_MCP);
	setup_run_option(r, "--settings", PART_HOOKS);
}

/* Writes JSON as a value of TOML on one line. */
static void setup_run_toml(struct setup_run *r, struct text *out, const json_t *v)
{
	const char *key, *comma = "";
	const json_t *item;
	size_t i;

	if (json_is_object(v)) {
		text_addf(out, "{");
		json_object_foreach((json_t *)v, key, item) {
			text_addf(out, "%s%s=", comma, key);
			setup_run_toml(r, out, item);
			comma = ",";
		}
		text_addf(out, "}");
	} else if (json_is_array(v)) {
		text_addf(out, "[");
		json_array_foreach(v, i, item) {
			text_addf(out, "%s", i ? "," : "");
			setup_run_toml(r, out, item);
		}
		text_addf(out, "]");
	} else {
		text_addf(out, "%s", setup_run_print(r, json_incref((json_t *)v)));
	}
}

/* Adds a setting of Codex. Takes `value`. */
static void setup_run_set(struct setup_run *r, const char *key, json_t *value)
{
	struct text t = { 0 };

	text_addf(&t, "%s=", key);
	setup_run_toml(r, &t, value);
	setup_run_add(r, "-c");
	setup_run_add(r, arena_strdup(r->arena, t.data));
	text_release(&t);
	json_decref(value);
}

/* The variables by which cadre knows the agent. Codex gives its servers only the variables that
 * a setting names, and Gemini CLI gives its servers no variable with TOKEN in its name. */
static const char *const setup_run_names[] = { "CADRE_HOME",  "CADRE_SOCKET",
					       "CADRE_TEAM",  "CADRE_AGENT",
					       "CADRE_TOKEN", "CADRE_WORKSPACE",
					       NULL };

static void setup_run_codex(struct setup_run *r)
{
	json_t *root = NULL, *names = json_array(), *hooks;
	const char *event;

	for (int i = 0; setup_run_names[i]; i++)
		json_array_append_new(names, json_string(setup_run_names[i]));
	setup_run_set(r, "mcp_servers.cadre.command", json_string(r->plan.command));
	setup_run_set(r, "mcp_servers.cadre.args", json_pack("[s]", "mcp"));
	setup_run_set(r, "mcp_servers.cadre.env_vars", names);
	if (setup_run_needs(r, PART_HOOKS))
		root = setup_run_read(r,
				      setup_run_put(r, PART_HOOKS, NULL, "hooks.json"));
	json_object_foreach(json_object_get(root, "hooks"), event, hooks)
		setup_run_set(r, arena_printf(r->arena, "hooks.%s", event),
			      json_incref(hooks));
	json_decref(root);
}

/* The text of the file of defaults that Gemini CLI would read, or NULL. */
static const char *setup_run_defaults(struct setup_run *r, const char *path)
{
	struct setup_target t = { 0 };
	const char *text = NULL;

	if (setup_target_find(&t, path, path, NULL, r->f) == 0 &&
	    setup_target_read(&t, r->f) == 0 && t.was && t.before.len)
		text = arena_strdup(r->arena, t.before.data);
	setup_target_release(&t);
	return text;
}

/* Gives Gemini CLI a copy of its file of defaults, with the entries of cadre. In the copy, `$`
 * before a name stands for the value of the variable. */
static void setup_run_gemini(struct setup_run *r)
{
	static const char variable[] = "GEMINI_CLI_SYSTEM_DEFAULTS_PATH";
	const char *given = getenv(variable), *path, *text;
	json_t *all, *env = json_object();

	path = given && *given ? given : "/etc/gemini-cli/system-defaults.json";
	text = setup_run_put(r, PART_MCP, setup_run_defaults(r, path), path);
	all = setup_run_read(r, text ? setup_run_put(r, PART_HOOKS, text, path) : NULL);
	for (int i = 0; setup_run_names[i]; i++)
		if (getenv(setup_run_names[i]))
			json_object_set_new(
				env, setup_run_names[i],
				json_string(arena_printf(r->arena, "$%s",
							 setup_run_names[i])));
	json_object_set_new(json_object_get(json_object_get(all, "mcpServers"), "cadre"),
			    "env", env);
	path = setup_run_write(r, "gemini.json", setup_run_print(r, all));
	if (path)
		setenv(variable, path, 1);
}

static void setup_run_opencode(struct setup_run *r)
{
	static const char variable[] = "OPENCODE_CONFIG_CONTENT";
	const char *given = getenv(variable), *path = NULL;
	json_t *all, *plugins;

	all = setup_run_read(r, setup_run_put(r, PART_MCP, given && *given ? given : NULL,
					      variable));
	if (r->folder && all && setup_run_needs(r, PART_HOOKS))
		path = setup_run_write(r, "opencode.js",
				       setup_run_put(r, PART_HOOKS, NULL, "cadre.js"));
	if (path && !json_is_array(plugins = json_object_get(all, "plugin")))
		json_object_set_new(all, "plugin", plugins = json_array());
	if (path)
		json_array_append_new(
			plugins, json_string(arena_printf(r->arena, "file://%s", path)));
	if (all)
		setenv(variable, setup_run_print(r, all), 1);
}

static const struct {
	const char *client;
	void (*give)(struct setup_run *r);
	bool files; /* the client reads files of `folder` */
} setup_run_ways[] = {
	{ "claude", setup_run_claude, false },
	{ "codex", setup_run_codex, false },
	{ "gemini", setup_run_gemini, true },
	{ "opencode", setup_run_opencode, false },
};

static size_t setup_run_way(const char *client)
{
	size_t i = 0;

	while (i < sizeof(setup_run_ways) / sizeof(*setup_run_ways) &&
	       strcmp(setup_run_ways[i].client, client))
		i++;
	return i;
}

bool setup_run_knows(const char *client)
{
	return setup_run_way(client) < sizeof(setup_run_ways) / sizeof(*setup_run_ways);
}

int setup_run(struct arena *a, const char *folder, char ***words, struct fault *f)
{
	struct setup_run r = { .arena = a, .folder = folder, .f = f };
	char **old = *words, **all;
	const char *name = strrchr(old[0], '/');
	size_t way, n = 0;

	name = name ? name + 1 : old[0];
	way = setup_run_way(name);
	if (!setup_run_knows(name) || (setup_run_ways[way].files && !folder))
		return 0;
	r.c = setup_client_named(name);
	setup_plan_begin(&r.plan);
	setup_run_ways[way].give(&r);
	setup_plan_release(&r.plan);
	while (old[n])
		n++;
	all = arena_alloc(a, (n + r.n + 1) * sizeof(*all));
	all[0] = old[0];
	for (size_t i = 0; i < r.n; i++)
		all[1 + i] = (char *)r.words[i];
	memcpy(all + 1 + r.n, old + 1, n * sizeof(*all));
	*words = all;
	return f->code;
}
