/*
 * verb_docs - the texts of help on the verbs that have code of their own.
 */
#include <string.h>

#include "tools/cadre/cli.h"

/* Help on verbs beyond their summary. */
static const struct {
	const char *verb, *doc;
} verb_docs[] = {
	{ "init",
	  "The state is a folder: .cadre of the repository around here (all its worktrees\n"
	  "share it), or of this directory; or what --home or CADRE_HOME names.  No other\n"
	  "verb makes a state, unless it is told --create with --home or CADRE_HOME.  A .cadre\n"
	  "that holds nothing but a cadre.toml is taken; that sets what a project's may.\n"
	  "Where state.db was lost from a folder that holds more of a state, every verb is\n"
	  "refused: bring it back, `cadre restore` a backup, or begin anew with --anew,\n"
	  "which sets the former log and secret aside in `replaced`.\n" },
	{ "setup",
	  "CLIENT is claude, codex, gemini, cursor, opencode or vscode; all: each of them;\n"
	  "--detect: those that are installed.  Their files get the MCP server, hooks and a\n"
	  "block of instructions: this project's (--project), or those for all your projects\n"
	  "(--user).  What changes is shown; --dry-run changes nothing.  Every byte that is\n"
	  "not cadre's stays, and --remove gives back what was there.  --check says what is\n"
	  "missing, with status 1.  Without CLIENT these two are about all.  docs/setup.md\n"
	  "names the files.\n" },
	{ "trust",
	  "A state in a project is used only if you made it there (cadre init), or said\n"
	  "so: it may have come with a clone, and `cadre up` runs what a state says.  One\n"
	  "that does not count is passed over for one further up; where there is none,\n"
	  "every verb is denied.  This says so of the one found here, or of PATH: a\n"
	  "project's folder or its .cadre.  A moved folder stays known; a copied or\n"
	  "unpacked one does not, nor one in which git tracks files.  What --home or\n"
	  "CADRE_HOME name needs no trust.  Yours are noted in\n"
	  "$XDG_STATE_HOME/cadre/known, else ~/.local/state/cadre/known.\n" },
	{ "up",
	  "A host adds what needs a process that stays: workspaces, pushes, waits.  One\n"
	  "that runs already is left alone.  It writes to a log: `cadre logs`.\n" },
	{ "down",
	  "Guests go on, and the state can be used without a host. `cadre up` starts guests\n"
	  "again that `down --all` has ended.\n" },
	{ "restart", "As after an upgrade: the host that comes is this program.\n" },
	{ "serve", "What `up` starts; for a supervisor such as systemd.\n" },
	{ "prime",
	  "At most 400 tokens of 4 bytes.  Hooks of clients show it when a session begins.\n" },
	{ "hook",
	  "For the hooks of a client: the event comes as JSON on standard input, and what is\n"
	  "new for the agent of that directory is printed in the client's own form, each\n"
	  "message once, hook.max_tokens at most.  Nothing new: nothing is printed.  The exit\n"
	  "status is 0 whatever happens; `cadre logs` tells what went wrong.  --plugin prints\n"
	  "what OpenCode needs.  docs/clients.md says what each client takes.  As pre-commit of\n"
	  "git it refuses a commit with a file that another agent has reserved.\n" },
	{ "events",
	  "-f, --follow goes on as things happen; with --json each event is one line.\n"
	  "Without a team the operator sees those of all teams.  BY `as coder` is the\n"
	  "operator, who acted as coder: see --as.\n" },
	{ "doctor",
	  "One line a finding: ok, warn or bad.  Without --fix it changes nothing.\n"
	  "It looks at the folder and who may read it, the space, the database and its log,\n"
	  "locks and sockets, the clock, tokens and leases, guests and what they left on the\n"
	  "machine, and compares the vault and the search index with the rows.  1 when\n"
	  "something is bad.  --fix does what can be done without losing anything, and says\n"
	  "what it did; what it takes away is kept in the state's folder doctor-DATE-TIME.\n"
	  "Most of that needs `cadre down` first.  A damaged database it leaves as it is:\n"
	  "`cadre restore` the last backup.\n" },
	{ "backup",
	  "Without a path it goes into the state's folder.  The secret, without which\n"
	  "tokens are void, is written beside it as PATH.secret.\n" },
	{ "restore",
	  "FILE is what `backup` wrote, with FILE.secret beside it, of this version or an\n"
	  "older one.  Nobody may have the state open: `cadre down` first.  The files that\n"
	  "were there are kept in the state's folder `replaced`, the last three times;\n"
	  "while it is there, no workspace is cleared away for having no row.\n"
	  "Commands that waited or ran at the backup end as interrupted.  On a terminal it\n"
	  "asks first, elsewhere it needs --yes.  A new state is made for it only with\n"
	  "--home DIR --create.  A secret that none of the agents' tokens is\n"
	  "made with is refused: --any-secret takes it where the right one is lost.\n" },
	{ "export",
	  "Without a FILE the lines go to standard output.  No secret is in them: no token,\n"
	  "no hash of one, no variable of a command.  Workspaces are told as ones that were,\n"
	  "notes of the vault are in it.  With --team it is that team and those below it.\n"
	  "docs/export.md says what the lines hold.\n" },
	{ "import",
	  "FILE is what `export` wrote, - is standard input.  No host may run: `cadre down`\n"
	  "first.  Into an empty state all comes as it was, into another one come teams\n"
	  "beside those that are there: a name that is taken becomes NAME-2, and --as TEAM\n"
	  "names the one that is below none.  All of it comes in, or nothing; a fault names\n"
	  "the line.  Members get new tokens, commands that waited or ran are interrupted.\n" },
	{ "undo",
	  "What a workspace held is kept for workspace.keep_days when it is removed, by\n"
	  "itself or with its team: in the state's folder `trash`, of workspace.trash_mb at\n"
	  "most.  A NAME, or how it begins, makes a new workspace of it, in --team: of a\n"
	  "directory a directory, of a VM's disk a VM of the same kind.\n"
	  "A note that was deleted, or purged with its team, is kept as long, in the vault's\n"
	  "folder `.trash`.  Its path brings it back to where it was, or to --to PATH; a\n"
	  "path that ends with / all that were below it.  What stands there is not replaced.\n" },
	{ "whoami",
	  "You are who CADRE_AGENT or --operator says, else the agent that this worktree\n"
	  "(outside of git: this directory), or what it lies in, is kept for, else the\n"
	  "operator.  The operator acts as an agent with --as; an agent acts as no other: in\n"
	  "its worktree that takes --operator and --as.  It is refused what is the\n"
	  "operator's, too: to make and destroy teams and workspaces, backup, restore, export,\n"
	  "import, down, restart, logs, undo, gc, init --anew, image build.  A further worktree of a\n"
	  "repository is nobody's wherever it lies.\n"
	  "An agent that registers over MCP is kept for its worktree; `cadre agent register\n"
	  "NAME --here` makes this one a new agent's, `cadre agent env NAME --here` that of\n"
	  "one who is there.  --forget ends that; the agent stays a member.\n" },
	{ "mcp",
	  "For the configuration of an MCP client: its command is `cadre` with the word\n"
	  "`mcp`.  A session is who CADRE_TEAM, CADRE_AGENT and CADRE_TOKEN say, else who\n"
	  "its worktree is kept for, else nobody: it looks, at all teams, and registers as\n"
	  "an agent of its own, which the worktree then is kept for.  So one configuration serves the\n"
	  "agents of many worktrees.  --operator: who is nobody is the operator.  SETS are names of sets of tools with commas between, or all (default\n"
	  "core).  --output-schemas adds to the list of tools what each answers.\n" },
	{ "guest",
	  "By hand it is started only for `workspace create --backend attach`: --dir DIR is\n"
	  "the folder that is worked in, --state DIR the one for the guest's own files;\n"
	  "--listen ADDRESS is where the host reaches it (unix:STATE without),\n"
	  "--token-file FILE holds what a host has to prove (else CADRE_LINK_TOKEN), and\n"
	  "--http ADDRESS:PORT is its door for teammates.  The rest a host says: --workspace,\n"
	  "--name, --team, --agent, --restores, --state-inside.\n" },
	{ "completion",
	  "bash: eval \"$(cadre completion bash)\" in ~/.bashrc; zsh: the same in\n"
	  "~/.zshrc behind compinit; fish: cadre completion fish | source\n" },
};

const char *verb_doc(const char *verb)
{
	for (size_t i = 0; i < sizeof(verb_docs) / sizeof(verb_docs[0]); i++)
		if (!strcmp(verb_docs[i].verb, verb))
			return verb_docs[i].doc;
	return NULL;
}
