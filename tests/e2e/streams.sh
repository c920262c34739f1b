#!/bin/sh
# streams - the output of a command in a workspace appears while the command runs. The command
# gets the signals that its client gets. The command still runs, and its output still appears,
# after a restart of the host.
set -u
. "$(dirname "$0")/../lib/story.sh"
guests='' behind=''
finish() {
	cadre down --all >/dev/null 2>&1
	for pid in $guests $behind; do kill -9 "$pid"; wait "$pid"; done 2>/dev/null
}
trap finish EXIT
out=$TMPDIR/stdout err=$TMPDIR/stderr

# A shell makes its background commands ignore INT and QUIT. A command that a person starts in a
# terminal does not ignore INT and QUIT.
cat >"$TMPDIR/person" <<'PY'
import os, signal, sys
for number in signal.SIGINT, signal.SIGQUIT:
    signal.signal(number, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])
PY
# run WORD...: starts `cadre exec` in the background, with its output in files. Sets $behind to
# the process number of this command.
run() {
	: >"$out"
	/usr/bin/python3 "$TMPDIR/person" "$CADRE" --team red exec "$@" >"$out" 2>"$err" &
	behind=$!
}
# ends STATUS: the command in the background ends with this status.
ends() {
	wait "$behind" 2>/dev/null
	got=$?
	[ $got = "$1" ] || { bad "$2: ended with $got, not $1"; head -5 "$out" "$err"; }
	behind=''
}
at() { cadre --team red exec "$@"; }
gone() { # FILE: all processes with a number in FILE have ended
	for pid in $(cat "$1"); do ! kill -0 "$pid" 2>/dev/null || return 1; done
}
there() { [ "$(wc -l <"$1")" = "$2" ] 2>/dev/null; }
heard() { grep -q '^ShdPnd:.0*$' "/proc/$1/status"; } # no signal of the process is pending
host() { cut -d' ' -f1 "$CADRE_HOME/host.lock"; }

cadre up >/dev/null || bad "up"
cadre team create red --roles '[{"name":"ann","workspace":true},{"name":"bob"},{"name":"cid"}]' >/dev/null || bad "team"
until_done at red/ann true
mkdir "$TMPDIR/near" "$TMPDIR/far"
"$CADRE" guest --dir "$TMPDIR/near" --state "$TMPDIR/n" --listen "unix:$TMPDIR/n/sockets" &
guests=$!
echo "a secret" >"$TMPDIR/token"
port=$(free_port) || bad "no free port"
env -u CADRE_HOME "$CADRE" guest --dir "$TMPDIR/far" --state "$TMPDIR/f" --listen "tcp:127.0.0.1:$port" --token-file "$TMPDIR/token" &
guests="$guests $!"
cadre workspace create --team red --agent bob --backend attach --address "unix:$TMPDIR/n/sockets" >/dev/null || bad "attach"
cadre workspace create --team red --agent cid --backend attach --address "tcp:127.0.0.1:$port" --token @"$TMPDIR/token" >/dev/null || bad "attach"
until_done at red/bob true
until_done at red/cid true

# --- output is seen before the command ends, over every kind of link --------------------------

until_end='until [ -e go ]; do sleep 0.05; done'
for who in ann bob cid; do
	run red/$who "echo one; echo two >&2; $until_end; echo three; exit 3"
	until_is '^one$' cat "$out"
	until_is '^two$' cat "$err"
	kill -0 "$behind" || bad "red/$who: it has ended already"
	at red/$who touch go
	ends 3 "red/$who"
	[ "$(cat "$out")" = "one
three" ] || bad "red/$who: $(cat "$out")"
done

# The client prints whole characters, even if the bytes of a character arrive one by one, or if
# the output is long.
at red/ann 'printf "\303"; sleep 0.4; printf "\244\n"; sleep 0.4; printf "\342\202"; sleep 0.4; printf "\254\n"' >"$out"
[ "$(cat "$out")" = "ä
€" ] || bad "characters in parts: $(cat "$out")"
both='i=0; while [ $i -lt 20 ]; do head -c 70000 /dev/zero | tr "\0" a; head -c 50000 /dev/zero | tr "\0" "\001" >&2; i=$((i + 1)); sleep 0.03; done'
at red/cid "$both" >"$out" 2>"$err" || bad "long output"
[ "$(tr -dc a <"$out" | wc -c)" = 1400000 ] || bad "stdout has $(wc -c <"$out") of 1400000 bytes"
[ "$(tr -dc '\001' <"$err" | wc -c)" = 1000000 ] || bad "stderr has $(wc -c <"$err") of 1000000 bytes"
at red/ann 'head -c 1500000 /dev/zero | tr "\0" a; sleep 0.5; head -c 1500000 /dev/zero | tr "\0" b; exit 4' >"$out" 2>"$err"
[ $? = 4 ] || bad "the end of 3 MB"
[ "$(wc -c <"$out")" = 2000000 ] || bad "3 MB: $(wc -c <"$out") bytes"
grep -q 'stdout was cut: 2000000 of 3000000 bytes' "$err" || bad "the cut is not said: $(cat "$err")"
at --json red/cid 'head -c 3500000 /dev/zero | tr "\0" e >&2; echo short' >"$out"
grep -q '"stdout":"short\\n".*"stderr_size":3500000' "$out" || bad "--json of 3.5 MB: $(tail -c 100 "$out")"
grep -q stdout_size "$out" && bad "a size of what was not cut"
cadre --team red --json workspace run red/ann 'head -c 4000000 /dev/zero | tr "\0" a' >"$out"
job=$(sed -n 's/.*"job_id":\([0-9]*\).*/\1/p' "$out")
until_is '"running":false.*"stdout_size":4000000' cadre --team red workspace poll red/ann "$job" --stdout-offset 2097152 --json

# The client reports output that is not text in UTF-8.
for sleep in 0 0.5; do
	at red/ann "sleep $sleep; printf 'a\377b\n'" >"$out" 2>"$err" || bad "bytes"
	[ "$(cat "$out")" = 'a�b' ] && grep -q 'U+FFFD stands for NUL, and for bytes' "$err" || bad "bytes: $(cat "$out" "$err")"
	at --json red/ann "sleep $sleep; printf 'a\0b'" >"$out"
	grep -q '"stdout":"a�b".*"replaced":true' "$out" || bad "--json, bytes: $(cat "$out")"
done
at --json red/ann "printf 'ä�'" >"$out" 2>"$err"
grep -q replaced "$out" "$err" && bad "text is told as bytes: $(cat "$out" "$err")"

at red/ann --max-output-bytes 3 -- 'echo seven; sleep 0.5' 2>"$err" >/dev/null
grep -q 'stdout was cut: 3 of 6 bytes' "$err" || bad "a short cut: $(cat "$err")"

# Arguments, folder, environment, limits and --json work for a streamed command too.
at red/ann printf '%s|' 'a b' c >"$out"
[ "$(cat "$out")" = 'a b|c|' ] || bad "words: $(cat "$out")"
at red/ann mkdir deep
at red/ann --workdir deep --env A=b -- 'sleep 0.5; echo $A; pwd' >"$out"
grep -q '^b$' "$out" && grep -q '/deep$' "$out" || bad "environment and folder: $(cat "$out")"
at red/ann nosuchprogram one >/dev/null 2>&1
[ $? = 127 ] || bad "a program that is not there"
at red/ann --timeout-secs 4 -- 'echo begun; sleep 100' >"$out" 2>"$err"
[ $? = 7 ] && grep -q begun "$out" && grep -q 'timed out after 4s' "$err" || bad "a timeout: $(cat "$out" "$err")"
at --json red/ann 'echo one; sleep 0.6; echo two; exit 3' >"$out"
[ "$(cat "$out")" = '{"exit_code":3,"stdout":"one\ntwo\n","stderr":""}' ] || bad "--json: $(cat "$out")"
at --json red/ann --max-output-bytes 3 -- 'echo one; sleep 0.6; echo two' >"$out"
grep -q '^{"exit_code":0,"stdout":"one","stderr":"","stdout_size":8,"job_id":[0-9]*}$' "$out" || bad "--json, cut: $(cat "$out")"
at --json red/ann --follow -- "echo one; sleep 100" >"$out"
grep -q '"stdout":"one\\n".*"job_id":[0-9]*,"running":true' "$out" || bad "--json --follow: $(cat "$out")"

# --- signals ---------------------------------------------------------------------------------------

one='sh -c "echo \$\$ >>pids; exec sleep 1000"'
group="echo \$\$ >>pids; $one | $one"
place=$(cadre workspace info red/ann --team red --json | sed -n 's/.*"path":"\([^"]*\)".*/\1/p')
for case in INT:130 TERM:143 HUP:129 QUIT:131; do
	rm -f "$place/pids"
	run red/ann "$group"
	until_done there "$place/pids" 3
	kill -"${case%:*}" "$behind"
	ends "${case#*:}" "${case%:*}"
	until_done gone "$place/pids"
done
rm -f "$TMPDIR/far/pids"
run red/cid "$group"
until_done there "$TMPDIR/far/pids" 3
kill -TERM "$behind"
ends 143 "TERM over tcp"
until_done gone "$TMPDIR/far/pids"

# With --json a signal reaches the command too. The client prints the answer when the command
# has ended.
rm -f "$place/pids"
run --json red/ann "trap 'echo bye; exit 9' TERM; echo one; echo \$\$ >pids; while :; do sleep 0.1; done"
until_done there "$place/pids" 1
kill -TERM "$behind"
ends 0 "TERM with --json"
grep -q '^{"exit_code":9,"stdout":"one\\nbye\\n","stderr":' "$out" || bad "TERM with --json: $(cat "$out" "$err")"
until_done gone "$place/pids"

# The client prints the output of a trap that runs at the command's end.
rm -f "$place/pids"
run red/ann 'trap "echo bye; exit 9" INT; echo $$ >pids; while :; do sleep 0.1; done'
until_done there "$place/pids" 1
kill -INT "$behind"
ends 9 "a trap"
grep -q bye "$out" || bad "what a trap prints"

# A command that ignores INT is killed by the second INT.
rm -f "$place/pids"
run red/ann "trap '' INT; $group"
until_done there "$place/pids" 3
kill -INT "$behind"
until_done heard "$behind"
kill -INT "$behind"
ends 137 "a second INT"
until_done gone "$place/pids"

# The client does not pass on a signal that the client ignores, for example under nohup.
rm -f "$place/pids" "$place/go"
(trap '' HUP; exec "$CADRE" --team red exec red/ann "echo here; $until_end; echo end" >"$out") &
behind=$!
until_is here cat "$out"
kill -HUP "$behind"
at red/ann touch go
ends 0 "nohup"

# If the reader of a command's output has closed the pipe, the command is ended.
rm -f "$place/pids"
at red/ann 'echo $$ >pids; while :; do echo y; sleep 0.02; done' | head -1 | grep -q y || bad "head"
until_done gone "$place/pids"

# A client that is killed by SIGKILL passes no signal on. The client's command runs until its
# time limit.
rm -f "$place/pids"
run red/ann --timeout-secs 3 -- "$group"
until_done there "$place/pids" 3
kill -9 "$behind"
ends 137 "kill -9"
gone "$place/pids" && bad "the command went with its client"
until_done gone "$place/pids"

# --- the host is killed -----------------------------------------------------------------------

rm -f "$place/go" "$TMPDIR/near/go"
count='i=0; until [ -e go ]; do i=$((i + 1)); echo $i; sleep 0.01; done; echo $i >last; exit 5'
for who in ann bob; do
	run red/$who "$count"
	until_is '^10$' cat "$out"
	kill -9 "$(host)"
	cadre up >/dev/null || bad "up"
	seen=$(wc -l <"$out")
	until_done sh -c "[ \$(wc -l <'$out') -gt $((seen + 20)) ]"
	until_done at red/$who touch go
	ends 5 "red/$who beside a host that went away"
	last=$(at red/$who cat last)
	[ "$(cat "$out")" = "$(seq "$last")" ] || bad "red/$who: lines are lost or come twice"
done

# If the host does not start again, the client prints how many bytes it has received, and how to
# read the rest of the output. The rest of the output can be read after another host has
# started.
rm -f "$place/go"
run red/ann "echo first; $until_end; echo second; exit 6"
until_is first cat "$out"
kill -9 "$(host)"
ends 7 "a host that stays away"
grep -q 'after 6 bytes of output' "$err" || bad "what came: $(cat "$err")"
again=$(sed -n 's/.*\(workspace poll .*\)/\1/p' "$err")
cadre up >/dev/null || bad "up"
until_done at red/ann touch go
until_is '^exit_code *6' cadre --team red $again
until_is 'second' cadre --team red $again
cadre --team red $again | grep -q first && bad "it begins anew: $again"

# A user who does not want to wait for a host can end the client by INT.
run red/ann "echo first; sleep 100"
until_is first cat "$out"
kill -9 "$(host)"
kill -INT "$behind"
ends 130 "an INT without a host"
grep -q 'may still run' "$err" || bad "left without a word: $(cat "$err")"

# --- the guest ends ---------------------------------------------------------------------------

# A command ends together with its guest. The command's client prints a fault, and gets no
# output of another command.
cadre up >/dev/null || bad "up"
until_done at red/ann true
guest_pid() { cadre workspace info red/ann --team red --json | sed -n 's/.*"pid":\([0-9]*\).*/\1/p'; }
other="echo other; until [ -e go ]; do sleep 0.1; done; exit 9"
for how in kill down; do
	rm -f "$place/go"
	run red/ann "echo first; exec sleep 1000"
	until_is first cat "$out"
	case $how in
	kill) kill -9 "$(guest_pid)" ;;
	down) cadre down --all >/dev/null && cadre up >/dev/null || bad "down and up" ;;
	esac
	until_done at red/ann true
	at --json red/ann --follow -- "$other" >"$TMPDIR/other" || bad "$how: the next command"
	ends 7 "$how: a guest that began anew"
	[ "$(cat "$out")" = first ] || bad "$how: it has another command's output: $(cat "$out")"
	grep -q 'was started again; the command was interrupted' "$err" || bad "$how: $(cat "$err")"
	job=$(sed -n 's/.*"job_id":\([0-9]*\).*/\1/p' "$TMPDIR/other")
	cadre --team red workspace poll red/ann "$job" | grep -q other || bad "$how: the other one is not there"
	at red/ann touch go
done
run red/ann "echo first; exec sleep 1000"
until_is first cat "$out"
# If the host is stopped by a signal, the client says that the host does not answer. The client
# does not say that the host has ended.
kill -STOP "$(host)"
cadre --team red exec red/ann --timeout-secs 1 true >/dev/null 2>"$TMPDIR/still"
[ $? = 7 ] || bad "a host that stands still: $(cat "$TMPDIR/still")"
kill -CONT "$(host)"
grep -q '^cadre: the host has not answered yet; waiting' "$TMPDIR/still" || bad "silent: $(cat "$TMPDIR/still")"
grep -q "process $(host), runs but does not answer" "$TMPDIR/still" || bad "it says: $(cat "$TMPDIR/still")"

# If the team is renamed, the command still runs, and the client prints how to read the rest of
# the output.
cadre team update red --new-name rot >/dev/null || bad "rename"
ends 3 "a team that is renamed"
grep -q 'lost contact with the command after 6 bytes of output: .*red' "$err" || bad "renamed: $(cat "$err")"
cadre team update rot --new-name red >/dev/null || bad "rename back"
run red/ann "echo first; exec sleep 1000"
until_is first cat "$out"
cadre workspace destroy red/ann --team red --yes >/dev/null || bad "destroy"
ends 7 "a workspace that is destroyed"
grep -q 'no workspace.*; the command was interrupted' "$err" || bad "destroyed: $(cat "$err")"
exit $failed
