#!/bin/sh
# crowd - more clients connect to the host's socket than the host has places for. The host
# refuses each surplus client with a message. Other clients and guests are not disturbed, and
# the host can be stopped.
set -u
. "$(dirname "$0")/../lib/story.sh"
crowd=''
finish() {
	cadre down >/dev/null 2>&1
	[ -z "$crowd" ] || { kill $crowd; wait $crowd; } 2>/dev/null
	cadre up >/dev/null && cadre team destroy --yes red >/dev/null
	until_is '^0$' count_guests
	cadre down >/dev/null 2>&1
}
trap finish EXIT

(ulimit -n 256 && cadre up) >/dev/null || bad "up"
cadre team create red --roles '[{"name":"ann","workspace":true}]' >/dev/null || bad "team create"
until_is hello cadre exec red/ann echo hello || bad "exec"
pid=$(cut -d' ' -f1 "$CADRE_HOME/host.lock")
socket=$(find "$XDG_RUNTIME_DIR" -name host.sock | head -1)
: >"$TMPDIR/report"
/usr/bin/python3 "$here/peers/crowd.py" "$socket" "$pid" "$TMPDIR/report" &
crowd=$!
until_is '^full$\|^FAILED' cat "$TMPDIR/report" || bad "it was never full"
grep '^FAILED' "$TMPDIR/report" && exit 1
# A command reports the host's answer that there are too many clients. If the host has closed
# the connection, the command works without the host.
cadre team list >"$TMPDIR/told" 2>&1
grep -q -e 'too many clients' -e red "$TMPDIR/told" || bad "told: $(cat "$TMPDIR/told")"
cadre --direct team list | grep -q red || bad "--direct"
cadre down >/dev/null || bad "down"
wait $crowd
crowd=''
grep -v -e '^done$' -e '^full$' "$TMPDIR/report" && bad "see above"
grep -q '^done$' "$TMPDIR/report" || bad "it did not come to its end"
exit $failed
