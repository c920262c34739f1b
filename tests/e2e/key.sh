#!/bin/sh
# key - an idempotency key also works for calls that a guest performs. A repeated call gets the
# first call's answer, and no call is performed twice. If a call did nothing, its key can be
# used again.
set -u
. "$(dirname "$0")/../lib/story.sh"
finish() {
	cadre up >/dev/null 2>&1
	cadre team destroy --yes red >/dev/null 2>&1
	until_is '^0$' count_guests
	cadre down >/dev/null 2>&1
}
trap finish EXIT

field() { sed -n "s/.*\"$1\":\"\{0,1\}\([^\",}]*\).*/\1/p"; }
says() { # STATUS PATTERN COMMAND...
	want=$1 pattern=$2
	shift 2
	cadre "$@" >"$TMPDIR/out" 2>&1
	got=$?
	[ $got = "$want" ] || bad "$* ends with $got, not $want: $(head -c 300 "$TMPDIR/out")"
	grep -q -e "$pattern" "$TMPDIR/out" || bad "$*: no '$pattern' in $(head -c 300 "$TMPDIR/out")"
}
lines() { cadre exec red/a "cat $1 2>/dev/null | wc -l"; }

cadre up >/dev/null || bad "up"
cadre team create red --roles '[{"name":"a","workspace":true}]' >/dev/null || bad "team create"
export CADRE_TEAM=red
waited 0 workspace red/a

# If a command has ended, a repeated call gets the first call's answer, and the command does not
# run again. For long output the answer to the repeated call contains the beginning of the
# output, and the full size of the output.
says 0 '"exit_code":3,"stdout":"once\\n"' --json --key exec exec red/a "echo x >>ran; echo once; exit 3"
says 0 '"exit_code":3,"stdout":"once\\n".*"replayed":true' --json --key exec exec red/a "echo x >>ran; echo once; exit 3"
[ "$(lines ran)" = 1 ] || bad "it ran again"
says 0 '"exit_code":0' --json --key long exec red/a "seq 10000"
says 0 '"stdout_size":48894.*"replayed":true' --json --key long exec red/a "seq 10000"
says 4 'used for another call' --key exec exec red/a "echo other"

# If a command still runs, a repeated call does not begin the command again, even if the first
# caller has ended.
"$CADRE" --json --key slow exec red/a "echo x >>slow; until [ -e go ]; do sleep 0.1; done; echo done" >/dev/null 2>&1 &
caller=$!
until_is '^1$' lines slow
says 4 'a call with this key began already, in workspace red-a.*its answer is not kept' --json --key slow exec red/a "echo x >>slow; until [ -e go ]; do sleep 0.1; done; echo done"
kill $caller
wait $caller 2>/dev/null
cadre exec red/a "touch go"
until_is '"exit_code":0,"stdout":"done\\n".*"replayed":true' cadre --json --key slow exec red/a "echo x >>slow; until [ -e go ]; do sleep 0.1; done; echo done"
[ "$(lines slow)" = 1 ] || bad "a slow one ran again"

# If a call prints a command's output while the command runs, the repeated call also prints the
# output of that run.
"$CADRE" --key followed exec red/a "echo x >>followed; until [ -e on ]; do sleep 0.1; done; echo done" >/dev/null 2>&1 &
caller=$!
until_is '^1$' lines followed
kill -9 $caller
wait $caller 2>/dev/null
waits 0.5
(until_is '^1$' lines followed; cadre exec red/a "touch on") &
says 0 '^done$' --key followed exec red/a "echo x >>followed; until [ -e on ]; do sleep 0.1; done; echo done"
wait $!
[ "$(lines followed)" = 1 ] || bad "a followed one ran again"

# A repeated call does not begin a second job, and does not send a second signal to a job.
says 0 '"job_id"' --json --key job workspace run red/a "echo x >>job; sleep 1000"
job=$(field job_id <"$TMPDIR/out")
says 0 "\"job_id\":$job,\"replayed\":true" --json --key job workspace run red/a "echo x >>job; sleep 1000"
until_is '^1$' lines job
says 0 "\"job_id\":$job" --json --key kill workspace kill red/a "$job"
says 0 "\"job_id\":$job,\"replayed\":true" --json --key kill workspace kill red/a "$job"
[ "$(lines job)" = 1 ] || bad "a job was begun again"
says 3 'unknown job_id' --key lost workspace kill red/a 999
says 0 "\"job_id\":$job" --json --key lost workspace kill red/a "$job"

# If an edit finds no match, its key can be used again. A repeated edit gets the first edit's
# answer.
cadre exec red/a "echo one >file"
says 2 'old_string' --key edit workspace edit red/a file two three
says 0 'file' --key edit workspace edit red/a file one three
says 0 '"replayed":true' --json --key edit workspace edit red/a file one three
says 4 'used for another call' --key edit workspace edit red/a file three four
[ "$(cadre exec red/a 'cat file')" = three ] || bad "the edit is not what it was told"

# A repeated write does not overwrite a later change of the file.
says 0 path --json --key put workspace write red/a put YQ==
cadre exec red/a "echo later >put"
says 0 '"replayed":true' --json --key put workspace write red/a put YQ==
[ "$(cadre exec red/a 'cat put')" = later ] || bad "a repeated write went over another one"

# A command whose folder does not exist is not begun, so its key can be used again. If no guest
# runs, a command is not begun, and its key can be used again.
waited 0 workspace red/a
says 3 'nowhere' --key dir exec red/a --workdir nowhere -- pwd
says 0 . --key dir exec red/a -- pwd
cadre workspace stop red/a >/dev/null || bad "stop"
says 7 'unavailable' --key later exec red/a -- pwd
cadre workspace start red/a >/dev/null || bad "start"
waited 0 workspace red/a
says 0 . --key later exec red/a -- pwd
exit $failed
