#!/bin/sh
# events-follow - on a terminal the rows of `events -f` stand under their headings, also those that
# come later and have what the first page had not.
set -u
. "$(dirname "$0")/../lib/story.sh"
tmux() { command tmux -u -S "$TMPDIR/tmux" -f /dev/null "$@"; }
trap 'tmux kill-server 2>/dev/null' EXIT
seen() { tmux capture-pane -t w -p -S -; }

cadre team create shop --roles coder,tester >/dev/null 2>&1 || bad "team"
export CADRE CADRE_PAGER=
tmux new-session -d -s w -x 120 -y 40 "'$CADRE' events -f --limit 1" || skip "no tmux"
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
	/message.sent/ && substr($0, target, 7) == "tester " && substr($0, by, 6) == "coder " { right = 1 }
	END { exit !right }
' "$TMPDIR/screen" || bad "a value is not under its heading: $(cat "$TMPDIR/screen")"
exit $failed
