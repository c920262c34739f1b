"""Agents in worktrees, each started by the same .mcp.json.

    worktrees.py join|again WORKTREE...
    worktrees.py beside WORKTREE WORKTREE

`join`: each session is nobody, registers under its worktree's name, claims a task, writes
to the next one and reads its own mail.  `again`: new sessions are the same agents.
`nameless`: each session registers without a name, and gets one of its own.
`beside`: two sessions of one worktree register under two names; it is kept for the first.
`killed`: sessions of a worktree are killed while they register; the next one there gets the
same agent by the same call.  Another worktree does not, whatever idempotency key it says.
`race`: many sessions of one worktree register at once: one is told that it is kept.
`together`: sessions of one worktree register at once, without names: each is another agent.
`renamed OLD NEW`: so do two, then their team is renamed; both go on, also the one that waits.
Prints what is wrong.
"""
import json, os, re, subprocess, sys, time


class Session:
    def __init__(self, tree):
        server = json.load(open(os.path.join(tree, ".mcp.json")))["mcpServers"]["cadre"]
        self.name = os.path.basename(tree)
        self.p = subprocess.Popen([server["command"], *server["args"]], cwd=tree,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.n, self.heard = 0, ""
        self.told = self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {},
                                            "clientInfo": {"name": "t", "version": "1"}})["instructions"]

    def post(self, method, params):
        self.n += 1
        self.p.stdin.write(json.dumps({"jsonrpc": "2.0", "id": self.n, "method": method, "params": params}).encode() + b"\n")
        self.p.stdin.flush()

    def hear(self):
        line = self.p.stdout.readline().decode()
        self.heard += line
        return json.loads(line)["result"]

    def ask(self, method, params):
        self.post(method, params)
        return self.hear()

    def call(self, called, **arguments):
        self.post("tools/call", {"name": called, "arguments": arguments})

    def told_by(self):
        return json.loads(self.hear()["content"][0]["text"])

    def tool(self, called, **arguments):
        self.call(called, **arguments)
        return self.told_by()

    def end(self):
        self.p.stdin.close()
        self.p.wait()


def check(right, *what):
    if not right:
        print(*what)


def mail(s):
    return [m["content"] for m in s.tool("inbox", action="receive")["messages"]]


def together(sessions):
    for s in sessions:
        s.call("agents", action="register")
    said = [s.told_by() for s in sessions]
    check(len({j.get("name") for j in said}) == len(sessions), said)
    check(all("replayed" not in j for j in said), said)
    check(len([j for j in said if "whenever" in j["you"]]) <= 1, said)
    return [j["name"] for j in said]


sessions = [Session(tree) for tree in sys.argv[2:] if "/" in tree]
nexts = sessions[1:] + sessions[:1]
if sys.argv[1] == "join":
    for s in sessions:
        check("nobody yet" in s.told, s.name, "is somebody:", s.told)
        refused = s.tool("task", action="claim")
        check(refused.get("code") == "denied" and "register" in refused["hint"] and "--operator" in refused["hint"], refused)
        check("tasks" in s.tool("task", action="list"), s.name, "cannot look")
    for s in sessions:
        joined = s.tool("agents", action="register", name=s.name)
        check(joined.get("name") == s.name and joined["team"] == "shop", joined)
        check(s.name in joined.get("you", ""), joined)
    tasks = [s.tool("task", action="claim").get("task", {}) for s in sessions]
    check(len({t["id"] for t in tasks if "id" in t}) == len(sessions), tasks)
    for s, t in zip(sessions, tasks):
        shown = s.tool("task", action="show", task=t["id"])["task"]
        check(shown["owner"] == s.name, s.name, "is", shown["owner"])
    for s, other in zip(sessions, nexts):
        s.tool("team_message", to=other.name, content="from " + s.name)
    for s, other in zip(sessions, nexts):
        check(mail(other) == ["from " + s.name], other.name, "got the mail of another")
    again = sessions[0].tool("agents", action="register", name=sessions[0].name)
    check(again.get("resumed") is True and "token" not in again, again)
    another = sessions[0].tool("agents", action="register", name="zoe")
    check(another.get("code") == "denied", another)
    for s in sessions:
        check(not re.search("[0-9a-f]{64}", s.heard), s.name, "was shown a token")
elif sys.argv[1] == "nameless":
    said = [s.tool("agents", action="register") for s in sessions]
    names = [j["name"] for j in said]
    check(len(set(names)) == len(sessions), names)
    for s, joined in zip(sessions, said):
        check(joined["you"].startswith(joined["name"] + " of team shop"), joined)
        check(s.tool("agents", action="register").get("name") == joined["name"], joined)
        check(len(joined["you"]) < 200 and "token" not in joined, joined)
elif sys.argv[1] == "beside":
    said = [s.tool("agents", action="register", name=name)["you"] for s, name in zip(sessions, ("one", "two"))]
    check("whenever cadre runs in" in said[0], said)
    check("in this session alone" in said[1] and "is one of team shop" in said[1], said)
    for s, name in zip(sessions, ("one", "two")):
        made = s.tool("task", action="create", title="By " + name)
        shown = s.tool("task", action="show", task=made["task"]["id"] if "task" in made else made["id"])
        check(shown["task"]["created_by"] == name, shown)
elif sys.argv[1] == "killed":
    tree, other = sys.argv[2], sessions[1]
    sessions[0].end()
    for n in range(16):
        same = dict(action="register", name="kay-%d" % n, role="coder")
        victim = Session(tree)
        victim.p.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {
            "name": "agents", "arguments": dict(same, idempotency_key="k1")}}).encode() + b"\n")
        victim.p.stdin.flush()
        time.sleep(n * 0.002)
        victim.p.kill()
        victim.p.wait()
        back = Session(tree)
        if "nobody yet" in back.told:
            joined = back.tool("agents", **same)
            check(joined.get("name") == same["name"] and "whenever" in joined.get("you", ""), n, joined)
        for told in (other.tool("agents", idempotency_key="k1", **same), other.tool("agents", **same)):
            check(told.get("code") == "conflict", n, told)
        back.end()
        subprocess.run([os.environ["CADRE"], "whoami", "--forget"], cwd=tree, capture_output=True)
        # An agent that was forgotten is not given back: the same words are a new call.
        again = Session(tree)
        told = again.tool("agents", **same)
        check(told.get("code") == "conflict", n, told)
        again.end()
    sessions = sessions[1:]
elif sys.argv[1] == "together":
    together(sessions)
elif sys.argv[1] == "renamed":
    old, new = sys.argv[2:4]
    names = together(sessions)
    held = [s.tool("task", action="claim")["task"] for s in sessions]
    for s in sessions:
        s.call("inbox", action="receive", wait_seconds=30)
    time.sleep(0.3)
    for words in (["team", "update", old, "--new-name", new], ["--team", new, "send", ",".join(names), "later"]):
        told = subprocess.run([os.environ["CADRE"], "--operator", *words], capture_output=True, text=True)
        check(told.returncode == 0, told.stderr)
    for s, name, task in zip(sessions, names, held):
        check([m["content"] for m in s.told_by().get("messages", [])] == ["later"], name, "missed its mail")
        check(s.tool("agents", action="start").get("team") == new, name, "starts elsewhere")
        check(len(s.tool("task", action="list", team=old, mine=True).get("tasks", [])) == 1, name, "holds no task")
        done = s.tool("task", action="complete", task=task["id"], epoch=task["epoch"], result="done")
        check("code" not in done, name, done)
elif sys.argv[1] == "race":
    for n, s in enumerate(sessions):
        s.p.stdin.write(json.dumps({"jsonrpc": "2.0", "id": "r", "method": "tools/call", "params": {
            "name": "agents", "arguments": {"action": "register", "name": "racer-%d" % n}}}).encode() + b"\n")
        s.p.stdin.flush()
    said = [json.loads(json.loads(s.p.stdout.readline())["result"]["content"][0]["text"])["you"] for s in sessions]
    kept = [you for you in said if "whenever" in you]
    check(len(kept) == 1, said)
    print(kept[0].split()[0]) if len(kept) == 1 else None
else:
    for s in sessions:
        check("`%s`" % s.name in s.told, s.name, "is told:", s.told)
        held = s.tool("task", action="list", owner=s.name)["tasks"]
        check(len(held) == 1 and held[0]["owner"] == s.name, held)
        done = s.tool("task", action="note", task=held[0]["id"], text="still here")
        check("code" not in done, done)
for s in sessions:
    s.end()
