#!/bin/sh
# idle - strangers who connect to a guest's TCP port and say nothing: its host comes in.
set -u
. "$(dirname "$0")/../lib/story.sh"
guest=''
finish() {
	[ -z "$guest" ] || { kill $guest; wait $guest; } 2>/dev/null
}
trap finish EXIT

port=$(python3 -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])')
mkdir "$TMPDIR/w"
CADRE_LINK_TOKEN=secret "$CADRE" guest --dir "$TMPDIR/w" --state "$TMPDIR/gs" --listen "tcp:127.0.0.1:$port" >"$TMPDIR/guest.out" 2>&1 &
guest=$!
until_is . sh -c "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", $port))' 2>/dev/null && echo there"
python3 "$here/peers/idle.py" "$port" secret >"$TMPDIR/report" || bad "idle.py"
grep -v '^done$' "$TMPDIR/report" && bad "see above"
grep -q '^done$' "$TMPDIR/report" || bad "it did not come to its end"
exit $failed
