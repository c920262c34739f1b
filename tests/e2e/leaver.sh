#!/bin/sh
# leaver - a guest ends while the host pushes mail to it. The host still runs, and the mail
# stays in the state, at whatever moment the guest ends.
set -u
. "$(dirname "$0")/../lib/story.sh"
guest=''
finish() {
	cadre down >/dev/null 2>&1
	[ -z "$guest" ] || { kill -9 $guest; wait $guest; } 2>/dev/null
}
trap finish EXIT

mkdir -p "$TMPDIR/g"
/usr/bin/python3 "$here/peers/leaver.py" "$TMPDIR/g" "$TMPDIR/report" 40 &
guest=$!
cadre up >/dev/null || bad "up"
cadre team create red --roles ann --roles bob >/dev/null
for n in 1 2 3 4 5; do cadre send ann "mail $n" --team red --as bob >/dev/null; done
pid=$(cut -d' ' -f1 "$CADRE_HOME/host.lock")
cadre workspace create --team red --agent ann --backend attach --address "unix:$TMPDIR/g" >/dev/null || bad "attach"
until_is '^done$' cat "$TMPDIR/report"
[ "$(cut -d' ' -f1 "$CADRE_HOME/host.lock")" = "$pid" ] || bad "the host is another process"
kill -0 "$pid" || bad "the host is gone"
[ "$(cadre --team red --as ann inbox | grep -c 'mail')" = 5 ] || bad "ann has not all five"
exit $failed
