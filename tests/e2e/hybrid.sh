#!/bin/sh
# hybrid - a guest behind the vsock of a Firecracker or Cloud Hypervisor VM. The host sends a
# line CONNECT to the VM's socket PATH to reach the guest. A program in the VM reaches the host
# at the socket PATH_5000. By this socket the host knows as which agent the program acts.
set -u
. "$(dirname "$0")/../lib/story.sh"
guest='' vmm=''
finish() {
	cadre down >/dev/null 2>&1
	for pid in $guest $vmm; do kill -9 "$pid"; wait "$pid"; done 2>/dev/null
}
trap finish EXIT
in_place() { cadre exec --team red red/ann sh -c "$1"; }
rounds() { grep -c '^done$' "$TMPDIR/report"; }

mkdir -p "$TMPDIR/work"
: >"$TMPDIR/report"
env -u CADRE_HOME "$CADRE" guest --dir "$TMPDIR/work" --state "$TMPDIR/g" --listen "unix:$TMPDIR/g/sockets" &
guest=$!
/usr/bin/python3 "$here/peers/vmm.py" "$TMPDIR/v" "$TMPDIR/g/sockets" "$TMPDIR/report" &
vmm=$!

cadre up >/dev/null || bad "up"
cadre team create red --roles ann --roles bob >/dev/null || bad "team create"
cadre workspace create --team red --agent ann --backend attach --address "hybrid:$TMPDIR/v" \
	>/dev/null || bad "attach"
waited 0 workspace red/ann
until_is "^$TMPDIR/work\$" in_place pwd
head -c 300000 /dev/urandom >"$TMPDIR/there"
cadre workspace write red/ann data @"$TMPDIR/there" --team red >/dev/null || bad "write"
cadre workspace read red/ann data --team red | cmp - "$TMPDIR/there" || bad "read"
cadre task create count --team red >/dev/null
cadre task assign 001 ann --command 'wc -c <data' --team red >/dev/null
waited 0 task 001 --team red

# --- the port that the guest's machine dials ---------------------------------------------

until_is '^1$' rounds
[ "$(cadre --team red --as bob inbox | grep -c '^ann -> bob')" = 1 ] || bad "bob has not ann's message alone"

# --- another host opens both channels again ---------------------------------------------------

kill -9 "$(cut -d' ' -f1 "$CADRE_HOME/host.lock")"
cadre up >/dev/null || bad "up after kill -9"
until_is "^$TMPDIR/work\$" in_place pwd
until_is '^2$' rounds
grep -v '^done$' "$TMPDIR/report" && bad "see above"

# After a workspace is destroyed, its socket PATH_5000 refuses connections.
cadre workspace destroy --yes red/ann --team red >/dev/null || bad "destroy"
until_is 'refused' /usr/bin/python3 -c 'import socket, sys
socket.socket(socket.AF_UNIX).connect(sys.argv[1])' "$TMPDIR/v_5000"
exit $failed
