#!/bin/sh
# tokens - a model reads the answers of MCP tools as tokens. The test counts 4 bytes as one
# token, and prints a table with the size and the limit of each answer. The team has 50 members
# besides the lead, and a board of 100 tasks. The description of one task has 6 kB.
set -u
. "$(dirname "$0")/../lib/story.sh"

cadre team create crew --roles '[{"name":"lead"},{"name":"a","count":50}]' >/dev/null || bad "team"
CADRE=$CADRE CADRE_TEAM=crew /usr/bin/python3 - <<'PY' || bad "an answer costs too much"
import json, os, subprocess, sys

class Peer:
    def __init__(self, agent, *flags):
        who = ["--as", agent, "mcp"] if agent else ["mcp", "--operator"]
        self.p = subprocess.Popen([os.environ["CADRE"], *who, *flags],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.n = 0
        self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {},
                                "clientInfo": {"name": "t", "version": "1"}})
    def ask(self, method, params={}):
        self.n += 1
        line = {"jsonrpc": "2.0", "id": self.n, "method": method, "params": params}
        self.p.stdin.write(json.dumps(line).encode() + b"\n")
        self.p.stdin.flush()
        while (m := json.loads(self.p.stdout.readline())).get("id") != self.n:
            pass
        return m["result"]
    def call(self, tool, **arguments):
        r = self.ask("tools/call", {"name": tool, "arguments": arguments})
        assert list(r) == ["content"] and len(r["content"]) == 1, r
        return r["content"][0]["text"]

dear = 0
def costs(what, most, text):
    global dear
    tokens = (len(text.encode()) + 3) // 4
    dear += tokens > most
    print("%-24s %5d of %5d%s" % (what, tokens, most, "  TOO MUCH" if tokens > most else ""))

a, b = Peer("a-1"), Peer("a-2")
task = lambda action, **more: a.call("task", action=action, **more)
large = "Why and how, in many words. " * 215  # 6 kB
for i in range(100):
    task("create", title="Build the part with number %d" % i, description=large if i == 0 else "short",
         acceptance_criteria=["It is there.", "It is tried."])
whole = task("claim")
assert large in whole, "a claim gives the whole task"
costs("claim of 6 kB", 1750, whole)
for action, more in [("start", {}), ("note", {"text": "half"}), ("tick", {"criterion": [1, 2]}),
                     ("block", {"text": "waits"}), ("unblock", {}), ("complete", {"text": "done"})]:
    costs(action, 60, task(action, **more))
for action in ["fail", "release"]:
    task("claim")
    costs(action, 60, task(action))
task("claim")
costs("heartbeat", 15, task("heartbeat"))
costs("send", 40, a.call("team_message", to="a-2", text="hello"))
costs("empty receive", 25, a.call("inbox", action="receive"))
costs("broadcast to 50", 120, a.call("team_message", to="*", text="hello"))
costs("start of a session", 250, b.call("agents", action="start"))
# The answer at the start of a session stays within its limit even with long names and titles.
name = lambda c: c * 61
c = Peer("lead")
for who in "qrs":
    c.call("agents", action="register", name=name(who), role="r" * 60)
q = Peer(name("q"))
for i in range(7):
    c.call("task", action="create", title="x" * 470 + str(i), priority=1)
    q.call("task", action="claim")
c.call("team_message", to=name("q"), text="hello", priority="urgent")
costs("start at its longest", 250, begun := q.call("agents", action="start"))
assert len(json.loads(begun)["holding"]) == 5 and json.loads(begun)["holds_more"] == 2 and json.loads(begun)["others"] > 45, begun
costs("status of 51 members", 900, Peer("lead").call("team", action="status"))
made = Peer(None).call("team", action="create", name="large", roles=[{"name": "b", "count": 50}])
assert len(json.loads(made)["members"]) == 51 and '"token"' not in made, made
costs("team of 51 members", 1100, made)
costs("list of 100 tasks", 2500, task("list"))
costs("ready", 2200, task("ready"))
costs("events, 100 of them", 2500, a.call("events"))
size = lambda peer: json.dumps(peer.ask("tools/list")["tools"], separators=(",", ":"))
costs("tools of core", 3000, size(a))
costs("with output schemas", 8200, size(Peer("a-4", "--output-schemas")))
sys.exit(dear > 0)
PY
exit $failed
