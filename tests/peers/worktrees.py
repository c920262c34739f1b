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
`clients WORKTREE NAME NAME NAME`: clients of one worktree, each a process with a server and hooks of its
own, are as many agents, and none is shown the mail of another.
`renamed OLD NEW`: so do two, then their team is renamed; both go on, also the one that waits.
Prints what is wrong.
"""
import json, os, re, subprocess, sys, time


class Session:
    def __init__(self, tree, by_script=False):
        server = json.load(open(os.path.join(tree, ".mcp.json")))["mcpServers"]["cadre"]
        self.name = os.path.basename(tree)
        words = [server["command"], *server["args"]]
        self.p = subprocess.Popen(["sh", "-c", '"$@"; exit', "."] + words if by_script else words, cwd=tree,
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

    def all(self, calls):
        """Makes the calls side by side; their answers in the order of the calls."""
        first, told = self.n + 1, {}
        for called, arguments in calls:
            self.call(called, **arguments)
        while len(told) < len(calls):
            line = json.loads(self.p.stdout.readline())
            told[line.get("id")] = line["result"]["content"][0]["text"] if "id" in line else ""
            told.pop(None, None)
        return [json.loads(told[first + i]) for i in range(len(calls))]

    def end(self):
        self.p.stdin.close()
        self.p.wait()


class Client:
    """A client in a process of its own, which runs what it is sent: see play()."""
    def __init__(self, tree, id, by_script=""):
        self.p = subprocess.Popen([sys.executable, __file__, "client", tree, id, by_script], text=True,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.told = self.hear()

    def hear(self):
        return json.loads(self.p.stdout.readline())

    def do(self, *what):
        self.p.stdin.write(json.dumps(what) + "\n")
        self.p.stdin.flush()
        return self.hear()

    def end(self):
        self.p.stdin.close()
        self.p.wait()


def play(tree, id, by_script):
    """Plays a client: for each line, ["tool", NAME, ARGUMENTS], ["all", [NAME, ARGUMENTS]...], ["hook", EVENT], ["run", WORDS...],
    ["move", TO], which moves the worktree, or ["again"], a new server, says what came of it."""
    session = Session(tree, by_script)
    say = lambda what: print(json.dumps(what), flush=True)
    # A shell with a single command replaces itself by the command. A second command (`exit`)
    # prevents the replacement of the shell.
    run = lambda line, text: subprocess.run(["sh", "-c", line + ("" if by_script else "; exit")], cwd=tree, input=text,
                                            capture_output=True, text=True).stdout
    say(session.told)
    for line in sys.stdin:
        verb, *what = json.loads(line)
        if verb == "tool":
            say(session.tool(what[0], **what[1]))
        elif verb == "all":
            say(session.all(what))
        elif verb == "hook":
            say(run('exec "$CADRE" hook claude' if by_script else '"$CADRE" hook claude', json.dumps({"session_id": id, "cwd": tree, "hook_event_name": what[0]})))
        elif verb == "run":
            say(run('"$CADRE" ' + " ".join(what), ""))
        elif verb == "move":
            say(subprocess.run(["git", "worktree", "move", tree, what[0]], cwd=tree, capture_output=True, text=True).stderr)
            tree = what[0]
        else:
            session.end()
            session = Session(tree, by_script)
            say(session.told)
    session.end()
    sys.exit()


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


if sys.argv[1] == "client":
    play(sys.argv[2], sys.argv[3], sys.argv[4])
sessions = [] if sys.argv[1] == "clients" else [Session(tree) for tree in sys.argv[2:] if "/" in tree]
nexts = sessions[1:] + sessions[:1]
if sys.argv[1] == "join":
    for s in sessions:
        check("nobody yet" in s.told, s.name, "is somebody:", s.told)
        refused = s.tool("task", action="claim")
        check(refused.get("code") == "denied" and "register" in refused["hint"] and "--operator" not in refused["hint"], refused)
        check("tasks" in s.tool("task", action="list"), s.name, "cannot look")
    for s in sessions:
        joined = s.tool("agents", action="register", name=s.name)
        check(joined.get("name") == s.name and joined["team"] == "shop", joined)
        check(s.name in joined.get("you", ""), joined)
        check("waiting" not in joined, "is told of the operator's mail:", joined)
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
elif sys.argv[1] == "clients":
    tree, names = sys.argv[2], sys.argv[3:]
    pat, quin, ray = names
    send = lambda to, text: subprocess.run([os.environ["CADRE"], "--operator", "--team", "shop", "send", to, text],
                                           capture_output=True)
    shown = lambda c, event="UserPromptSubmit": c.do("hook", event)
    register = lambda c, name: c.do("tool", "agents", {"action": "register", "name": name})
    first = Client(tree, pat)
    check("whenever" in register(first, pat).get("you", ""), "the first one is not kept")
    # The second session gets the message that another session runs here. Mail for the agent of
    # the first session is shown only in the first session.
    second = Client(tree, quin)
    check("`%s`" % pat in second.told and "Another session here (process %d)" % first.p.pid in second.told, second.told)
    send(pat, "for the first alone")
    told = shown(second, "SessionStart")
    check("Another session here (process %d) is %s already" % (first.p.pid, pat) in told and "alone" not in told, told)
    check(shown(second) == "", "the second one is shown mail")
    check("for the first alone" in shown(first), "the first one is shown nothing")
    # The second session may register an agent of its own. If this registration is refused, the
    # second session continues as the agent of the first session.
    check(register(second, "ann").get("code") == "conflict", "it is another one's agent")
    check(second.do("tool", "agents", {"action": "start"}).get("name") == pat, "it is nobody")
    # While the second session registers an agent, its other calls run as the first session's
    # agent or as the new agent.
    said, made, seen = second.do("all", ["agents", {"action": "register", "name": quin}],
                                 ["task", {"action": "create", "title": "Beside"}], ["task", {"action": "list"}])
    check("task" in made and seen["counts"], made, seen)
    check("in this session and in programs that its client runs here" in said.get("you", "") and "is %s of" % pat in said["you"], said)
    check(register(first, "zoe").get("code") == "denied", "the first one is somebody else")
    third = Client(tree, ray, "by a script")
    check("you" in register(third, ray), "the third one is nobody")
    for name in names:
        send(name, "for %s alone" % name)
    for name, c in ((ray, third), (quin, second), (pat, first)):
        check(c is third or c.do("run", "whoami").startswith(name + " of team shop"), name, "is another one in its shell")
        told = shown(c)
        check("for %s alone" % name in told and told.count("alone") == 1, name, "is shown:", told)
    told = second.do("again")
    check("You are agent `%s`" % quin in told and "Another" not in told, told)
    # cadre forgets a session after the client of the session has ended.
    check(second.do("run", "whoami", "--json").count('"by":"session"') == 1, "it is not its session")
    # A session goes on as its own agent when the worktree is moved.
    for to in (tree + "-moved", tree):
        moved = second.do("move", to)
        check(moved == "" and second.do("run", "whoami").startswith(quin + " of team shop"), moved, "it is another one in", to)
    second.end()
    first.end()
    fourth = Client(tree, "again-" + pat)
    send(pat, "for the first again")
    told = shown(fourth, "SessionStart")
    check("Another" not in fourth.told + told and "for the first again" in told, told)
    for c in (third, fourth):
        c.end()
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
        # If a session repeats the registration of a forgotten agent, the call is not a replay.
        # The session does not get this agent back.
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
    held = [s.tool("task", action="claim") for s in sessions]
    for s in sessions:
        s.call("inbox", action="receive", wait_seconds=30)
    time.sleep(0.3)
    for words in (["team", "update", old, "--new-name", new], ["--team", new, "send", ",".join(names), "later"]):
        told = subprocess.run([os.environ["CADRE"], "--operator", *words], capture_output=True, text=True)
        check(told.returncode == 0, told.stderr)
    for s, name, claim in zip(sessions, names, held):
        check([m["content"] for m in s.told_by().get("messages", [])] == ["later"], name, "missed its mail")
        check(s.tool("agents", action="start").get("team") == new, name, "starts elsewhere")
        check(len(s.tool("task", action="list", team=old, mine=True).get("tasks", [])) == 1, name, "holds no task")
        done = s.tool("task", action="complete", task=claim["task"]["id"], epoch=claim["epoch"], result="done")
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
