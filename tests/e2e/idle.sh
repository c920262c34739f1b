#!/bin/sh
# idle - strangers connect to a guest's TCP port and send nothing. The guest's host can still
# connect.
set -u
. "$(dirname "$0")/../lib/story.sh"
guest=''
finish() {
	[ -z "$guest" ] || { kill $guest; wait $guest; } 2>/dev/null
}
trap finish EXIT

# The port number is lower than the numbers that the kernel gives to outgoing connections.
port=$(/usr/bin/python3 -c 'import random, socket
while True:
    port = random.randrange(20000, 32000)
    try:
        socket.socket().bind(("127.0.0.1", port))
        break
    except OSError:
        pass
print(port)')
mkdir "$TMPDIR/w"
CADRE_LINK_TOKEN=secret "$CADRE" guest --dir "$TMPDIR/w" --state "$TMPDIR/gs" --listen "tcp:127.0.0.1:$port" >"$TMPDIR/guest.out" 2>&1 &
guest=$!
until_is . sh -c "/usr/bin/python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", $port))' 2>/dev/null && echo there"
/usr/bin/python3 "$here/peers/idle.py" "$port" secret >"$TMPDIR/report" || bad "idle.py"
grep -v '^done$' "$TMPDIR/report" && bad "see above"
grep -q '^done$' "$TMPDIR/report" || bad "it did not come to its end"
exit $failed
