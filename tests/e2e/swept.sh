#!/bin/sh
# swept - the folder with a host's sockets is removed, as happens after the last logout, or when
# a program removes old files. The host and its guests still run, and make their sockets again,
# in another folder if necessary. Callers can reach the host and the guests again.
set -u
. "$(dirname "$0")/../lib/story.sh"
export XDG_RUNTIME_DIR="$TMPDIR/x" CADRE_TEAM=crew
mkdir -m 700 "$XDG_RUNTIME_DIR"
host=
trap '[ -z "$host" ] || kill -CONT "$host" 2>/dev/null; cadre down --all >/dev/null 2>&1' EXIT
holder() { cut -d' ' -f1 "$CADRE_HOME/host.lock"; }
socket() { cut -d' ' -f3- "$CADRE_HOME/host.lock"; }
guest() { cadre workspace info w --json | sed -n 's/.*"pid":\([0-9]*\).*/\1/p'; }

cadre up >/dev/null || bad "up"
is 0 . cadre team create crew --roles '[{"name":"w","workspace":true}]' --wait=60
host=$(holder) guest=$(guest) was=$(socket)
cadre exec w ': >began; until [ -e go ]; do sleep 0.1; done; cadre send operator "sent behind it"' >/dev/null &
command=$!
until_done cadre exec w '[ -e began ]'

# If a caller finds no sockets, the fault says that the host runs, and what to do.
kill -STOP "$host"
rm -r "$XDG_RUNTIME_DIR"/*
is 7 "process $host runs, but its sockets are gone" cadre exec w true
is 7 "process $host runs, but its sockets are gone" cadre member add v --workspace
is 0 "process $host runs, but its sockets are gone" cadre status
is 0 "process $host runs, but its sockets are gone" cadre doctor
kill -CONT "$host"
is 0 "^up already: process $host, $was" cadre up
is 0 '^42$' cadre exec w 'echo 42'
until_is '"host":true' curl -sf --unix-socket "${was%/*}/http.sock" http://localhost/api/status

# A restart of the host makes the guest reachable again, also if only the guest's socket was
# removed.
is 0 '^1 guest went on$' cadre restart
is 0 '^43$' cadre exec w 'echo 43'
rm -r "${was%/*}"/w*
cadre restart >/dev/null || bad "restart"
is 0 '^44$' cadre exec w 'echo 44'

# If the first folder cannot be made again, the sockets get another folder. A command that began
# before the change of the folder still reaches its host.
rm -r "$XDG_RUNTIME_DIR"
is 0 "^up already: process $(holder), $TMPDIR/cadre-" cadre up
cadre restart >/dev/null || bad "restart at another place"
is 0 '^45$' cadre exec w 'echo 45'
is 0 'w of team crew' cadre exec w 'cadre whoami'
is 0 went cadre exec w "touch go; echo went"
wait $command || bad "the command that began before"
is 0 'sent behind it' cadre inbox peek
mkdir -m 700 "$XDG_RUNTIME_DIR"
is 0 '^46$' cadre exec w 'echo 46'
[ "$(guest)" = "$guest" ] || bad "the guest is another one"

# When the host and its last guest end, the sockets are removed.
is 0 '1 guest ended' cadre down --all
host=
left=$(find "$TMPDIR/cadre-$(id -u)" "$XDG_RUNTIME_DIR" -type s)
[ -z "$left" ] || bad "left: $left"
exit $failed
