"""strangers - calls every operation over HTTP and MCP with tokens that prove nobody, or too little:
STATE URL OPS TOKENS.

OPS is `cadre docs reference`, from where it has the routes, tools and actions; the arguments are
made of the schemas that the host tells (OpenAPI, tools/list), and name what team red has.  TOKENS is
a JSON object: kind to token, where "operator" is what the others are held against.  All that red has
written holds the word `zebra`, which no argument does.
"""
import http.client
import json
import re
import sqlite3
import subprocess
import sys
import os

STATE, URL, OPS, TOKENS = sys.argv[1:5]
TOKENS = json.load(open(TOKENS))
MARK = "zebra"
HERE = os.path.dirname(os.path.abspath(__file__))
FACTS = TOKENS.pop("facts")  # ids of rows of the team red

# Values of arguments by their names. For an argument that is missing here, the schema gives a
# value.
VALUES = {
    "team": "red", "task": "001", "agent": "coder", "workspace": FACTS["workspace"], "name": "coder",
    "message_id": FACTS["message"], "message_ids": [FACTS["message"]], "id": FACTS["result"],
    "thread": "plans", "path": "teams/red/plan.md", "to": "red/coder", "query": "zeb*", "snapshot": "keep",
    "criterion": [1], "job_id": FACTS["job"], "content": "x", "text": "x", "command": "cat plan.txt", "epoch": 1,
    "timeout": 1, "timeout_secs": 5, "wait_seconds": 0, "kind": "task", "part": None, "status": "done",
    "confirm": True, "frontmatter": {"a": "b"}, "vars": {"A": "b"}, "title": "new", "tasks": [{"title": "new"}],
    "old_string": "striped", "new_string": "plain", "add": ["new"], "tokens_in": 1, "replace": True, "recursive": True,
    "all": True, "owner": None, "tag": None, "role": None, "skill": None, "golden": None, "source": None, "backend": None,
    "token": None, "parent": None, "address": None, "image": None, "limit": None, "after": None, "offset": None,
    "before": None, "max_tokens": 5, "allow_internet": False, "forwards": None, "allowed_ports": None,
    "globs": ["free/**"], "paths": ["free/a"], "shared": False, "reason": None,
    "new_name": "renamed", "description": "new", "operator": None, "observer": None, "action": None, "until": None,
}
# Values for the arguments of some operations. For these operations they replace the values in
# VALUES.
IN_OPS = {
    "message.send": {"to": ["coder"]}, "team.create": {"name": "made", "parent": "red"}, "member.add": {"name": "friend", "workspace": None}, "task.list": {"status": None}, "agent.list": {"status": None},
    "token.create": {"agent": "red/coder", "name": "made"}, "token.revoke": {"name": "red-token"}, "vault.list": {"path": "teams/red"},
    "vault.search": {"query": "zeb"}, "vault.move": {"to": "teams/out/mine.md"}, "vault.restore": {"path": "teams/red/gone.md", "to": "teams/out/mine.md"},
    "vault.removed": {"path": "teams/red"}, "vault.stats": {"path": "teams/red"}, "vault.tags": {"path": "teams/red"},
    "workspace.file_read": {"path": "plan.txt"}, "workspace.file_write": {"path": "plan.txt", "content": None}, "workspace.file_edit": {"path": "plan.txt"},
    "workspace.list_dir": {"path": "."}, "workspace.snapshot": {"name": "another"}, "task.wait": {"until": "completed"}, "event.replay": {"until": 1},
    "reservation.list": {"path": None}, "task.order": {}, "agent.status": {"name": "coder"}, "workspace.fork": {"agent": "tester"}, "workspace.create": {"agent": "coder"},
    "member.remove": {"name": "tester", "to": None}, "state.gc": {"keep_days": 30}, "task.assign": {"agent": "w"}, "task.create": {"description": None},
    "agent.update": {"new_name": None}, "message.show": {"max_tokens": None}, "message.shown": {"requests": ["x"]}, "workspace.exec": {"args": None}, "team.update": {"max_vms": None},
}
ENDS = re.compile("destroy|remove|delete|estop|revoke|cancel|redact|stop|replace|register|update|move|gc")

faults = []


def bad(*words):
    faults.append(" ".join(str(w) for w in words))


# --- the operations ------------------------------------------------------------------------------------

class Op:
    def __init__(self, name):
        self.name, self.reads, self.route, self.tools = name, False, None, []


def read_ops():
    ops, op = [], None
    for line in open(OPS):
        if m := re.match(r"### `?([a-z_]+\.[a-z_]+)`?", line):
            op = Op(m[1])
        elif op and re.match(r"- (Reads|Writes)", line):
            op.reads = line.startswith("- Reads")
            ops.append(op)
        elif op and (m := re.match(r"- HTTP: `([A-Z]+) (.*)`", line)):
            op.route = m.groups()
        elif op and line.startswith("- MCP:"):
            op.tools = re.findall(r"tool `([a-z_]+)`(?:, action `([a-z_]+)`)?", line)
    return sorted((o for o in ops if o.route or o.tools), key=lambda o: bool(ENDS.search(o.name)))


def value(op, name, schema):
    """Looks up what an argument says, or None: nothing."""
    own = IN_OPS.get(op.name, {})
    said = own[name] if name in own else VALUES.get(name)
    if said is not None and schema.get("type") == "array" and not isinstance(said, list):
        said = [said]
    return said


def arguments(op, fields, needed):
    args = {}
    for name, schema in fields.items():
        said = value(op, name, schema)
        if said is None and name in needed:
            said = schema["enum"][0] if "enum" in schema else {"integer": schema.get("minimum", 1), "string": "x", "array": [],
                                                               "boolean": True, "object": {}}[schema["type"]]
        if said is not None:
            args[name] = said
    if op.name in ("team.estop", "team.thaw"):
        args.pop("all", None)
    return args


# --- calls -----------------------------------------------------------------------------------------------

conn = http.client.HTTPConnection(URL.removeprefix("http://"), timeout=60)


def ask(method, path, token, body=None, headers=()):
    all = {"Content-Type": "application/json", **dict(headers)}
    if token is not None:
        all["Authorization"] = "Bearer " + token
    conn.request(method, path, None if body is None else json.dumps(body), all)
    answer = conn.getresponse()
    return answer.status, answer.read().decode()


def quoted(text):
    return "".join(c if c.isalnum() or c in "-._~" else "".join("%%%02X" % b for b in c.encode()) for c in str(text))


def word(said):
    return json.dumps(said) if isinstance(said, (bool, dict)) else str(said)


class Http:
    """Calls by the routes, with what the OpenAPI document says that they take."""

    def __init__(self):
        self.paths = json.loads(ask("GET", "/api/openapi.json", None)[1])["paths"]

    def calls(self, op):
        return [op.route] if op.route else []

    def call(self, op, route, token):
        method, path = route
        spec = self.paths[path][method.lower()]
        words = {p["name"]: p["schema"] for p in spec.get("parameters", [])}
        body = spec.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
        needed = [p["name"] for p in spec.get("parameters", []) if p["required"]] + body.get("required", [])
        args = arguments(op, {**words, **body.get("properties", {})}, needed)
        asked, query = {k: v for k, v in args.items() if k not in words}, []
        for name, said in args.items():
            if name in words and "{%s}" % name in path:
                steps = said if isinstance(said, list) else [said]
                path = path.replace("{%s}" % name, ",".join(map(quoted, steps)))
            elif name in words:
                query += ["%s=%s" % (name, quoted(word(v))) for v in (said if isinstance(said, list) else [said])]
        return ask(method, path + ("?" + "&".join(query) if query else ""), token, asked if body else None)


class Mcp:
    """Calls by the tools, with what tools/list says that they take."""

    def __init__(self):
        result = json.loads(self.post("tools/list", {}, TOKENS["operator"])[1])["result"]
        self.tools = {t["name"]: t["inputSchema"] for t in result["tools"]}

    def post(self, method, params, token):
        meta = {"io.modelcontextprotocol/" + k: v for k, v in (
            ("protocolVersion", "2026-07-28"), ("clientInfo", {"name": "t", "version": "1"}), ("clientCapabilities", {}))}
        heads = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method}
        if "name" in params or "uri" in params:
            heads["Mcp-Name"] = params.get("name") or params["uri"]
        return ask("POST", "/mcp?toolsets=all", token, {"jsonrpc": "2.0", "id": 1, "method": method,
                                                        "params": {**params, "_meta": meta}}, heads)

    def calls(self, op):
        return op.tools

    def call(self, op, tool, token):
        name, action = tool
        schema = self.tools[name]
        takes, needs = TAKES.get(op.name, (None, schema.get("required", [])))
        fields = {k: v for k, v in schema["properties"].items() if takes is None or k in takes}
        args = arguments(op, fields, [k for k in needs if k != "action"])
        if action:
            args["action"] = action
        status, text = self.post("tools/call", {"name": name, "arguments": args}, token)
        if status == 200:
            result = json.loads(text).get("result", {"isError": True, "content": text})
            code = re.search(r'\\*"code\\*":\\*"([a-z_]+)', text)
            status = {None: 200, "denied": 403, "not_found": 404, "conflict": 409, "invalid": 400}.get(code and code[1], 500) \
                if result.get("isError") else 200
        return status, text


# --- judging -----------------------------------------------------------------------------------------------

db = sqlite3.connect("file:%s/state.db?mode=ro" % STATE, uri=True, isolation_level=None)


def version():
    return db.execute("PRAGMA data_version").fetchone()[0]


def rows():
    return subprocess.check_output([sys.executable, HERE + "/rows.py", STATE + "/state.db"], text=True)


def difference(a, b):
    return sorted(set(a.splitlines()) ^ set(b.splitlines()))[:6]


NOBODY = {"missing", "garbage", "revoked", "expired", "outdated"}
was = {"version": version(), "rows": rows()}


def unchanged(*what):
    if (now := version()) == was["version"]:
        return
    after = rows()
    if after != was["rows"]:
        bad(*what, "has changed rows:", difference(was["rows"], after))
    was.update(version=now, rows=after)


def judge(kind, op, way, status, text):
    if kind in NOBODY and status != 401:
        bad(kind, way, "gives", status, text[:300])
    if kind == "observer" and not op.reads and status not in (403, 404):
        bad(kind, way, "gives", status, text[:300])
    if kind == "observer" and op.reads and status == 401:
        bad(kind, way, "gives", status, text[:300])
    if kind not in ("observer", "operator") and MARK in text.replace("zeb*", ""):
        bad(kind, way, "tells what is red's:", text[max(0, text.index(MARK) - 200):][:400])


ops = read_ops()
TAKES = {}
http_door = Http()
for op in ops:  # an action of a tool takes and needs the same arguments as its route
    if op.route:
        spec = http_door.paths[op.route[1]][op.route[0].lower()]
        body = spec.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
        words = spec.get("parameters", [])
        TAKES[op.name] = ([p["name"] for p in words] + list(body.get("properties", {})),
                          [p["name"] for p in words if p["required"]] + body.get("required", []))
doors = {"HTTP": http_door, "MCP": Mcp()}
# MCP requests that are not tool calls.
uris = ["cadre://" + rest for rest in ("team/red", "board/red", "inbox/red/coder", "inbox/red/tester", "task/red/001")]
more = [("resources/list", {}), ("resources/templates/list", {}), ("prompts/list", {})] + \
    [("resources/read", {"uri": uri}) for uri in uris] + \
    [("completion/complete", {"ref": {"type": "ref/resource", "uri": uri}, "argument": {"name": name, "value": ""},
                              "context": {"arguments": {"team": "red"}}})
     for uri, name in (("cadre://task/{team}/{id}", "id"), ("cadre://task/{team}/{id}", "team"))]


def say_more(kind):
    """Everything that says something: what MCP has beside tools, and the stream of events."""
    answers = [("MCP %s %s" % (method, params), *doors["MCP"].post(method, params, TOKENS[kind])) for method, params in more]
    if kind not in ("observer", "operator"):  # their streams of events do not end
        answers.append(("the stream of events", *ask("GET", "/events?team=red&after=0", TOKENS[kind])))
    return answers


kinds = [k for k in TOKENS if k != "operator"]
n = 0
for kind in kinds:
    for name, door in doors.items():
        for op in ops:
            for call in door.calls(op):
                status, text = door.call(op, call, TOKENS[kind])
                judge(kind, op, "%s %s" % (name, " ".join(call)), status, text)
                unchanged(kind, name, *call)
                n += 1
    for way, status, text in say_more(kind):
        judge(kind, ops[0], way, status, text)
        unchanged(kind, way)
print("%d calls of %d operations as %s" % (n, len(ops), ", ".join(kinds)))

# For the operator no call may be invalid (status 400), and at least 90 calls must succeed. This
# shows that the refused calls were valid.
tells, done, nonsense = sum(MARK in text for _, _, text in say_more("operator")), 0, []
for name, door in doors.items():
    for op in ops:
        for call in door.calls(op):
            status, text = door.call(op, call, TOKENS["operator"])
            tells += MARK in text
            done += status == 200
            if status == 400:
                nonsense.append("%s %s: %s" % (name, " ".join(call), text[-600:]))
print("of %d calls of the operator %d are done, %d tell what is red's, %d are no good" % (n // len(kinds), done, tells, len(nonsense)))
if os.environ.get("VERBOSE"):
    print("\n".join(nonsense))
if nonsense or done < 90 or tells < 25:
    bad("the calls are nonsense:", *nonsense[:10])
for fault in faults[:30]:
    print("FAILED:", fault)
sys.exit(len(faults) > 0)
