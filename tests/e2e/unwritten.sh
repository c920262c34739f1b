#!/bin/sh
# unwritten - if a command cannot write its answer, the command says so, and the answer's
# messages stay in the inbox. The test covers a full disk, and a state that is removed before
# the answer's messages are put back into the inbox. The test also covers answers with messages
# that are six times as long in JSON as in the state.
set -u
. "$(dirname "$0")/../lib/story.sh"
unset http_proxy HTTP_PROXY all_proxy ALL_PROXY
finish() {
	CADRE_HOME="$TMPDIR/s"
	cadre team destroy --yes red >/dev/null 2>&1
	until_is '^0$' count_guests
	cadre down >/dev/null 2>&1
}
trap finish EXIT
full() { # STATUS COMMAND...: runs the command with its output on a full disk
	want=$1
	shift
	cadre "$@" >/dev/full 2>"$TMPDIR/err"
	got=$?
	[ $got = "$want" ] || bad "$* to a full disk exits with $got"
	grep -q 'could not be written' "$TMPDIR/err" || bad "$* to a full disk says nothing"
}

cadre up >/dev/null || bad "up"
cadre team create red --roles '[{"name":"a","workspace":true},{"name":"b"}]' >/dev/null || bad "team create"
export CADRE_TEAM=red
waited 0 workspace red/a

# --- full disks ---------------------------------------------------------------------------

full 1 exec red/a "echo hello"
full 3 exec red/a "echo hello; exit 3"
full 1 --json exec red/a "echo hello"
full 1 events
full 1 events -f
cadre exec red/a "echo hello >&2" 2>/dev/full && bad "a lost standard error is no failure"
cadre task create one >/dev/null
full 1 --as b claim --wait
waited 0 task 001 pending
cadre send b kept >/dev/null
full 1 --as b inbox --take
full 1 --as b inbox --take --wait
cadre --as b inbox --take | grep -q kept || bad "a full disk took a message"
cadre --as b inbox --take | grep -q 'no messages' || bad "it was not taken"

# --- a command whose output was cut can be read as a job -----------------------------------

cadre --json exec red/a --max-output-bytes 1000 -- "head -c 1500000 /dev/zero | tr '\\0' '\\001'" >"$TMPDIR/cut"
/usr/bin/python3 - "$TMPDIR/cut" <<'PY' >"$TMPDIR/job" || bad "a cut exec"
import json, sys
a = json.load(open(sys.argv[1]))
assert a["stdout_size"] == 1500000 > len(a["stdout"]), a["stdout_size"]
print(a["job_id"])
PY
cadre --json workspace poll red/a "$(cat "$TMPDIR/job")" 2>/dev/null | grep -q '"exit_code":0' || bad "its job"

# Without --json the client fetches the rest of the output from the command's job. The client
# prints each stream up to --max-output-bytes.
both="head -c 1900000 /dev/zero | tr '\\0' a; head -c 900000 /dev/zero | tr '\\0' '\\001' >&2"
cadre exec red/a --max-output-bytes 800000 -- "$both" >"$TMPDIR/out" 2>"$TMPDIR/err" || bad "exec up to a limit"
[ "$(tr -dc a <"$TMPDIR/out" | wc -c)" = 800000 ] || bad "stdout: $(wc -c <"$TMPDIR/out") bytes of 800000"
[ "$(tr -dc '\001' <"$TMPDIR/err" | wc -c)" = 800000 ] || bad "stderr is not cut at 800000"
grep -aq 'stdout was cut: 800000 of 1900000' "$TMPDIR/err" || bad "the cut of stdout is not said"
grep -aq 'stderr was cut: 800000 of 900000' "$TMPDIR/err" || bad "the cut of stderr is not said"
cadre exec red/a -- "echo short; head -c 1500000 /dev/zero | tr '\\0' '\\001' >&2" >"$TMPDIR/out" 2>"$TMPDIR/err"
[ "$(cat "$TMPDIR/out")" = short ] || bad "a short stream is lost beside a long one"
[ "$(wc -c <"$TMPDIR/err")" = 1500000 ] || bad "the long one is not whole"

# --- control characters are six times as long in JSON -----------------------------------------

url=$(cadre agent whois a --json | sed -n 's/.*"http":"\([^"]*\)".*/\1/p')
token=$(cadre --as a agent door a --json | sed -n 's/.*"token":"\([^"]*\)".*/\1/p')
CADRE=$CADRE /usr/bin/python3 - "$url" "$token" <<'PY' || bad "control characters"
import json, os, subprocess, sys, urllib.request
url, token = sys.argv[1:]
text = lambda i: "%02d" % i + "\x01" * (262144 - 2)
p = subprocess.Popen([os.environ["CADRE"], "--team", "red", "--operator", "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
n = 0
def ask(method, params):
    global n
    n += 1
    p.stdin.write(json.dumps({"jsonrpc": "2.0", "id": n, "method": method, "params": params}).encode() + b"\n")
    p.stdin.flush()
    return json.loads(p.stdout.readline())["result"]
def tool(name, **arguments):
    r = ask("tools/call", {"name": name, "arguments": arguments})
    return json.loads(r["content"][0]["text"])
ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}})
def http(path, data=None):
    r = urllib.request.Request(url + path, data, {"Authorization": "Bearer " + token})
    return json.load(urllib.request.urlopen(r, timeout=60))
for i in range(8):
    assert "seq" in tool("team_message", to=["a", "b"], content=text(i), team="red")
def every(receive):
    seen, parts, more = [], 0, True
    while more:
        a = receive(parts)
        seen += [m["content"] for m in a["messages"]]
        parts, more = parts + 1, a["more"]
        assert a["messages"] or not more
    assert parts > 1, "they fit one answer"
    assert seen == [text(i) for i in range(8)], [s[:2] for s in seen]
every(lambda i: http("/messages?limit=100&request_id=r%d&seen=r%d" % (i, i - 1)))
# Over MCP a message whose text is too long for one answer is read in parts.
def whole(m):
    while len(m["content"].encode()) < m.get("content_size", 0):
        m["content"] += tool("inbox", action="part", message_id=m["seq"], team="red",
                             offset=len(m["content"].encode()), max_result_tokens=250000)["text"]
    return m
def shown(i):
    a = tool("inbox", action="receive", limit=100, team="red", agent="b", max_result_tokens=250000)
    return {"messages": [whole(m) for m in a.get("messages", [])], "more": a.get("more", False)}
every(shown)
PY

# --- a request that was sent before the answer -----------------------------------------------

cadre team create piped --roles b >/dev/null
CADRE_TEAM=piped cadre send b early >/dev/null
CADRE=$CADRE CADRE_TEAM=piped /usr/bin/python3 - <<'PY' || bad "requests that were sent before the answer"
import fcntl, json, os, subprocess, sys, termios, time
p = subprocess.Popen([os.environ["CADRE"], "--as", "b", "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
def put(*all):
    p.stdin.write(b"".join(json.dumps(dict(m, jsonrpc="2.0")).encode() + b"\n" for m in all))
    p.stdin.flush()
def ask(id, **words):
    return {"id": id, "method": "tools/call", "params": {"name": "inbox", "arguments": words}}
got = {}
def until(id):
    while id not in got:
        m = json.loads(p.stdout.readline())
        got[m.get("id")] = json.dumps(m)
    return got.pop(id)
def wait_unread():
    unread = last = 0
    while not unread or unread != last:
        last = unread
        time.sleep(.3)
        unread = int.from_bytes(fcntl.ioctl(p.stdout, termios.FIONREAD, bytes(4)), sys.byteorder)
put({"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}})
until(1)
for words in ({"lease_seconds": 0}, {}):
    # A peek or a ping does not prove that the client has read the answer to the client's
    # earlier receive. A cancel of the receive still takes effect after a peek or a ping.
    put(ask(2, action="receive", **words), {"id": 3, "method": "ping"}, ask(4, action="peek"))
    wait_unread()
    put({"id": 5, "method": "ping"}, {"method": "notifications/cancelled", "params": {"requestId": 2}})
    assert "early" in until(2)
    until(5)
put(ask(6, action="receive", lease_seconds=0))
assert "early" in until(6)
put(ask(7, action="peek"))
until(7)
p.stdin.close()
assert p.wait(120) == 0, p.returncode
PY
[ "$(CADRE_TEAM=piped cadre --as b inbox --json | grep -c early)" = 0 ] || bad "what was taken came again"

# --- the state is removed before an answer is undone -----------------------------------------

export CADRE_HOME="$TMPDIR/lost"
cadre init >/dev/null && cadre team create gone --roles b >/dev/null || bad "a second state"
CADRE_TEAM=gone cadre send b late >/dev/null
CADRE=$CADRE /usr/bin/python3 - "$CADRE_HOME" <<'PY' || bad "a state that is gone"
import glob, json, os, select, subprocess, sys
env = dict(os.environ, CADRE_TEAM="gone")
p = subprocess.Popen([os.environ["CADRE"], "--as", "b", "mcp"], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
def put(m):
    p.stdin.write(json.dumps(dict(m, jsonrpc="2.0")).encode() + b"\n")
    p.stdin.flush()
put({"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}})
p.stdout.readline()
put({"id": 2, "method": "tools/call", "params": {"name": "inbox", "arguments": {"action": "receive", "lease_seconds": 0}}})
assert select.select([p.stdout], [], [], 60)[0] # the answer is written, and not read before the cancel
for path in glob.glob(sys.argv[1] + "/state.db*"):
    os.remove(path)
put({"method": "notifications/cancelled", "params": {"requestId": 2}})
put({"id": 3, "method": "tools/call", "params": {"name": "inbox", "arguments": {"action": "peek"}}})
assert b"late" in p.stdout.readline()
a = json.loads(p.stdout.readline())["result"]
assert a["isError"], a
p.stdin.close()
assert p.wait(120) == 0, p.returncode
assert not glob.glob(sys.argv[1] + "/state.db"), "the undoing made a state"
PY
exit $failed
