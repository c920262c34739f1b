#!/bin/sh
# guest-http-hostile - clients send incomplete requests, nonsense and floods to a workspace's
# HTTP door, and some clients never read. Each of these hostile clients gets a status 4xx or no
# answer, and the next teammate is served. The guest's memory stays bounded, and the guest's
# other work continues.
set -u
. "$(dirname "$0")/../lib/story.sh"
export ASAN_OPTIONS="${ASAN_OPTIONS:-}:quarantine_size_mb=2"
finish() {
	cadre team destroy --yes red >/dev/null 2>&1
	until_is '^0$' count_guests
	cadre down >/dev/null 2>&1
}
trap finish EXIT

field() { sed -n "s/.*\"$1\":\"\{0,1\}\([^\",}]*\).*/\1/p"; }
in_place() { cadre exec "$1" sh -c "$2"; }

cadre up >/dev/null || bad "up"
cadre team create red --roles '[{"name":"ann","workspace":true},{"name":"bob","workspace":true}]' >/dev/null || bad "team create"
until_is '"http":"http' cadre agent whois red/bob --json || exit 1
until_done in_place red/ann true || exit 1
url=$(cadre agent whois red/bob --json | field http)
token=$(in_place red/ann "\"$CADRE\" agent door bob --json" | field token)
other=$(in_place red/bob "\"$CADRE\" agent door bob --json" | field token)
guest=$(cadre workspace info red/bob --json | field pid)
in_place red/bob 'head -c 30000000 /dev/zero >large'

/usr/bin/python3 "$here/peers/hostile_http.py" 127.0.0.1 "${url##*:}" "$token" "$other" "$TMPDIR/report" 2>"$TMPDIR/stderr" || cat "$TMPDIR/stderr"
grep -v '^done$' "$TMPDIR/report" && bad "see above"
grep -q '^done$' "$TMPDIR/report" || bad "it never came to its end"

[ "$(cadre workspace info red/bob --json | field pid)" = "$guest" ] || bad "the guest is another process"
peak=$(sed -n 's/^VmHWM:[[:space:]]*\([0-9]*\).*/\1/p' "/proc/$guest/status")
[ "${peak:-200000}" -lt 200000 ] || bad "the guest grew to $peak KiB"
[ "$(in_place red/bob 'ls -A | grep -v "^.cadre$" | tr "\n" " "')" = 'large ' ] ||
	bad "something was left behind: $(in_place red/bob 'ls -A')"
exit $failed
