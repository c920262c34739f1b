#!/bin/sh
# pager - an answer with more lines than the terminal is shown in a pager. The test uses a real
# terminal (tmux). The cases are a long answer, a pager that the user leaves early, an answer
# that fits, and no pager.
set -u
. "$(dirname "$0")/../lib/story.sh"
tmux() { command tmux -S "$TMPDIR/tmux" -f /dev/null "$@"; }
ended() { tmux kill-server 2>/dev/null; }
trap ended EXIT

seen() { tmux capture-pane -p; }
types() { tmux send-keys "$@"; }

cadre team create crew --roles coder >/dev/null
seq -f 'Task number %g' 40 | cadre task create - >/dev/null
tmux new-session -d -x 80 -y 24 "env PS1='\\$ ' sh" || bad "no tmux"

# An answer longer than the screen is shown from its first line, and a key shows the next part.
types "$CADRE task list --limit 40; echo left \$?" Enter
until_is '^001 .*Task number 1 ' seen
seen | grep -q 'Task number 30' && bad "it was not paged"
types G
until_is 'Task number 40' seen
# If the user leaves the pager early, the command does not fail.
types q
until_is '^left 0' seen

# An answer that fits is printed without a pager. Every answer is printed without a pager if the
# user wants no pager, or if no pager is installed.
types "clear; $CADRE task show 001; echo shown \$?" Enter
until_is '^shown 0' seen
types "clear; $CADRE --no-pager task list --limit 40; echo all \$?" Enter
until_is '^all 0' seen
types "clear; CADRE_PAGER= $CADRE task list --limit 40; echo none \$?" Enter
until_is '^none 0' seen
types "clear; CADRE_PAGER=/nowhere $CADRE task list --limit 40; echo lost \$?" Enter
until_is '^lost 0' seen
seen | grep -q 'Task number 40' || bad "without its pager an answer is lost"
types "clear; $CADRE --json task list --limit 40 | tail -c 1 | wc -c; echo piped \$?" Enter
until_is '^piped 0' seen

# Ctrl-C ends the pager, not the command.
types "clear; CADRE_PAGER='head -3; sleep 60' $CADRE task list --limit 40; echo ended-\$?" Enter
until_is 'Task number 2 ' seen
types C-c
until_is 'ended-[0-9]' seen
exit $failed
