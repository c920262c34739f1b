#!/bin/sh
# relink - a host that has just started may have no link to a running guest. A call that needs
# the guest waits some seconds for the link. If the guest does not connect, the call is refused
# and has no effect.
set -u
. "$(dirname "$0")/../lib/story.sh"
export CADRE_TEAM=red
thaw() { [ -z "${guest-}" ] || kill -CONT "$guest" 2>/dev/null; }
trap 'thaw; cadre down --all >/dev/null 2>&1' EXIT

cadre up >/dev/null || bad "up"
cadre team create red --roles '[{"name":"ann","workspace":true}]' --wait >/dev/null || bad "team"
guest=$(cadre workspace info red/ann --json | sed -n 's/.*"pid":\([0-9]*\).*/\1/p')
place=$(cadre workspace info red/ann --json | sed -n 's/.*"path":"\([^"]*\)".*/\1/p')
runs() { [ "$(wc -l <"$place/$1")" = "$2" ] 2>/dev/null; }

for _ in 1 2 3; do
	is 0 '^1 guest went on$' cadre restart
	is 0 '^here$' cadre exec red/ann 'echo here'
	cadre restart >/dev/null || bad "restart"
	is 0 '"entries":' cadre --json workspace ls red/ann
done

# A call waits while its guest is stopped by a signal, and is performed as soon as the guest
# continues.
new_host() { # starts a host beside a stopped guest
	kill -STOP "$guest"
	cadre restart >/dev/null || bad "restart"
}
new_host
"$CADRE" exec red/ann 'echo x >>late; echo late' >"$TMPDIR/late" 2>&1 &
late=$!
until_done sleeps $late
kill -0 $late 2>/dev/null || bad "refused at once: $(cat "$TMPDIR/late")"
thaw
wait $late || bad "the guest came, and the call was refused: $(cat "$TMPDIR/late")"
grep -q '^late$' "$TMPDIR/late" || bad "no answer: $(cat "$TMPDIR/late")"

# If the guest does not connect, a call is refused. The refused call has no effect, and its key
# can be used again.
new_host
is 7 "guest does not answer" cadre --key one exec red/ann 'echo x >>one'
thaw
is 0 . cadre --json --key one exec red/ann 'echo x >>one'
until_done runs one 1

# If a client ends while its call waits for the guest, the call's command is not started. The
# command is not started even if the host reads the call and the client's disconnect at the same
# time.
for how in CONT STOP; do
	new_host
	host=$(cut -d' ' -f1 "$CADRE_HOME/host.lock")
	kill -$how "$host"
	"$CADRE" exec red/ann 'echo x >>gone' >/dev/null 2>&1 &
	client=$!
	until_done sleeps $client
	kill -9 $client
	wait $client 2>/dev/null
	kill -CONT "$host"
	is 0 . cadre team list # the host answers, so it has read the client's disconnect
	thaw
	cadre exec red/ann true || bad "the guest is not there again"
	[ ! -e "$place/gone" ] || bad "the command of a client that went was run ($how)"
done

# A host that ends refuses the calls that wait for a guest.
new_host
"$CADRE" workspace ls red/ann >/dev/null 2>"$TMPDIR/err" &
client=$!
until_done sleeps $client
cadre down >/dev/null || bad "down"
wait $client
[ $? = 7 ] || bad "at the end of the host: $(cat "$TMPDIR/err")"
thaw
exit $failed
