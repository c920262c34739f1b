#!/bin/sh
# status-watch - `cadre status --watch` shows a task as soon as the task is claimed, shows what
# needs the person with the words, and gives the terminal back when the person types q. Ctrl-C
# ends the watch, too. No process stays.
set -u
. "$(dirname "$0")/../lib/story.sh"
tmux() { command tmux -u -S "$TMPDIR/tmux" -f /dev/null "$@"; }
trap 'tmux kill-server 2>/dev/null' EXIT
seen() { tmux capture-pane -t w -p; }
none_left() { ! pgrep -f "^$CADRE status --watch"; }

cadre team create shop --roles coder,tester >/dev/null 2>&1 || bad "team"
cadre task create "Write the parser" >/dev/null
is 2 'watch needs a terminal' cadre status --watch
export CADRE CADRE_PAGER=
tmux new-session -d -s w -x 100 -y 20 "sh -c 'echo before; \"$CADRE\" status --watch; echo ended \$?; exec cat'" || bad "tmux"
until_is 'nothing needs you' seen
seen | grep -q '^before' && bad "the watch has no screen of its own"
cadre --as coder claim 001 >/dev/null
until_is 'coder *001 *claimed *Write the parser' seen
cadre --as coder block 001 "waits for the license of the corpus" >/dev/null
until_is 'Needs you' seen
seen | grep -q '001  Write the parser: coder is blocked: waits for the license of the corpus' ||
	bad "the reason is not shown: $(seen)"
seen | grep -q 'cadre --as coder task unblock 001' || bad "no command: $(seen)"
cadre --as coder task unblock 001 >/dev/null
until_is 'nothing needs you' seen
# A smaller terminal gets no more lines than it has.
tmux resize-window -t w -x 60 -y 6
cadre --as tester send operator "Which of the two grammars?" >/dev/null
until_is 'Which of the two grammars' seen
until_is '^q ends' seen
tmux send-keys -t w q
until_is 'ended 0' seen
seen | grep -q '^before' || bad "the first screen is lost: $(seen)"
until_done none_left

tmux respawn-pane -k -t w "sh -c 'trap : INT; \"$CADRE\" status --watch; echo ended \$?; exec cat'" || bad "tmux"
until_is 'q ends' seen
tmux send-keys -t w C-c
until_is 'ended 0' seen
exit $failed
