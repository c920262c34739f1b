#!/bin/sh
# follow - an incomplete answer over MCP has a hint, and the hints alone lead to the rest of the
# text. The test makes exactly the calls that the hints name, until no answer has a hint and all
# text has arrived.
set -u
. "$(dirname "$0")/../lib/story.sh"
trap 'cadre down --all >/dev/null 2>&1' EXIT

cadre up >/dev/null || bad "up"
for team in crew other; do
	cadre team create $team --roles '[{"name":"a","workspace":true},{"name":"b","workspace":true}]' >/dev/null || bad "team"
done
until_is '^ok$' cadre exec --team crew crew/a echo ok
cat >"$TMPDIR/follow.py" <<'PY'
import json, os, re, subprocess, sys, time

VALUE = r'("(?:[^"\\]|\\.)*"|[\w/-]+)'
def arguments(text):
    value = lambda v: json.loads(v) if re.match(r'"|-?\d', v) else v
    return {k: value(v) for k, v in re.findall(r"(\w+)=" + VALUE, text)}

class Peer:
    def __init__(self, *flags):
        self.p = subprocess.Popen([os.environ["CADRE"], *flags], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.n = 0
        self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {},
                                "clientInfo": {"name": "t", "version": "1"}})
        self.known = {t["name"]: t["inputSchema"]["properties"] for t in self.ask("tools/list")["tools"]}
    def send(self, method, params={}):
        self.n += 1
        line = {"jsonrpc": "2.0", "id": self.n, "method": method, "params": params}
        self.p.stdin.write(json.dumps(line).encode() + b"\n")
        self.p.stdin.flush()
    def ask(self, method, params={}):
        self.send(method, params)
        while (m := json.loads(self.p.stdout.readline())).get("id") != self.n:
            pass
        return m["result"]
    def call(self, tool, **args):
        for name, value in args.items():
            assert name in self.known[tool], "%s does not list %s" % (tool, name)
            # Some clients refuse a number where the list of tools says string.
            assert not (self.known[tool][name].get("type") == "string" and isinstance(value, int)), (tool, name, value)
        r = self.ask("tools/call", {"name": tool, "arguments": args})
        text = r["content"][0]["text"]
        assert len(text.encode()) <= 10000, "%s: %d bytes" % (tool, len(text))
        assert not r.get("isError"), (tool, str(args)[:200], text)
        return json.loads(text)
    # Yields the content of a resource, and the answers of all calls that the content's hint
    # names.
    def read(self, uri):
        text = self.ask("resources/read", {"uri": uri})["contents"][0]["text"]
        assert len(text.encode()) <= 10000, "%s: %d bytes" % (uri, len(text))
        answer, todo = json.loads(text), []
        yield answer
        self.note(answer.get("hint", ""), todo)
        for tool, args in todo:
            yield from self.follow(tool, **args)
    # Yields the answer of a call, and the answers of all calls that the hints name.
    def follow(self, tool, **args):
        todo = [(tool, args)]
        done = []
        while todo:
            tool, args = todo.pop(0)
            assert (tool, args) not in done and len(done) < 200, "%s again: %s" % (tool, args)
            done.append((tool, args))
            answer = self.call(tool, **args)
            yield answer
            hint = answer.get("hint", "")
            if again := re.search(r"call again with([^.]*(?:\"[^\"]*\"[^.]*)*)\.", hint):
                todo.append((tool, {**args, **arguments(again[1])}))
            self.note(hint, todo)
    # Adds the calls that a hint names to the list `todo`.
    def note(self, hint, todo):
        for start in re.finditer(r"(?:Read on|More of it): (.*)", hint):
            for one in start[1].split("; "):
                name = re.match(r"(\w+) ", one)
                if name and name[1] in self.known:
                    first = re.split(r" or ", one, maxsplit=1)
                    todo.append((name[1], arguments(first[0])))
                    for other in re.findall(r" or (part=\w+)", one):
                        todo.append((name[1], {**arguments(first[0]), **arguments(other)}))

def found(answers, *whole):
    said = json.dumps(list(answers), ensure_ascii=False)
    for text in whole:
        pieces = [text[i:i + 6] for i in range(0, len(text), 6)]
        missing = at = 0
        for p in pieces:  # first searches behind the last found piece, then the whole text
            p = json.dumps(p, ensure_ascii=False)[1:-1]
            there = said.find(p, at, at + 100)
            there = there if there >= 0 else said.find(p)
            missing += there < 0
            at = there if there >= 0 else at
        # A few pieces may be missing, since the end of a part can cut a piece in two.
        assert missing <= len(pieces) // 50, "%s...: %d of %d pieces are missing" % (text[:12], missing, len(pieces))

long = lambda c, n=20000: "".join("%s%05d" % (c, i) for i in range(n // 6))
PY

PYTHONPATH=$TMPDIR CADRE=$CADRE /usr/bin/python3 - <<'PY' || bad "a hint cannot be followed"
from follow import *
a, o = Peer("--team", "crew", "--as", "a", "mcp", "--toolsets", "all"), Peer("mcp", "--operator")

# The description, the notes and the result of this task are too long for one answer.
a.call("task", action="create", title="long", description=long("d"), tags=["t%d" % i for i in range(20)])
a.call("task", action="claim")
for c in "mno":
    a.call("task", action="note", text=long(c))
a.call("task", action="complete", text=long("r"))
texts = [long(c) for c in "dmnor"]
found(a.follow("task", action="show", task="1"), *texts, "t19")
found(o.follow("task", action="show", task="1", team="crew"), *texts)
found(a.follow("task", action="part", task="001", part="notes"), *texts[1:4])

# The receiver and the operator read messages whose content and metadata are too long for one
# answer.
# The tool takes `metadata`, but does not list this argument.
sent = a.ask("tools/call", {"name": "team_message", "arguments": {"to": "b", "text": long("c"), "metadata": {"k": long("k")}}})
assert not sent.get("isError"), sent
for i in range(30):
    a.call("team_message", to="b", text=long("x%d" % i, 900))
b = Peer("--team", "crew", "--as", "b", "mcp")
found(o.follow("inbox", action="list", team="crew"), long("c"), long("k"), long("x3", 900), long("x29", 900))
# A resource of an inbox also shortens long messages. The hint in a resource names the tool that
# reads the whole text.
found(o.read("cadre://inbox/crew/b"), long("c"), long("k"), long("x3", 900), long("x29", 900))
found(a.read("cadre://task/crew/001"), *texts, "t19")
assert len(list(a.read("cadre://team/crew"))) == 1
found(b.follow("inbox", action="receive"), long("c"), long("k"))

# The output of a command, a file, and a list of files may be too long for one answer.
out = "".join("%d\n" % i for i in range(1, 20001))
found(a.follow("exec", workspace="crew/a", command="seq 1 20000; seq 30001 33000 >&2"), out, "32999")
job = a.call("exec_background", action="start", workspace="crew/a", command="seq 1 20000")
while a.call("exec_background", action="poll", workspace="crew/a", job_id=job["job_id"])["running"]:
    time.sleep(0.1)
found(a.follow("exec_background", action="poll", workspace="crew/a", job_id=job["job_id"]), out)
text = 'hé "q"\n' * 9000
a.call("files", action="write", workspace="crew/a", path="t.txt", text=text)
got = "".join(part["text"] for part in a.follow("files", action="read", workspace="crew/a", path="t.txt"))
assert got == text, "a file came otherwise than it was written"
a.call("exec", workspace="crew/a", command="printf 'a\\000b' >nul; printf '\\351' >latin; mkdir many; cd many; touch $(seq 1000 1600)")
for name, base64 in [("nul", "YQBi"), ("latin", "6Q==")]:
    assert a.call("files", action="read", workspace="crew/a", path=name)["content"] == base64, name
found(a.follow("files", action="list", workspace="crew/a", path="many"), "1000", "1599", "1600")

# The result of an assignment may be too long for one answer.
lead = Peer("--team", "crew", "mcp", "--operator")
lead.call("task", action="create", title="run", team="crew")
lead.call("team_assign", task="2", agent="b", team="crew", command="seq 1 20000; seq 30001 33000 >&2")
for i in range(100):
    if lead.call("results", action="list", team="crew").get("results"):
        break
    time.sleep(0.1)
found(lead.follow("results", action="list", team="crew"), out, "32999")
found(lead.follow("results", action="show", id="2", team="crew"), out, "32999")
PY

# The resource of a board with many tasks names the tool that reads the rest. A caller may read
# through resources only the data that tools also show to this caller. A caller without a name
# reads no inbox, and an agent reads no data of another team.
PYTHONPATH=$TMPDIR CADRE=$CADRE /usr/bin/python3 - <<'PY' || bad "resources"
from follow import *
def refused(peer, uri):
    peer.send("resources/read", {"uri": uri})
    while (m := json.loads(peer.p.stdout.readline())).get("id") != peer.n:
        pass
    return m.get("error", {}).get("code") == -32002
a, nobody = Peer("--team", "other", "--as", "a", "mcp"), Peer("mcp")
for i in range(150):
    a.call("task", action="create", title="task %d %s" % (i, "x" * 100))
titles = ["task %d x" % i for i in range(150)]
for peer in a, nobody:
    pages = list(peer.read("cadre://board/other"))
    assert len(pages) > 2 and all(t in json.dumps(pages) for t in titles), len(pages)
    assert next(peer.read("cadre://task/other/002"))["task"]["title"].startswith("task 1 ")
assert refused(nobody, "cadre://inbox/other/a")
assert refused(nobody, "cadre://inbox/other/operator")
for uri in "team/crew", "board/crew", "task/crew/001", "inbox/crew/a", "inbox/other/b":
    assert refused(a, "cadre://" + uri), uri
PY

# Hints name tools to a model, and commands to a person. A tool also accepts ids as people write
# them, such as #3.
PYTHONPATH=$TMPDIR CADRE=$CADRE /usr/bin/python3 - <<'PY' || bad "hints, or forms"
from follow import *
a, o = Peer("--team", "crew", "--as", "a", "mcp", "--toolsets", "all"), Peer("mcp", "--operator", "--toolsets", "all")
def hint(peer, tool, **args):
    r = peer.ask("tools/call", {"name": tool, "arguments": args})
    assert r["isError"], r
    said = json.loads(r["content"][0]["text"])["hint"]
    assert "{" not in said and "--" not in said, said
    return said
assert "task action=list" in hint(a, "task", action="show", task="99")
assert "agents action=list" in hint(a, "agents", action="whois", name="nobody")
assert "vault action=list" in hint(a, "vault", action="read", path="nothing.md")
front = "".join("key%d: %s\n" % (i, "v" * 40) for i in range(900))
a.call("vault", action="write", path="front.md", content="---\n" + front + "---\nbody\n")
assert "vault action=read" in hint(a, "vault", action="frontmatter", path="front.md")
got = "".join(part["content"] for part in a.follow("vault", action="read", path="front.md"))
assert got == "---\n" + front + "---\nbody\n", "a note came otherwise than it was written"
a.call("task", action="create", title="noted")
a.call("task", action="claim", task="#3")
a.ask("tools/call", {"name": "task", "arguments": {"action": "note", "note": "under another name"}})
assert "under another name" in json.dumps(a.call("task", action="show", task="#3"))
a.call("task", action="complete")
PY
is 3 'See the board with: cadre task list' cadre --team crew task show 99

# If a client ends while its claim waits, the claim gets no task, not even a task that is made a
# moment later. The test is made with a host and without a host.
later() { # NAME: makes the task NAME after the client of a waiting claim has ended
	PYTHONPATH=$TMPDIR CADRE=$CADRE /usr/bin/python3 - "$1" <<'PY' || bad "$1: a claim was made for nobody"
from follow import *
p = Peer("--team", "other", "--as", "a", "mcp")
for delay in (0.3, 0.8):
    p = Peer("--team", "other", "--as", "a", "mcp")
    p.send("tools/call", {"name": "task", "arguments": {"action": "claim", "wait_seconds": 40}})
    time.sleep(0.3)
    p.p.stdin.close()
    time.sleep(delay)
    b = Peer("--team", "other", "--as", "b", "mcp")
    made = b.call("task", action="create", title=sys.argv[1])["task"]["id"]
    time.sleep(0.8)
    assert b.call("task", action="show", task=made)["task"]["status"] == "pending", made
    b.call("task", action="claim", task=made)
    b.call("task", action="complete", task=made)
    assert p.p.wait(120) == 0
PY
}
later "with a host"
cadre down --all >/dev/null || bad "down"
later "without a host"
exit $failed
