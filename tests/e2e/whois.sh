#!/bin/sh
# whois - a person looks at agents: the page of one agent, an agent without turns, and the tree
# of teams. A person who acts as an agent is no activity of the agent.
set -u
. "$(dirname "$0")/../lib/story.sh"

# shown COLUMNS COMMAND...: what a terminal shows
shown() {
	columns=$1
	shift
	script -qec "stty cols $columns; '$CADRE' $*" /dev/null 2>&1 </dev/null | tr -d '\r' >"$TMPDIR/out"
	judged=yes
	: >"$TMPDIR/err"
}
has() { # PATTERN: the last screen must have it
	grep -q -e "$1" "$TMPDIR/out" || bad "no '$1'"
}

cadre team create shop --roles coder,tester,docs >/dev/null || bad "team create"
cadre task create 'Write the parser' >/dev/null
cadre --as coder claim >/dev/null || bad "claim"
cadre --as coder send tester 'the parser is on its way' >/dev/null
cadre --as tester send coder 'hurry' >/dev/null

# A refusal names the command that shows messages, also if the caller may not see the message.
for none in 'reply 1 x' 'thread none' 'receipt 99' 'message part 99'; do
	is 3 'See the messages with: cadre messages' cadre --as docs $none
done
is 2 'Write --priority urgent' cadre --as coder send tester now --urgent
is 2 'Write --priority urgent' cadre --as coder reply 2 now --urgent

is 0 '^reserved src/\*\*; the lease ends ' cadre --as coder reserve 'src/**'
shown 80 --as coder reserve Makefile --ttl 3600
[ "$(cat "$TMPDIR/out")" = "reserved Makefile; the lease ends in 1 h" ] ||
	[ "$(cat "$TMPDIR/out")" = "reserved Makefile; the lease ends in 60 min" ] || bad "not one line"
shown 100 agent whois coder
has '^coder of team shop is working$'
has '^task      001  Write the parser, claimed '
has '^mail      1 waiting, the oldest '
has '^reserved  src/\*\*, Makefile$'
has '^said      .* to tester: the parser is on its way$'
has '^active    '
shown 100 agent whois lead
has '^mail      none$'
is 0 '^released src/\*\*, Makefile$' cadre --as coder unreserve
is 0 '^coder has nothing reserved$' cadre --as coder unreserve
is 0 '^nothing to change in task 001$' cadre task update 1
is 0 '^changed task 001$' cadre task update 1 --priority 1
is 0 '^completed task 001: Write the parser$' cadre --as coder done
is 0 . cadre --as coder agent status offline
shown 100 agent whois coder
has '^coder of team shop is offline, since '

# The activity of an agent is its own, and is shown in minutes.
at() { sqlite3 "$CADRE_HOME/state.db" "UPDATE agent SET active_at = 1 WHERE name = 'tester'; SELECT active_at FROM agent WHERE name = 'tester'"; }
at >/dev/null
is 0 . cadre --as tester task create 'Test the parser'
[ "$(sqlite3 "$CADRE_HOME/state.db" "SELECT active_at FROM agent WHERE name = 'tester'")" = 1 ] || bad "a person counts as tester"
is 0 . sh -c "eval \"\$('$CADRE' agent env tester)\"; '$CADRE' claim"
[ "$(sqlite3 "$CADRE_HOME/state.db" "SELECT active_at FROM agent WHERE name = 'tester'")" = 1 ] && bad "tester does not count"
shown 120 agent list
has 'tester .* < 1 min ago'

# The worktree in which `agent run` starts a program, with its branch, is the agent's folder.
mkdir "$TMPDIR/code" && cd "$TMPDIR/code" && git init -q && git config user.name a && git config user.email a@h &&
	git commit -q --allow-empty -m first || skip "no git"
is 0 here cadre agent run ann --worktree -- echo here
shown 300 agent whois ann
has '^folder    .*/worktrees/shop\.ann, branch shop\.ann$'
is 0 '^folder    .*/worktrees/shop\.ann$' cadre agent whois ann

# An agent that has no runner has no turns to watch.
is 9 'coder has no runner' cadre agent watch coder --once
grep -q 'cadre history coder' "$TMPDIR/err" || bad "not told how to see its work"
is 3 'nobody' cadre agent watch nobody --once
is 9 'nothing to watch' cadre agent watch coder

# Teams below are drawn as a tree.
for name in a-parser b-lexer; do cadre team create $name --parent shop >/dev/null || bad "team $name"; done
cadre team create deep --parent a-parser >/dev/null
shown 80 team list --tree
for line in '^shop ' '^├─ a-parser ' '^│  └─ deep ' '^└─ b-lexer '; do has "$line"; done
has '^shop .* \(ready\|working\|completing\)'
grep -q 'PARENT\|PATH' "$TMPDIR/out" && bad "the tree is told twice"
is 0 '^deep\tready\t1\t0\t20[^\t]*Z\ta-parser\tshop / a-parser / deep$' cadre team list --tree
exit $failed
