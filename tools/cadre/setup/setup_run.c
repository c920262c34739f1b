/*
 * setup_run - gives a client that `cadre agent run` starts the MCP server and the hooks of
 * cadre, without a change of the project's or the user's files.
 *
 * A worktree has only the files that are committed, so a client in the worktree may lack the
 * entries that `cadre setup` has written. Options and variables of the client add these entries
 * to those that the client reads from its files. If two places name the same hook, Claude Code
 * and Gemini CLI run the hook once, and Codex and OpenCode run it twice. So the files of Codex
 * and OpenCode are read first (setup_run_has()).
 *
 * `make clients` tries this with the real clients.
 */
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/cadre/setup/setup.h"

struct setup_run {
	struct arena *arena;
	const struct setup_client *c;
	struct setup_plan plan; /* for the folder in which the client starts */
	const char *beside; /* see setup_run() */
	const char **words; /* options for the client */
	size_t n;
	struct fault *f;
};

/* --- entries ------------------------------------------------------------------------------ */

/* Puts a part of the client into a text. `given` is the text (NULL: an empty text), and faults
 * call the text `name`. Returns the whole text in the arena, or NULL if there is a fault. If
 * `found` is not NULL, counts the entries that the text had. */
static const char *setup_run_put(struct setup_run *r, enum setup_part part,
				 const char *given, const char *name,
				 struct setup_tally *found)
{
	struct setup_draft d = { .name = name, .there = given != NULL };
	struct setup_tally tally = { 0 };
	const char *out = NULL;

	if (given)
		text_add(&d.text, given, strlen(given));
	if (setup_put(r->c, part, r->plan.command, &d, &tally, r->f) == 0)
		out = arena_strdup(r->arena, d.text.data);
	text_release(&d.text);
	if (found)
		*found = tally;
	return out;
}

/* Whether the client's files in the project, or the user's files, have all of a part. */
static bool setup_run_has(struct setup_run *r, enum setup_part part, bool in_project)
{
	char project[sizeof(r->plan.project)];
	struct setup_tally t;
	struct fault ignored = { 0 };
	bool has;

	memcpy(project, r->plan.project, sizeof(project));
	if (!in_project)
		r->plan.project[0] = '\0';
	has = setup_plan_look(&r->plan, r->c, part, &t, &ignored) == 0 && t.found &&
	      !t.missing;
	memcpy(r->plan.project, project, sizeof(project));
	return has;
}

static void setup_run_add(struct setup_run *r, const char *word)
{
	arena_add(r->arena, r->words, r->n, word);
}

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

/* Reads a file. Returns NULL if there is no file or the file is empty, or if there is a fault. */
static const char *setup_run_text(struct setup_run *r, const char *path)
{
	struct setup_target t = { 0 };
	const char *text = NULL;

	if (setup_target_find(&t, path, path, NULL, r->f) == 0 &&
	    setup_target_read(&t, r->f) == 0 && t.was && t.before.len)
		text = arena_strdup(r->arena, t.before.data);
	setup_target_release(&t);
	return text;
}

/* Writes a file that the client reads. No other process writes the file, since `agent run`
 * refuses an agent that runs. Returns the file's path, or NULL if there is a fault. */
static const char *setup_run_write(struct setup_run *r, const char *end, const char *text)
{
	struct setup_target t = { 0 };
	const char *path = arena_printf(r->arena, "%s%s", r->beside, end);

	if (!text)
		return NULL;
	if (setup_target_find(&t, path, path, NULL, r->f) == 0 &&
	    setup_target_read(&t, r->f) == 0) {
		draft_splice(&t.draft, 0, t.draft.text.len, text, strlen(text));
		t.draft.there = true;
		if (setup_target_changed(&t))
			setup_target_write(&t, r->f);
	}
	setup_target_release(&t);
	return r->f->code ? NULL : path;
}

/* --- clients ------------------------------------------------------------------------------ */

/* Adds an option whose value is a part of the client in JSON. */
static void setup_run_option(struct setup_run *r, const char *option,
			     enum setup_part part)
{
	const char *text = setup_run_put(r, part, NULL, option, NULL);
	const char *line = setup_run_print(r, setup_run_read(r, text));

	if (line)
		setup_run_add(r, arena_printf(r->arena, "%s=%s", option, line));
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

/* Codex reads a project's hooks only if the user trusts the project, so only hooks in the
 * user's file count as there. */
static void setup_run_codex(struct setup_run *r)
{
	json_t *root = NULL, *names = json_array(), *hooks;
	const char *event, *text;

	for (int i = 0; setup_run_names[i]; i++)
		json_array_append_new(names, json_string(setup_run_names[i]));
	setup_run_set(r, "mcp_servers.cadre.command", json_string(r->plan.command));
	setup_run_set(r, "mcp_servers.cadre.args", json_pack("[s]", "mcp"));
	setup_run_set(r, "mcp_servers.cadre.env_vars", names);
	if (setup_run_has(r, PART_HOOKS, false))
		return;
	text = setup_run_put(r, PART_HOOKS, NULL, "hooks.json", NULL);
	root = setup_run_read(r, text);
	json_object_foreach(json_object_get(root, "hooks"), event, hooks)
		setup_run_set(r, arena_printf(r->arena, "hooks.%s", event),
			      json_incref(hooks));
	json_decref(root);
}

/* Gives Gemini CLI a copy of its file of defaults, with the entries of cadre. In the copy, `$`
 * before a name stands for the value of the variable. An entry `cadre` that a person wrote stays
 * as it is, and gets no token. */
static void setup_run_gemini(struct setup_run *r)
{
	static const char variable[] = "GEMINI_CLI_SYSTEM_DEFAULTS_PATH";
	const char *given = getenv(variable), *path, *text;
	char full[PATH_MAX];
	struct setup_tally found;
	json_t *all, *env = json_object();

	path = given && *given ? given : "/etc/gemini-cli/system-defaults.json";
	text = realpath(path, full) ? setup_run_text(r, full) : NULL;
	if (r->f->code)
		goto end;
	text = setup_run_put(r, PART_MCP, text, path, &found);
	if (text)
		text = setup_run_put(r, PART_HOOKS, text, path, NULL);
	all = setup_run_read(r, text);
	for (int i = 0; setup_run_names[i]; i++)
		if (getenv(setup_run_names[i]))
			json_object_set_new(
				env, setup_run_names[i],
				json_string(arena_printf(r->arena, "$%s",
							 setup_run_names[i])));
	if (!found.yours)
		json_object_set(json_object_get(json_object_get(all, "mcpServers"),
						"cadre"),
				"env", env);
	path = setup_run_write(r, ".json", setup_run_print(r, all));
	if (path)
		setenv(variable, path, 1);
end:
	json_decref(env);
}

/* The URL of a file, in the arena. */
static const char *setup_run_url(struct setup_run *r, const char *path)
{
	struct text t = { 0 };
	const char *url;

	text_addf(&t, "file://");
	for (; *path; path++)
		text_addf(&t,
			  isalnum((unsigned char)*path) || strchr("/-._~", *path)
				  ? "%c"
				  : "%%%02X",
			  (unsigned char)*path);
	url = arena_strdup(r->arena, t.data);
	text_release(&t);
	return url;
}

static void setup_run_opencode(struct setup_run *r)
{
	static const char variable[] = "OPENCODE_CONFIG_CONTENT";
	const char *given = getenv(variable), *path = NULL, *text, *url;
	json_t *all, *plugins, *plugin;
	size_t i;

	text = setup_run_put(r, PART_MCP, given && *given ? given : NULL, variable, NULL);
	all = setup_run_read(r, text);
	if (all && !setup_run_has(r, PART_HOOKS, true) &&
	    !setup_run_has(r, PART_HOOKS, false)) {
		text = setup_run_put(r, PART_HOOKS, NULL, "cadre.js", NULL);
		path = setup_run_write(r, ".js", text);
	}
	if (path) {
		url = setup_run_url(r, path);
		if (!json_is_array(plugins = json_object_get(all, "plugin")))
			json_object_set_new(all, "plugin", plugins = json_array());
		json_array_foreach(plugins, i, plugin)
			if (json_is_string(plugin) &&
			    !strcmp(json_string_value(plugin), url))
				url = NULL;
		if (url)
			json_array_append_new(plugins, json_string(url));
	}
	if (all && !r->f->code)
		setenv(variable, setup_run_print(r, json_incref(all)), 1);
	json_decref(all);
}

static const struct {
	const char *client;
	void (*give)(struct setup_run *r);
	bool writes; /* the client needs files beside its options */
} setup_run_ways[] = {
	{ "claude", setup_run_claude, false },
	{ "codex", setup_run_codex, false },
	{ "gemini", setup_run_gemini, true },
	{ "opencode", setup_run_opencode, true },
};

enum { RUN_WAYS = sizeof(setup_run_ways) / sizeof(*setup_run_ways) };

static size_t setup_run_way(const char *client)
{
	size_t i = 0;

	while (i < RUN_WAYS && strcmp(setup_run_ways[i].client, client))
		i++;
	return i;
}

bool setup_run_knows(const char *client)
{
	return setup_run_way(client) < RUN_WAYS;
}

/* The client whose program has this name, or NULL. */
static const struct setup_client *setup_run_client(const char *program)
{
	for (const struct setup_client *c = setup_clients; c->name; c++)
		for (int i = 0; c->programs[i]; i++)
			if (!strcmp(c->programs[i], program))
				return c;
	return NULL;
}

/* Puts the options between the program and the other words. */
static char **setup_run_words(const struct setup_run *r, char **old)
{
	size_t n = 0;
	char **all;

	while (old[n])
		n++;
	all = arena_alloc(r->arena, (n + r->n + 1) * sizeof(*all));
	all[0] = old[0];
	for (size_t i = 0; i < r->n; i++)
		all[1 + i] = (char *)r->words[i];
	memcpy(all + 1 + r->n, old + 1, n * sizeof(*all));
	return all;
}

int setup_run(struct arena *a, const char *beside, char ***words, struct fault *f)
{
	struct setup_run r = { .arena = a, .beside = beside, .f = f };
	const char *name = strrchr(**words, '/');
	size_t way;

	r.c = setup_run_client(name ? name + 1 : **words);
	if (!r.c)
		return 0;
	way = setup_run_way(r.c->name);
	if (way == RUN_WAYS || (setup_run_ways[way].writes && !beside)) {
		fprintf(stderr,
			"note: %s gets cadre's tools and hooks only from its files; make "
			"the files with `cadre setup %s`, and commit them\n",
			r.c->title, r.c->name);
		return 0;
	}
	setup_plan_begin(&r.plan);
	setup_run_ways[way].give(&r);
	setup_plan_release(&r.plan);
	*words = setup_run_words(&r, *words);
	return f->code;
}
