#!/bin/sh
# limits - the limits of agents hold across processes, restarts and kill -9, with a host and
# without. A refused call succeeds after the wait that the refusal names. Every call takes its
# operation's cost from the caller's limit.
. "$(dirname "$0")/../lib/story.sh"
unset CADRE_LIMITS_ENABLED
export CADRE_LIMITS_TEAM_MESSAGE_BURST=5 CADRE_LIMITS_TEAM_MESSAGE_PER_MINUTE=20
export CADRE_LIMITS_DEFAULT_BURST=10 CADRE_LIMITS_DEFAULT_PER_MINUTE=1

as() { (eval "$(cadre agent env "$1")"; shift; "$CADRE" "$@"); } # AGENT WORD...
left() { cadre ${3-} --json limits --agent "$1" | /usr/bin/python3 -c '
import json, sys
print(json.load(sys.stdin)["left"][0][sys.argv[1]])' "$2"; }
# spent WHO: the state shows that agent WHO has no calls left. A host writes an agent's
# remaining calls to the state only after a moment.
spent() { [ "$(left "$1" other --direct)" -le 0 ]; }
# limited WHO COMMAND...: the command of agent WHO is refused. The function runs the command
# twice, because on a slow machine so much time may have passed that one more call is allowed.
limited() {
	as "$@" >/dev/null 2>&1 || :
	is 6 "$1 calls too often" as "$@"
}
sent() { sqlite3 "$CADRE_HOME/state.db" "SELECT count(*) FROM message"; }

cadre team create shop --roles coder,tester,reader,loser,past >/dev/null || bad "team"

# Forty processes send at the same time, without a host. At first the limit allows only five
# messages, no matter which processes send them.
began=$(date +%s)
(
	eval "$(cadre agent env coder)"
	for i in $(seq 40); do "$CADRE" send tester "$i" >"$TMPDIR/sent.$i" 2>&1 & done
	wait
)
took=$(($(date +%s) - began + 1))
ok=$(grep -l '^sent' "$TMPDIR"/sent.* | wc -l)
# One more call is allowed for every three seconds since the first call.
[ "$ok" -ge 5 ] && [ "$ok" -le $((6 + took / 3)) ] || bad "$ok of 40 were sent, not 5"
[ "$(sent)" -eq "$ok" ] || bad "$(sent) messages are stored, $ok were acknowledged"
grep -q 'calls too often' "$TMPDIR"/sent.* || bad "nobody was told why"

# After the wait that a refusal names, the caller may call again. The named wait is right to
# within 50 ms.
cat >"$TMPDIR/wait.py" <<'P'
import json, os, subprocess, sys, time
def send(text):
    r = subprocess.run([os.environ["CADRE"], "--json", "send", "tester", text],
                       capture_output=True, text=True)
    return r.returncode, json.loads(r.stdout or r.stderr)
for n in range(100):
    began = time.monotonic()
    rc, a = send("fill")
    if rc: break
assert rc == 6, (rc, a)
e = a["error"]
assert e["code"] == "rate_limited" and 0 < e["retry_after_ms"] <= 3000, e
# The call was refused at some time between `began` and now. The next call is allowed at some
# time between `least` and `end`.
wait = e["retry_after_ms"] / 1000
least, end = began + wait, time.monotonic() + wait
early = 0
while time.monotonic() < least:
    rc, a = send("early")
    early += rc == 0 and time.monotonic() < least
    if rc == 0: break
    time.sleep(max(0, min(0.5, (least - time.monotonic()) / 2))) # tries more often near `least`
assert early == 0, "it went before its time"
if rc == 0: sys.exit()
time.sleep(max(0, end + 0.05 - time.monotonic()))
rc, a = send("late")
assert rc == 0, (rc, a)
P
export CADRE
(eval "$(cadre agent env coder)"; /usr/bin/python3 "$TMPDIR/wait.py") || bad "the time to wait is wrong without a host"

# Without a host, failed calls also use up an agent's limit. Reads cost nothing.
for i in 1 2 3 4; do as reader task create x >/dev/null; done
as reader claim 077 >/dev/null 2>&1
for i in $(seq 12); do as reader team status >/dev/null || bad "a read was refused"; done
n=$(left reader other)
[ "$n" -ge 5 ] && [ "$n" -le 6 ] || bad "$n calls are left, not 5"

# With a host the same limits hold, and they still hold after the host has ended.
cadre up >/dev/null || bad "up"
[ "$(left reader other)" -ge "$n" ] || bad "the host gave less than was left"
(eval "$(cadre agent env coder)"; /usr/bin/python3 "$TMPDIR/wait.py") || bad "the time to wait is wrong with a host"
(
	eval "$(cadre agent env loser)"
	for i in $(seq 30); do "$CADRE" task create x >/dev/null 2>&1 & done
	wait
)
limited loser task create x
grep -q '10 `default` calls at once, then 1 a minute' "$TMPDIR/err" || bad "not told how often"
until_done spent loser
kill -9 "$(cut -d' ' -f1 "$CADRE_HOME/host.lock")"
limited loser task create x
cadre up >/dev/null || bad "up again"
limited loser task create x
# An agent's calls with --direct and its calls through the host share one limit.
limited loser --direct task create x
(
	eval "$(cadre agent env past)"
	for i in $(seq 9); do "$CADRE" --direct task create x >/dev/null || echo "call $i failed"; done
	"$CADRE" task create x >/dev/null || echo "the last call failed"
) >"$TMPDIR/past"
[ ! -s "$TMPDIR/past" ] || bad "$(cat "$TMPDIR/past")"
limited past task create x
until_done spent past
limited past --direct task create x
cadre down >/dev/null
limited loser task create x
# Acknowledgements, heartbeats, waits and received messages cost nothing. The operator has no
# limits.
is 0 '' as loser agent heartbeat
is 0 '' as loser inbox
for i in $(seq 25); do cadre team status >/dev/null || bad "the operator is limited"; done
is 0 '' cadre --as loser team status
is 0 '^name\tcreate\t.*\tother$' cadre limits

# If limits.enabled is false, there are no limits.
CADRE_LIMITS_ENABLED=false
export CADRE_LIMITS_ENABLED
is 0 '' as loser team status
unset CADRE_LIMITS_ENABLED

# A sender writes to one receiver too quickly. The sender's delayed messages arrive in order, at
# their due times, with a host and without.
export CADRE_LIMITS_PAIR=all CADRE_LIMITS_TEAM_MESSAGE_BURST=100
# refused: a message that is sent too soon after another message is refused. On a slow machine
# the second message is perhaps late enough to be accepted, so the function sends up to six
# messages.
refused() {
	for n in 1 2 3 4 5 6; do
		as tester send reader "hello $n" >"$TMPDIR/said" 2>&1 || break
	done
	grep -q 'you wrote to reader a moment ago' "$TMPDIR/said" ||
		bad "no message was too soon: $(cat "$TMPDIR/said")"
}
# later TEXT: sends messages until a message is delayed. Sets `text` to the text of the delayed
# message, and `said` to the answer to this message.
later() {
	for n in 1 2 3 4 5 6; do
		text="$1 $n"
		said=$(as tester send reader "$text" --on-limit delay --json)
		case $said in *'"due_at"'*) return ;; esac
	done
	bad "no message was delayed: $said"
}
# comes: the waiting agent `reader` gets the message `text`, and not before the message's due
# time.
comes() {
	due=$(echo "$said" | /usr/bin/python3 -c 'import datetime, json, sys
t = json.load(sys.stdin)["deliveries"][0]["due_at"]
print(int(datetime.datetime.fromisoformat(t.replace("Z", "+00:00")).timestamp() * 1000))')
	for n in 1 2 3 4 5 6 7 8; do
		as reader inbox --wait --lease-seconds 0 >"$TMPDIR/got" 2>/dev/null
		late=$(($(date +%s%3N) - due))
		! grep -q 'no messages' "$TMPDIR/got" || bad "a wait for '$text' ends without it"
		! grep -q "$text" "$TMPDIR/got" || break
	done
	grep -q "$text" "$TMPDIR/got" || bad "'$text' does not come"
	[ "$late" -ge 0 ] || bad "'$text' came $((-late)) ms before its time"
}
refused
later two
is 0 '^tester\treader\t[2-9]\t' cadre limits
comes
cadre up >/dev/null || bad "up for pairs"
later three
comes
cadre down >/dev/null

# On the routes for agents in tabs (docs/http.md), the default of limits.pair limits how soon an
# agent may write again to the same agent.
unset CADRE_LIMITS_PAIR
cadre up >/dev/null || bad "up for tabs"
token=$(cadre token create --agent shop/coder)
tabs() { # PATH JSON: prints the answer
	curl -sS -H "Authorization: Bearer $token" -H 'Content-Type: application/json' -d "$2" "$(cat "$CADRE_HOME/endpoint")/api/agents/$1"
}
for n in 1 2 3 4 5 6; do # repeats for slow machines, as in refused()
	said=$(tabs past/messages '{"message":"hello"}')
	[ "$said" = '{"delivered":true,"target":"past"}' ] || break
done
case $said in
'{"delivered":false,"error":"Rate limited","retry_after_ms":'[1-9]*',"code":"rate_limited"}') ;;
*) bad "a pair in tabs keeps no pace: $said" ;;
esac
said=$(tabs broadcast '{"message":"all"}')
case $said in
'{"delivered_to":["'*'"],"failed":["past"]}') ;;
*) bad "a broadcast in tabs: $said" ;;
esac
is 0 '^coder -> past  urgent  ' cadre --as past inbox --peek
for n in 1 2; do as coder send past "aside $n" >/dev/null || bad "other messages wait"; done
cadre down >/dev/null

# A request whose body is refused counts as a call in the category of its route. On a route
# without a category, a request with a refused body counts in the category `default`.
CADRE_LIMITS_TEAM_MESSAGE_BURST=4 CADRE_LIMITS_DEFAULT_BURST=4 cadre up >/dev/null || bad "up for bodies"
cadre member add fresh --team shop >/dev/null || bad "member"
token=$(cadre token create --agent shop/fresh)
for route in api/messages mcp; do
	seen=
	for n in 1 2 3 4 5 6; do
		seen="$seen $(curl -s -o /dev/null -w '%{http_code}' -H "Authorization: Bearer $token" -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' -d '{' "$(cat "$CADRE_HOME/endpoint")/$route")"
	done
	case $seen in
	*' 400 400 400 429'*) ;;
	*) bad "bodies that are no JSON at /$route: $seen" ;;
	esac
done
cadre down >/dev/null

# `cadre events -f` reads, so an agent that has one call a minute follows every event.
(
	eval "$(cadre agent env reader)"
	CADRE_LIMITS_DEFAULT_BURST=1 CADRE_LIMITS_DEFAULT_PER_MINUTE=1 \
		exec "$CADRE" events -f --json >"$TMPDIR/followed" 2>&1
) &
follower=$!
until_done grep -q '"event":"token.created"' "$TMPDIR/followed"
for i in 1 2 3 4 5 6; do
	is 0 . cadre task create "Note $i"
	sleep 0.15
done
until_done sh -c "[ \$(grep -c task.created '$TMPDIR/followed') = 6 ]"
kill "$follower" || bad "the follower has ended: $(tail -1 "$TMPDIR/followed")"

# A read-only token has a limit of its own for requests that are refused. Its reads cost nothing.
cadre up >/dev/null || bad "up for a remote client"
observer=$(cadre token create --observer)
asked() { # TOKEN WORD...: prints the status of a request of this token; WORDs are curl's
	bearer=$1
	shift
	curl -s -o "$TMPDIR/body" -w '%{http_code}' -H "Authorization: Bearer $bearer" -H 'Content-Type: application/json' "$@"
}
url=$(cat "$CADRE_HOME/endpoint")/api
refused=0
for i in $(seq 14); do
	status=$(asked "$observer" "$url/teams")
	[ "$status" = 200 ] || bad "read $i of a token that reads: $status $(cat "$TMPDIR/body")"
	status=$(asked "$observer" -d '{' "$url/tasks")
	[ "$status" = 400 ] || { [ "$status" = 429 ] && grep -q 'this token calls too often' "$TMPDIR/body" && refused=$((refused + 1)); } ||
		bad "a body that is no JSON: $status $(cat "$TMPDIR/body")"
done
[ "$refused" -ge 3 ] && [ "$refused" -le 4 ] || bad "$refused of 14 calls were refused, not 4"
status=$(asked "$observer" "$url/teams")
[ "$status" = 200 ] || bad "a read of a token with an empty bucket: $status $(cat "$TMPDIR/body")"
status=$(asked "$(cadre token create --observer)" -d '{' "$url/tasks")
[ "$status" = 400 ] || bad "two tokens that read share a limit: $status"
cadre down >/dev/null
exit "$failed"
