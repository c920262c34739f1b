#!/bin/sh
# wait - `cadre wait`, and commands with --wait, end when a condition holds, with a host and
# without. The exit status of the command shows how the wait ended.
set -u
. "$(dirname "$0")/../lib/story.sh"
trap 'cadre team destroy --yes crew >/dev/null 2>&1; until_is "^0$" count_guests; cadre down >/dev/null 2>&1' EXIT
long=$((60 * TEST_SCALE))

# begun WORD...: starts a wait in the background, and returns when the wait has read the state.
begun() {
	"$CADRE" "$@" >"$TMPDIR/said" 2>&1 </dev/null &
	wait=$!
	until_done sleeps "$wait"
}
# ended STATUS PATTERN: the wait ended with this status, and its output matches the pattern.
ended() {
	wait "$wait"
	got=$?
	[ $got = "$1" ] || { bad "the wait ended with $got, not $1: $(cat "$TMPDIR/said")"; return; }
	grep -q -e "$2" "$TMPDIR/said" || bad "the wait does not say '$2': $(cat "$TMPDIR/said")"
}
# ends STATUS PATTERN COMMAND...: like is(), but PATTERN may also match stdout, where a command
# prints how its wait ended.
ends() { either=yes; is "$@"; either=; }
tasks() { # TASK TASK TASK: called without a host, and later with a host
	begun --as a wait task "$1" --timeout $long
	cadre --as a claim "$1" >/dev/null && cadre --as a done "$1" >/dev/null || bad "done $1"
	ended 0 "^task $1 is completed"
	is 0 "^task $1 is completed" cadre wait task "$1"
	ends 9 . cadre wait task "$1" failed
	begun wait task "$2" --timeout $long
	cadre --as a claim "$2" >/dev/null && cadre --as a fail "$2" "no" >/dev/null || bad "fail $2"
	ended 9 "^task $2 is failed: no$"
	is 0 "^task $2 is failed" cadre wait task "$2" completed,failed
	begun wait agent a working --timeout=$long
	cadre --as a claim "$3" >/dev/null || bad "claim $3"
	ended 0 'agent a is working'
	# Once a wait has read the state, a rename of the wait's agent or team does not end the
	# wait.
	begun wait agent crew/a --wait=$long
	sleep "$TEST_SCALE"
	cadre agent update a --new-name ada >/dev/null && cadre --as ada release "$3" >/dev/null || bad "release $3"
	ended 0 'agent crew/ada is ready'
	cadre --as ada claim "$3" >/dev/null || bad "claim $3 again"
	begun wait agent ada --wait=$long
	sleep "$TEST_SCALE"
	cadre team update crew --new-name club >/dev/null || bad "no rename"
	cadre agent update ada --new-name a >/dev/null && cadre --as a release "$3" >/dev/null || bad "release $3 again"
	ended 0 'agent a is ready'
	cadre team update club --new-name crew >/dev/null || bad "no rename back"
	# A wait fails if its time is over, if its task does not exist, or if its time is not a
	# number.
	is 7 "timeout: after 1 s task $3 is ready" cadre wait task "$3" --timeout 1
	grep -q "hint: The work goes on. Wait again with: cadre wait task $3" "$TMPDIR/err" || bad "no hint"
	is 7 "task $3 is ready" cadre wait task "#$3" completed,failed --timeout 0
	grep -q "Wait again with: cadre wait task $3 completed,failed" "$TMPDIR/err" || bad "the hint: $(cat "$TMPDIR/err")"
	# The state at the beginning ends no wait for changes, not even the state of an agent at rest.
	is 7 "nothing has come; task $3 is ready; a is ready" cadre wait "$3" a --timeout 1
	grep -q "Wait again with: cadre wait $3 a" "$TMPDIR/err" || bad "no hint: $(cat "$TMPDIR/err")"
	is 3 'there is no task 099' cadre wait task 099 --timeout 5
	is 2 'wait-seconds must be' cadre wait task "$3" --timeout soon
	is 2 'wait must be seconds' cadre wait task "$3" --wait=soon
}

cadre team create crew --roles a,b >/dev/null
seq -f 'task %g' 8 | cadre task create - >/dev/null
tasks 001 002 003
# A wait continues if its team is renamed, and ends if its team is destroyed.
cadre team create other >/dev/null || bad "other"
cadre --team other task create "one" >/dev/null && cadre --team other task create "two" >/dev/null || bad "tasks of other"
begun --team other wait task 001 cancelled --timeout $long
sleep "$TEST_SCALE"
cadre team update other --new-name another >/dev/null && cadre --team another task cancel 001 >/dev/null || bad "rename"
ended 0 'task 001 is cancelled'
# If a wait's time is over, the hint for a further wait contains the team's present name.
begun --team another wait task 002 --timeout $((15 * TEST_SCALE))
first=$wait
"$CADRE" wait team another working --timeout $((15 * TEST_SCALE)) >"$TMPDIR/team" 2>&1 </dev/null &
second=$!
until_done sleeps "$second"
sleep "$TEST_SCALE"
cadre team update another --new-name other >/dev/null || bad "rename while two wait"
wait=$first
ended 7 'Wait again with: cadre --team other wait task 002$'
wait=$second
until_done grep -q 'hint' "$TMPDIR/team"
cp "$TMPDIR/team" "$TMPDIR/said"
ended 7 'Wait again with: cadre wait team other working$'
cadre team update other --new-name another >/dev/null || bad "rename back"
begun --team another wait task 002 --timeout $long
first=$wait
"$CADRE" --team another wait agent lead working --timeout $long >"$TMPDIR/agent" 2>&1 </dev/null &
second=$!
until_done sleeps "$second"
sleep "$TEST_SCALE"
cadre team destroy --yes another >/dev/null || bad "destroy"
wait=$first
ended 3 'not_found: the agent.s team is destroyed'
wait=$second
until_done grep -q 'hint' "$TMPDIR/agent"
cp "$TMPDIR/agent" "$TMPDIR/said"
ended 3 'not_found: the agent.s team is destroyed'
# A wait's team may be destroyed, and another team may get the name before the wait reads the
# state again. The wait ends, and does not continue with the other team of the same name.
again() { # WORD...: waits in team `other`, while another team gets this name
	cadre team create other --roles a >/dev/null && cadre --team other task create one >/dev/null || bad "other"
	"$CADRE" --team other wait "$@" --timeout $long >"$TMPDIR/said" 2>&1 </dev/null &
	wait=$!
	until_done sleeps "$wait"
	waits 1
	kill -STOP "$wait"
	cadre team destroy --yes other >/dev/null && cadre team create other --roles a >/dev/null &&
		cadre --team other task create one >/dev/null && cadre --team other --as a claim 001 >/dev/null || bad "made anew"
	kill -CONT "$wait"
	ended 3 'not_found: the agent.s team is destroyed'
	cadre team destroy --yes other >/dev/null || bad "destroy it again"
}
again task 001 claimed
again agent a working

# The end of a lease makes no commit, so a wait itself reads the state again when a lease ends.
cadre --as a claim 003 --lease-seconds 5 >/dev/null
begun wait task 003 pending --timeout $long
ended 0 'task 003 is ready'

# If no task is ready, `cadre claim` has its own exit status, which can end a loop. With --json
# a claim that gets no task still prints its usual answer.
cadre --as b claim 004 >/dev/null && cadre --as b done 004 >/dev/null || bad "claim 004"
n=0
while cadre --as b claim >"$TMPDIR/out" 2>&1; do
	cadre --as b done >/dev/null || bad "done of a claim"
	n=$((n + 1))
done
[ $n = 5 ] || bad "the loop took $n tasks, not 5"
ends 8 'no task' cadre --as b claim
ends 8 '^{.*"ready":0.*}$' cadre --as b claim --json
ends 8 'no task' cadre --as b claim --wait=1

# INT ends only the wait, and `cadre wait` prints the command that continues the wait.
cadre task create "task 9" >/dev/null
/usr/bin/python3 - "$CADRE" "$TMPDIR/said" <<'PY' || bad "INT: $(cat "$TMPDIR/said")"
import signal, subprocess, sys, time
said = open(sys.argv[2], "w")
run = subprocess.Popen([sys.argv[1], "wait", "task", "009"], stdout=said, stderr=said)
def catches(number): # whether `cadre wait` has set its signal handler
    status = open(f"/proc/{run.pid}/status").read()
    return int(status.split("SigCgt:")[1].split()[0], 16) >> number - 1 & 1
while not catches(signal.SIGINT) and run.poll() is None:
    time.sleep(0.01)
run.send_signal(signal.SIGINT)
assert run.wait() == -signal.SIGINT
PY
grep -q 'only the wait ends, the work goes on; wait again with: cadre wait task 009$' "$TMPDIR/said" || bad "INT says: $(cat "$TMPDIR/said")"

# Waits for tasks and agents work with a host too, even if the host is killed during a wait.
cadre up >/dev/null || bad "up"
seq -f 'task %g' 10 11 | cadre task create - >/dev/null
tasks 009 010 011
begun wait task 011 --timeout $long
kill -9 "$(cadre status --json | sed 's/.*"pid":\([0-9]*\).*/\1/')"
cadre --as a claim 011 >/dev/null && cadre --as a done 011 >/dev/null || bad "done without the host"
ended 0 'task 011 is completed'
cadre up >/dev/null || bad "up again"

# A wait for a result also continues if its team is renamed.
cadre team create other --roles a >/dev/null && cadre --team other task create one >/dev/null || bad "other"
cadre --team other task assign 001 a --command true >/dev/null || bad "assign"
begun --team other wait result 001 --timeout $long
waits 1
cadre team update other --new-name another >/dev/null && cadre --team another task cancel 001 >/dev/null || bad "cancel"
ended 9 'the command of task 001 is cancelled'
cadre team destroy --yes another >/dev/null || bad "destroy another"

# A wait for a workspace also continues if its team is renamed.
cadre team create other --roles '[{"name":"a","workspace":true}]' --wait >/dev/null || bad "other with a workspace"
begun --team other wait workspace other/a stopped --timeout $long
waits 1
cadre team update other --new-name another >/dev/null && cadre workspace stop another/a >/dev/null || bad "stop"
ended 0 'workspace other-a-.* is stopped'
cadre team destroy --yes another >/dev/null || bad "destroy another"

# With --wait, a command that begins some work ends only when the work is done.
mkdir "$TMPDIR/gold"
echo x >"$TMPDIR/gold/x"
is 0 'workspace crew-a-.* is ready' cadre workspace create --team crew --agent a --source "$TMPDIR/gold" --wait
is 0 'ready' cadre workspace info crew/a
is 0 '"waited":{.*"state":"ready","reached":true' cadre workspace fork crew/a --agent b --wait=$long --json
cadre exec crew/b 'test -f x' || bad "the fork lacks a file"
is 0 'is stopped' cadre workspace stop crew/b --wait
[ "$(count_guests)" = 1 ] || bad "$(count_guests) guests behind stop --wait"
is 0 'is ready' cadre workspace start crew/b --wait
cadre exec crew/b true || bad "not up behind start --wait"
is 0 'is destroyed' cadre workspace destroy --yes crew/b --wait
[ "$(count_guests)" = 1 ] || bad "$(count_guests) guests behind destroy --wait"
[ "$(ls "$CADRE_HOME/workspaces" | wc -l)" = 1 ] || bad "its folder is there"
cadre task create "task 12" >/dev/null
cadre task create "task 13" >/dev/null
is 0 'the command of task 012 is done$' cadre task assign 012 a --command 'sleep 0.3; echo hello' --wait
is 0 hello cadre result 012
is 0 'task 012: exit code 0$' cadre result 012
is 0 'EXIT CODE' env COLUMNS=60 "$CADRE" results --table
is 0 '  a   *0  ' env COLUMNS=80 "$CADRE" results --table
ends 9 '"waited":{.*"exit_code":3,"stderr":"boom","reached":false,"over":true' cadre task assign 013 a --command 'sleep 2; echo boom >&2; exit 3' --wait --json
ends 9 . cadre wait result 013
is 0 ' 3 .* boom' env COLUMNS=80 "$CADRE" results --table
! cadre result 013 --table | grep -q success || bad "the exit code is told twice"
is 0 'team crew is ' cadre wait team crew
cadre task create "task 14" >/dev/null
is 0 'assigned task 014 to b' cadre task assign 014 b --wait
grep -q 'the command began nothing to wait for' "$TMPDIR/err" || bad "nothing to wait for, and no word"
ends 7 'timeout: after 1 s the command of task' cadre assignment retry "$(cadre assignments --json |
	sed 's/.*"message_id":"\([^"]*\)"[^{}]*"task":"013".*/\1/')" --wait=1

# The host cannot copy the folder `gold`, because a limit on file sizes keeps the host from
# writing the folder's large file.
cadre down >/dev/null
(ulimit -f 40000 && cadre up >/dev/null) || bad "up with a limit"
truncate -s 64M "$TMPDIR/gold/large"
ends 9 'is failed' cadre workspace create --team crew --source "$TMPDIR/gold" --wait
ends 9 'workspaces that failed: 1' cadre team create two --golden "$TMPDIR/gold" \
	--roles '[{"name":"w","workspace":true}]' --wait
is 4 'was never made' cadre workspace fork two/w
cadre down >/dev/null
CADRE_LIMITS_MAX_CONCURRENT_FORKS=1 cadre up >/dev/null || bad "up without a limit"

# Workspaces are made one after the other. A workspace that is still being made cannot be
# copied. The refused copy leaves no row in the state.
rm "$TMPDIR/gold/large"
head -c 100000000 /dev/urandom >"$TMPDIR/gold/large"
cadre team create big --golden "$TMPDIR/gold" --roles '[{"name":"w","workspace":true,"count":8}]' >/dev/null
is 7 'unavailable: big-w-8-.* is still being made' cadre workspace fork big/w-8
grep -q 'hint: Wait for it: cadre wait workspace big-w-8-' "$TMPDIR/err" || bad "no hint: $(cat "$TMPDIR/err")"
is 7 'is still being made' cadre team create late --golden big/w-8 --roles '[{"name":"w","workspace":true}]'
is 0 'team big is ready' cadre wait team big --timeout $long
[ "$(cadre workspace list --team big | grep -c ready)" = 8 ] || bad "not ready: $(cadre workspace list --team big)"
cadre workspace list --team big | grep -q failed && bad "a row is left: $(cadre workspace list --team big)"
for team in big two; do
	is 0 "team $team is destroyed" cadre team destroy --yes $team --wait
done
[ "$(count_guests)" = 1 ] || bad "$(count_guests) guests behind team destroy --wait"
is 0 'team big is destroyed' cadre wait team big destroyed
# A destroyed team stays destroyed, so a wait for another state of the team ends. A wait for a
# team that never existed ends with not_found.
ends 9 'team big is destroyed' cadre wait team big
ends 9 'team big is destroyed' cadre wait team big working
ends 9 'workspace big-w-4-.* is destroyed' cadre wait workspace big/w-4
ends 9 'workspace big-w-4-.* is destroyed' cadre --team big wait workspace w-4 stopped
is 3 'no team bag' cadre wait team bag
is 0 'exit status is 0 if the awaited state is reached, and 9 .* 7 .* 3 ' sh -c '"$CADRE" help wait | tr "\n" " "'
is 3 'no team big' cadre wait workspace big/w-9

# Without a host no process ends a guest. When the time of `team destroy --wait` is over, the
# command prints how many guests still run.
cadre team create left --golden "$TMPDIR/gold" --roles '[{"name":"w","workspace":true}]' --wait >/dev/null || bad "left"
cadre down >/dev/null
ends 7 'timeout: after 1 s team left is destroyed; guests that still run: 1' cadre team destroy --yes left --wait=1
begun wait team left destroyed --timeout $long
cadre up >/dev/null || bad "up for the guest"
ended 0 'team left is destroyed$'

# On a terminal `cadre wait` says what it waits for, and shows a line that fits the width and is
# removed at the end. The last line is the next command. On
# a pipe `cadre wait` prints only its last line.
cat >"$TMPDIR/watch" <<'PY'
import re, subprocess, sys
import terminal
columns, cadre = int(sys.argv[1]), sys.argv[2]
told = False
def heard(said):
    global told
    if not told and re.search(rb"\d s  ", said):
        told = True
        subprocess.run([cadre, "--as", "b", "done", "014"], stdout=subprocess.DEVNULL, check=True)
said, status = terminal.run([cadre, "wait", "task", "014"], columns, heard)
drawn = terminal.drawn(said)
print("status", status, "widest", max(map(len, drawn[:-1])), "first", drawn[0], "left", terminal.left(said))
PY
cadre --as b claim 014 >/dev/null
export TERM=xterm
is 0 'status 0 widest 39 first .*task 014 is claimed.* left next: cadre task show 014$' env PYTHONPATH="$here/lib" /usr/bin/python3 "$TMPDIR/watch" 40 "$CADRE"
is 0 '^task 014 is completed$' cadre wait task 014
[ "$(wc -l <"$TMPDIR/out")" = 1 ] && [ ! -s "$TMPDIR/err" ] || bad "a pipe sees more than the end"

# A host that is stopped by a signal delays a caller no longer than the caller's own limit. The
# host does not delay `status --line`, which is for a shell's prompt.
cadre up >/dev/null || bad "up"
host=$(cadre up --json | sed -n 's/.*"pid":\([0-9]*\).*/\1/p')
kill -STOP "$host"
is 0 '^crew' cadre status --line
is 7 'the host has not answered in that time' cadre wait task 001 cancelled --wait=1
kill -CONT "$host"

# If a wait needs a host, `cadre wait` waits ten seconds for a host to start, and prints one
# line about the missing host. The host is killed during the first wait below, and no host runs
# when the later waits begin.
waited 0 workspace crew/a
seq -f 'task %g' 15 16 | cadre task create - >/dev/null
cadre task assign 015 a --command "until [ -e '$TMPDIR/go' ]; do sleep 0.1; done" >/dev/null || bad "assign 015"
waited 0 task 015 in_progress
begun wait result 015 --timeout $long
kill -9 "$host"
ended 7 'unavailable: no host runs; the command of task 015 is running'
[ "$(grep -c 'no host runs; waiting for one (to start a host: cadre up)' "$TMPDIR/said")" = 1 ] || bad "it is not told once: $(cat "$TMPDIR/said")"
grep -q 'The work goes on when a host runs: cadre up. Wait again with: cadre wait result 015' "$TMPDIR/said" || bad "no hint: $(cat "$TMPDIR/said")"
is 7 'no host runs; the command of task 016 is queued' cadre task assign 016 a --command true --wait --json
is 7 'timeout: after 1 s the command of task 016' cadre wait result 016 --wait=1
grep -q 'The work goes on when a host runs: cadre up' "$TMPDIR/err" || bad "the hint is silent on the host"
# No host stops a workspace by itself. If a wait for the state `stopped` fails, its hint
# therefore does not ask for a host.
is 7 'timeout: after 1 s workspace crew-a-.* is ready' cadre wait workspace crew/a stopped --wait=1
grep -q 'when a host runs' "$TMPDIR/err" && bad "the hint is that a host would stop it"
begun wait result 016 --timeout $long
until_done grep -q 'no host runs; waiting' "$TMPDIR/said"
touch "$TMPDIR/go"
cadre up >/dev/null || bad "up for the result"
ended 0 'the command of task 016 is done'

# A task that depends on a failed task cannot be completed. A wait for a task that depends on a
# failed task ends, and names the failed task.
first=$(cadre --as b task create first | sed -n 's/^created task \([0-9]*\).*/\1/p')
behind=$(cadre --as b task create behind --depends-on "$first" | sed -n 's/^created task \([0-9]*\).*/\1/p')
begun wait task "$behind" --timeout $long
cadre --as b claim "$first" >/dev/null && cadre --as b fail "$first" 'no compiler' >/dev/null || bad "fail $first"
ended 9 "^task $behind is waiting: task $first must be completed first, but failed: no compiler$"
exit $failed
