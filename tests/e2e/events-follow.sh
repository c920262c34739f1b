#!/bin/sh
# events-follow - on a terminal the rows of `events -f` are aligned with the headings. Later
# rows are also aligned, even if the first page lacked some of the columns.
set -u
. "$(dirname "$0")/../lib/story.sh"
tmux() { command tmux -u -S "$TMPDIR/tmux" -f /dev/null "$@"; }
trap 'tmux kill-server 2>/dev/null' EXIT
seen() { tmux capture-pane -t w -p -S -; }

cadre team create shop --roles coder,tester >/dev/null 2>&1 || bad "team"
export CADRE CADRE_PAGER=
tmux new-session -d -s w -x 120 -y 40 "'$CADRE' events -f --limit 1" || bad "tmux"
until_is 'agent.registered' seen
cadre task create "Write it" >/dev/null
until_is 'task.created' seen
cadre --as coder claim 001 >/dev/null
until_is 'task.claimed' seen
cadre --as coder send tester "have a look" >/dev/null
until_is 'message.sent' seen
seen >"$TMPDIR/screen"
awk '
	/^SEQ/ { target = index($0, "TARGET"); by = index($0, "BY") }
	/message.sent/ && substr($0, target, 7) == "tester " && substr($0, by, 9) == "as coder " { right = 1 }
	END { exit !right }
' "$TMPDIR/screen" || bad "a value is not under its heading: $(cat "$TMPDIR/screen")"
cadre --team shop task create "Write what is longer" >/dev/null
cadre team create other-shop --roles someone-else >/dev/null 2>&1
until_is 'someone-else' seen
seen >"$TMPDIR/screen"
[ "$(grep -c '^SEQ' "$TMPDIR/screen")" -le 4 ] || bad "a heading for each row: $(cat "$TMPDIR/screen")"
grep -q '^SEQ.* TEAM ' "$TMPDIR/screen" || bad "no column for the team"
grep -q 'team.created .* other-shop' "$TMPDIR/screen" || bad "a long name is cut: $(cat "$TMPDIR/screen")"
# A narrow terminal keeps the columns for the event and its subject.
tmux new-session -d -s n -x 40 -y 40 "'$CADRE' events --team shop; '$CADRE' --team shop task history 001; sleep 60"
until_is 'task.claimed *epoch' tmux capture-pane -t n -p
tmux capture-pane -t n -p >"$TMPDIR/screen"
grep -q '^SEQ *EVENT .*SUBJECT' "$TMPDIR/screen" || bad "narrow events: $(cat "$TMPDIR/screen")"
grep -q '^SEQ *AT *EVENT' "$TMPDIR/screen" || bad "narrow history: $(cat "$TMPDIR/screen")"

# An agent's search for the newest events reads at most 100,000 events, and then prints the
# number from which to continue. The operator's search reads all events.
sqlite3 "$CADRE_HOME/state.db" 'UPDATE event SET seq = seq + 200000 WHERE seq > 4'
last=$(sqlite3 -readonly "$CADRE_HOME/state.db" 'SELECT max(seq) FROM event')
beside "nothing before #$((last - 99999)) was looked at: --after 0 begins" cadre --as coder --team shop events --kind team.created
grep -q '^1 ' "$TMPDIR/out" && bad "an agent's look has no end"
is 0 '^1\tteam.created' cadre --as coder --team shop events --kind team.created --after 0
beside 'there is more: --after 20000[0-9]$' cadre --as coder --team shop events --kind task.claimed --after 4
is 0 'task.claimed' cadre --as coder --team shop events --kind task.claimed --after 200003
is 0 '^1\tteam.created' cadre --team shop events --kind team.created
grep -q 'looked at' "$TMPDIR/out" && bad "the operator is not answered whole"
exit $failed
