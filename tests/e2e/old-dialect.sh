#!/bin/sh
# old-dialect - this host works with an older guest, and this guest works with an older host.
set -u
. "$(dirname "$0")/../lib/story.sh"
old='' new=''
finish() {
	cadre down >/dev/null 2>&1
	for pid in $old $new; do kill -9 "$pid"; wait "$pid"; done 2>/dev/null
}
trap finish EXIT

# --- an older host -----------------------------------------------------------------
mkdir -p "$TMPDIR/dir" "$TMPDIR/old"
"$CADRE" guest --dir "$TMPDIR/dir" --state "$TMPDIR/new" &
new=$!
until_done test -S "$TMPDIR/new/relay.sock"
/usr/bin/python3 "$here/peers/host.py" "$TMPDIR/new" || bad "an older host and this guest"
wait $new || bad "the guest did not end well"
new=''

# --- an older guest -----------------------------------------------------------------
start_old() {
	/usr/bin/python3 "$here/peers/guest.py" "$TMPDIR/old" >>"$TMPDIR/heard" &
	old=$!
}
start_old
cadre up >/dev/null || bad "up"
cadre team create red --roles ann >/dev/null
cadre workspace create --team red --agent ann --backend attach --address "unix:$TMPDIR/old" >/dev/null || bad "attach"
until_is '^hello$' cadre exec --team red red/ann 'echo hello'
cadre exec --team red red/ann 'exit 5'
[ $? = 5 ] || bad "exit status"
# Five commands are sent at once and end one after the other. Each caller gets the answer to the
# command that it sent.
for i in 1 2 3 4 5; do cadre exec --team red red/ann "sleep 0.$((6 - i)); echo $i" >"$TMPDIR/$i" & pids="${pids-} $!"; done
for pid in $pids; do wait "$pid" || bad "one of five"; done
for i in 1 2 3 4 5; do [ "$(cat "$TMPDIR/$i")" = $i ] || bad "the answer of $i"; done
cadre workspace ls --team red red/ann >"$TMPDIR/out" 2>&1
[ $? = 3 ] || bad "a fault of the older guest"

cadre send ann "are you there" --team red >/dev/null
until_is '^operator operator text are you there$' cat "$TMPDIR/heard"
cadre task create count --team red >/dev/null
cadre task assign 001 ann --command 'echo counted' --team red >/dev/null
waited 0 task 001 --team red
is 0 counted cadre results --team red

# The older guest is killed and started again, and gets no message a second time.
kill -9 $old
wait $old 2>/dev/null
start_old
until_is '^again$' cadre exec --team red red/ann 'echo again'
[ "$(grep -c 'are you there' "$TMPDIR/heard")" = 1 ] || bad "an older guest is told twice"
exit $failed
