#!/bin/sh
# guest-http-hostile - half requests, nonsense, floods and those who never read, at a
# workspace's HTTP door: each gets a 4xx or nothing, the next teammate is served, the
# guest does not grow, and the rest of it goes on.
set -u
: "${CADRE:=$(command -v cadre)}"
here=$(cd "$(dirname "$0")/.." && pwd)
export CADRE_HOME="$TMPDIR/s" NO_COLOR=1 PYTHONDONTWRITEBYTECODE=1
export ASAN_OPTIONS="${ASAN_OPTIONS:-}:quarantine_size_mb=2"
cadre() { "$CADRE" "$@"; }
failed=0
finish() {
	cadre team destroy red >/dev/null 2>&1
	n=0
	while pgrep -f "guest --workspace .*$CADRE_HOME/" >/dev/null && [ $n -lt 300 ]; do
		n=$((n + 1))
		sleep 0.1
	done
	cadre down >/dev/null 2>&1
}
trap finish EXIT

bad() { echo "FAILED: $*"; failed=1; }
field() { sed -n "s/.*\"$1\":\"\{0,1\}\([^\",}]*\).*/\1/p"; }
in_place() { cadre exec "$1" sh -c "$2"; }

cadre up >/dev/null || bad "up"
cadre team create red --roles '[{"name":"ann","workspace":true},{"name":"bob","workspace":true}]' >/dev/null || bad "team create"
n=0
until cadre agent whois red/bob --json | grep -q '"http":"http'; do
	n=$((n + 1))
	[ $n -lt 300 ] || { bad "bob's door does not open"; exit 1; }
	sleep 0.1
done
url=$(cadre agent whois red/bob --json | field http)
token=$(in_place red/ann "\"$CADRE\" agent door bob --json" | field token)
guest=$(cadre workspace info red/bob --json | field pid)
in_place red/bob 'head -c 30000000 /dev/zero >large'

python3 "$here/peers/hostile_http.py" 127.0.0.1 "${url##*:}" "$token" "$TMPDIR/report" 2>"$TMPDIR/stderr" || cat "$TMPDIR/stderr"
grep -v '^done$' "$TMPDIR/report" && bad "see above"
grep -q '^done$' "$TMPDIR/report" || bad "it never came to its end"

[ "$(cadre workspace info red/bob --json | field pid)" = "$guest" ] || bad "the guest is another process"
peak=$(sed -n 's/^VmHWM:[[:space:]]*\([0-9]*\).*/\1/p' "/proc/$guest/status")
[ "${peak:-200000}" -lt 200000 ] || bad "the guest grew to $peak KiB"
[ "$(in_place red/bob 'ls -A | grep -v "^.cadre$" | tr "\n" " "')" = 'large ' ] ||
	bad "something was left behind: $(in_place red/bob 'ls -A')"
exit $failed
