#!/bin/sh
# hostless - a session works without a host in the same way as with a host. A waiting call of
# `cadre mcp` reads the state again after a commit of another process, and after the end of a
# lease. The program sqlite3 can read the state while many processes write.
set -u
. "$(dirname "$0")/../lib/story.sh"
reader='' writers=''
finish() { for pid in $reader $writers; do kill "$pid" 2>/dev/null; done; }
trap finish EXIT

cadre team create red --roles ann --roles bob --roles cid --json >"$TMPDIR/team" || bad "team create"
token=$(/usr/bin/python3 -c 'import json, sys
print([m["token"] for m in json.load(sys.stdin)["members"] if m["name"] == "ann"][0])' <"$TMPDIR/team")
mkfifo "$TMPDIR/stop"
/usr/bin/python3 "$here/peers/reader.py" "$CADRE_HOME" <"$TMPDIR/stop" >"$TMPDIR/reads" 2>&1 &
reader=$!
exec 3>"$TMPDIR/stop"
for who in 1 2; do
	(
		while [ ! -e "$TMPDIR/enough" ]; do
			cadre send bob "noise of $who" --team red --as bob >/dev/null || echo "failed $who"
			cadre --team red --as bob inbox --limit 50 >/dev/null || echo "failed $who"
		done >"$TMPDIR/writes.$who" 2>&1
	) 3>&- &
	writers="$writers $!"
done
CADRE_TEAM=red CADRE_AGENT=ann CADRE_TOKEN=$token /usr/bin/python3 "$here/peers/hostless.py" "$CADRE" >"$TMPDIR/report" 2>&1 3>&- ||
	bad "hostless.py"
: >"$TMPDIR/enough"
wait $writers
exec 3>&-
wait $reader
reader='' writers=''
grep -v '^done$' "$TMPDIR/report" && bad "see above"
grep -q '^done$' "$TMPDIR/report" || bad "it did not come to its end"
! grep failed "$TMPDIR"/writes.? || bad "a writer was refused"
grep -q '^reads [0-9]*[0-9][0-9]$' "$TMPDIR/reads" || bad "it hardly read: $(cat "$TMPDIR/reads")"
! grep failed "$TMPDIR/reads" || bad "a reader was kept out"
cadre status | grep -q '^host  *no' || bad "a host runs"
exit $failed
