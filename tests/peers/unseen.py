"""What nobody saw is not acknowledged, what nobody holds is not claimed.

usage: unseen.py N [DOOR...]        with the command in $CADRE

At each door N hand-outs or claims are broken off near the moment of the answer: killed,
cancelled, reset, or written to a full disk.  Then the doors are asked until nothing is
left.  Every message must have been seen, and no task be held by nobody who was told."""
import json, os, random, re, shlex, shutil, signal, socket, struct, subprocess, sys
import tempfile, time
import urllib.request

CADRE = os.environ["CADRE"]
DICE = random.Random(int(os.environ.get("SEED", "7")))
FULL = "/dev/full"
procs = []


class World:
    def __init__(self, host, workspace=False):
        self.top = tempfile.mkdtemp(prefix="unseen-")
        self.home = os.path.join(self.top, "s")
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("CADRE")}
        self.env.update(CADRE_HOME=self.home, HOME=self.top, XDG_RUNTIME_DIR=self.top)
        self.host, self.workspace = host, workspace
        self.run("init")
        if host:
            self.run("up")
        roles = [{"name": "a", "workspace": True} if workspace else {"name": "a"}, {"name": "b"}]
        made = self.js("team", "create", "t", "--roles", json.dumps(roles))
        self.token = {m["name"]: m["token"] for m in made["members"]}
        self.seen = set()
        self.sent = 0

    def who(self, name):
        return dict(self.env, CADRE_TEAM="t", CADRE_AGENT=name, CADRE_TOKEN=self.token[name])

    def run(self, *words, who=None):
        r = subprocess.run([CADRE, *words], env=self.who(who) if who else self.env,
                           cwd=self.top, capture_output=True, timeout=120)
        if r.returncode:
            raise SystemExit("cadre %s: %s" % (words, r.stderr.decode()))
        return r.stdout.decode()

    def js(self, *words, who=None):
        return json.loads(self.run(*words, "--json", who=who))

    def popen(self, *words, who="a", **more):
        env = self.who(who) if who else self.env
        p = subprocess.Popen([CADRE, *words], env=env, cwd=self.top,
                             stderr=subprocess.DEVNULL, **more)
        procs.append(p)
        return p

    def send(self):
        self.sent += 1
        return ("team_message", {"to": ["a"], "content": "msg-%d-" % self.sent})

    def look(self, text):
        self.seen |= {int(n) for n in re.findall(r"msg-(\d+)-", text)}

    def end(self):
        if self.workspace:
            self.run("team", "destroy", "t")
        if self.host:
            self.run("down")
        shutil.rmtree(self.top, ignore_errors=True)


class Mcp:
    def __init__(self, world, who):
        self.p = world.popen("mcp", who=who, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.n = 0
        self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {},
                                "clientInfo": {"name": "t", "version": "1"}})

    def put(self, message):
        self.p.stdin.write(json.dumps(dict(message, jsonrpc="2.0")).encode() + b"\n")
        self.p.stdin.flush()

    def start(self, tool, arguments):
        self.n += 1
        self.put({"id": self.n, "method": "tools/call",
                  "params": {"name": tool, "arguments": arguments}})
        return self.n

    def until(self, id):
        """What was answered up to the answer of `id`, by id."""
        got = {}
        while id not in got:
            line = self.p.stdout.readline()
            if not line:
                raise EOFError
            m = json.loads(line)
            got[m.get("id")] = m
        return got

    def ask(self, method, params=None):
        self.n += 1
        self.put({"id": self.n, "method": method, "params": params or {}})
        return self.until(self.n)[self.n]

    def tool(self, tool, **arguments):
        id = self.start(tool, arguments)
        return json.loads(self.until(id)[id]["result"]["content"][0]["text"])

    def close(self):
        self.p.stdin.close()
        self.p.stdout.close()
        self.p.wait(20)


def soon(most):
    end = time.perf_counter() + DICE.random() * most
    while time.perf_counter() < end:
        pass


def drain(world, what):
    """Receives until nothing is left; a lease of a session that is gone may have to end."""
    m = Mcp(world, "a")
    for _ in range(world.sent + 50):
        got = m.tool("inbox", action="receive", limit=100)
        world.look(json.dumps(got["messages"]))
        if not got["messages"]:
            break
    m.close()
    lost = world.sent - len(world.seen)
    print("%-28s %-6s %6d tries, %d never seen" %
          (what, "host" if world.host else "direct", world.sent, lost), flush=True)
    world.end()
    return lost


def command_killed(n, host):
    world = World(host)
    b = Mcp(world, "b")
    for _ in range(n):
        p = world.popen("inbox", "--wait-seconds", "20", "--json", stdout=subprocess.PIPE)
        time.sleep(.02)
        id = b.start(*world.send())
        soon(.004)
        # Without a host a process that is killed at once leaves its lease behind.
        p.send_signal(DICE.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT]
                                  if host else [signal.SIGTERM, signal.SIGINT]))
        world.look(p.stdout.read().decode())
        p.wait()
        p.stdout.close()
        b.until(id)
    return drain(world, "command killed")


def command_full(n, host):
    world = World(host)
    b = Mcp(world, "b")
    for i in range(n):
        b.until(b.start(*world.send()))
        with open(FULL, "w") as full:
            if world.popen("inbox", "--limit", "1", stdout=full).wait() != 1:
                raise SystemExit("a full disk was no failure")
        if i % 3 == 0:
            world.look(world.run("inbox", who="a"))
    return drain(world, "command to a full disk")


def mcp_cancelled(n, host):
    world = World(host)
    a, b = Mcp(world, "a"), Mcp(world, "b")
    for _ in range(n):
        id = a.start("inbox", {"action": "receive", "wait_seconds": 30})
        time.sleep(.01)
        sent = b.start(*world.send())
        soon(.004)
        a.put({"method": "notifications/cancelled", "params": {"requestId": id}})
        b.until(sent)
        a.ask("ping")  # what was cancelled is not looked at
        if world.sent % 20 == 0:  # an inbox holds a hundred
            world.look(json.dumps(a.tool("inbox", action="receive", limit=100)))
    a.close()
    return drain(world, "mcp cancelled")


def mcp_killed(n, host):
    world = World(host)
    b = Mcp(world, "b")
    for _ in range(n):
        a = Mcp(world, "a")
        a.start("inbox", {"action": "receive", "wait_seconds": 30})
        time.sleep(.01)
        sent = b.start(*world.send())
        soon(.004)
        if DICE.random() < .5 and host:
            a.p.kill()
        else:
            a.p.stdin.close()
        world.look(a.p.stdout.read().decode())
        a.p.stdout.close()
        a.p.wait(20)
        b.until(sent)
    return drain(world, "mcp killed or left")


def cancelled_claim(a, b, i, where):
    """Whether a task stays held when its claim is cancelled near the answer."""
    id = a.start("task", {"action": "claim", "wait_seconds": 30, **where})
    time.sleep(.01)
    team = {"team": where["team"]} if "team" in where else {}
    made = b.start("task", {"action": "create", "title": "t%d" % i, **team})
    soon(.004)
    if i % 4 == 3:  # long after it
        a.until(id)
    a.put({"method": "notifications/cancelled", "params": {"requestId": id}})
    task = json.loads(b.until(made)[made]["result"]["content"][0]["text"])["task"]["id"]
    a.ask("ping")
    for _ in range(200):
        status = b.tool("task", action="show", task=task, **team)["task"]["status"]
        if status == "pending":
            break
        time.sleep(.01)
    b.tool("task", action="cancel", task=task, **team)
    return status != "pending"


def claims(n, host):
    """A waiting claim is cancelled around the task's arrival: it is free then, whoever
    claimed it for whom in which team, and no other task of that number is."""
    world = World(host)
    world.run("team", "create", "other", "--roles", "a")
    own, b = Mcp(world, "a"), Mcp(world, "b")
    everywhere, maker = Mcp(world, None), Mcp(world, None)
    ways = [(own, b, {}), (everywhere, maker, {"team": "t", "agent": "a"}),
            (everywhere, maker, {"team": "other"}),
            (everywhere, maker, {"team": "other", "agent_name": "a"})]
    held = 0
    for i in range(n):
        a, b, where = ways[i // 4 % len(ways)]
        held += cancelled_claim(a, b, i, where)
    print("%-28s %-6s %6d tries, %d held by nobody" %
          ("claim cancelled", "host" if host else "direct", n, held), flush=True)
    for m in (own, everywhere, maker):
        m.close()
    world.end()
    return held + claims_kept(host)


def claims_kept(host):
    """What a late cancel leaves alone: the same number elsewhere, and work that began."""
    world = World(host)
    world.run("team", "create", "other", "--roles", "a")
    m = Mcp(world, None)
    for team in ("t", "other"):
        m.tool("task", action="create", title="x", team=team)
    m.tool("task", action="claim", task="001", team="t")
    first = m.n
    m.tool("task", action="claim", task="001", team="other")
    m.put({"method": "notifications/cancelled", "params": {"requestId": m.n}})
    m.tool("task", action="start", task="001", team="t")
    m.put({"method": "notifications/cancelled", "params": {"requestId": first}})
    m.ask("ping")
    time.sleep(.2)
    stand = [m.tool("task", action="show", task="001", team=team)["task"]["status"]
             for team in ("t", "other")]
    m.close()
    world.end()
    if stand != ["in_progress", "pending"]:
        print("late cancels of claims left %s" % stand)
    return stand != ["in_progress", "pending"]


def claim_full(n, host):
    world = World(host)
    world.run("task", "create", "only", who="b")
    held = 0
    for i in range(n):
        with open(FULL, "w") as full:
            words = ["claim"] + (["--wait-seconds", "5"] if i % 2 else [])
            world.popen(*words, stdout=full).wait()
        for _ in range(200):
            status = world.js("task", "show", "001", who="b")["task"]["status"]
            if status == "pending":
                break
            time.sleep(.01)
        held += status != "pending"
    print("%-28s %-6s %6d tries, %d held by nobody" %
          ("claim to a full disk", "host" if host else "direct", n, held), flush=True)
    world.end()
    return held


def http_reset(n, host):
    """At a workspace's HTTP door; the caller names what it got."""
    world = World(True, workspace=True)
    b = Mcp(world, "b")
    for _ in range(100):
        door = world.js("agent", "door", "a", who="a")
        if door.get("url"):
            break
        time.sleep(.2)
    port = int(door["url"].rsplit(":", 1)[1])
    names = []
    for i in range(n):
        b.until(b.start(*world.send()))
        s = socket.create_connection(("127.0.0.1", port))
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        s.sendall(b"GET /messages HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer %s\r\n\r\n" %
                  door["token"].encode())
        soon(.01)
        s.close()
        if i % 5 == 4:
            name = "r%d" % i
            ask = urllib.request.Request(
                "%s/messages?limit=100&request_id=%s&seen=%s" % (door["url"], name, ",".join(names)),
                headers={"Authorization": "Bearer " + door["token"]})
            world.look(urllib.request.urlopen(ask).read().decode())
            names = [name]
    ask = urllib.request.Request("%s/messages?limit=100&seen=%s" % (door["url"], ",".join(names)),
                                 headers={"Authorization": "Bearer " + door["token"]})
    world.look(urllib.request.urlopen(ask).read().decode())
    lost = drain(world, "http door reset")
    return lost


def guest_killed(n, host):
    """The command behind the guest channel."""
    world = World(True, workspace=True)
    b = Mcp(world, "b")
    for _ in range(100):
        if '"ready"' in world.run("workspace", "info", "t/a", "--json"):
            break
        time.sleep(.1)
    for _ in range(n):
        p = world.popen("exec", "t/a", shlex.quote(CADRE) + " inbox --wait-seconds 20 --json & p=$!;"
                        "sleep 0.0%d; kill -%s $p; wait $p; test $? -ne 127 || echo no command" % (DICE.randint(40, 90), DICE.choice(["9", "TERM"])),
                        who="lead", stdout=subprocess.PIPE)
        time.sleep(.04)
        id = b.start(*world.send())
        got = p.stdout.read().decode()
        if "no command" in got:
            raise SystemExit("the guest does not find %s" % CADRE)
        world.look(got)
        p.wait()
        p.stdout.close()
        b.until(id)
    return drain(world, "guest's command killed")


DOORS = [(command_killed, 2), (command_full, 2), (mcp_cancelled, 2), (mcp_killed, 2),
         (claims, 2), (claim_full, 2), (http_reset, 1), (guest_killed, 1)]

if __name__ == "__main__":
    n, wanted, wrong = int(sys.argv[1]), sys.argv[2:], 0
    try:
        for door, ways in DOORS:
            if not wanted or door.__name__ in wanted:
                for host in (True, False)[:ways]:
                    wrong += door(n, host)
    finally:
        for p in procs:
            if p.poll() is None:
                p.kill()
    sys.exit(wrong != 0)
