#!/bin/sh
# estop - `estop` stops a team, the teams below this team, and the commands in the workspaces of
# these teams. Stopped commands stay stopped even if the host is restarted. `thaw` lets all
# commands continue.
set -u
. "$(dirname "$0")/../lib/story.sh"
trap 'cadre down --all >/dev/null 2>&1' EXIT
as_agent() { # TEAM AGENT COMMAND...: runs COMMAND with the agent's own token
	(eval "$(cadre agent env "$2" --team "$1")" && shift 2 && "$@")
}
place() { # TEAM/AGENT: prints the directory of the agent's workspace
	cadre workspace info "$1" --json | sed 's/.*"path":"\([^"]*\)".*/\1/'
}
grows() { # FILE: whether a command still writes to FILE
	before=$(wc -l <"$1") && sleep 0.6 && [ "$(wc -l <"$1")" -gt "$before" ]
}
halted() { # N: whether the guests of N workspaces have reported that they are stopped
	[ "$(sqlite3 "$CADRE_HOME/state.db" 'SELECT sum(halted) FROM workspace')" = "$1" ]
}

cadre up >/dev/null || bad "up"
is 0 . cadre team create top --roles '[{"name":"lead"},{"name":"coder","workspace":true},{"name":"alone","workspace":true}]' --wait
is 0 . cadre team create sub --parent top --max-vms 1 --roles '[{"name":"digger","workspace":true}]' --wait
for who in top/coder sub/digger; do
	cadre workspace run --team "${who%/*}" "$who" '
		setsid sh -c "while :; do echo tick >>apart; sleep 0.1; done" &
		while :; do echo tick >>ticks; sleep 0.1; done' >/dev/null || bad "exec at $who"
done
top=$(place top/coder)/ticks sub=$(place sub/digger)/ticks apart=$(place sub/digger)/apart
# This command ends, but leaves a running process in its process group.
is 0 '^started$' cadre exec --team top top/coder 'while :; do echo tick >>left; sleep 0.1; done >/dev/null 2>&1 & echo started'
left=$(place top/coder)/left
# This assigned command ends, but leaves a running process in another session. No other command
# runs in the workspace of `alone`.
task=$(cadre task create far --team top --json | sed 's/.*"id":"\([0-9]*\)".*/\1/')
is 0 . cadre task assign "$task" alone --team top --command 'setsid sh -c "while :; do echo tick >>far; sleep 0.1; done" >/dev/null 2>&1 & sleep 0.5'
is 0 . cadre wait result "$task" --team top --timeout 60
far=$(place top/alone)/far
until_done grows "$top"
until_done grows "$sub"
until_done grows "$apart"
until_done grows "$left"
until_done grows "$far"
# A caller waits for the command `late` and gets the answer, though the team is stopped for
# longer than the command's timeout.
"$CADRE" exec --team top --timeout-secs 4 top/coder 'sleep 2; echo late' >"$TMPDIR/late" 2>&1 &
late=$!
sleep 0.5

# The lead stops the team. All commands stop, and stay stopped under a restarted host.
is 5 . as_agent top coder cadre estop
is 0 'stopped: top, sub' as_agent top lead cadre estop
until_done halted 3
grows "$top" && bad "top runs on"
grows "$sub" && bad "sub runs on"
grows "$left" && bad "what an ended command left runs on"
grows "$far" && bad "what an ended command left in a session of its own runs on"
grows "$apart" && bad "a process in a session of its own runs on"
is 4 'team top is stopped' cadre --team top claim
is 0 '^team\ttop\tstopped\t.*\tcadre thaw top$' cadre team status top
sleep 4
kill -9 "$(cut -d' ' -f1 "$CADRE_HOME/host.lock")"
cadre up >/dev/null || bad "up again"
is 0 'halted' cadre workspace info top/coder
sleep 1
grows "$top" && bad "top runs on under a new host"
grows "$left" && bad "what an ended command left runs on under a new host"
is 4 'team top is stopped' as_agent top coder cadre exec top/coder true
cadre exec top/coder true || bad "the operator may not look"
is 0 . as_agent top coder cadre send lead "I stand"

# A new command is refused while the team is stopped. A team below the stopped team may be
# thawed alone.
is 0 . cadre --team top task create Dig
is 4 'team top is stopped' cadre --team top task assign 002 coder --command true
is 0 . cadre thaw sub
until_done grows "$sub"
until_done grows "$apart"
grows "$top" && bad "top runs on with sub"
is 0 '^these teams go on: top$' cadre thaw top
until_done grows "$top"
until_done grows "$left"
until_done halted 0
wait $late
is 0 . cadre estop --all
until_done halted 3
grows "$sub" && bad "sub runs on"
is 0 . cadre thaw --all
until_done grows "$sub"

# Without a host, `estop` cannot stop the guests. The output says that commands run on until
# `cadre up`.
until_done halted 0
is 0 . cadre down
is 0 '^stopped: top, sub; no host runs: commands of 3 workspaces run on until `cadre up`$' cadre estop top
grows "$sub" || bad "sub stands still without a host"
cadre up >/dev/null || bad "up without a word"
until_done halted 3
grows "$sub" && bad "sub runs on after a host has come"
is 0 '^stopped: -; already stopped before: top, sub$' cadre estop top
exit $failed
