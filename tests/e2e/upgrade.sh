#!/bin/sh
# upgrade - a newer cadre migrates the state while MCP sessions are open. Idle and waiting
# sessions close state.db, and tell their clients to restart the MCP server. If a session is
# stopped by a signal, the migration is refused, and the refusal names the session. If the host
# has another version than `cadre up`, the command `cadre up` says so.
set -u
. "$(dirname "$0")/../lib/story.sh"
root=$here/..
sessions=
finish() {
	for pid in $sessions; do kill -9 "$pid"; wait "$pid"; done 2>/dev/null
	"$CADRE" down >/dev/null 2>&1
}
trap finish EXIT

# The newer cadre is the present program with one more migration.
mkdir "$TMPDIR/new" "$TMPDIR/new/migrations"
cp "$root"/migrations/*.sql "$TMPDIR/new/migrations"
count=$(ls "$root"/migrations/*.sql | wc -l)
echo 'CREATE TABLE newer (id INTEGER PRIMARY KEY) STRICT;' \
	>"$TMPDIR/new/migrations/$(printf %04d $((count + 1)))-newer.sql"
{ cat "$root/storage/exports"; echo 'left newer'; } >"$TMPDIR/new/exports"
(
	cd "$root" || exit 1
	build=$(dirname "$CADRE") flags=
	case $CADRE in
	*/asan/*) flags=-fsanitize=address,undefined ;;
	*/cov/*) flags=--coverage ;;
	esac
	for half in -h ''; do
		build/sqlgen $half schema/*.op storage/enums "$TMPDIR/new/exports" "$TMPDIR"/new/migrations/*.sql -- storage/*.sql \
			>"$TMPDIR/new/sql.gen.$([ "$half" ] && echo h || echo c)" || exit 1
	done
	gcc -std=gnu17 -w -D_GNU_SOURCE -I"$TMPDIR/new" -I. -Ibuild $flags -c -o "$TMPDIR/new/sql.o" "$TMPDIR/new/sql.gen.c" &&
		gcc $flags -o "$TMPDIR/new/cadre" "$build/obj/tools/cadre/main.o" "$TMPDIR/new/sql.o" \
			"$build/libcadre.a" $(pkg-config --libs sqlite3 jansson libuv libmd) -pthread -ldl -lm
) || { bad "no newer cadre"; exit 1; }
new() { "$TMPDIR/new/cadre" "$@"; }

# session NAME: starts `cadre mcp` for the coder, and writes the answers of `cadre mcp` to
# NAME.out.
session() {
	mkfifo "$TMPDIR/$1.in"
	CADRE_TEAM=red CADRE_AGENT=coder CADRE_TOKEN=$token "$CADRE" mcp <"$TMPDIR/$1.in" >"$TMPDIR/$1.out" 2>&1 &
	pid=$!
	sessions="$sessions $pid"
}
say() { # ID METHOD PARAMS
	printf '{"jsonrpc":"2.0","id":%s,"method":"%s","params":%s}\n' "$1" "$2" "$3"
}
open_session() {
	say 1 initialize '{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}'
	say "${1:-2}" tools/call '{"name":"agents","arguments":{"action":"start"}}'
}
has_open() { ls -l "/proc/$1/fd" | grep -q 'state.lock'; }
has_closed() { ! has_open "$1"; }

cadre team create red --roles coder --json >"$TMPDIR/team"
token=$(/usr/bin/python3 -c 'import json, sys
print([m["token"] for m in json.load(sys.stdin)["members"] if m["name"] == "coder"][0])' <"$TMPDIR/team")
cadre task create "Write the parser" --team red >/dev/null

session idle
idle=$pid
exec 3>"$TMPDIR/idle.in"
open_session >&3
until_is '"id":2' cat "$TMPDIR/idle.out"
has_open "$idle" || bad "a session has nothing open right after a call"
until_done has_closed "$idle"
say 3 tools/call '{"name":"task","arguments":{"action":"claim"}}' >&3
until_is '"id":3.*Write the parser' cat "$TMPDIR/idle.out"

session waits
waits=$pid
exec 4>"$TMPDIR/waits.in"
open_session >&4
say 3 resources/list '{}' >&4
say 4 tools/call '{"name":"inbox","arguments":{"action":"receive","wait_seconds":50}}' >&4
until_is '"id":3' cat "$TMPDIR/waits.out"

# If a session is stopped by a signal, the refusal of the migration names the session's process
# and command.
session still
still=$pid
exec 5>"$TMPDIR/still.in"
open_session >&5
until_is '"id":2' cat "$TMPDIR/still.out"
kill -STOP "$still"
is 7 "is open in: $still (cadre mcp)\$" new status
kill -CONT "$still"
cadre send coder "are you there" --team red >/dev/null || bad "nothing was migrated, and yet"
until_is '"id":4.*are you there' cat "$TMPDIR/waits.out"
say 5 tools/call '{"name":"inbox","arguments":{"action":"receive","wait_seconds":50}}' >&4
until_done has_closed "$still"

# Idle and waiting sessions close state.db for the migration.
has_open "$waits" || bad "the session that waits has nothing open"
is 0 "\"schema_version\":$((count + 1))[,}]" new --json status
[ "$(sqlite3 -readonly "$CADRE_HOME/state.db" 'PRAGMA user_version')" = $((count + 1)) ] || bad "it was not migrated"
until_is '"id":5.*a newer cadre has migrated .*restart the MCP server of each open session' cat "$TMPDIR/waits.out"
say 4 tools/call '{"name":"task","arguments":{"action":"note","text":"half of it","task":"001","epoch":1}}' >&3
until_is '"id":4.*a newer cadre has migrated .*restart the MCP server of each open session' cat "$TMPDIR/idle.out"
exec 3>&- 4>&- 5>&-
for pid in $sessions; do wait "$pid" || bad "a session ended with $?"; done
sessions=
new --team red --as coder task show 001 | grep -q 'claimed' || bad "the claim is lost: $(new task show 001 --team red)"

# If the host has another version than `cadre up`, the command `cadre up` says so.
version=$(cadre --version | sed 's/.* //')
other=$(echo "$version" | tr 0-8 1-9)
sed "s/$version/$other/g" "$TMPDIR/new/cadre" >"$TMPDIR/new/other"
chmod +x "$TMPDIR/new/other"
is 0 "^cadre $other\$" "$TMPDIR/new/other" --version
new up >/dev/null || bad "up"
either=yes is 0 "the host has version $version, this program has version $other: .cadre restart. starts a host of this version" "$TMPDIR/new/other" up
"$TMPDIR/new/other" restart >/dev/null || bad "restart"
either=yes is 0 "the host has version $other, this program has version $version" new up
"$TMPDIR/new/other" up 2>&1 | grep -q 'the host is' && bad "the same version is told"
new down >/dev/null
exit $failed
