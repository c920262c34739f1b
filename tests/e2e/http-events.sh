#!/bin/sh
# http-events - clients follow the event log over HTTP. After a kill of the host, a client tells
# the next host which event the client has read last. Therefore the client gets each event once.
# A client gets events only while its token is valid.
set -u
. "$(dirname "$0")/../lib/story.sh"
trap 'cadre down >/dev/null 2>&1; kill $followers 2>/dev/null' EXIT
followers=
holder() { cut -d' ' -f1 "$CADRE_HOME/host.lock"; }

unset CADRE_LIMITS_ENABLED
cadre up >/dev/null || bad "up"
is 0 . cadre team create shop --roles coder,tester
is 0 . cadre team create other --roles spy
observer=$(cadre token create --observer)
coder=$(cadre token create --agent shop/coder)
url=$(cat "$CADRE_HOME/endpoint")

# A stream has the form of server-sent events, and begins with the events that the client
# missed.
curl -sN -D "$TMPDIR/head" -H "Authorization: Bearer $observer" "$url/events?after=0" >"$TMPDIR/stream" 2>/dev/null &
followers=$!
n=$(cadre events --limit 1000 --json | grep -o '"seq":' | wc -l)
until_is "^$n\$" grep -c '^id: ' "$TMPDIR/stream"
kill $followers
wait
grep -qi '^content-type: text/event-stream' "$TMPDIR/head" || bad "no stream: $(cat "$TMPDIR/head")"
grep -q '^retry: [0-9]' "$TMPDIR/stream" || bad "no retry"
grep -q '^id: [0-9a-f]*\.1$' "$TMPDIR/stream" || bad "no id"
grep -q '^event: team.created$' "$TMPDIR/stream" || bad "no event"
grep -q '^data: {"seq":1,.*"team":"shop"' "$TMPDIR/stream" || bad "no data"

# The host refuses a cursor of another state, and a cursor whose next events are no longer kept.
# The refusal names the oldest event that is kept.
[ "$(curl -s -o "$TMPDIR/gone" -w '%{http_code}' -H "Authorization: Bearer $observer" -H 'Last-Event-ID: 0123abcd.5' "$url/events")" = 410 ] || bad "events of another state"
grep -q '"oldest":1' "$TMPDIR/gone" || bad "no oldest event: $(cat "$TMPDIR/gone")"
[ "$(curl -s -o /dev/null -w '%{http_code}' "$url/events")" = 401 ] || bad "a stream without a token"
[ "$(curl -s -o /dev/null -w '%{http_code}' -H "Authorization: Bearer $coder" "$url/events?team=other")" = 403 ] || bad "a stream of another team"
[ "$(curl -s -o /dev/null -w '%{http_code}' -H "Authorization: Bearer $observer" "$url/events?kind=nothing")" = 400 ] || bad "a stream of no kind"

# The host refuses a stream with a malformed cursor or with an unknown parameter.
for query in after=abc after=0x10 after=1.5x after=%ff nothing=1; do
	[ "$(curl -s -o /dev/null -w '%{http_code}' -H "Authorization: Bearer $observer" "$url/events?$query")" = 400 ] || bad "a stream for $query"
done

# If one client's cursor is beyond the last event, the streams of other clients still get
# events.
timeout $((2 * TEST_SCALE)) curl -sN -H "Authorization: Bearer $observer" "$url/events?after=999999999999" >/dev/null 2>&1 &
followers=$!
sleep 0.5
curl -sN -m $((20 * TEST_SCALE)) -H "Authorization: Bearer $observer" "$url/events" >"$TMPDIR/now" 2>/dev/null &
followers="$followers $!"
until_done test -s "$TMPDIR/now"
is 0 . cadre task create early --team shop
until_done grep -q task.created "$TMPDIR/now"
kill $followers 2>/dev/null
wait
followers=

# Over two hundred clients, most of them with the same token, follow the event log while hosts
# are killed and started. Each client gets each event once and in order. When all clients
# connect again at once, the host refuses no client.
/usr/bin/python3 "$here/peers/followers.py" "$CADRE_HOME" "$observer" '' 200 "$TMPDIR/all" &
followers="$followers $!"
/usr/bin/python3 "$here/peers/followers.py" "$CADRE_HOME" "$observer" '?kind=task&team=shop' 10 "$TMPDIR/tasks" &
followers="$followers $!"
/usr/bin/python3 "$here/peers/followers.py" "$CADRE_HOME" "$coder" '' 4 "$TMPDIR/own" &
followers="$followers $!"
all_on() { [ "$(ls "$TMPDIR" | grep -c '[.]on$')" = 214 ]; }
until_done all_on
for round in 1 2 3; do
	for n in 1 2 3 4 5 6; do
		cadre send spy --team other "round $round" >/dev/null
		cadre task create "dig $round $n" --team shop >/dev/null
	done
	kill -9 "$(holder)"
	cadre task create "dig without a host" --team shop >/dev/null
	cadre up >/dev/null || bad "up again"
done
cadre task create last --team shop >/dev/null
sleep $((2 * TEST_SCALE))
touch "$TMPDIR/all.stop" "$TMPDIR/tasks.stop" "$TMPDIR/own.stop"
wait $followers
followers=
cadre events --limit 1000 --json >"$TMPDIR/events"
/usr/bin/python3 - "$TMPDIR" <<'PY' || bad "what followers saw"
import glob, json, sys
tmp = sys.argv[1]
events = json.load(open(tmp + "/events"))["events"]
wanted = {
    "all": [e["seq"] for e in events],
    "tasks": [e["seq"] for e in events if e["event"].startswith("task.") and e.get("team") == "shop"],
    "own": [e["seq"] for e in events if e.get("team") == "shop"],
}
wrong = back = 0
for name, all in wanted.items():
    files = [f for f in glob.glob("%s/%s.[0-9]*" % (tmp, name)) if not f.endswith(".on")]
    assert len(files) >= 4, (name, files)
    for path in files:
        lines = open(path).read().split("\n")
        seen = [int(n) for n in lines[0].split()]
        back += int(lines[1])
        rest = [n for n in all if n >= seen[0]] if seen else all
        if seen != rest or (int(path.rsplit(".", 1)[1]) % 2 == 0 and seen != all):
            wrong += 1
            print(path, "lacks", sorted(set(rest) - set(seen))[:9], "has too many", [n for n in set(seen) if seen.count(n) > 1 or n not in all][:9])
print("followers came back %d times" % back)
sys.exit(wrong > 0 or back < 214)
PY

# When a client's token is revoked or expires, the client's event stream ends. The stream of an
# MCP session also ends when its client's token is revoked.
url=$(cat "$CADRE_HOME/endpoint")
curl -s -D "$TMPDIR/head" -o /dev/null -H "Authorization: Bearer $coder" -H 'Content-Type: application/json' \
	-H 'Accept: application/json, text/event-stream' -d '{"jsonrpc":"2.0","id":1,"method":"initialize",
	"params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}' "$url/mcp"
session=$(tr -d '\r' <"$TMPDIR/head" | grep -i '^mcp-session-id:')
curl -sN -D "$TMPDIR/listens" -m $((60 * TEST_SCALE)) -H "Authorization: Bearer $coder" -H "$session" \
	-H 'Accept: text/event-stream' "$url/mcp" >/dev/null 2>&1 &
listener=$!
until_is '^HTTP.* 200' cat "$TMPDIR/listens"
curl -sN -m $((30 * TEST_SCALE)) -H "Authorization: Bearer $coder" "$url/events" >"$TMPDIR/stream" 2>/dev/null &
followers=$!
until_done test -s "$TMPDIR/stream"
is 0 revoked cadre token revoke coder-2
wait $followers || bad "the stream of a revoked token goes on"
short=$(cadre token create --observer --ttl-seconds 1)
curl -sN -m $((30 * TEST_SCALE)) -H "Authorization: Bearer $short" "$url/events" >"$TMPDIR/stream" 2>/dev/null ||
	bad "the stream of a token that has ended goes on"
[ "$(curl -s -o /dev/null -w '%{http_code}' -H "Authorization: Bearer $coder" "$url/events")" = 401 ] || bad "a revoked token opens a stream"
wait $listener || bad "the session of a revoked token listens on"
followers=
# A client that reads slowly still gets every event of a long event log.
/usr/bin/python3 <<'PY' || bad "a slow reader is cut off"
import json, os, socket, sys, time
def connect():
    s = socket.socket(socket.AF_UNIX)
    s.connect([os.path.join(d, "http.sock") for d, _, fs in os.walk(os.environ["XDG_RUNTIME_DIR"]) if "http.sock" in fs][0])
    s.settimeout(60)
    return s
local = connect()
body = json.dumps({"team": "shop", "to": "tester", "content": "x"})
one = "POST /api/messages HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
N = 6000
def receive(s, mark, most): # until `mark` has arrived `most` times; a mark may arrive in two pieces
    n, end = 0, b""
    while n < most:
        data = s.recv(65536)
        if b"HTTP/1.1 4" in data or b"HTTP/1.1 5" in data:
            sys.exit("a request failed: %r" % data[:300])
        if not data:
            sys.exit("cut off after %d of %d" % (n, most))
        n += (end + data).count(mark)
        end = (end + data)[1 - len(mark):]
for i in range(N // 50):
    local.sendall((one * 50).encode())
    receive(local, b"HTTP/1.1 200", 50)
s = connect()
s.sendall(b"GET /events?after=0&kind=message HTTP/1.1\r\nHost: localhost\r\n\r\n")
time.sleep(2) # the client reads nothing during this time
receive(s, b"\nevent: message.sent", N)
PY

# limits.max_streams limits the open streams of one client. Streams of other clients, and
# streams that have ended, do not count.
cadre down >/dev/null
cadre up --limits.max_streams 2 >/dev/null || bad "up with a limit"
url=$(cat "$CADRE_HOME/endpoint")
coder=$(cadre token create --agent shop/coder)
opens() { # TOKEN FILE
	curl -sN -m $((60 * TEST_SCALE)) -H "Authorization: Bearer $1" "$url/events" >"$2" 2>/dev/null &
	followers="$followers $!"
	until_done test -s "$2"
}
third() { curl -s -m 5 -D "$TMPDIR/head" -o /dev/null -w '%{http_code}' -H "Authorization: Bearer $1" "$url/events"; }
opens "$observer" "$TMPDIR/first"
last=$!
opens "$observer" "$TMPDIR/second"
[ "$(third "$observer")" = 429 ] || bad "a third stream: $(cat "$TMPDIR/head")"
grep -qi '^retry-after: 2' "$TMPDIR/head" || bad "when to come back: $(cat "$TMPDIR/head")"
opens "$coder" "$TMPDIR/own.first"
opens "$(cadre token create --observer)" "$TMPDIR/other.first"
operator=$(cadre token create --operator)
for n in 1 2 3; do opens "$operator" "$TMPDIR/operator.$n"; done
kill $last
until_is 200 third "$observer"

exit $failed
