#!/bin/sh
# old-sockets - a starting host removes the old socket folders of hosts and guests of other
# states. The host removes no folder that may still be in use.
set -u
. "$(dirname "$0")/../lib/story.sh"
export XDG_RUNTIME_DIR="$TMPDIR"
all=$TMPDIR/cadre
trap 'cadre down >/dev/null 2>&1; [ -z "${listener:-}" ] || kill "$listener"' EXIT

sockets() { # PATH...: makes sockets without a listener, as after a kill
	/usr/bin/python3 -c 'import os, socket, sys
for path in sys.argv[1:]:
    os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
    socket.socket(socket.AF_UNIX).bind(path)' "$@"
}
age() { find "$@" -exec touch -h -d '2 hours ago' {} +; }

mkdir -m 700 "$all"
mkdir -m 700 "$all/empty" "$all/fresh" "$all/file" "$all/heard"
sockets "$all/killed/host.sock" "$all/killed/w1/door.sock" "$all/killed/w12/a.sock"
sockets "$all/fresh/host.sock" "$all/begins/w1/door.sock"
echo kept >"$all/file/file"
sockets "$all/other/host.sock"
mkdir "$all/other/folder"
mkdir -m 700 "$TMPDIR/elsewhere"
sockets "$TMPDIR/elsewhere/host.sock"
ln -s "$TMPDIR/elsewhere" "$all/link"
(cd "$all/heard" && mkdir -m 700 w3 && exec /usr/bin/python3 -c 'import socket, time
s = socket.socket(socket.AF_UNIX)
s.bind("w3/door.sock")
s.listen()
time.sleep(600)') &
listener=$!
until_is door.sock ls "$all/heard/w3"
until_is "w3/door.sock" sh -c "grep -F ' 00010000 ' /proc/net/unix"
age "$all/empty" "$all/file" "$all/heard" "$all/killed" "$all/other" \
	"$TMPDIR/elsewhere" "$all/link"
age "$all/begins" -maxdepth 0

cadre init >/dev/null
cadre up >/dev/null
left=$(ls "$all" | grep -v '^[0-9a-f]*-[0-9a-f]*$' | LC_ALL=C sort | tr '\n' ' ')
[ "$left" = "begins file fresh heard link other " ] || bad "left: $left"
[ -S "$TMPDIR/elsewhere/host.sock" ] || bad "a link was followed"
[ -S "$all/other/host.sock" ] || bad "a folder that somebody else uses was touched"
[ -S "$all/heard/w3/door.sock" ] || bad "a socket with a listener was removed"
kill "$listener"
wait "$listener" 2>/dev/null
listener=
cadre restart >/dev/null
[ ! -e "$all/heard" ] || bad "stays, though nobody listens there any more"
exit $failed
