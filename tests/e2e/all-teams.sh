#!/bin/sh
# all-teams - the operator sees all teams together. `cadre events -f` prints the new events of
# all teams, with and without a host. `cadre doctor` checks the guests of all teams, both
# running and dead guests.
set -u
. "$(dirname "$0")/../lib/story.sh"
follower=
finish() {
	[ -z "$follower" ] || kill "$follower" 2>/dev/null
	cadre down --all >/dev/null 2>&1
}
trap finish EXIT

# --- events ------------------------------------------------------------------------- happens
# TEAM: makes a task in TEAM, and waits until the running `cadre events -f` prints the event.
happens() {
	cadre --team "$1" task create "something" >/dev/null
	until_is "\"event\":\"task.created\",\"team\":\"$1\"" cat "$TMPDIR/heard"
}
follow() {
	"$CADRE" events -f --json >"$TMPDIR/heard" &
	follower=$!
	happens red
	happens blue
	cadre team create "$1" >/dev/null # a team that did not exist when the command began
	happens "$1"
	kill $follower
	wait $follower 2>/dev/null
	follower=
	[ "$(grep -c '"event":"task.created"' "$TMPDIR/heard")" -ge 3 ] || bad "events of $1"
	[ -z "$(grep -o '"seq":[0-9]*' "$TMPDIR/heard" | sort | uniq -d)" ] || bad "one came twice"
}
cadre init >/dev/null
cadre team create red >/dev/null
cadre team create blue >/dev/null
follow green
cadre up >/dev/null || bad up
follow yellow

# --- guests ---------------------------------------------------------------------------
cadre team destroy --yes red >/dev/null
cadre team destroy --yes blue >/dev/null
cadre team create red --roles '[{"name":"r","workspace":true}]' --wait >/dev/null
cadre team create blue --roles '[{"name":"b","workspace":true}]' --wait >/dev/null
until_is '^ok  *guests  *2, none dead' cadre doctor
until_is '"check":"guests","verdict":"ok"' cadre --json doctor
pid_of() { cadre --json workspace info "$1" | grep -o '"pid":[0-9]*' | cut -d: -f2; }
guests="$(pid_of red/r) $(pid_of blue/b)"
cadre down >/dev/null # the guests stay dead: no host starts them again
for guest in $guests; do kill -9 "$guest"; done
until_is 'red.*is not running' cadre doctor
until_is 'blue.*is not running' cadre doctor
until_is 'cadre up' cadre doctor
cadre doctor | grep -q 'none dead' && bad "doctor counts the dead as living"
cadre up >/dev/null || bad "up again"
until_is '2, none dead' cadre doctor
exit $failed
