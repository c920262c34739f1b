#!/bin/sh
# newcomer - a new user sets up a client, makes a team, and starts two clients that work in the
# team. Each client shows its agent's mail to its model, and the board shows the agents' work.
set -u
stateless=yes
. "$(dirname "$0")/../lib/story.sh"
unset CADRE_HOME
export HOME="$TMPDIR/home" GIT_CONFIG_GLOBAL=/dev/null
mkdir "$HOME" "$TMPDIR/bin" "$HOME/shop" && ln -s "$CADRE" "$TMPDIR/bin/cadre"
export PATH="$TMPDIR/bin:$PATH"
cd "$HOME/shop" || exit 1
trap 'cd "$HOME/shop" && cadre down --all >/dev/null 2>&1' EXIT
git init -q . && git config user.name me && git config user.email me@here
echo 'a shop' >README && git add README && git commit -qm 'A shop'

# `cadre setup --dry-run` shows the changes and writes no file. `cadre setup` writes cadre's
# entries for the client into the project's files.
is 0 . cadre init
is 0 '^up: process' cadre up
is 0 'mcpServers' cadre setup claude --dry-run --diff
[ -z "$(git status --porcelain)" ] || bad "a dry run has written: $(git status --porcelain)"
is 0 '^made .mcp.json$' cadre setup claude
is 0 'nothing to do' cadre setup claude
is 0 '"cadre"' cat .mcp.json
is 0 'cadre hook claude' cat .claude/settings.json
git add . && git commit -qm 'Set up cadre'
git grep -q 'CADRE_TOKEN\|operator\.' && bad "a token is in the repository"

# The user makes a team, a task, and a worktree for each of two clients.
is 0 '^created team web: coder, tester, lead$' cadre team create web --roles coder,tester
is 0 . cadre task create 'Write the parser'
for name in coder tester; do
	git worktree add -q "../$name" -b "$name" && (cd "../$name" && cadre agent env $name --here >/dev/null) || bad "worktree $name"
done
# at NAME EVENT [MORE]: calls the hook with EVENT, as the client in worktree NAME does
at() {
	(cd "../$1" && printf '{"hook_event_name":"%s","session_id":"%s-1","cwd":"%s"%s}' "$2" "$1" "$PWD" "${3-}" | cadre hook claude)
}
is 0 'You are coder of team web' at coder SessionStart ',"source":"startup"'
is 0 'Write the parser' at coder SessionStart ',"source":"startup"'
is 0 . cadre send coder 'Please begin with the grammar'
is 0 'Please begin with the grammar' at coder UserPromptSubmit ',"prompt":"go"'
at coder UserPromptSubmit ',"prompt":"go"' >"$TMPDIR/again"
[ -s "$TMPDIR/again" ] && bad "a message is shown twice: $(cat "$TMPDIR/again")"
is 0 'acked' cadre receipt 1

# The coder completes its task and sends an urgent message to the tester. The tester's client
# shows the message between two tool calls.
cd ../coder || exit 1
is 0 '001  Write the parser' cadre claim
is 0 . cadre start 001
is 0 . cadre done 001 'it parses'
is 0 . cadre send tester 'The parser is yours' --priority urgent
cd ../shop || exit 1
is 0 'The parser is yours' at tester PostToolUse ',"tool_name":"Bash"'
is 0 '^001\tcompleted\t.*coder' cadre task list --all

# `cadre setup --remove` restores the project's former files.
is 0 . cadre setup claude --remove
git diff --quiet HEAD~1 || bad "the project is another one: $(git diff --stat HEAD~1)"
exit $failed
