#!/bin/sh
# attach-killed - a guest that no host started is killed while one of its commands runs. Other
# guests work at the same time. The restarted guest ends its own earlier commands, and reports
# these commands as interrupted. No other command is ended. The story also tests the places
# where a guest may keep its spool.
set -u
. "$(dirname "$0")/../lib/story.sh"
patience=300
ann='' bob='' cid=''
finish() {
	cadre down >/dev/null 2>&1
	for pid in $ann $bob $cid; do kill -9 "$pid"; wait "$pid"; done 2>/dev/null
}
trap finish EXIT

# No guest is told which workspace it serves. Each guest is started with a folder of its own.
guest() { # NAME
	env -u CADRE_HOME "$CADRE" guest --dir "$TMPDIR/$1" --state "$TMPDIR/$1-state" \
		--listen "unix:$TMPDIR/$1-sockets" 2>>"$TMPDIR/$1.log" &
}
pid_in() { cat "$TMPDIR/$1/pid" 2>/dev/null; }
mkdir "$TMPDIR/ann" "$TMPDIR/bob"
guest ann && ann=$!
guest bob && bob=$!

cadre up >/dev/null || bad "up"
cadre team create red --roles '[{"name":"ann"},{"name":"bob"},{"name":"cid"}]' >/dev/null || bad "team create"
for who in ann bob; do
	cadre workspace create --team red --agent $who --backend attach \
		--address "unix:$TMPDIR/$who-sockets" >/dev/null || bad "attach $who"
	waited 0 workspace red/$who --team red
	cadre task create "work of $who" --team red >/dev/null
done
cadre --team red --as lead task assign 001 ann --command 'echo $$ >pid; echo ran >>runs; sleep 1000' >/dev/null
cadre --team red --as lead task assign 002 bob --command 'echo $$ >pid; while [ ! -e go ]; do sleep 0.1; done' >/dev/null
until_is . pid_in ann
until_is . pid_in bob

kill -9 "$ann"
wait "$ann" 2>/dev/null
kill -0 "$(pid_in ann)" || bad "the command died with its guest: nothing is left to be ended"
guest ann && ann=$!
waited 0 task 001 failed --team red
is 0 interrupted cadre --team red result 001
kill -0 "$ann" || bad "the guest that came back ended: $(cat "$TMPDIR/ann.log")"
gone() { kill -0 "$(pid_in ann)" 2>/dev/null || echo gone; }
until_is gone gone
[ "$(wc -l <"$TMPDIR/ann/runs")" = 1 ] || bad "the command ran again"
until_is '^ann$' cadre exec --team red red/ann sh -c 'echo $CADRE_AGENT'

# The command of the other guest still runs, so the restarted guest has not ended this command.
kill -0 "$(pid_in bob)" || bad "a guest ended the command of another"
: >"$TMPDIR/bob/go"
waited 0 task 002 --team red

# A guest's own files lie in its workspace only if the guest is started with --state-inside.
# Calls that read or write files of the workspace do not reach the guest's own files.
mkdir "$TMPDIR/cid"
env -u CADRE_HOME "$CADRE" guest --dir "$TMPDIR/cid" --state "$TMPDIR/cid/own" >"$TMPDIR/out" 2>&1 &&
	bad "a guest that keeps its own in its workspace"
grep -q 'lies in' "$TMPDIR/out" && grep -q -e --state-inside "$TMPDIR/out" || bad "why not: $(cat "$TMPDIR/out")"
[ -z "$(ls -A "$TMPDIR/cid")" ] || bad "what was refused left $(ls -A "$TMPDIR/cid")"
env -u CADRE_HOME "$CADRE" guest --dir "$TMPDIR/cid" --state "$TMPDIR/cid/own" --state-inside \
	--listen "unix:$TMPDIR/cid-sockets" &
cid=$!
cadre workspace create --team red --agent cid --backend attach --address "unix:$TMPDIR/cid-sockets" >/dev/null || bad "attach cid"
until_is '^here$' cadre exec --team red red/cid sh -c 'echo here; ln -s own link'
for path in own/spool.db own own/ ./own/guest.lock own/../own/spool.db-wal link/spool.db "$TMPDIR/cid/own/spool.db"; do
	cadre workspace read red/cid "$path" --team red >/dev/null 2>&1 && bad "read $path"
	echo x | cadre workspace write red/cid "$path" - --team red >/dev/null 2>&1 && bad "write $path"
	cadre workspace edit red/cid "$path" S T --team red >/dev/null 2>&1 && bad "edit $path"
done
cadre workspace ls red/cid own --team red 2>&1 | grep -q 'own belongs to the guest, not to the workspace' || bad "ls of the guest's own"
echo x | cadre workspace write red/cid owner - --team red >/dev/null || bad "a name that begins like it"
exit $failed
