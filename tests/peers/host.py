"""A minimal host of the older dialect, which drives a cadre guest.

    host.py FOLDER

No Hello, no ids; fields that are newer are absent; a push has the sender in
`to`. Prints nothing and ends with 0 when all is as the older host expects.
"""
import base64, json, socket, struct, sys, time


def dial(name):
    conn = socket.socket(socket.AF_UNIX)
    conn.connect(sys.argv[1] + "/" + name)
    return conn


def ask(conn, **message):
    body = json.dumps(message).encode()
    conn.sendall(struct.pack(">I", len(body)) + body)
    size = struct.unpack(">I", conn.recv(4, socket.MSG_WAITALL))[0]
    assert size <= 4 << 20, size
    answer = json.loads(conn.recv(size, socket.MSG_WAITALL))
    assert "id" not in answer, answer
    return answer


def expect(answer, kind, **fields):
    assert answer["type"] == kind, answer
    for key, value in fields.items():
        assert answer.get(key) == value, (key, answer)
    return answer


OLD_CODES = {"NotFound", "PermissionDenied", "Timeout", "IoError", "InvalidRequest", "Internal"}
control, relay = dial("control.sock"), dial("relay.sock")
expect(ask(control, type="Ping"), "Pong")
expect(ask(relay, type="Ping"), "Pong")
expect(ask(control, type="Exec", command="echo out; echo err >&2; exit 3", args=[], env={},
           workdir=None, timeout_secs=120), "ExecResult", exit_code=3, stdout="out\n", stderr="err\n")
expect(ask(control, type="Exec", command="sleep 60", timeout_secs=1), "Error", code="Timeout")
expect(ask(control, type="FileWrite", path="f", content=base64.b64encode(b"abc").decode(), mode=None), "Ok")
expect(ask(control, type="FileRead", path="f", offset=1, limit=1), "FileContent", content="Yg==", size=1)
expect(ask(control, type="FileUpload", guest_path="g", data="eHk="), "Ok")
expect(ask(control, type="FileDownload", guest_path="g"), "FileData", data="eHk=", size=2)
expect(ask(control, type="EditFile", path="f", old_string="b", new_string="B"), "Ok")
listing = expect(ask(control, type="ListDir", path="."), "DirListing")
assert [e["name"] for e in listing["entries"]] == sorted(e["name"] for e in listing["entries"])
expect(ask(control, type="SetEnv", vars={"A": "b"}), "SetEnvResult", count=1)
expect(ask(control, type="SetEnv", vars={"PATH": "/"}), "Error", code="InvalidRequest")
job = expect(ask(control, type="ExecBackground", command="echo $A"), "BackgroundStarted")["job_id"]
status = {"running": True}
while status["running"]:
    time.sleep(0.05)
    status = expect(ask(control, type="ExecPoll", job_id=job), "BackgroundStatus")
assert status["stdout"] == "b\n" and status["exit_code"] == 0, status
expect(ask(control, type="ExecPoll", job_id=99), "Error", code="NotFound")
expect(ask(control, type="ExecKill", job_id=99, signal=9), "Error", code="NotFound")
expect(ask(control, type="NoSuchType"), "Error", code="InvalidRequest")
big = expect(ask(control, type="Exec", command="head -c 4000000 /dev/zero | tr '\\0' '\\1'"), "ExecResult")
assert "more" not in big and "cut here" in big["stdout"]

# In a push, `to` names the sender. The daemon runs the assigned command.
task = json.dumps({"task_id": "t1", "command": "echo done; exit 2"})
for _ in range(2):  # twice, as an older host retries
    expect(ask(relay, type="TeamMessage", to="lead", content=task, message_type="task_assignment",
               **{"from": "lead"}, message_id="m1"), "Ok")
expect(ask(relay, type="TeamMessage", to="lead", content="hello"), "Ok")
expect(ask(relay, type="Exec", command="true"), "Error", code="InvalidRequest")
found = []
while not found:
    time.sleep(0.05)
    found = expect(ask(control, type="PollDaemonResults", limit=20), "DaemonResults")["results"]
assert len(found) == 1 and found[0]["stdout"] == "done\n" and found[0]["exit_code"] == 2, found
assert found[0]["source_message_id"] == "m1" and found[0]["task_id"] == "t1"
# The guest has removed the result after the poll, and the assignment ran only once.
expect(ask(control, type="PollDaemonResults", limit=20), "DaemonResults", results=[], pending_tasks=0)
for bad in ("Conflict", "Exhausted", "RateLimited", "Unavailable"):
    assert bad not in OLD_CODES
expect(ask(control, type="Shutdown"), "Ok")
