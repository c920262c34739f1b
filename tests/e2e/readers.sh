#!/bin/sh
# readers - commands run without a host, one after the other or at the same time. Another
# process can always read the state with sqlite3, and the state's write-ahead log does not grow.
set -u
. "$(dirname "$0")/../lib/story.sh"

cadre team create red --roles ann >/dev/null || bad "team create"
mkfifo "$TMPDIR/stop"
/usr/bin/python3 "$here/peers/reader.py" "$CADRE_HOME" <"$TMPDIR/stop" >"$TMPDIR/report" 2>&1 &
reader=$!
exec 3>"$TMPDIR/stop"
n=0
while [ $n -lt 15 ]; do
	n=$((n + 1))
	cadre task create "task $n" --team red >/dev/null || bad "task create"
	"$CADRE" task list --team red >/dev/null &
	cadre send ann "mail $n" --team red --as ann >/dev/null || bad "send"
	wait $!
done
exec 3>&-
wait $reader
grep -q '^reads [0-9]*[0-9][0-9]$' "$TMPDIR/report" || bad "it hardly read: $(cat "$TMPDIR/report")"
! grep failed "$TMPDIR/report" || bad "a reader was kept out"
cadre task list --team red >/dev/null
[ -s "$CADRE_HOME/state.db" ] || bad "there is no state"
[ ! -s "$CADRE_HOME/state.db-wal" ] || bad "the log is left: $(wc -c <"$CADRE_HOME/state.db-wal") bytes"
exit $failed
