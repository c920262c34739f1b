#!/bin/sh
# elsewhere - a host and its guests are found from any environment. A host started from a login
# serves commands that run from cron, and a host started from cron serves a login.
set -u
. "$(dirname "$0")/../lib/story.sh"
finish() {
	cadre up >/dev/null 2>&1
	cadre workspace destroy --yes red/w --team red >/dev/null 2>&1
	until_is '^0$' count_guests
	cadre down >/dev/null 2>&1
}
trap finish EXIT
elsewhere() { env XDG_RUNTIME_DIR="$TMPDIR/other" "$CADRE" "$@"; }
nowhere() { env -u XDG_RUNTIME_DIR TMPDIR="$TMPDIR/other" "$CADRE" "$@"; }
holder() { cut -d' ' -f1 "$CADRE_HOME/host.lock"; }
guest_of() { sqlite3 -readonly "$CADRE_HOME/state.db" "SELECT pid FROM v_workspace"; }
answers() { [ "$("$1" exec --team red red/w echo hi 2>&1)" = hi ] || bad "$story: exec: $("$1" exec --team red red/w echo hi 2>&1)"; }

mkdir -m 700 "$TMPDIR/other"
cadre up >/dev/null || bad "up"
cadre team create red --roles '[{"name":"w","workspace":true,"count":1}]' >/dev/null || bad "team create"
until_is '^hi$' cadre exec --team red red/w echo hi
first=$(holder)
guest=$(guest_of)
for who in elsewhere nowhere; do
	story="$who, while it runs"
	$who up --timeout "$(bound)" >"$TMPDIR/up" 2>&1 || bad "$story: $(cat "$TMPDIR/up")"
	grep -q "^up already: process $first," "$TMPDIR/up" || bad "$story: $(cat "$TMPDIR/up")"
	$who status | grep -q '^host  *yes' || bad "$story: status"
	$who doctor >"$TMPDIR/doctor" 2>&1
	! grep -q '^bad *socket' "$TMPDIR/doctor" || bad "$story: $(cat "$TMPDIR/doctor")"
	answers $who
done

# The host uses neither a missing runtime folder nor the runtime folder of another user.
missing() { env XDG_RUNTIME_DIR="$TMPDIR/missing" CADRE_HOME="$TMPDIR/second" "$CADRE" "$@"; }
missing init >/dev/null || bad "init with a runtime folder that is not there"
missing up >/dev/null || bad "up with a runtime folder that is not there"
missing status | grep -q '^host  *yes' || bad "no host with a runtime folder that is not there"
missing down >/dev/null
if [ "$(id -u)" = 0 ] && mkdir -m 700 "$TMPDIR/foreign" && chown 54321 "$TMPDIR/foreign"; then
	env XDG_RUNTIME_DIR="$TMPDIR/foreign" CADRE_HOME="$TMPDIR/second" "$CADRE" up >/dev/null || bad "up with another's runtime folder"
	[ -z "$(ls "$TMPDIR/foreign")" ] || bad "in another's runtime folder: $(ls "$TMPDIR/foreign")"
	missing down >/dev/null
fi

story='started again from elsewhere'
kill -9 "$first"
elsewhere up >/dev/null || bad "$story: up"
until_is '^hi$' elsewhere exec --team red red/w echo hi # a new host finds running guests after a moment
answers cadre
[ "$(guest_of)" = "$guest" ] || bad "$story: the guest was not found again"

story='the folder of the socket is gone'
cadre down >/dev/null || bad "$story: down"
find "$TMPDIR" -name host.sock | grep -q . && bad "$story: there is a socket"
rm -rf "$XDG_RUNTIME_DIR/cadre"
elsewhere up >/dev/null || bad "$story: up"
find "$TMPDIR/other" -name host.sock | grep -q . || bad "$story: it made no socket of its own"
cadre status | grep -q '^host  *yes' || bad "$story: status"
elsewhere down | grep -q '^down' || bad "$story: down"

story='a copy'
cadre up >/dev/null || bad "$story: up"
mkdir -m 700 "$TMPDIR/copy"
cadre backup "$TMPDIR/b.db" >/dev/null
cp -a "$CADRE_HOME/host.lock" "$TMPDIR/copy"
cadre --home "$TMPDIR/copy" restore "$TMPDIR/b.db" --yes >/dev/null || bad "$story: restore"
cadre --home "$TMPDIR/copy" status | grep -q '^host  *no' || bad "$story: it takes another state's host for its own"
exit $failed
