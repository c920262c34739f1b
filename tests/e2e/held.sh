#!/bin/sh
# held - a process is stopped in the middle of a transaction and still holds the state's lock. A
# command that must write names the stopped process and fails instead of waiting for ever. When
# the process continues, all commands work again.
set -u
. "$(dirname "$0")/../lib/story.sh"
holder='' ignored=URG # a signal that is always ignored
finish() {
	[ -z "$holder" ] || kill -9 "$holder" 2>/dev/null
	cadre down >/dev/null 2>&1
}
trap finish EXIT

# hold BYTE: starts a process that locks BYTE of state.lock and is then stopped.
hold() {
	/usr/bin/python3 "$here/peers/holder.py" "$CADRE_HOME" "$1" >"$TMPDIR/held" &
	holder=$!
	until_done grep -q held "$TMPDIR/held"
	until_is '^State:.*T' cat "/proc/$holder/status"
}
let_go() {
	kill -CONT "$holder"
	wait "$holder"
	holder=''
}
# named COMMAND...: COMMAND fails with `unavailable` and names the holder.
named() {
	timeout "$(bound)" sh -c "trap '' $ignored; exec \"\$@\"" . "$CADRE" "$@" >"$TMPDIR/out" 2>&1
	[ $? = 7 ] || bad "$story: $*: exit status"
	grep -q "process $holder (.*which is stopped" "$TMPDIR/out" || bad "$story: $*: $(cat "$TMPDIR/out")"
}

cadre team create red --roles ann >/dev/null || bad "team create"
story='while somebody writes'
hold 3
named send ann hi --team red &
named task create "a task" --team red
wait $!
# A command may be started with SIGRTMIN ignored. The waits of the command use this signal and
# still end.
ignored=34
named task create "a task" --team red
ignored=URG
cadre task list --team red >/dev/null || bad "$story: a read fails"
cadre doctor | grep -q "^bad *writing *process $holder (" || bad "$story: doctor: $(cadre doctor)"
cadre status --json | grep -q "\"stopped\":\"$holder (" || bad "$story: status: $(cadre status)"
let_go
cadre send ann hi --team red >/dev/null || bad "$story: and afterwards"
cadre status --json | grep -q '"stopped"' && bad "$story: status afterwards"

story='with a host'
cadre up >/dev/null || bad "up"
hold 3
named send ann hi --team red
cadre status --json | grep -q "\"stopped\":\"$holder (" || bad "$story: status: $(cadre status)"
let_go
cadre send ann hi --team red >/dev/null || bad "$story: and afterwards"
cadre down >/dev/null

story='while somebody opens it'
hold 0
named --direct task list --team red
let_go
cadre task list --team red >/dev/null || bad "$story: and afterwards"
exit $failed
