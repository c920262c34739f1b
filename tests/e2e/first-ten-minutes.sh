#!/bin/sh
# first-ten-minutes - a newcomer's commands lead from an empty project to a team that talks,
# shares a board, and survives the death of its host.
set -eu
. "$(dirname "$0")/../lib/story.sh"
unset CADRE_HOME
mkdir "$TMPDIR/project"
cd "$TMPDIR/project"
git init -q .
trap 'cadre down >/dev/null 2>&1' EXIT

see() { # PATTERN: the last printed text must match PATTERN
	grep -q -e "$1" "$TMPDIR/out" || { echo "no '$1' in:"; cat "$TMPDIR/out"; exit 1; }
}
run() {
	echo "\$ $*"
	"$@" >"$TMPDIR/out"
	cat "$TMPDIR/out"
}

# The commands make a state for the project, and start the state's host.
run cadre init
run cadre up
see '^up: process'

# The team has two members and a lead.
run cadre team create web --roles '[{"name":"coder","skills":["c"]},{"name":"tester"}]'
see '^created team web: coder, tester, lead$'
run cadre team status
see '^coder[[:space:]]'

# `setup` prepares a client. The first run of `setup` only shows the changes, and the second run
# of `setup` makes the changes after consent.
run cadre setup claude --dry-run --diff
see '^+  "mcpServers": {$'
[ ! -e .mcp.json ]
run cadre setup claude
see '^changed 3 files in '
run cadre setup --check
see '^ok *claude *is set up in the project$'

# The board has two tasks, and the second task waits for the first task.
run cadre task create "Write the parser" --priority 1
run cadre task create "Test the parser" --depends-on 001
run cadre ready
see '^001[[:space:]]'

# When an agent has claimed a task, no other agent can claim this task.
run cadre --as coder claim
see 'owner  *coder'
! cadre --as tester claim 001 2>"$TMPDIR/out" || exit 1
see 'conflict'
run cadre --as coder start 001
run cadre --as coder note 001 "the grammar is in docs/grammar.md"
run cadre --as coder done 001 "parses everything in tests/"
run cadre ready
see '^002[[:space:]]'

# The agents send messages. Each message is kept until its receiver reads the message.
run cadre --as coder send tester "the parser is yours"
run cadre --as tester inbox
see 'the parser is yours'

# The host is killed. All data still exists, both without a host and with a new host.
kill -9 "$(cut -d' ' -f1 .cadre/host.lock)"
run cadre task list --all
see '^001[[:space:]]*completed'
run cadre --as tester claim 002
run cadre up

# A person can read the history as events, by SQL, and in Markdown.
run cadre events --kind task
see 'task.completed'
run sqlite3 -box .cadre/state.db 'SELECT team, id, status, owner, title FROM v_board'
see 'parser'
until_is completed cat .cadre/vault/teams/web/tasks/001-write-the-parser.md
run cat .cadre/vault/teams/web/tasks/001-write-the-parser.md
see '^status: completed'
run cadre doctor
run cadre setup --remove
run cadre down
[ -z "$(git status --porcelain)" ]
