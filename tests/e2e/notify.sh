#!/bin/sh
# notify - the host runs a person's command for mail to the operator and for chosen events.
# Several messages may share one run. The command gets an event's text in its environment and on
# its standard input, never in its arguments. A cursor stores the number of the last handled
# event, so after a kill the next host continues with the next event. No call waits for the
# command.
set -u
. "$(dirname "$0")/../lib/story.sh"
trap 'cadre down >/dev/null 2>&1' EXIT
export OUT="$TMPDIR/told" SLOW="$TMPDIR/slow"

cat >"$TMPDIR/tell" <<'C'
cat >>"$OUT.lines"
echo "$CADRE_COUNT $CADRE_EVENT $CADRE_TEAM ${CADRE_SUBJECT-} $CADRE_BY: ${CADRE_TEXT-}" >>"$OUT"
while [ -e "$SLOW" ]; do sleep 0.1; done
C
printf '[notify]\ncommand = "sh \\"$OUT.sh\\""\nevents = "task.failed task.completed"\n' \
	>"$CADRE_HOME/cadre.toml"
cp "$TMPDIR/tell" "$OUT.sh"
cadre team create red --roles ann --roles bob >/dev/null
ann() { cadre --team red --as ann "$@"; }
count() { wc -l <"$OUT"; }
told() { until_is "$1" cat "$OUT"; }

# The command does not run for events before the first host's start, or for events that the
# person did not choose.
ann send operator 'too early' >/dev/null
cadre up >/dev/null || bad "no host"
ann send bob 'not for a person' >/dev/null
ann send operator 'Look: $(touch '"$TMPDIR"'/obeyed) `id` "; exit' >/dev/null
told '^1 message.sent red [0-9a-f-]* ann: Look: \$(touch .*) `id` "; exit$'
[ "$(count)" = 1 ] || bad "told: $(cat "$OUT")"
[ ! -e "$TMPDIR/obeyed" ] || bad "what a message says was run"
/usr/bin/python3 - "$OUT.lines" <<'P' || bad "the line: $(cat "$OUT.lines")"
import json, sys
(line,) = open(sys.argv[1]).read().splitlines()
told = json.loads(line)
assert told["event"] == "message.sent" and told["from"] == "ann", told
assert told["target"] == "operator" and told["count"] == 1, told
P
cadre --team red task create 'Mend it' >/dev/null
ann claim 001 >/dev/null && ann fail --reason 'no wood' >/dev/null || bad "cannot fail"
told '^1 task.failed red 001 ann: no wood$'

# A long text is cut to 200 bytes, between two characters.
ann send operator "$(/usr/bin/python3 -c 'print("ä" * 300)')" >/dev/null
until_done sh -c "[ \$(wc -l <'$OUT') = 3 ]"
[ "$(tail -1 "$OUT" | sed 's/.*: //' | tr -d '\n' | wc -c)" = 200 ] || bad "$(tail -1 "$OUT")"

# If several messages arrive while a command runs, the command runs again afterwards, once for
# all these messages.
: >"$SLOW"
ann send operator first >/dev/null
told ' ann: first$'
for i in 1 2 3 4 5 6 7 8 9; do ann send operator "burst $i" >/dev/null; done
rm "$SLOW"
told '^9 message.sent red [0-9a-f-]* ann: burst 9$'
[ "$(count)" = 5 ] || bad "told: $(cat "$OUT")"

# A host is killed between two events. The next host continues after the last event for which
# the command ran.
pid=$(cadre status --json | sed -n 's/.*"pid": *\([0-9]*\).*/\1/p')
kill -9 "$pid"
until_done sh -c "! kill -0 $pid"
ann send operator 'while nobody ran' >/dev/null
cadre up >/dev/null || bad "no host again"
told ' ann: while nobody ran$'
[ "$(count)" = 6 ] || bad "told twice: $(cat "$OUT")"

# If the command fails for one event, the host logs the failure, and runs the command for the
# next event.
echo 'echo ran >>"$OUT.ran"; exit 3' >"$OUT.sh"
ann send operator 'nobody hears' >/dev/null
until_is 'notify.command failed.* status=3$' cat "$CADRE_HOME/log/host.log"
ann send operator 'nor this' >/dev/null
until_done sh -c "[ \$(wc -l <'$OUT.ran') = 2 ]"
grep -q 'nobody hears' "$CADRE_HOME/log/host.log" && bad "the log holds a message"

# A host that ends also ends the running command and its child processes. If a run of the
# command was ended, the next host runs the command again for the same event.
printf 'sleep 1000 & echo $! >"$OUT.pid"; wait\n' >"$OUT.sh"
ann send operator 'at the end' >/dev/null
until_done test -s "$OUT.pid"
cadre down >/dev/null || bad "down"
grep -q '^State:.*[RSD] ' "/proc/$(cat "$OUT.pid")/status" 2>/dev/null && bad "what the command started lives"
cp "$TMPDIR/tell" "$OUT.sh"
cadre up >/dev/null
told ' ann: at the end$'
cadre down >/dev/null

# A host without a configured command removes the cursor. A command that is configured later
# does not get the events from the time without a command.
mv "$CADRE_HOME/cadre.toml" "$TMPDIR/toml"
cadre up >/dev/null
ann send operator 'nobody wants it' >/dev/null
cadre down >/dev/null
[ ! -e "$CADRE_HOME/notify.cursor" ] || bad "the cursor stays"
cp "$TMPDIR/toml" "$CADRE_HOME/cadre.toml"
cadre up >/dev/null
ann send operator 'wanted again' >/dev/null
told ' ann: wanted again$'
grep -q 'nobody wants it' "$OUT" && bad "told what nobody wanted"
cadre down >/dev/null

# If the host is killed, the running command and its child processes run until their time limit.
# The last lines of this test wait until these processes have ended.
rm -f "$OUT.pid"
printf 'sleep 1000 & echo $! >"$OUT.pid"; wait\n' >"$OUT.sh"
cadre up >/dev/null
ann send operator 'the host is killed' >/dev/null
until_done test -s "$OUT.pid"
kill -9 "$(cadre status --json | sed -n 's/.*"pid": *\([0-9]*\).*/\1/p')"
left=$(cat "$OUT.pid")
grep -q '^State:.*[RSD] ' "/proc/$left/status" || bad "the command ended with the host"
until_is 'no host' cadre down
cp "$TMPDIR/tell" "$OUT.sh"

# Commas may separate the events in notify.events, as in other lists of the configuration.
sed -i 's/task.failed/task.failed,task.created, agent/' "$CADRE_HOME/cadre.toml"
is 0 '^up: ' cadre up
# The metrics say how many events the notifier still has to read. The metric becomes 0 after the
# notifier has read all events.
observer=$(cadre token create --observer)
until_is 'lag.*"notify"} 0$' curl -sS -H "Authorization: Bearer $observer" "$(cat "$CADRE_HOME/endpoint")/metrics"
cadre down >/dev/null
cp "$TMPDIR/toml" "$CADRE_HOME/cadre.toml"

# A host does not start if notify.events contains an unknown event. The configuration file of a
# project cannot set notify.command.
sed -i 's/task.failed/task.faild/' "$CADRE_HOME/cadre.toml"
either=yes is 2 "no event 'task.faild'" cadre up
either=yes is 2 "Did you mean 'task.failed'" cadre up
cp "$TMPDIR/toml" "$CADRE_HOME/cadre.toml"
mkdir "$TMPDIR/p"
printf 'notify.command = "touch %s/obeyed"\n' "$TMPDIR" >"$TMPDIR/p/cadre.toml"
(cd "$TMPDIR/p" && CADRE_HOME= && unset CADRE_HOME && cadre init >/dev/null 2>"$TMPDIR/err")
grep -q "a project's file cannot set" "$TMPDIR/err" || bad "$(cat "$TMPDIR/err")"
patience=600 # a command may run for 30 s
until_done sh -c "! grep -q '^State:.*[RSD] ' /proc/$left/status"
exit $failed
