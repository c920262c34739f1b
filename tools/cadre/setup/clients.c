#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/home/paths.h"
#include "tools/cadre/setup/setup.h"

/* Settings by which a person switches parts off, as described by the clients' documents. Claude
 * Code writes the first setting if the user says "no" at the beginning of a session. */
static const struct setup_off claude_off[] = {
	{ PART_MCP, PART_HOOKS, OFF_WHERE_NAMED, "disabledMcpjsonServers", "cadre",
	  true },
	{ PART_MCP, PART_HOOKS, OFF_WHERE_NAMED, "permissions.deny", "mcp__cadre",
	  false },
	{ PART_MCP, PART_HOOKS, OFF_WHERE_NAMED, "permissions.deny", "mcp__cadre__*",
	  false },
	{ PART_HOOKS, PART_HOOKS, OFF_WHERE_TRUE, "disableAllHooks", NULL, false },
	{ .key = NULL },
};
static const struct setup_off codex_off[] = {
	{ PART_HOOKS, PART_MCP, OFF_WHERE_FALSE, "features.hooks", NULL, false },
	{ .key = NULL },
};
static const struct setup_off gemini_off[] = {
	{ PART_MCP, PART_MCP, OFF_WHERE_NAMED, "mcp.excluded", "cadre", false },
	{ PART_MCP, PART_MCP, OFF_UNLESS_NAMED, "mcp.allowed", "cadre", false },
	{ .key = NULL },
};
static const struct setup_off opencode_off[] = {
	{ PART_MCP, PART_MCP, OFF_WHERE_FALSE, "tools.cadre*", NULL, false },
	{ PART_MCP, PART_MCP, OFF_WHERE_FALSE, "tools.cadre_*", NULL, false },
	{ PART_MCP, PART_MCP, OFF_WHERE_FALSE, "mcp.cadre.enabled", NULL, false },
	{ .key = NULL },
};

#define ENTRY "{\"command\":\"@\",\"args\":[\"mcp\"]}"
#define ENTRY_STDIO "{\"type\":\"stdio\",\"command\":\"@\",\"args\":[\"mcp\"]}"

const struct setup_client setup_clients[] = {
	{
		.name = "claude",
		.title = "Claude Code",
		.programs = { "claude" },
		.variable = "CLAUDE_CONFIG_DIR",
		.folder = ".claude",
		.files = { [PART_MCP] = { .project = ".mcp.json",
					  .user = ".claude.json",
					  .in_home = true },
			   [PART_HOOKS] = { ".claude/settings.json", "settings.json" },
			   [PART_TEXT] = { "CLAUDE.md", "CLAUDE.md" } },
		.servers = "mcpServers",
		.entry = ENTRY,
		.hook = "{\"hooks\":[{\"type\":\"command\",\"command\":\"@\",\"timeout\":10}]}",
		.import = "AGENTS.md",
		.off = claude_off,
		.local = ".claude/settings.local.json",
		.note = "Claude Code asks once whether a project's .mcp.json may be used",
	},
	{
		.name = "codex",
		.title = "Codex",
		.programs = { "codex" },
		.variable = "CODEX_HOME",
		.folder = ".codex",
		.files = { [PART_MCP] = { ".codex/config.toml", "config.toml" },
			   [PART_HOOKS] = { ".codex/hooks.json", "hooks.json" },
			   [PART_TEXT] = { "AGENTS.md", "AGENTS.md" } },
		.toml = true,
		.servers = "mcp_servers",
		.entry = ENTRY,
		.hook = "{\"hooks\":[{\"type\":\"command\",\"command\":\"@\",\"timeout\":10}]}",
		.off = codex_off,
		.note = "Codex reads a project's files once you trust it, and "
			"runs hooks once you have allowed them: /hooks",
	},
	{
		.name = "gemini",
		.title = "Gemini CLI",
		.programs = { "gemini" },
		.folder = ".gemini",
		.files = { [PART_MCP] = { ".gemini/settings.json", "settings.json" },
			   [PART_HOOKS] = { ".gemini/settings.json", "settings.json" },
			   [PART_TEXT] = { "GEMINI.md", "GEMINI.md" } },
		.servers = "mcpServers",
		.entry = ENTRY,
		.hook = "{\"hooks\":[{\"name\":\"cadre\",\"type\":\"command\",\"command\":\"@\","
			"\"timeout\":10000}]}",
		.import = "AGENTS.md",
		.off = gemini_off,
		.note = "Gemini CLI reads a project's settings once its folder is trusted",
	},
	{
		.name = "cursor",
		.title = "Cursor",
		.programs = { "cursor", "cursor-agent" },
		.folder = ".cursor",
		.files = { [PART_MCP] = { ".cursor/mcp.json", "mcp.json" },
			   [PART_HOOKS] = { ".cursor/hooks.json", "hooks.json" },
			   [PART_TEXT] = { "AGENTS.md" } },
		.servers = "mcpServers",
		.entry = ENTRY_STDIO,
		.hook = "{\"command\":\"@\",\"timeout\":10}",
		.beside = { [PART_HOOKS] = { .key = "version", .value = "1" } },
		.note = "switch the server on in Cursor under Settings, MCP",
	},
	{
		.name = "opencode",
		.title = "OpenCode",
		.programs = { "opencode" },
		.variable = "XDG_CONFIG_HOME",
		.folder = ".config",
		.trace = "opencode",
		.files = { [PART_MCP] = { .project = "opencode.json",
					  .user = "opencode/opencode.json",
					  .end = "c" },
			   [PART_HOOKS] = { ".opencode/plugins/cadre.js",
					    "opencode/plugins/cadre.js" },
			   [PART_TEXT] = { "AGENTS.md", "opencode/AGENTS.md" } },
		.servers = "mcp",
		.entry =
			"{\"type\":\"local\",\"command\":[\"@\",\"mcp\"],\"enabled\":true}",
		/* OpenCode would add this key itself, and then --remove could not remove the
		 * file. */
		.beside = { [PART_MCP] = { .key = "$schema",
					   .value = "\"https://opencode.ai/config.json\"",
					   .anew = true } },
		.off = opencode_off,
	},
	{
		.name = "vscode",
		.title = "VS Code",
		.programs = { "code", "code-insiders" },
		.variable = "XDG_CONFIG_HOME",
		.folder = ".config",
		.trace = "Code",
		.files = { [PART_MCP] = { ".vscode/mcp.json", "Code/User/mcp.json" },
			   [PART_TEXT] = { "AGENTS.md" } },
		.servers = "servers",
		.entry = ENTRY_STDIO,
		.note = "VS Code asks once whether the server may be started",
	},
	{ .name = NULL },
};

const struct setup_client *setup_client_named(const char *name)
{
	for (const struct setup_client *c = setup_clients; c->name; c++)
		if (!strcmp(c->name, name))
			return c;
	return NULL;
}

/* --- paths of clients --------------------------------------------------------------------- */

static bool clients_is_program(const char *path, struct stat *st)
{
	return !access(path, X_OK) && !stat(path, st) && S_ISREG(st->st_mode);
}

/* Finds the file that a command runs. If a command is no path, it is looked for in PATH. */
static bool clients_find_program(const char *command, struct stat *st)
{
	char path[4096];

	if (strchr(command, '/'))
		return clients_is_program(command, st);
	for (const char *at = paths_env("PATH"); at && *at; at += *at == ':') {
		int n = (int)strcspn(at, ":");

		if (snprintf(path, 4096, "%.*s/%s", n, at, command) < 4096 &&
		    *path == '/' && clients_is_program(path, st))
			return true;
		at += n;
	}
	return false;
}

enum setup_runs setup_runs(const char *command, const char *self)
{
	struct stat st, own;

	if (!clients_find_program(command, &st))
		return RUNS_NONE;
	return clients_find_program(self, &own) && st.st_ino == own.st_ino &&
			       st.st_dev == own.st_dev
		       ? RUNS_SAME
		       : RUNS_ANOTHER;
}

/* The client's folder for the user's files. */
static bool user_folder(const struct setup_client *c, bool in_home, char out[4096])
{
	const char *said = c->variable ? paths_env(c->variable) : NULL;
	char home[4096];

	if (said && *said == '/')
		return paths_join(out, said, "");
	return paths_home(home) && paths_join(out, home, in_home ? "" : c->folder);
}

int setup_client_check(const struct setup_client *c, struct fault *f)
{
	const char *said = c->variable ? paths_env(c->variable) : NULL;

	/* By the rules of XDG, a relative path is ignored. */
	if (!said || *said == '/' || !strncmp(c->variable, "XDG_", 4))
		return 0;
	fault_set(f, FAULT_INVALID, "",
		  "%s is %.100s, a relative path: its folder depends on where %s is "
		  "started",
		  c->variable, said, c->title);
	return fault_hint(f, "Set the variable to an absolute path.");
}

bool setup_client_there(const struct setup_client *c)
{
	char folder[4096], path[4096];
	struct stat st;

	for (int i = 0; c->programs[i]; i++)
		if (clients_find_program(c->programs[i], &st))
			return true;
	return user_folder(c, false, folder) &&
	       paths_join(path, folder, c->trace ? c->trace : "") && !stat(path, &st) &&
	       S_ISDIR(st.st_mode);
}

bool setup_client_path(const struct setup_client *c, enum setup_part part,
		       const char *project, char out[4096])
{
	const struct setup_file *file = &c->files[part];
	const char *name = *project ? file->project : file->user;
	char folder[4096], other[4096];

	if (!name || !(*project || user_folder(c, file->in_home, folder)) ||
	    !paths_join(out, *project ? project : folder, name))
		return false;
	if (file->end && snprintf(other, sizeof(other), "%s%s", out, file->end) < 4096 &&
	    access(out, F_OK) != 0 && !access(other, F_OK))
		memcpy(out, other, sizeof(other));
	return true;
}
