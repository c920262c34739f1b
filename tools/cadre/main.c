/*
 * main - the table of the verbs that have code of their own.
 */
#include <signal.h>

#include "tools/cadre/cli.h"

/*~ Welcome.  Station 1 of 12.
 *
 * This is a tour through cadre, for an hour. We follow one command, `cadre --team red --as ann
 * claim`. The command's way goes from the shell to the SQL statement that decides which agent
 * gets the task, and back. Comments of the tour begin with a tilde; each ends with the file of
 * the next station.
 *
 * The table below is short on purpose. The table has only verbs for work on this machine, such
 * as starting a host, backups and help. `claim` is not among these verbs, because `claim` is an
 * operation. Each operation is defined once, in the folder schema/. The definition has the
 * operation's names, arguments, answer, allowed callers, and forms at the doors. A program of
 * the build (tools/build) turns these definitions into C tables. The command line, MCP, the
 * socket and the guests of VMs are interpreters of these tables. So a new operation is a
 * definition and a handler; no door has to be changed.
 *
 * Look at `op task.claim` in schema/task.op. The next station shows how words become a call.
 *
 * Next: tools/cadre/run.c
 */
/* clang-format off */
const struct verb verb_table[] = {
	{ "init", "[--anew]", "Make a state folder for this project.", "start", init_main, 0 },
	{ "setup", "[CLIENT...|all|--detect] [OPTIONS]", "Add cadre to the configuration of clients such as Claude Code.", "start", setup_main, 0 },
	{ "trust", "[--remove] [PATH] | --list", "Trust a state that was made elsewhere; list the trusted states.", "start", trust_main, VERB_COLUMNS },
	{ "up", "[--timeout SECONDS]", "Start the host in the background.", "start", up_main, 0 },
	{ "down", "[--all] [--timeout SECONDS]", "Stop the host; --all: the guests too.", "start", down_main, VERB_OPERATORS },
	{ "restart", "[--timeout SECONDS]", "Stop the host and start it again; guests go on.", "start", restart_main, VERB_OPERATORS },
	{ "serve", "", "Run the host in the foreground.", "start", serve_main, 0 },
	{ "use", "TEAM", "Set the default team.", "start", use_main, VERB_OPERATORS },
	{ "whoami", "[--forget]", "Show who you are here, and why; --forget: forget the directory's agent.", "start", whoami_main, 0 },
	{ "page", "[--observer]", "Print a web address that lets one browser in, once.", "watch", page_main, VERB_OPERATORS },
	{ "agent run", "NAME [--role ROLE] [--worktree] -- PROGRAM [WORD...]", "Run a program, such as a client, as an agent; --worktree: in a git worktree.", "teams", agent_run_main, 0 },
	{ "agent worktree", "NAME [--role ROLE]", "Make an agent's git worktree, and print its folder.", "teams", agent_worktree_main, 0 },
	{ "agent watch", "NAME [--once]", "Show an agent's turns as they run; --once: stop after one turn.", "watch", watch_main, 0 },
	{ "agent say", "NAME TEXT", "Send an agent an urgent message, as the operator.", "talk", say_main, VERB_OPERATORS },
	{ "status", "[--watch] [--team TEAM]", "Show who does what and what needs you; --watch: keep showing it.", "watch", status_main, VERB_COLUMNS | VERB_MEMBERS },
	{ "events", "[-f] [OPTIONS]", "Show events; -f shows new events as they happen.", "watch", events_main, VERB_COLUMNS | VERB_MEMBERS },
	{ "logs", "[-n LINES] [-f] [--level LEVEL]", "Show the host's log; -f shows new lines.", "watch", logs_main, VERB_OPERATORS },
	{ "task edit", "TASK", "Change a task in an editor, as a page of Markdown.", "work", edit_main, 0 },
	{ "doctor", "[--fix]", "Check the state and its host; print what to do; --fix: repair.", "watch", doctor_main, 0 },
	{ "image", "build [--rootfs PATH] | list", "Make images for VMs from Debian's packages; list them.", "workspaces", image_main, VERB_COLUMNS },
	{ "config", "[KEY|SECTION]", "Show the settings, and the source of each.", "start", config_main, VERB_COLUMNS },
	{ "backup", "[PATH | --keep N]", "Write a verified copy of the state; --keep N: then keep only N copies.", "keep", backup_main, VERB_OPERATORS },
	{ "restore", "FILE [--yes] [--any-secret]", "Replace the state by a backup; the former state is kept.", "keep", restore_main, VERB_OPERATORS },
	{ "export", "[FILE|-] [--team TEAM]", "Write the state, or a team of it, as lines of JSON.", "keep", export_main, VERB_OPERATORS },
	{ "import", "FILE|- [--as TEAM]", "Add the teams of an export to the state; a taken name is changed.", "keep", import_main, 0 },
	{ "undo", "[NAME] [--agent AGENT] [--to PATH]", "List removed workspaces and notes; bring one of them back.", "keep", undo_main, VERB_COLUMNS },
	{ "workspace restore --trash", NULL, "The same as undo.", NULL, undo_main, VERB_COLUMNS },
	{ "gc", "[--keep-days N] [--yes]", "Remove old events, messages and turns that are not needed.", "keep", gc_main, 0 },
	{ "mcp", "[--operator] [--toolsets SETS] [--output-schemas] [--cost]", "Serve MCP on standard input and output; --cost: print how many tokens the tools take.", "start", mcp_verb, 0 },
	{ "prime", "", "Print your name, your tasks and your waiting mail, for a model.", "start", prime_main, 0 },
	{ "hook", "claude|codex|gemini|cursor|opencode [--plugin], pre-commit", "As a hook of a client: tell its model what is new.", "start", hook_main, 0 },
	{ "completion", "bash|zsh|fish", "Print a completion script for a shell.", "start", completion_main, 0 },
	{ "help", "[VERB...]", "Explain a verb.", "start", help_main, 0 },
	{ "version", "", "Print the version.", "start", version_main, 0 },
	/* Commands without a usage are not for people, and help does not list them. */
	{ "guest", NULL, "Run a workspace's guest; the host starts it.", NULL, guest_verb, 0 },
	{ "complete", NULL, "Complete a command's words for a shell.", NULL, complete_main, 0 },
	{ "man", NULL, "Print the manual page, or the page of a noun.", NULL, man_main, 0 },
	{ "docs", NULL, "Print the reference, the manual page or the schema of cards.", NULL, docs_main, 0 },
	{ NULL, NULL, NULL, NULL, NULL, 0 },
};
/* clang-format on */

int main(int argc, char **argv)
{
	/* With the signal ignored, a write beyond `ulimit -f` fails like a write to a full
	 * disk. */
	signal(SIGXFSZ, SIG_IGN);
	/* If the parent process ignores SIGCHLD, waiting for a child would give no status. */
	signal(SIGCHLD, SIG_DFL);
	return cli_main(argc, argv);
}
