"""A state, its processes and what was seen: the ground of unseen.py."""
import contextlib, json, os, re, shutil, subprocess, tempfile, time

CADRE = os.environ["CADRE"]
META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"}}
procs = []


class Storm(Exception):
    """A fault of the storm, not of what it looks at."""


class World:
    def __init__(self, host, workspace=False):
        self.top = tempfile.mkdtemp(prefix="unseen-")
        self.home = os.path.join(self.top, "s")
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("CADRE")}
        self.env.update(CADRE_LIMITS_ENABLED="false", CADRE_HOME=self.home, HOME=self.top, XDG_RUNTIME_DIR=self.top)
        self.host, self.workspace = host, workspace
        self.run("init")
        if host:
            self.run("up")
        roles = [{"name": "a", "workspace": True} if workspace else {"name": "a"}, {"name": "b"}]
        made = self.js("team", "create", "t", "--roles", json.dumps(roles))
        self.token = {m["name"]: m["token"] for m in made["members"]}
        self.seen = set()
        self.kinds = []  # the kind of try of each message, in the order of the messages' numbers

    def open(self):
        self.struck = {}
        self.revive()

    def revive(self):
        """Clients that live from try to try."""
        for m in getattr(self, "clients", []) and [self.b, self.reader, *self.clients]:
            with contextlib.suppress(OSError, subprocess.TimeoutExpired):
                m.close()
        self.b, self.reader = Mcp(self, "b"), Mcp(self, "a")
        self.clients = [Mcp(self, "a"), Mcp(self, "a", modern=True)]

    def open_guest(self):
        self.named = ""
        for _ in range(300):
            ready = '"ready"' in self.run("workspace", "info", "t/a", "--json")
            self.door = self.js("agent", "door", "a", who="a")
            if ready and self.door.get("url"):
                return
            time.sleep(.1)
        raise SystemExit("the workspace is not ready")

    def who(self, name):
        return dict(self.env, CADRE_TEAM="t", CADRE_AGENT=name, CADRE_TOKEN=self.token[name])

    def run(self, *words, who=None):
        r = subprocess.run([CADRE, *words], env=self.who(who) if who else self.env,
                           cwd=self.top, capture_output=True, timeout=120)
        if r.returncode:
            raise Storm("cadre %s: %s" % (words, r.stderr.decode()))
        return r.stdout.decode()

    def js(self, *words, who=None):
        return json.loads(self.run(*words, "--json", who=who))

    def popen(self, *words, who="a", **more):
        env = self.who(who) if who else self.env
        p = subprocess.Popen([CADRE, *words], env=env, cwd=self.top,
                             stderr=subprocess.DEVNULL, **more)
        procs.append(p)
        return p

    def send(self, kind):
        """The arguments of the next message, which is `kind`'s."""
        self.kinds.append(kind)
        return ("team_message", {"to": ["a"], "content": "msg-%d-" % len(self.kinds)})

    def sent(self, b, id):
        """A message that was not stored, or dropped another, is a fault of the storm."""
        got = json.loads(b.until(id)[id]["result"]["content"][0]["text"])
        if "seq" not in got or got.get("dropped"):
            self.kinds[-1] = None
            raise Storm("not sent: %s" % got)

    def lost(self, kind):
        return sum(k == kind and i + 1 not in self.seen for i, k in enumerate(self.kinds))

    def sweep(self, most=50):
        """Receives until nothing waits, so that the next wait is one."""
        for _ in range(most):
            got = self.reader.tool("inbox", action="receive", limit=100).get("messages", [])
            self.look(json.dumps(got))
            if not got:
                return
        raise Storm("the inbox is never empty")

    def look(self, text):
        self.seen |= {int(n) for n in re.findall(r"msg-(\d+)-", text)}

    def end(self):
        if self.workspace:
            self.run("team", "destroy", "--yes", "t")
        if self.host:
            self.run("down")
        shutil.rmtree(self.top, ignore_errors=True)


class Mcp:
    def __init__(self, world, who, modern=False, stdout=subprocess.PIPE):
        self.p = world.popen("mcp", *([] if who else ["--operator"]), who=who, stdin=subprocess.PIPE, stdout=stdout)
        self.n, self.modern = 0, modern
        if not modern:
            hello = {"protocolVersion": "2025-06-18", "capabilities": {},
                     "clientInfo": {"name": "t", "version": "1"}}
            if stdout == subprocess.PIPE:
                self.ask("initialize", hello)
            else:
                self.put({"id": 0, "method": "initialize", "params": hello})

    def put(self, message):
        if self.modern and "id" in message:
            message["params"]["_meta"] = META
        self.p.stdin.write(json.dumps(dict(message, jsonrpc="2.0")).encode() + b"\n")
        self.p.stdin.flush()

    def start(self, tool, arguments):
        self.n += 1
        self.put({"id": self.n, "method": "tools/call",
                  "params": {"name": tool, "arguments": arguments}})
        return self.n

    def until(self, id):
        """The answers that came up to the answer of `id`, by id."""
        got = {}
        while id not in got:
            line = self.p.stdout.readline()
            if not line:
                raise Storm("cadre mcp has ended")
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
        self.p.wait(120)
