/*
 * help - prints help on commands, from the schema and the table of verbs.
 */
#include <stdio.h>
#include <string.h>

#include "tools/cadre/cli.h"
#include "tools/cadre/status.h"

/*
 * Prints texts of help. Lines are broken between words, at the width of the terminal, but at
 * most at 80 columns.
 */

enum { NARROW = 60, NARROW_HANG = 4, ENTRY = 2 };

/* The column at which a wrapped line continues. An entry continues in the column of the entry's
 * text. A usage continues behind the word `usage:`. Any other line continues in the column of
 * the line's first word. */
static size_t hang_of(const char *line, size_t n)
{
	size_t indent = strspn(line, " "), at = indent;

	if (!strncmp(line, "usage: ", 7))
		return 7;
	if (indent != ENTRY)
		return indent;
	while (at + 1 < n && strncmp(line + at, "  ", 2) != 0)
		at++;
	at += strspn(line + at, " ");
	return at + 1 < n ? at : indent;
}

/* Whether a line continues the paragraph above. */
static bool help_flow_goes_on(const char *line, size_t hang)
{
	return *line && *line != '\n' && hang != ENTRY && strspn(line, " ") == hang;
}

static void put_paragraph(int width, const char *text, size_t hang)
{
	size_t head = hang;

	while (head > 0 && text[head - 1] == ' ')
		head--;
	if (width >= NARROW || hang <= 2 * NARROW_HANG) {
		printf("%.*s", (int)hang, text);
		cli_wrap(width, text + hang, (int)hang);
		return;
	}
	if (head)
		printf("%.*s\n", (int)head, text);
	printf("%*s", NARROW_HANG, "");
	cli_wrap(width, text + hang, NARROW_HANG);
}

/* Prints paragraphs and entries. An entry has a name and a text in two columns. Later lines of
 * an entry begin below the entry's text. In `text`, a line may end between any two words of a
 * paragraph. */
static void help_flow(int width, const char *text)
{
	struct text paragraph = { 0 };

	while (*text) {
		size_t n = strcspn(text, "\n"), hang = hang_of(text, n);

		paragraph.len = 0;
		text_add(&paragraph, text, n);
		text += n + (text[n] == '\n');
		while (n && help_flow_goes_on(text, hang)) {
			n = strcspn(text, "\n");
			text_addf(&paragraph, " %.*s", (int)(n - hang), text + hang);
			text += n + (text[n] == '\n');
		}
		if (n)
			put_paragraph(width, paragraph.data, hang);
		else
			putchar('\n');
	}
	text_release(&paragraph);
}

/*
 * The help texts for the verbs in verb_table.
 */

/* Help on verbs that is printed after the summaries of the verbs. */
static const struct {
	const char *verb, *doc;
} verb_docs[] = {
	{ "init",
	  "The state is a folder: .cadre at the top of this git repository (all worktrees\n"
	  "share it), else .cadre in this directory; or the folder that --home or\n"
	  "CADRE_HOME names.  Other verbs make a state only with --create and --home or\n"
	  "CADRE_HOME.  A .cadre that holds only a cadre.toml becomes the state; such a\n"
	  "file sets only the keys of a project.  If state.db is lost from a folder that\n"
	  "holds other files of a state, every verb refuses.  Then bring state.db back,\n"
	  "`cadre restore` a backup, or make a new state with --anew.  --anew moves the\n"
	  "former log and secret to the folder `replaced`.\n" },
	{ "setup",
	  "CLIENT is claude, codex, gemini, cursor, opencode or vscode.  all: each of them;\n"
	  "--detect: the installed clients.  The MCP server, hooks and a block of\n"
	  "instructions are added to the client's files: to the project's (--project), or\n"
	  "to those for all your projects (--user).  --diff shows the changes; --dry-run\n"
	  "writes nothing.  All other text in these files stays as it is, and --remove\n"
	  "restores the former text.  --check reports missing parts, with status 1.\n"
	  "Without CLIENT, --check and --remove take all clients.  docs/setup.md names the\n"
	  "files.\n" },
	{ "trust",
	  "cadre uses a project's state only if you made it there (cadre init) or trust it.\n"
	  "The reason: a state may come with a clone, and `cadre up` runs commands from it.\n"
	  "If a state is not trusted, cadre uses a trusted one in a folder above.  If there\n"
	  "is none, every verb is denied.  `cadre trust` trusts the state found here, or at\n"
	  "PATH: a project's folder or its .cadre.  A moved folder stays trusted.  A copied\n"
	  "or unpacked folder is not trusted, nor is a folder with files that git tracks.\n"
	  "A state that you name with --home or CADRE_HOME needs no trust.  The list of\n"
	  "your states is in $XDG_STATE_HOME/cadre/known, else in\n"
	  "~/.local/state/cadre/known.\n" },
	{ "up",
	  "The host is needed for workspaces, pushes and waits.  If a host runs already,\n"
	  "nothing happens.  The host writes a log: `cadre logs`.\n" },
	{ "down",
	  "Guests go on, and the state can be used without a host.  After `down --all`,\n"
	  "`cadre up` starts the guests again.\n" },
	{ "restart", "Use it after an upgrade: the new host is this program.\n" },
	{ "serve",
	  "`up` starts this verb; a supervisor such as systemd can start it, too.\n" },
	{ "prime",
	  "The text has at most 400 tokens of 4 bytes.  Hooks of clients show the text when\n"
	  "a session begins.\n" },
	{ "hook",
	  "For the hooks of a client: the event comes as JSON on standard input.  The hook\n"
	  "prints the news for the agent of that directory, in the form that the client\n"
	  "reads.  It prints each message only once, and at most hook.max_tokens tokens.\n"
	  "Without news, it prints nothing.  The exit status is always 0; `cadre logs`\n"
	  "shows errors.  --plugin prints OpenCode's plugin.  docs/clients.md tells what\n"
	  "each client takes.  As git's pre-commit hook, the verb refuses a commit with a\n"
	  "file that another agent has reserved.\n" },
	{ "agent worktree",
	  "The worktree and its branch are those of `agent run --worktree`.  The first call\n"
	  "makes them, and registers the agent if it is new.  From then on, a program that\n"
	  "you start there acts as the agent: cd \"$(cadre agent worktree ann)\"\n" },
	{ "events",
	  "-f, --follow begins with the last ten events, and goes on as things happen.\n"
	  "With --json, each event is one line.\n"
	  "Without a team, the operator sees the events of all teams.  In the column BY,\n"
	  "`as coder` means the operator who acted as coder: see --as.\n" },
	{ "status",
	  "--watch shows the status again after each event, until you type q.  It needs a\n"
	  "terminal.  `cadre` alone shows the status, too.\n" },
	{ "doctor",
	  "Each finding is one line: ok, warn or bad.  Without --fix, doctor changes\n"
	  "nothing.  It checks the folder and its permissions, the space, the database and\n"
	  "its log, locks and sockets, and the clock.  It also checks tokens and leases,\n"
	  "guests and their remains on the machine, the vault and the search index.  The\n"
	  "exit status is 1 if something is bad.  --fix repairs without losing data, and\n"
	  "reports each repair.  It moves files away to doctor-DATE-TIME in the state's\n"
	  "folder.  Most repairs need `cadre down` first.  doctor does not repair a damaged\n"
	  "database: `cadre restore` the last backup.\n" },
	{ "backup",
	  "Without a path, the backup goes into the state's folder.  The secret is written\n"
	  "beside it as PATH.secret; tokens are void without the secret.\n" },
	{ "restore",
	  "FILE is a file that `backup` wrote, from this version of cadre or an older one,\n"
	  "with FILE.secret beside it.  No process may have the state open: `cadre down`\n"
	  "first.  The former files are kept in the folder `replaced` of the state, for the\n"
	  "last three restores.  While that folder exists, cadre keeps the files of\n"
	  "workspaces that the state does not know.  Commands that waited or ran at the\n"
	  "backup end as interrupted.  On a terminal, restore asks first; elsewhere it\n"
	  "needs --yes.  It makes a new state only with --home DIR --create.  It refuses a\n"
	  "secret that fits no agent's token.  If the right secret is lost, --any-secret\n"
	  "accepts the wrong one, or makes a new one if there is none.\n" },
	{ "export",
	  "Without a FILE, the lines go to standard output.  They contain no secret: no\n"
	  "token, no hash of a token, no variable of a command.  Workspaces are written as\n"
	  "ended ones; notes of the vault are included.  With --team, only that team and\n"
	  "the teams below it are written.  docs/export.md describes the lines.\n" },
	{ "import",
	  "FILE is a file that `export` wrote; - is standard input.  No host may run:\n"
	  "`cadre down` first.  An empty state gets an export of a whole state unchanged.\n"
	  "A state in use also keeps its own teams: a taken name becomes NAME-2, and\n"
	  "--as TEAM gives a name to the file's top team.  Either all of the file is\n"
	  "imported, or nothing; a fault names the line.  Members get new tokens; commands\n"
	  "that waited or ran are interrupted.\n" },
	{ "undo",
	  "The files of a removed workspace are kept for workspace.keep_days in the folder\n"
	  "`trash` of the state, at most workspace.trash_mb.  A NAME, or its beginning,\n"
	  "makes a new workspace from these files, in --team: a directory from a directory,\n"
	  "a VM of the same kind from a VM's disk.  A note that was deleted, or purged with\n"
	  "its team, is kept for the same time in the folder `.trash` of the vault.  A PATH\n"
	  "brings the note back to its place, or to --to PATH.  A path that ends with /\n"
	  "brings back all notes below it.  An existing note is never replaced.\n" },
	{ "whoami",
	  "You are the agent that CADRE_AGENT names, or the operator with --operator.  Else\n"
	  "you are the agent of this worktree (outside of git: of this directory), or of a\n"
	  "folder above it.  Else you are the operator.  The operator acts as an agent with\n"
	  "--as.  In the worktree of an agent, --as also needs --operator.  Without\n"
	  "--operator, an agent may not run the operator's commands: make and destroy teams\n"
	  "and workspaces, backup, restore, export, import, down, restart, logs, undo, gc,\n"
	  "init --anew, image build.  A new worktree of a repository belongs to no agent,\n"
	  "wherever it lies.  The worktree of an agent that registers over MCP belongs to\n"
	  "this agent.  `cadre agent register NAME --here` gives this worktree to a new\n"
	  "agent; `cadre agent env NAME --here` gives it to an existing agent.  --forget\n"
	  "ends that; the agent stays a member.\n" },
	{ "mcp",
	  "Put this into the configuration of an MCP client: the command `cadre` with the\n"
	  "word `mcp`.  A session is the agent of CADRE_TEAM, CADRE_AGENT and CADRE_TOKEN,\n"
	  "else the agent of its worktree.  Else the session is no agent yet: it can only\n"
	  "look, at all teams, until it registers.  Its worktree then belongs to the new\n"
	  "agent.  So one configuration serves the agents of many worktrees.  --operator: a\n"
	  "session without an agent is the operator.  SETS are names of tool sets with\n"
	  "commas between, or all (default core).  --output-schemas adds each tool's output\n"
	  "to the list of tools.  --cost prints how many tokens the list of tools takes.\n" },
	{ "guest",
	  "Start a guest by hand only for `workspace create --backend attach`.  --dir DIR\n"
	  "is the workspace's folder; --state DIR is the folder of the guest's own files.\n"
	  "The host reaches the guest at --listen ADDRESS (default unix:STATE).\n"
	  "--token-file FILE, else CADRE_LINK_TOKEN, holds the token that a host must send.\n"
	  "--http ADDRESS:PORT is the address at which teammates reach the guest.  The host\n"
	  "gives the other options: --workspace, --name, --team, --agent, --restores,\n"
	  "--state-inside.\n" },
	{ "completion",
	  "bash: eval \"$(cadre completion bash)\" in ~/.bashrc; zsh: the same for zsh in\n"
	  "~/.zshrc, after compinit; fish: cadre completion fish | source\n" },
};

const char *help_verb_doc(const char *verb)
{
	for (size_t i = 0; i < sizeof(verb_docs) / sizeof(verb_docs[0]); i++)
		if (!strcmp(verb_docs[i].verb, verb))
			return verb_docs[i].doc;
	return NULL;
}

enum { ENTRY_WIDTH = 32, LINE_WIDTH = 80, GROUP_WIDTH = 8, SHORTEST = 30, INDENT = 2 };

static int line_width = LINE_WIDTH; /* columns of a line; fewer on a narrow terminal */

const struct option_text option_table[] = {
	{ "--utc", NULL, "Clock times in UTC, not in local time." },
	{ "--json", NULL,
	  "One line of JSON; a fault is its member `error`. "
	  "`--json=id,title`: only these members of each row." },
	{ "--columns", "A,B", "The columns of a table, by the names of the members." },
	{ "--table", NULL,
	  "In a pipe: tables and times as on a terminal of $COLUMNS columns." },
	{ "--direct", NULL, "Open the state itself even if a host runs." },
	{ "--home", "DIR", "The state folder." },
	{ "--create", NULL,
	  "Make the state if the folder of --home or CADRE_HOME holds none." },
	{ "--team", "TEAM", "The team; needed if there are several teams." },
	{ "--as", "AGENT", "Act as that agent (operator only; events show this)." },
	{ "--operator", NULL, "Act as the operator in the directory of an agent." },
	{ "--key", "KEY", "Idempotency key: a repeated call has no second effect." },
	{ "--section.key", "VALUE", "A key of the configuration: see `cadre config`." },
	{ "--no-color", NULL, "No colour on a terminal." },
	{ "--no-pager", NULL,
	  "No pager ($CADRE_PAGER, $PAGER, less) for a long screen." },
	{ "--help", NULL, "Explain the verb." },
	{ NULL, NULL, NULL },
};

/* Prints a text of help, and releases the text. */
static void put_help(struct text *help)
{
	help_flow(line_width, help->data);
	text_release(help);
}

static void put_verb_doc(struct text *out, const char *verb)
{
	const char *doc = help_verb_doc(verb);

	if (doc)
		text_addf(out, "\n%s", doc);
}

static void list_options(void)
{
	struct text out = { 0 };

	for (const struct option_text *o = option_table; o->name; o++) {
		char line[40];

		snprintf(line, sizeof(line), "%s%s%s", o->name, o->value ? " " : "",
			 o->value ? o->value : "");
		text_addf(&out, "  %-19s  %s\n", line, o->doc);
	}
	put_help(&out);
}

void help_command(const struct op *op, char *out, size_t room)
{
	size_t n = 0;

	out[0] = '\0';
	for (size_t i = 0; op->cli[i] && n < room; i++)
		n += (size_t)snprintf(out + n, room - n, "%s%s", i ? " " : "",
				      op->cli[i]);
	for (size_t i = 0; op->cli_fields && op->cli_fields[i] && n < room; i++) {
		const struct field *field = field_find(op->in, op->cli_fields[i]);
		bool may = field->flags & (FIELD_OPTIONAL | FIELD_DEFAULT);
		char *at = out + n;

		n += (size_t)snprintf(
			out + n, room - n, may ? " [%s%s]" : " %s%s", field->name,
			op->cli_rest && !op->cli_fields[i + 1] ? "..." : "");
		for (; *at; at++)
			*at = (char)(*at >= 'a' && *at <= 'z' ? *at - 32 : *at);
	}
}

/* Prints a command and its summary in two columns. If a command is too long for its column, its
 * summary is printed on the next line, in the second column. */
static void help_put_entry(const char *line, const char *summary)
{
	const int column = line_width < NARROW ? 2 * INDENT : ENTRY_WIDTH;

	if (strlen(line) > (size_t)column) {
		printf("  %s\n", line);
		line = "";
	}
	printf("  %-*s  ", column, line);
	cli_wrap(line_width, summary, column + 2 * INDENT);
}

static void put_verb(const struct verb *v)
{
	char line[80];

	snprintf(line, sizeof(line), "%s%s%s", v->name, *v->usage ? " " : "", v->usage);
	help_put_entry(line, v->summary);
}

/* Prints the verbs of a topic. NULL: prints all verbs. */
static void list_verbs(const char *topic)
{
	for (const struct verb *v = verb_table; v->name; v++)
		if (v->usage && (!topic || !strcmp(v->topic, topic)))
			put_verb(v);
}

/* Whether verb_table has a verb with the operation's name. Help shows such a verb in place of
 * the operation. */
static bool help_is_verb(const struct op *op)
{
	for (const struct verb *v = verb_table; v->name && !op->cli[1]; v++)
		if (!strcmp(v->name, op->cli[0]))
			return true;
	return false;
}

/* Whether the first word of the operation's command is `word`, or the operation is about the
 * noun `word`. */
static bool help_is_about(const struct op *op, const char *word)
{
	return !strcmp(op->cli[0], word) || op_has_noun(op, word);
}

static void help_put_op(const struct op *op)
{
	char line[120];

	help_command(op, line, sizeof(line));
	help_put_entry(line, op->summary);
}

/* Prints the verbs that have two words and begin with `word`, and the operations about `word`.
 * NULL: prints all operations. Returns the number of printed commands. */
static int list_ops(const char *word)
{
	size_t len = word ? strlen(word) : 0;
	int n = 0;

	for (const struct verb *v = verb_table; v->name && word; v++)
		if (v->usage && !strncmp(v->name, word, len) && v->name[len] == ' ')
			put_verb(v), n++;
	for (size_t i = 0; i < op_count; i++) {
		const struct op *op = &op_table[i];

		if (!op->cli || help_is_verb(op) || (word && !help_is_about(op, word)))
			continue;
		help_put_op(op);
		n++;
	}
	return n;
}

/* --- topics ------------------------------------------------------------------- */

/* Topics that have only verbs of verb_table. The topics that are not in this table are defined
 * in schema/. */
static const struct topic own_topics[] = {
	{ .name = "start",
	  .doc = "Set cadre up for a project, start its host, connect clients." },
	{ .name = "keep", .doc = "Copies of the state, and what may be removed." },
};

enum { OWN_TOPICS = sizeof(own_topics) / sizeof(own_topics[0]) };

/* The i-th topic, or NULL if there is no i-th topic. The topic `start` comes first, then the
 * topics of schema/, and last the topic `keep`. */
static const struct topic *topic_at(size_t i)
{
	if (i == 0)
		return &own_topics[0];
	if (i <= topic_count)
		return &topic_table[i - 1];
	return i < topic_count + OWN_TOPICS ? &own_topics[i - topic_count] : NULL;
}

static bool is_of_topic(const struct op *op, const struct topic *t)
{
	return op->cli && !help_is_verb(op) && op_topic(op) == t;
}

/* Returns the topic's command after `last`, or the topic's first command if `last` is NULL.
 * Returns NULL if `last` is the topic's last command. Commands that the topic lists come first.
 * The topic's other commands follow, sorted by name. */
static const struct op *help_next_of(const struct topic *t, const struct op *last)
{
	const struct op *next = NULL;

	for (const struct op *op = op_table; op < op_table + op_count; op++) {
		size_t at = topic_rank(t, op);

		if (is_of_topic(op, t) &&
		    (!last || at > topic_rank(t, last) ||
		     (at == topic_rank(t, last) && op > last)) &&
		    (!next || at < topic_rank(t, next)))
			next = op;
	}
	return next;
}

/* The first page of help. An entry with an empty group belongs to the group above. */
static const struct {
	const char *group, *command, *does;
} first_page[] = {
	{ "Start", "init", "make a state for this project" },
	{ "", "team create NAME", "make a team; --roles coder,tester makes agents" },
	{ "", "setup CLIENT", "connect Claude Code, Codex, Gemini, ..." },
	{ "", "agent run NAME", "start a client as an agent, in its own worktree" },
	{ "", "up", "start the host: workspaces, pushes, HTTP" },
	{ "Board", "task create TITLE", "put a task on the board" },
	{ "", "task list", "show the tasks; task show ID shows one" },
	{ "", "claim", "take the best task that is ready" },
	{ "", "done", "end the task that you hold" },
	{ "Talk", "send NAME TEXT", "send a message to an agent, or to everybody" },
	{ "", "inbox", "read what waits for you" },
	{ "", "reply ID TEXT", "answer a message" },
	{ "Watch", "status", "show who does what, and what needs you" },
	{ "", "events -f", "show what happens, as it happens" },
	{ "", "agent list", "show the agents; agent watch NAME shows a turn" },
	{ "", "doctor", "check the state and its host" },
	{ "Keep", "backup", "copy the state; restore brings a copy back" },
	{ "", "undo", "bring back a removed workspace or note" },
	{ "", "config", "show each setting, and where it comes from" },
};

/* Prints the first page of help. On a narrow terminal each group has a line of its own. */
static int overview(void)
{
	const bool narrow = line_width < NARROW;
	struct arena a = { 0 };
	const char *group = "", *topics = "";

	printf("usage: cadre [OPTIONS] VERB [WORDS]\n\n");
	for (size_t i = 0; i < sizeof(first_page) / sizeof(*first_page); i++) {
		if (*first_page[i].group)
			group = first_page[i].group;
		if (!cli_has(first_page[i].command))
			continue;
		if (narrow && *group)
			printf("%s\n", group);
		printf("%-*s%-19s", narrow ? INDENT : GROUP_WIDTH, narrow ? "" : group,
		       first_page[i].command);
		cli_wrap(line_width, first_page[i].does,
			 (narrow ? INDENT : GROUP_WIDTH) + 19);
		group = "";
	}
	putchar('\n');
	for (size_t i = 0; topic_at(i); i++)
		topics = arena_printf(&a, "%s%s%s", topics, i ? ", " : "",
				      topic_at(i)->name);
	cli_wrap(line_width,
		 arena_printf(&a,
			      "cadre VERB --help explains a verb; cadre help all lists "
			      "everything.\ncadre help TOPIC lists the verbs of a topic: "
			      "%s.",
			      topics),
		 0);
	arena_release(&a);
	return 0;
}

/* Prints all commands and options on one page, so that a person can search the page. */
static int explain_all(void)
{
	printf("usage: cadre [OPTIONS] VERB [WORDS]\n\nThis machine:\n");
	list_verbs(NULL);
	printf("\nTeams, messages, tasks and workspaces:\n");
	list_ops(NULL);
	printf("\nOptions of every verb:\n");
	list_options();
	printf("\n"
	       "`cadre help VERB` explains a verb.  A text may be - (standard input) or @FILE.\n");
	return 0;
}

static const struct topic *topic_named(const char *word)
{
	size_t i = 0;

	while (topic_at(i) && strcmp(topic_at(i)->name, word))
		i++;
	return topic_at(i);
}

/* Explains the exit statuses of the commands that wait. */
static void explain_ends(struct text *out)
{
	text_addf(
		out,
		"\n"
		"The command waits for an hour, or for the given seconds.  The exit status is 0 if\n"
		"the awaited state is reached, and %d if this state can no longer be reached.  It is\n"
		"%d if the time is over or no host runs to do the work, and %d if nothing has this\n"
		"name.\n",
		STATUS_OTHERWISE, fault_info(FAULT_TIMEOUT)->exit_status,
		fault_info(FAULT_NOT_FOUND)->exit_status);
}

/* Explains the exit statuses of commands that wait, if a command with the first word `word`
 * waits. */
static void put_ends(const char *word)
{
	struct text help = { 0 };

	for (size_t i = 0; i < op_count && !help.len; i++)
		if (op_table[i].cli && op_table[i].reached &&
		    !strcmp(op_table[i].cli[0], word))
			explain_ends(&help);
	if (help.len)
		put_help(&help);
}

/* Explains the topic `word`. If there is no such topic, lists the commands whose first word or
 * noun is `word`. Returns false if `word` is no topic, no noun and no first word of a command. */
static bool explain_topic(const char *word)
{
	const struct topic *t = topic_named(word);

	if (t) {
		printf("%s\n\n", t->doc);
		list_verbs(t->name);
		for (const struct op *op = help_next_of(t, NULL); op;
		     op = help_next_of(t, op))
			help_put_op(op);
	} else if (!list_ops(word)) {
		return false;
	}
	put_ends(word);
	printf("\n`cadre help VERB` explains a verb.\n");
	if (!t)
		printf("man cadre-%s explains all verbs.\n", word);
	return true;
}

/* Names other commands with the word `word`: for `start`, `agent start` and the topic. */
static void list_others(const char *word, struct text *out)
{
	bool any = false;

	for (size_t i = 0; i < op_count; i++) {
		const char *const *cli = op_table[i].cli;

		if (!cli || !cli[1] || (strcmp(cli[0], word) && strcmp(cli[1], word)))
			continue;
		text_addf(out, "%s `cadre %s %s`", any ? "," : "\nSee also", cli[0],
			  cli[1]);
		any = true;
	}
	if (topic_named(word)) {
		text_addf(out, "%s `cadre help %s`", any ? "," : "\nSee also", word);
		any = true;
	}
	if (any)
		text_addf(out, ".\n");
}

static int explain_verb(const struct verb *v)
{
	struct text help = { 0 }, *out = &help;

	text_addf(out, "usage: cadre %s%s%s\n\n%s\n", v->name,
		  v->usage && *v->usage ? " " : "", v->usage ? v->usage : "", v->summary);
	put_verb_doc(out, v->name);
	for (const struct verb *other = verb_table; other->name; other++)
		if (other != v && other->run == v->run && strchr(other->name, ' '))
			text_addf(out, "\n`cadre %s` does the same.\n", other->name);
	list_others(v->name, out);
	text_addf(out, "\n`cadre help all` lists the options of every verb.\n");
	put_help(out);
	return 0;
}

/* Explains --wait, and the exit statuses that do not mean a fault. */
static void explain_wait(const struct op *op, struct text *out)
{
	if (op->until)
		text_addf(
			out,
			"\n"
			"--wait, --wait=SECONDS: the command then waits for an hour, or for SECONDS, as\n"
			"`cadre %s %s` does, and has the exit status of that command.\n",
			op->until->cli[0], op->until->cli[1]);
	else if (op->reached)
		explain_ends(out);
	else if (op->wait)
		text_addf(
			out,
			"\n"
			"--wait means the longest wait; --wait=SECONDS means SECONDS.%s\n",
			op->flags & OP_REQUEST
				? "  --take: receive the messages for good."
				: "");
	if (op->awaits)
		text_addf(out, "The exit status is %d if no %s came in that time.\n",
			  fault_info(FAULT_TIMEOUT)->exit_status, op->awaits[0]);
	if (op->misses)
		text_addf(out,
			  "\n"
			  "The exit status is %d if there is no %s.\n",
			  STATUS_NOTHING, op->misses->name);
}

static int explain_op(const struct op *op)
{
	struct text help = { 0 }, *out = &help;

	op_usage(op, out);
	if (!op->cli[1])
		list_others(op->cli[0], out);
	if (!op->cli[1])
		put_verb_doc(out, op->cli[0]);
	if (op->editor)
		text_addf(
			out,
			"\n"
			"If you give no %s, and cadre runs at a terminal, an editor opens:\n"
			"$VISUAL, else $EDITOR, else vi.\n",
			op->editor->name);
	if (op->flags & OP_IDENTIFIES)
		text_addf(
			out,
			"\n"
			"--here: from now on `cadre` in this worktree acts as that agent.\n");
	explain_wait(op, out);
	text_addf(out, "\n`cadre help all` lists the options of every verb.\n");
	put_help(out);
	return 0;
}

/* Explains the command or the topic that the words from argv[1] on name. */
int help_main(struct cli *cli, int argc, char **argv)
{
	const struct verb *v;
	const struct op *op;
	int taken = 0, words = 0;
	char *apart[CLI_SPLIT + 1] = { argv[0] };

	if (argc == 2 && strchr(argv[1], ' '))
		return help_main(cli, 1 + cli_split(argv[1], apart + 1), apart);
	pager_begin(cli);
	if (cli->width && cli->width < LINE_WIDTH)
		line_width = cli->width > SHORTEST ? cli->width : SHORTEST;
	if (argc < 2)
		return overview();
	v = cli_verb(argc - 1, argv + 1, &taken);
	if (v && op_command(argc - 1, argv + 1, &words) && words >= taken)
		v = NULL; /* the operation with the same words as the verb is explained */
	if (v && (v->usage || taken == 1))
		return explain_verb(v);
	op = op_command(argc - 1, argv + 1, &taken);
	if (op && argc == 2 && topic_named(argv[1]) && !cli->help) {
		explain_topic(argv[1]);
		printf("`cadre %s --help` explains the verb %s.\n", argv[1], argv[1]);
		return 0;
	}
	if (op)
		return explain_op(op);
	if (!strcmp(argv[1], "all"))
		return explain_all();
	if (argc == 2 && explain_topic(argv[1]))
		return 0;
	return cli_no_verb(cli, argc - 1, argv + 1);
}
