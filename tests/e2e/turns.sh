#!/bin/sh
# turns - mail for an agent starts its runner, and urgent mail stops the running turn. The state
# contains the right output, end and messages of a turn, for every runner and after every kill.
set -u
export CADRE_LIMITS_ENABLED=false CADRE_RUNNER_INTERRUPT_MS=300 CADRE_RUNNER_RETRY_MS=200 CADRE_RUNNER_MAX_FAILURES=3
. "$(dirname "$0")/../lib/story.sh"
trap 'cadre down --all >/dev/null 2>&1' EXIT
as_agent() { # AGENT COMMAND...: runs the command with the agent's token
	(eval "$(cadre agent env "$1" --team crew)" && shift && "$@")
}
sql() { sqlite3 -readonly "$CADRE_HOME/state.db" "$1"; }
turns() { # AGENT STATE: prints the number of turns in that state
	cadre turns --agent "$1" --limit 1000 --json | grep -o "\"state\":\"$2\"" | wc -l
}
has() { [ "$(turns "$1" "$2")" -ge "$3" ]; }
runner() { # NAME: makes a runner from the text on stdin
	cat >"$TMPDIR/$1" && chmod +x "$TMPDIR/$1"
}
gives() { # AGENT RUNNER
	is 0 . cadre agent update "$1" --runner "$TMPDIR/$2"
}
mkdir "$TMPDIR/project" "$TMPDIR/bin"
PATH=$TMPDIR/bin:$PATH
cadre up >/dev/null || bad "up"
is 0 . cadre team create crew --roles lead,a,b,c,m
runner plain <<'END'
#!/bin/sh
cat
echo "I am $CADRE_AGENT in $PWD, turn $CADRE_TURN"
stat -c '%a %n' "$CADRE_MCP_CONFIG"
cp "$CADRE_MCP_CONFIG" ./seen.json
END

# An agent with a project folder works in that folder. The agent's first message starts its
# first turn.
is 0 . cadre agent update a --project "$TMPDIR/project" --runner "$TMPDIR/plain"
is 0 . cadre send a 'look at the parser'
until_done has a done 1
is 0 'look at the parser' cadre turn read 1
is 0 "I am a in $TMPDIR/project, turn 1" cadre turn read 1
is 0 "^600 $CADRE_HOME/guests/.*/turn-mcp.json" cadre turn read 1
is 0 '"mcpServers":{"cadre":{"command":".*","args":\["mcp"\],"env":{.*"CADRE_AGENT":"a"' cat "$TMPDIR/project/seen.json"
[ -z "$(find "$CADRE_HOME/guests" -name turn-mcp.json)" ] || bad "the file for the client stays"
is 0 'acked' cadre receipt 1
is 0 'message\toperator\ta\t#1\t1\t\tacked\t' cadre history a
is 0 '"state":"done"' cadre turns --json
# If an agent gets another project folder, its next turn runs in the new folder. If the folder
# is missing, the turn fails.
mkdir "$TMPDIR/elsewhere" "$TMPDIR/first"
is 0 . cadre agent update m --project "$TMPDIR/first" --runner "$TMPDIR/plain"
is 0 . cadre send m 'look here'
until_done has m done 1
is 5 'members with `nests` true can move runners' cadre --as m agent update m --project "$TMPDIR/elsewhere"
is 0 . cadre agent update m --project "$TMPDIR/elsewhere"
is 0 . cadre send m 'look there'
until_done has m done 2
is 0 "I am m in $TMPDIR/elsewhere" cadre turn read 0 --agent m
is 2 'is not a folder' cadre agent update m --project "$TMPDIR/never"
rm -r "$TMPDIR/elsewhere"
is 0 . cadre send m 'look again'
until_done has m failed 1
is 0 "the workspace's folder is gone: $TMPDIR/elsewhere" cadre turns --agent m
# If a starting host finds no project folder, the agent's workspace fails. The workspace works
# again once the folder exists, also under the next host. The lead gets one message for each
# failure.
gives m plain
cadre restart >/dev/null || bad "restart without a folder"
told="m takes no turns: its workspace has failed ($TMPDIR/elsewhere is not a folder"
waited 0 workspace crew/m failed
is 0 "$told" as_agent lead cadre inbox peek
is 0 "failed: $TMPDIR/elsewhere is not a folder" cadre status
mkdir "$TMPDIR/elsewhere"
until_done has m done 3
rm -r "$TMPDIR/elsewhere"
cadre restart >/dev/null || bad "restart without a folder once more"
waited 0 workspace crew/m failed
cadre down >/dev/null
mkdir "$TMPDIR/elsewhere"
is 0 . cadre send m 'look behind a host'
cadre up >/dev/null || bad "up"
until_done has m done 4
[ "$(sql "SELECT count(*) FROM message WHERE content LIKE '$told%'")" = 2 ] || bad "the lead is told again and again"
is 0 "I am m in $TMPDIR/elsewhere" cadre turn read 0 --agent m
# A renamed agent works under its new name. Events do not show the command of a runner.
is 0 . cadre agent update m --new-name z
is 0 . cadre send z 'who are you?'
until_done has z done 5
is 0 'I am z in' cadre turn read 0 --agent z
cadre events --limit 1000 >"$TMPDIR/events"
is 0 '\tturn.runner\t20[^\t]*\toperator\t.*\ta command$' cat "$TMPDIR/events"
grep 'turn.runner' "$TMPDIR/events" | grep -q plain && bad "events show a runner's command"
# If a client writes its output as JSON, `turn read` prints the output as plain text. The next
# turn continues the client's session. The client's tokens and cost are counted.
runner bin/claude <<'END'
#!/bin/sh
cat >/dev/null
echo '{"type":"system","session_id":"s-1"}'
echo '{"type":"assistant","message":{"content":[{"type":"text","text":"got '"$*"'"}]}}'
printf '{"type":"result","total_cost_usd":0.5,"usage":{"input_tokens":8,"output_tokens":9}}'
END
is 0 . cadre member add k --runner 'claude --model x' --team crew
is 0 . cadre send k 'hello'
until_done has k done 1
is 0 '^got -p --output-format stream-json .*--allowedTools mcp__cadre *--model x$' cadre turn read 0 --agent k
is 0 . cadre send k 'and again'
until_done has k done 2
is 0 '^got -p .* --resume s-1 ' cadre turn read 0 --agent k
is 0 '"tokens_in":8,"tokens_out":9,"cost":500000' cadre turns --agent k --json
# If a client reaches the limit of its plan, the turn does not count as failed. The agent waits
# until the limit ends, and continues by itself.
runner bin/claude <<'END'
#!/bin/sh
[ -e "$HOME/limit" ] || exec cat
echo '{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":'"$(cat "$HOME/limit")"'}}'
echo '{"type":"result","is_error":true,"result":"You have hit your limit"}'
exit 1
END
echo $(($(date +%s) + 10 * TEST_SCALE)) >"$HOME/limit"
is 0 . cadre send k 'behind the limit'
until_done has k interrupted 1
is 0 '^k\t.*\trate_limited' cadre agent list
is 0 'client of k is at the limit of its plan' cadre --as operator inbox peek
rm "$HOME/limit"
until_done has k done 3
is 0 '^behind the limit$' cadre turn read 0 --agent k
# If the host's disk is full, a turn's output is stored later. If the guest's disk is full,
# `turn read` prints the number of bytes that were lost.
runner fills <<'END'
#!/bin/sh
step() { # NUMBER: prints this file, and waits until the test goes on
	cat "$1" && : >"printed-$1"
	until [ -e "go-$1" ]; do sleep 0.1; done
}
cat >/dev/null
step 1
step 2
echo the end
END
mkdir "$TMPDIR/fills.d"
echo 'the beginning' >"$TMPDIR/fills.d/1"
echo 'the middle' >"$TMPDIR/fills.d/2"
at_most() { prlimit --pid "$1" --fsize="$2:" || bad "prlimit"; } # PROCESS BYTES: limits the size of files that the process writes
host() { cut -d' ' -f1 "$CADRE_HOME/host.lock"; }
begins() { # TEXT: starts a turn, and waits until its beginning is printed and kept
	rm -f "$TMPDIR"/fills.d/go-* "$TMPDIR"/fills.d/printed-*
	is 0 . cadre send w "$1"
	until_is 'the beginning' cadre turn read 0 --agent w
	until_is "^$(stat -c %s "$TMPDIR/fills.d/1")\$" sh -c "'$CADRE' turn read 0 --agent w | wc -c"
}
goes_on() { : >"$TMPDIR/fills.d/go-$1"; }
is 0 . cadre member add w --team crew
is 0 . cadre agent update w --runner "$TMPDIR/fills" --project "$TMPDIR/fills.d"
begins 'a full disk of the host'
at_most "$(host)" 16384
goes_on 1
until_is 'output cannot be stored yet' cadre logs
goes_on 2
until_done test -e "$TMPDIR/fills.d/printed-2"
at_most "$(host)" unlimited
until_done has w done 1
is 0 '^the beginning the middle the end $' sh -c "'$CADRE' turn read 0 --agent w | tr '\n' ' '"
head -c 200000 /dev/zero | tr '\0' x | tee -a "$TMPDIR/fills.d/2" >>"$TMPDIR/fills.d/1"
begins 'and of its guest'
at_most "$(cadre workspace info crew/w --json | sed 's/.*"pid":\([0-9]*\).*/\1/')" 16384
goes_on 1
goes_on 2
until_done has w done 2
is 0 '^\[cadre: 2000[0-9]* bytes were not kept\]$' cadre turn read 0 --agent w
# Teammates cannot read an agent's token in the output of its turns, in whatever form a turn
# prints the token.
runner shows <<'END'
#!/bin/sh
cat >/dev/null
half=$(printf %.30s "$CADRE_TOKEN")
printf 'a token %s' "$half"
until "$CADRE_PROGRAM" turn read "$CADRE_TURN" | grep -q 'a token'; do sleep 0.1; done
echo "${CADRE_TOKEN#"$half"}"
env | grep CADRE_TOKEN >&2
exit 3
END
runner bin/gemini <<'END'
#!/bin/sh
cat >/dev/null
half=$(printf %.30s "$CADRE_TOKEN")
for part in "$half" "${CADRE_TOKEN#"$half"}"; do
	echo '{"type":"message","role":"assistant","content":"'"$part"'"}'
done
echo '{"type":"result"}'
END
stars='\*\*\*\*\**'
gives w shows
is 0 . cadre send w 'show it'
until_done has w failed 1
is 0 "^a token $stars\$" cadre turn read "$(sql "SELECT max(turn) FROM v_turn WHERE state = 'failed'")"
is 0 "ended with 3: CADRE_TOKEN=$stars\"" cadre turns --agent w --json
is 0 . cadre agent update w --runner gemini
until_done has w done 3
is 0 "^$stars\$" cadre turn read 0 --agent w
token=$(cadre agent env w --json | sed 's/.*"token":"\([^"]*\)".*/\1/')
[ ${#token} = 64 ] || bad "no token"
for turn in $(seq "$(sql 'SELECT max(id) FROM turn')"); do cadre turn read "$turn"; done >"$TMPDIR/all"
cadre turns --json >>"$TMPDIR/all"
grep -q -e "$token" -e "$(printf %.30s "$token")" -e "$(printf %s "$token" | cut -c 31-)" "$TMPDIR/all" && bad "teammates read a token"
# If a client passes only some of cadre's variables on, the calls of its child processes are
# denied. The denied calls do not act as the operator.
runner part <<'END'
#!/bin/sh
cat >/dev/null
env -u CADRE_AGENT -u CADRE_TEAM -u CADRE_TOKEN cadre send operator 'as a person' 2>&1 || :
END
gives k part
is 0 . cadre send k 'who are you?'
until_done has k done 4
is 0 'denied' cadre turn read 0 --agent k
# In the input of a turn, a message from another agent begins with the sender's name.
is 0 . as_agent b cadre send a 'and I look at the lexer'
until_done has a done 2
is 0 '^\[From agent "b"\]:$' cadre turn read 0 --agent a
is 0 '"metadata":{"type":"inter-agent","sender":"b"}' cadre history a --sender b --json

# If a runner calls `cadre send`, the runner's agent is the sender of the message.
runner answers <<'END'
#!/bin/sh
cadre send operator "I have read it"
END
PATH="$(dirname "$CADRE"):$PATH" cadre restart >/dev/null
gives b answers
is 0 . cadre agent say b 'read it'
until_done has b done 1
is 0 'I have read it' cadre --as operator inbox peek

# An urgent message stops the running turn, with all its processes. The next turn gets the
# urgent message and the stopped turn's mail, since a runner that is a plain command has no
# memory of the stopped turn.
runner slow <<'END'
#!/bin/sh
cat
sleep 1000 &
trap 'echo interrupted; exit 1' INT
for i in $(seq 1000); do echo "step $i"; sleep 1; done
END
gives b slow
is 0 . cadre send b 'a long piece of work'
until_done has b streaming 1
turn=$(cadre turns --agent b --limit 1 --json | sed 's/.*"turn":\([0-9]*\).*/\1/')
shows() { cadre turn read "$1" | grep -q "$2"; }
until_done shows "$turn" 'step 1'
is 0 'streaming' cadre agent list
is 0 . cadre send b 'a word'
sleep 0.5
is 0 '"state":"streaming"' cadre turns --agent b --limit 1 --json
is 0 . cadre agent say b 'stop that'
until_done shows "$((turn + 1))" 'stop that'
is 0 'interrupted$' cadre turn read "$turn"
is 0 '"state":"interrupted"' cadre turns --agent b --json
for text in 'a long piece of work' 'a word' 'stop that'; do
	is 0 "$text" cadre turn read "$((turn + 1))"
done
# Several urgent messages at the same time start one turn.
stopped=$(turns b interrupted) pids=
for n in 1 2 3; do
	"$CADRE" agent say b "at once $n" >/dev/null &
	pids="$pids $!"
done
wait $pids
for n in 1 2 3; do
	until_done shows "$((turn + 2))" "at once $n"
done
is 0 "^$((stopped + 1))\$" turns b interrupted
# A runner that ignores INT and TERM is killed.
runner deaf <<'END'
#!/bin/sh
trap '' INT TERM
cat; echo deaf
while :; do sleep 1; done
END
gives c deaf
is 0 . cadre send c one
until_done has c streaming 1
until_done shows "$(sql 'SELECT max(id) FROM turn')" deaf
gives c answers
is 0 . cadre agent say c two
until_done has c interrupted 1
until_done has c done 1

# If a child process still runs after the runner's shell has ended, the child process is killed
# before the next turn begins.
printf "trap '' INT TERM\nwhile :; do echo tick >>$TMPDIR/ticks; sleep 0.1; done\n" >"$TMPDIR/stubborn"
is 0 . cadre agent update c --runner "echo begun; sh $TMPDIR/stubborn; echo never"
is 0 . cadre send c three
until_done test -s "$TMPDIR/ticks"
done_before=$(turns c done)
gives c plain
is 0 . cadre agent say c four
until_done has c done $((done_before + 1))
grows() { before=$(wc -l <"$TMPDIR/ticks") && sleep 0.5 && [ "$(wc -l <"$TMPDIR/ticks")" -gt "$before" ]; }
grows && bad "what a stopped turn left runs on"
# A child process with a session of its own ends if its turn is stopped or fails, or if its
# agent is removed.
runner apart <<'END'
#!/bin/sh
cd "$(dirname "$0")"
setsid sh -c 'echo $$ >>pids; exec sleep 1000' &
until [ -s pids ]; do sleep 0.1; done
case "$(cat | head -n 1)" in
stay) exit 0 ;;
fail) [ -e broke ] || { mv pids broke && exit 1; }; exit 0 ;;
esac
sleep 1000
END
lives() { kill -0 "$(tail -n 1 "$TMPDIR/${1-pids}")" 2>/dev/null; }
ends() { ! lives "$@"; }
: >"$TMPDIR/pids"
is 0 . cadre member add n --runner "$TMPDIR/apart" --team crew
is 0 . cadre send n go
until_done test -s "$TMPDIR/pids"
gives n plain
is 0 . cadre agent say n stop
until_done has n done 1
lives && bad "a child in a session of its own outlives a stopped turn"
: >"$TMPDIR/pids"
gives n apart
is 0 . cadre send n fail
until_done has n done 2
has n failed 1 || bad "the runner has not failed"
until_done ends broke
lives || bad "a child of the retry has ended"
kill "$(cat "$TMPDIR/pids")"
: >"$TMPDIR/pids"
gives n apart
is 0 . cadre send n stay
until_done has n done 3
lives || bad "a turn that ends well ends what it has left"
is 0 . cadre member remove n
until_done ends
CADRE_TURN=1 CADRE_MCP_CONFIG=x CADRE_PROGRAM=x cadre doctor | grep 'cadre does not know' && bad "doctor does not know a turn's variables"
# A turn ends well even if its runner prints much output or half a character, closes its output
# early, or leaves a child process behind.
runner much <<'END'
#!/bin/sh
printf 'caf\303'; sleep 0.2; printf '\251 \377 '
head -c 50000000 /dev/zero | tr '\0' x
echo; echo end >&2
END
gives a much
is 0 . cadre send a 'print much'
until_done has a done 3
last=$(sql 'SELECT max(id) FROM turn')
is 0 '^café ' cadre turn read "$last" --length 20
is 0 '"size":500000[0-9]*' cadre turns --agent a --limit 1 --json
[ "$(sql "SELECT kept <= 2097152 AND kept > 1000000 FROM turn WHERE id = $last")" = 1 ] || bad "what is kept of much output: $(sql "SELECT kept FROM turn WHERE id = $last")"
# `cadre history` shows the beginning of a turn's output, and the output's size.
is 0 "turn\t\t\t\t$last\tdone\t\t500000[0-9]*\tcaf" cadre history a --kind turn
[ "$(cadre history a --kind turn --json | wc -c)" -lt 20000 ] || bad "the history holds all of a turn's output"
runner early <<'END'
#!/bin/sh
echo said
exec >&- 2>&-
sleep 0.5
END
gives a early
is 0 . cadre send a 'close early'
until_done has a done 4
runner parent <<'END'
#!/bin/sh
sleep 1000 &
echo "left $!"
END
gives a parent
is 0 . cadre send a 'leave a child'
until_done has a done 5

# If a runner fails, its turn is repeated. After three failed turns the agent counts as failed,
# and the lead gets one message.
runner broken <<'END'
#!/bin/sh
echo "no such model" >&2
exit 3
END
gives a broken
is 0 . cadre send a 'do it'
until_done has a failed 3
is 0 '"reason":"its command ended with 3: no such model"' cadre turns --agent a --limit 1 --json
is 0 'a\ta\tfailed' cadre agent list
is 0 'a takes no more turns: its runner has failed 3 times' as_agent lead cadre inbox peek
sleep 1
has a failed 4 && bad "a failed agent takes turns"
# A failed agent stays failed under the next host. `agent list` shows the agent as failed, and
# `status`, `doctor` and `prime` print the next step.
cadre restart >/dev/null || bad "restart"
until_done cadre exec crew/a true
is 0 'a\ta\tfailed' cadre agent list
helps='a takes no more turns, because its runner has failed: cadre agent update a --runner'
is 0 '\ta\t\ttakes no more turns, because its runner has failed\t20[^\t]*\tcadre agent update a --runner' cadre status
is 0 "$helps" cadre doctor
is 0 "$helps" as_agent lead cadre prime
gives a plain
until_done has a done 6
is 0 'do it' cadre turn read "$(sql 'SELECT max(id) FROM turn WHERE agent = 3')"

# If the host is killed during a turn, the turn's command ends, the turn is recorded as
# interrupted, and its message is delivered again.
runner marks <<END
#!/bin/sh
cat
echo "\$CADRE_TURN begin" >>"$TMPDIR/log"
until [ -e "$TMPDIR/go" ]; do sleep 0.1; done
echo "\$CADRE_TURN end" >>"$TMPDIR/log"
END
cadre restart >/dev/null || bad "restart" # a killed host would lose its counts of coverage
gives a marks
is 0 . cadre send a 'mark this'
until_done grep -q begin "$TMPDIR/log"
kill -9 "$(cut -d' ' -f1 "$CADRE_HOME/host.lock")"
cadre up >/dev/null || bad "up again"
until_is '^2$' grep -c begin "$TMPDIR/log"
: >"$TMPDIR/go"
until_done has a done 7
[ "$(wc -l <"$TMPDIR/log")" = 3 ] && [ "$(grep -c end "$TMPDIR/log")" = 1 ] || bad "$(cat "$TMPDIR/log")"
is 0 'its host ended' cadre turns --agent a
# If the guest is killed during a turn, the turn is interrupted, and its message is delivered
# again.
: >"$TMPDIR/log"
rm "$TMPDIR/go"
is 0 . cadre send a 'mark that'
until_done grep -q begin "$TMPDIR/log"
kill -9 "$(cadre workspace info crew/a --json | sed 's/.*"pid":\([0-9]*\).*/\1/')"
until_is '^2$' grep -c begin "$TMPDIR/log"
: >"$TMPDIR/go"
until_done has a done 8
[ "$(grep -c end "$TMPDIR/log")" = 1 ] || bad "$(cat "$TMPDIR/log")"
is 0 'its guest ended' cadre turns --agent a
cadre restart >/dev/null || bad "restart again"

# A stopped tracer delays the end of a killed process. The next turn waits until all killed
# processes of the previous turn have ended.
runner lingers <<END
#!/bin/sh
exec 9>"$TMPDIR/lock"
flock -n 9 || echo "\$CADRE_TURN" >>"$TMPDIR/overlaps"
cat >/dev/null
[ ! -e "$TMPDIR/go" ] || exit 0
exec /usr/bin/python3 -c 'import ctypes, os, time
ctypes.CDLL(None).prctl(0x59616d61, ctypes.c_ulong(-1), 0, 0, 0) # allows strace to trace this process
print(os.getpid(), file=open("$TMPDIR/holder", "w"), flush=True)
time.sleep(1000)'
END
dying() { grep -q "State:.t" "/proc/$1/status"; }
ends_late() { # AGENT KILL: KILL is the command that kills the agent's host or guest
	rm -f "$TMPDIR/go" "$TMPDIR/holder"
	is 0 . cadre member add "$1" --runner "$TMPDIR/lingers" --team crew
	is 0 . cadre send "$1" 'hold on'
	until_done test -s "$TMPDIR/holder"
	holder=$(cat "$TMPDIR/holder")
	strace -qq -o /dev/null -e trace=none -p "$holder" &
	tracer=$!
	until_is "TracerPid:.$tracer" cat "/proc/$holder/status"
	kill -STOP $tracer
	: >"$TMPDIR/go"
	"$2" "$1"
	until_is 'killed here have not ended yet' cadre turns --agent "$1"
	dying "$holder" || bad "what $2 has killed has ended before its tracer lets it go"
	has "$1" done 1 && bad "a turn begins before all that $2 has killed has ended"
	kill -CONT $tracer
	until_done has "$1" done 1
}
kills_guest() {
	kill -9 "$(cadre workspace info "crew/$1" --json | sed 's/.*"pid":\([0-9]*\).*/\1/')"
}
kills_host() {
	kill -9 "$(cut -d' ' -f1 "$CADRE_HOME/host.lock")"
	cadre up >/dev/null || bad "up again"
}
ends_late p kills_guest
ends_late q kills_host
[ ! -e "$TMPDIR/overlaps" ] || bad "turns ran beside what was dying: $(cat "$TMPDIR/overlaps")"

# If an agent moves to another folder, or loses its workspace, its running turn ends. The ended
# turn does not count as a failure of the runner.
runner stays <<END
#!/bin/sh
cat >/dev/null
echo begun >>"$TMPDIR/slow"
[ -e ./quick ] || exec sleep 1000
END
mkdir "$TMPDIR/quick" && : >"$TMPDIR/quick/quick" && : >"$TMPDIR/slow"
is 0 . cadre agent spawn mover --command "$TMPDIR/stays" --project "$TMPDIR/first"
is 0 . cadre send mover 'work'
until_done grep -q begun "$TMPDIR/slow"
is 0 . cadre agent update mover --project "$TMPDIR/quick"
until_done has mover done 1
is 0 'its workspace was ended' cadre turns --agent mover
is 0 '^0$' sql "SELECT failures FROM runner r JOIN agent a ON a.id = r.agent WHERE a.name = 'mover'"
has mover failed 1 && bad "a turn that was moved has failed"
# The agent has more urgent mail than one turn takes. The rest of the mail does not stop a turn
# that began after the mail had arrived.
cadre down >/dev/null
for i in $(seq 14); do
	head -c 250000 /dev/zero | tr '\0' x | cadre send mover - --priority urgent >/dev/null || bad "send $i"
done
cadre up >/dev/null || bad "up"
until_done has mover done 3
is 0 '^0$' sql "SELECT count(*) FROM v_inbox WHERE agent = 'mover' AND content LIKE 'xxx%'"
[ "$(turns mover interrupted)" = 1 ] || bad "mail that was there has stopped a turn"

# The turns of a stopped team are paused. An agent's project folder is not removed with the
# agent.
: >"$TMPDIR/log"
rm "$TMPDIR/go"
is 0 . cadre send a 'mark once more'
until_done grep -q begin "$TMPDIR/log"
is 0 . cadre estop crew
: >"$TMPDIR/go"
sleep 2
grep -q end "$TMPDIR/log" && bad "a turn of a stopped team runs on"
is 0 . cadre thaw crew
until_done grep -q end "$TMPDIR/log"
is 0 . cadre team destroy crew --yes
[ -e "$TMPDIR/project/seen.json" ] || bad "the project is gone"
exit $failed
