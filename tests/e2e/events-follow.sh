#!/bin/sh
# events-follow - on a terminal events are sentences, which begin with the time at every width.
# `events -f` begins with the last ten events. If several teams have events, each line names the
# team.
set -u
. "$(dirname "$0")/../lib/story.sh"
tmux() { command tmux -u -S "$TMPDIR/tmux" -f /dev/null "$@"; }
trap 'tmux kill-server 2>/dev/null' EXIT
seen() { tmux capture-pane -t w -p -S -; }

cadre team create shop --roles coder,tester >/dev/null 2>&1 || bad "team"
export CADRE CADRE_PAGER=
time='[0-2][0-9]:[0-5][0-9]:[0-5][0-9]'
for name in a b c d e f g h i j; do
	cadre --team shop agent register $name >/dev/null
done
tmux new-session -d -s w -x 120 -y 40 "'$CADRE' events -f" || bad "tmux"
until_is 'registered j' seen
[ "$(seen | grep -c "^$time")" = 10 ] || bad "-f begins with: $(seen)"
cadre task create "Write it" >/dev/null
until_is "^$time  operator  created 001: Write it" seen
cadre --as coder claim 001 >/dev/null
until_is "^$time  as coder  claimed 001: Write it" seen
cadre --as coder note 001 "halfway there" >/dev/null
cadre --as coder block 001 "no compiler" >/dev/null
cadre --as coder send tester,a "have a look" >/dev/null
until_is "^$time  as coder  sent #1 to tester, a: have a look" seen
seen | grep -q "  noted on 001: halfway there$" || bad "no words of a note: $(seen)"
seen | grep -q "  blocked 001: no compiler$" || bad "no reason: $(seen)"
cadre team create other-shop --roles someone-else >/dev/null 2>&1
until_is "^$time  other-shop  operator  *registered someone-else" seen
cadre --team shop task create "Read it" >/dev/null
until_is "^$time  shop        operator  *created 002: Read it" seen
# On a narrow terminal a long sentence stands below its line, and is not cut.
tmux new-session -d -s n -x 40 -y 60 "'$CADRE' events --team shop; '$CADRE' --team shop task history 001; echo over; sleep 60"
until_is '^over' tmux capture-pane -t n -p -J
tmux capture-pane -t n -p -J >"$TMPDIR/screen"
sed '/^over/,$d' "$TMPDIR/screen" | grep -v "^$time  [^ ]\|^  [^ ]" && bad "narrow events without their time: $(cat "$TMPDIR/screen")"
grep -q '^.\{41\}' "$TMPDIR/screen" && bad "a line is too wide: $(cat "$TMPDIR/screen")"
grep -q '^  sent #1 to tester, a: have a look$' "$TMPDIR/screen" || bad "a sentence is cut: $(cat "$TMPDIR/screen")"
grep -q "^$time  as coder  noted: halfway there$" "$TMPDIR/screen" || bad "narrow history: $(cat "$TMPDIR/screen")"

# A message of yesterday shows its hour. The message went to two, one of whom has
# acknowledged it.
cadre --as a inbox >/dev/null && cadre --as a ack 1 >/dev/null || bad "ack"
sqlite3 "$CADRE_HOME/state.db" 'UPDATE message SET at = at - 86400000'
tmux new-session -d -s m -x 80 -y 40 "'$CADRE' --team shop messages; sleep 600"
until_is '^#1  yesterday [0-2][0-9]:[0-5][0-9]  coder  tester, a  1 of 2 acked  have a look' tmux capture-pane -t m -p

# An agent's search for the newest events reads at most 100,000 events, and then prints the
# number from which to continue. The operator's search reads all events.
sqlite3 "$CADRE_HOME/state.db" 'UPDATE event SET seq = seq + 200000 WHERE seq > 4'
last=$(sqlite3 -readonly "$CADRE_HOME/state.db" 'SELECT max(seq) FROM event')
beside "events before #$((last - 99999)) were not searched: --after 0 begins" cadre --as coder --team shop events --kind team.created
grep -q '^1\b' "$TMPDIR/out" && bad "an agent's look has no end"
is 0 '^1\tteam.created' cadre --as coder --team shop events --kind team.created --after 0
beside 'there is more: --after 20000[0-9]$' cadre --as coder --team shop events --kind task.claimed --after 4
is 0 'task.claimed' cadre --as coder --team shop events --kind task.claimed --after 200003
is 0 '^1\tteam.created' cadre --team shop events --kind team.created
grep -q 'not searched' "$TMPDIR/out" "$TMPDIR/err" && bad "the operator is not answered whole"
exit $failed
