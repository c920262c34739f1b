#!/bin/sh
# agent-run - a program runs as an agent, in a git worktree of the agent. The agent has a name,
# and cadre notices the end of the program. The agent's tasks and mail stay the agent's own, and
# signals reach the program.
set -u
export CADRE_LIMITS_ENABLED=false
. "$(dirname "$0")/../lib/story.sh"
trap 'cadre down --all >/dev/null 2>&1' EXIT
mkdir "$TMPDIR/shop" && cd "$TMPDIR/shop"
git init -q . && git config user.email a@b && git config user.name a
echo one >file && git add file && git commit -qm one
cadre team create crew --roles lead,ann >/dev/null || bad "team"
PATH="$TMPDIR/bin:$PATH" && mkdir "$TMPDIR/bin" && ln -s "$CADRE" "$TMPDIR/bin/cadre"
export PATH

# An existing agent is used, and a missing agent is made. The command returns the exit status of
# the program.
is 0 '^ann of team crew' cadre agent run ann -- cadre whoami
is 7 . cadre agent run bob --role tester -- sh -c 'echo "$CADRE_AGENT is here" >&2; exit 7'
until_is '^bob\ttester\toffline' cadre agent list
is 127 'cannot run no-such-program' cadre agent run ann -- no-such-program
is 126 'cannot run /etc/passwd' cadre agent run ann -- /etc/passwd
is 2 'run NAME' cadre agent run ann
is 2 'run NAME' cadre agent run ann --
is 2 'run NAME' cadre agent run --no-such -- true

# The program runs in the agent's own worktree, on the agent's own branch. The next run uses the
# same worktree.
is 0 "^$CADRE_HOME/worktrees/crew.ann$" cadre agent run ann --worktree -- pwd
is 0 '^crew.ann$' cadre agent run ann --worktree -- git branch --show-current
cadre agent run ann --worktree -- sh -c 'echo two >file; git commit -qam two' || bad "commit"
is 0 '^two$' cadre agent run ann --worktree -- cat file
is 0 '^one$' cat file
is 0 'two' git log --oneline crew.ann
is 0 '^bob of team crew' cadre agent run bob --worktree -- cadre whoami
mkdir ../other && (cd ../other && git init -q . && git -c user.email=a@b -c user.name=a commit -q --allow-empty -m x && is 4 'is not a worktree of this repository' cadre agent run ann --worktree -- true; exit $failed) || failed=1
(cd / && is 1 'this directory is not in a git repository: fatal: not a git' cadre agent run eve --worktree -- true; exit $failed) || failed=1
until_is 'eve\teve\toffline' cadre agent list
# A worktree that was removed is made anew and continues the agent's branch. A worktree that a
# person locked is left alone. A branch that a person has checked out in another folder is left
# alone too.
fay=$CADRE_HOME/worktrees/crew.fay
is 0 . cadre agent run fay --worktree -- sh -c 'echo fay >file; git commit -am fay'
rm -r "$fay"
is 0 '^fay$' cadre agent run fay --worktree -- cat file
git worktree remove "$fay"
is 0 '^fay$' cadre agent run fay --worktree -- cat file
git worktree lock "$fay" && mv "$fay" "$TMPDIR/away"
is 4 'is gone, and locked in git' cadre agent run fay --worktree -- true
grep -q "git worktree unlock '$fay'" "$TMPDIR/err" || bad "no way on: $(cat "$TMPDIR/err")"
git worktree unlock "$fay"
is 0 '^fay$' cadre agent run fay --worktree -- cat file
git worktree remove "$fay" && git worktree add -q "$TMPDIR/elsewhere" crew.fay
is 1 "$TMPDIR/elsewhere'" cadre agent run fay --worktree -- true
git worktree remove "$TMPDIR/elsewhere" && git branch -q -D crew.fay
is 0 '^one$' cadre agent run fay --worktree -- cat file
rm "$fay/.git"
is 4 'is not a worktree of this repository' cadre agent run fay --worktree -- true
[ -e "$fay/file" ] || bad "a folder that is no worktree was removed"
mkdir ../unborn && (cd ../unborn && git init -q . && is 4 'has no commit yet' cadre agent run gus --worktree -- true; git worktree prune; [ ! -e "$CADRE_HOME/worktrees/crew.gus" ] || bad "half a worktree"; exit $failed) || failed=1

# An agent claims a task while its program runs, and is listed as working. A signal ends the
# program, and the agent is then listed as offline.
is 0 . cadre task create Dig
"$CADRE" agent run ann -- sh -c 'cadre claim >/dev/null; echo $$ >'"$TMPDIR"'/pid; exec sleep 1000' &
runner=$!
until_done test -s "$TMPDIR/pid"
is 0 '^ann\tann\tworking\t001' cadre agent list
is 4 'a program runs as ann already (process '"$(cat "$TMPDIR/pid")"')' cadre agent run ann -- true
kill -TERM $runner
wait $runner
[ $? = 143 ] || bad "a signal ended it with $?"
kill -0 "$(cat "$TMPDIR/pid")" 2>/dev/null && bad "the program runs on"
until_is '^ann\tann\toffline' cadre agent list
# A shell prompt in the agent's folder does not show that the agent is at work.
(eval "$(cadre agent env ann)" && cadre status --line >/dev/null) || bad "a prompt"
is 0 '^ann\tann\toffline' cadre agent list
# A call of the agent after the end of its program, even a read, shows that the agent is at work.
(eval "$(cadre agent env ann)" && cadre task list >/dev/null) || bad "a call after the end"
until_is '^ann\tann\tworking' cadre agent list
# A client may run each command in a session of its own: all of them are one session of the agent.
cadre send ann "read once" >/dev/null || bad "send"
is 0 'read once' cadre agent run ann -- sh -c 'setsid -w cadre inbox; setsid -w cadre inbox'
is 0 'acked' cadre receipt 1
# Each run is a session of its own, so a later run does not acknowledge a message that an earlier run
# has shown.
cadre send ann "shown to the dead" >/dev/null || bad "send"
(export CADRE_SESSION=of-the-lead
	is 0 'shown to the dead' cadre agent run ann -- cadre inbox
	is 0 'no messages' cadre agent run ann -- cadre inbox
	exit $failed) || failed=1
is 0 'fetched' cadre receipt "$(cadre messages --limit 1 --json=seq | grep -o '[0-9]\+' | head -n 1)"
until_is '^ann\tann\toffline' cadre agent list
# If the process that renews the agent's leases is killed, no second program can run as the
# agent while the first program runs. When the program is killed, another program can run as the
# agent immediately.
rm "$TMPDIR/pid"
"$CADRE" agent run ann -- sh -c 'trap "" TERM; echo $$ >'"$TMPDIR"'/pid; while :; do sleep 0.1; done' &
runner=$!
until_done test -s "$TMPDIR/pid"
[ "$(cat "$TMPDIR/pid")" = $runner ] || bad "the program is another process than the command"
keeper() { for fd in /proc/[0-9]*/fd/*; do [ "$fd" -ef "$CADRE_HOME/programs/crew.ann" ] && echo "$fd"; done | cut -d/ -f3 | sort -u; }
kept=$(keeper)
[ -n "$kept" ] && [ "$kept" != $runner ] || bad "the lock is held by: $kept"
kill -KILL "$kept"
is 4 'a program runs as ann already' cadre agent run ann -- true
kill -KILL $runner
wait $runner 2>/dev/null
is 0 "^ran$" cadre agent run ann -- echo ran
# Agent b of team crew-ann and agent ann-b of team crew stay separate agents, although both are
# crew-ann-b when joined.
cadre team create crew-ann --roles lead >/dev/null && cadre agent register b --team crew-ann >/dev/null && cadre agent register ann-b --team crew >/dev/null || bad "names"
rm "$TMPDIR/pid"
"$CADRE" --team crew agent run ann-b -- sh -c 'echo $$ >'"$TMPDIR"'/pid; exec sleep 1000' &
runner=$!
until_done test -s "$TMPDIR/pid"
is 0 "^ran$" cadre --team crew-ann agent run b -- echo ran
kill -TERM $runner
wait $runner
cadre team destroy --yes crew-ann >/dev/null || bad "destroy"
# A caller with one agent's token cannot run a program as another agent.
(eval "$(cadre agent env bob)" && is 5 . cadre agent run ann -- true; exit $failed) || failed=1
exit $failed
