#!/bin/sh
# hostile - a guest lies about its name, sends floods of messages, and sends nonsense. The host
# refuses the guest or drops its connection, and serves other clients. The host's memory does
# not grow.
set -u
. "$(dirname "$0")/../lib/story.sh"
export ASAN_OPTIONS="${ASAN_OPTIONS:-}:quarantine_size_mb=2"
guest=''
finish() {
	cadre down >/dev/null 2>&1
	[ -z "$guest" ] || { kill -9 $guest; wait $guest; } 2>/dev/null
}
trap finish EXIT

mkdir -p "$TMPDIR/g"
: >"$TMPDIR/report"
/usr/bin/python3 "$here/peers/hostile.py" "$TMPDIR/g" "$TMPDIR/report" &
guest=$!
cadre up >/dev/null || bad "up"
cadre team create red --roles ann --roles bob >/dev/null
cadre team create blue --roles eve >/dev/null
cadre task create work --team red >/dev/null
cadre task create work --team blue >/dev/null
cadre send bob "for bob alone" --team red >/dev/null
pid=$(cut -d' ' -f1 "$CADRE_HOME/host.lock")
cadre workspace create --team red --agent ann --backend attach --address "unix:$TMPDIR/g" >/dev/null || bad "attach"
until_is '^done$' cat "$TMPDIR/report"
grep -v '^done$' "$TMPDIR/report" && bad "see above"
[ "$(cut -d' ' -f1 "$CADRE_HOME/host.lock")" = "$pid" ] || bad "the host is another process"
cadre --team red --as bob inbox >"$TMPDIR/inbox"
grep -q 'for bob alone' "$TMPDIR/inbox" || bad "bob's mail is gone"
[ "$(grep -c '^ann -> bob' "$TMPDIR/inbox")" = 2 ] || bad "bob has not just ann's two"
cadre task show 001 --team red | grep -q 'owner *ann' || bad "ann's claim"
cadre task show 001 --team blue | grep -q 'status *ready' || bad "blue's task was touched"
cadre --team blue --as eve inbox | grep -q 'no messages' || bad "eve has mail"
# If a guest reads nothing, the messages for its agent stay in the state.
: >"$TMPDIR/g/deaf"
head -c 262000 /dev/zero | tr '\0' x >"$TMPDIR/large"
i=0
while [ $i -lt 40 ]; do
	cadre send ann @"$TMPDIR/large" --team red --as bob >/dev/null || bad "send to a guest that does not read"
	i=$((i + 1))
done
cadre --json agent whois ann --team red | grep -q '"queued":40' || bad "ann's mail is not in the rows"
kib=$(sed -n 's/^RssAnon:[[:space:]]*\([0-9]*\).*/\1/p' "/proc/$pid/status")
[ "$kib" -lt 400000 ] || bad "the host has grown to $kib KiB"
exit $failed
