#!/bin/sh
# up - `cadre up` runs while a host is killed, asked to end, or stopped by a signal. In one case
# two callers run `cadre up` at once. In every case one host runs in the end, and no task is
# lost.
set -u
. "$(dirname "$0")/../lib/story.sh"
frozen=
finish() {
	[ -z "$frozen" ] || kill -9 "$frozen" 2>/dev/null
	cadre down >/dev/null 2>&1
}
trap finish EXIT
holder() { cut -d' ' -f1 "$CADRE_HOME/host.lock"; }
# up_says PATTERN: `cadre up` succeeds, its output matches PATTERN, and after that a host
# answers.
up_says() {
	cadre up >"$TMPDIR/up" 2>&1 || bad "$story: up: $(cat "$TMPDIR/up")"
	grep -q "$1" "$TMPDIR/up" || bad "$story: no '$1' in $(cat "$TMPDIR/up")"
	sleep 0.3
	cadre status | grep -q 'host  *yes' || bad "$story: no host afterwards"
	cadre task create "made after $story" >/dev/null || bad "$story: no task"
	made=$((made + 1))
}
made=0
cadre init >/dev/null
cadre team create red >/dev/null

story='a start'
up_says '^up: process'
first=$(holder)
up_says '^up already: process '"$first"

story='kill -9'
for _ in 1 2 3; do
	kill -9 "$(holder)"
	up_says '^up: process'
done
[ "$(holder)" != "$first" ] || bad "$story: the old process holds the lock"

story='a polite end'
for _ in 1 2 3 4 5; do
	kill -TERM "$(holder)"
	up_says '^up'
done

story='down at the same time'
"$CADRE" down >/dev/null &
down=$!
sleep 0.02
cadre up >"$TMPDIR/up" 2>&1 || bad "$story: up: $(cat "$TMPDIR/up")"
wait $down || bad "$story: down"
# The test runs `up` again if no host runs, because `up` may have found the host before `down`
# ended it.
! grep -q '^up already' "$TMPDIR/up" || cadre status | grep -q 'host  *yes' ||
	cadre up >/dev/null || bad "$story: up after it"
up_says '^up already'

story='two at once'
kill -9 "$(holder)"
"$CADRE" up >"$TMPDIR/a" 2>&1 &
a=$!
cadre up >"$TMPDIR/b" 2>&1 || bad "$story: $(cat "$TMPDIR/b")"
wait $a || bad "$story: $(cat "$TMPDIR/a")"
for which in a b; do
	grep -q "process $(holder)," "$TMPDIR/$which" ||
		bad "$story: $(cat "$TMPDIR/$which"), and $(holder) holds the lock"
done

story='a child that it was starting'
kill -9 "$(holder)"
/usr/bin/python3 -c 'import fcntl, struct, sys, time
lock = open(sys.argv[1], "r+")
while True:
    try:
        fcntl.fcntl(lock, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))
        break
    except OSError:
        time.sleep(0.01)
print("held", flush=True)
time.sleep(1)' "$CADRE_HOME/host.lock" >"$TMPDIR/child" &
child=$!
until_done test -s "$TMPDIR/child"
"$CADRE" serve >"$TMPDIR/serve" 2>&1 &
serve=$!
serves() { [ "$(holder)" = $serve ]; }
wait $child
until_done serves
up_says '^up already'
grep -q "runs already" "$TMPDIR/serve" && bad "$story: it was taken for a host"

story='a state that was away'
for _ in 1 2 3; do
	door=$(cut -d' ' -f3- "$CADRE_HOME/host.lock")
	mv "$CADRE_HOME" "$CADRE_HOME.away"
	curl -s --unix-socket "${door%/*}/http.sock" http://localhost/api/status >/dev/null
	mv "$CADRE_HOME.away" "$CADRE_HOME"
	up_says '^up: process'
done

story='a frozen host'
frozen=$(holder)
kill -STOP "$frozen"
cadre status | grep -q "^silent  *$frozen" || bad "$story: status does not name it: $(cadre status)"
cadre up --timeout 1 >"$TMPDIR/up" 2>&1
[ $? = 7 ] || bad "$story: up does not time out: $(cat "$TMPDIR/up")"
grep -q "kill -9 $frozen" "$TMPDIR/up" || bad "$story: no hint in $(cat "$TMPDIR/up")"
(sleep 0.5; kill -9 "$frozen") &
up_says '^up: process' # the second host waits until the frozen host has ended, and takes over
wait
[ "$(holder)" != "$frozen" ] || bad "$story: it holds the lock"
frozen=

[ "$(cadre task list --json | grep -o '"title"' | wc -l)" = "$made" ] || bad "a task is lost"
exit $failed
