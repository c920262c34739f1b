#!/bin/sh
# starter - a git hook, a client or a terminal that starts cadre sets variables for its child
# processes. No program that cadre starts gets the variables of a git hook or a client. Only a
# program that `agent run` starts gets the variables of a terminal. Every program that cadre
# starts gets the variables of the user's settings.
set -u
. "$(dirname "$0")/../lib/story.sh"
trap 'cadre down --all >/dev/null 2>&1' EXIT
mkdir "$TMPDIR/shop" && cd "$TMPDIR/shop" && git init -q -b main . && echo 1 >one && git add . && git commit -qm one
git=$(git rev-parse --local-env-vars)
clients='CLAUDECODE CLAUDE_CODE_ENTRYPOINT CLAUDE_CODE_SSE_PORT CLAUDE_CODE_SESSION_ID CLAUDE_PROJECT_DIR
	CODEX_SANDBOX CODEX_SANDBOX_NETWORK_DISABLED CODEX_THREAD_ID GEMINI_CLI CURSOR_AGENT OPENCODE'
terminal='TMUX TMUX_PANE STY SSH_TTY SSH_CONNECTION VSCODE_IPC_HOOK_CLI TERM_PROGRAM KITTY_LISTEN_ON'
settings='CLAUDE_CONFIG_DIR CODEX_HOME GEMINI_CLI_SYSTEM_SETTINGS_PATH ANTHROPIC_API_KEY ANTHROPIC_BASE_URL OPENAI_API_KEY
	CLAUDE_CODE_USE_BEDROCK CLAUDE_CODE_MAX_OUTPUT_TOKENS HTTPS_PROXY NO_PROXY GIT_AUTHOR_NAME GIT_COMMITTER_EMAIL
	GIT_SSH_COMMAND GIT_CONFIG_GLOBAL SSH_AUTH_SOCK EDITOR LANG OPENCODE_CONFIG'
# planted NAME... COMMAND...: runs the command with each variable NAME set to `planted`.
planted() {
	names=$1
	shift
	for name in $names; do set -- "$name=planted" "$@"; done
	env "$@"
}
# judge WHERE FILE MARKS: FILE has the output of `env` in WHERE. FILE must contain every
# variable of $settings and no variable of MARKS.
judge() {
	for name in $3; do
		grep -q "^$name=" "$2" && bad "$1 has the mark $name"
	done
	for name in $settings; do
		grep -q "^$name=planted$" "$2" || bad "$1 lacks the setting $name"
	done
}
printf '[notify]\ncommand = "env >%s"\n[runner]\nenv_drop = "OPENAI_ORG_ID,OPENAI_PROJECT"\n' "$TMPDIR/notify" >"$CADRE_HOME/cadre.toml"
export OPENAI_ORG_ID=1 OPENAI_PROJECT=2
planted "$git $clients $terminal $settings" "$CADRE" up >/dev/null || bad "up"
is 0 . cadre team create crew --golden "$TMPDIR/shop" --wait=60 --roles '[{"name":"w","workspace":true,"runner":"env"},{"name":"ann"}]'

# In a workspace git uses the workspace's own repository, and commits to this repository.
cadre exec crew/w env >"$TMPDIR/exec"
judge "a command" "$TMPDIR/exec" "$git $clients $terminal"
is 0 '/workspaces/.*/.git$' cadre exec crew/w 'git rev-parse --absolute-git-dir'
cadre exec crew/w 'echo w >w; git add w; git -c user.name=a -c user.email=a@b commit -qm "in a workspace"' >/dev/null || bad "commit"
git log --oneline | grep -q 'in a workspace' && bad "a commit of the workspace is in the project"

# Checks the variables of a turn, of the command in notify.command, and of a program that `agent
# run` starts. A turn must not get the variables that runner.env_drop names.
is 0 . cadre --team crew send w 'who are you?'
turn_done() { [ "$(sqlite3 -readonly "$CADRE_HOME/state.db" "SELECT count(*) FROM v_turn WHERE state = 'done'")" = 1 ]; }
until_done turn_done
cadre turn read 1 >"$TMPDIR/turn"
judge "a turn" "$TMPDIR/turn" "$git $clients $terminal OPENAI_ORG_ID OPENAI_PROJECT"
grep -q '^OPENAI_ORG_ID=1$' "$TMPDIR/exec" || bad "a command lacks a variable that turns alone do not get"
is 0 . cadre --team crew --as ann send operator 'look'
until_done test -s "$TMPDIR/notify"
judge "a notice" "$TMPDIR/notify" "$git $clients $terminal"
planted "$git $clients $terminal $settings" "$CADRE" --team crew agent run ann -- env >"$TMPDIR/ran" || bad "agent run"
judge "an agent's program" "$TMPDIR/ran" "$git $clients"
# A program that `agent run` starts runs in the user's terminal, so it gets the terminal's
# variables.
for name in $terminal; do grep -q "^$name=planted$" "$TMPDIR/ran" || bad "an agent's program lacks $name"; done
# A new version of git may list more variables of its own. The list in core/machine/starter.c
# must contain every variable that git lists.
for name in $git; do grep -q "\"$name\"" "$here/../core/machine/starter.c" || bad "core/machine/starter.c lacks $name"; done
exit $failed
