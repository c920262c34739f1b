"""A guest that lies: it answers its host's Hello and then tries what is not its to do.

    hostile.py FOLDER REPORT

It listens at control.sock and relay.sock in the folder. What it found wrong is a
line of REPORT each; the last line is `done`.
"""
import json, os, socket, struct, sys, threading, time

folder, report = sys.argv[1], open(sys.argv[2], "w", buffering=1)


def read(conn, size):
    data = b""
    while len(data) < size:
        part = conn.recv(size - len(data))
        if not part:
            raise EOFError
        data += part
    return data


def hear(conn):
    return json.loads(read(conn, struct.unpack(">I", read(conn, 4))[0]))


def say(conn, message):
    body = json.dumps(message).encode()
    conn.sendall(struct.pack(">I", len(body)) + body)


def greet(conn):
    """Answers the host's Hello as an honest guest does."""
    hello = hear(conn)
    say(conn, {"type": "Hello", "id": hello["id"], "version": "0", "role": "guest",
               "workspace": hello["workspace"], "boot_id": "b"})
    return hello


def call(op, **args):
    return {"type": "Call", "op": op, "args": args}


REFUSED = [
    # the inbox of another agent, in this team and in another team
    (call("message.receive", agent="bob"), "PermissionDenied"),
    (call("message.peek", agent="bob"), "PermissionDenied"),
    (call("message.peek", team="blue"), "PermissionDenied"),
    (call("message.receive", agent="blue/eve"), "InvalidRequest"),
    # the name of another agent on a message
    ({"type": "TeamMessage", "to": "bob", "content": "x", "from": "lead"}, "PermissionDenied"),
    (call("message.send", to=["bob"], content="x", **{"from": "operator"}), "PermissionDenied"),
    ({"type": "TeamMessage", "to": "blue/eve", "content": "x"}, "PermissionDenied"),
    ({"type": "TeamMessage", "to": "nobody", "content": "x"}, "NotFound"),
    # the claims of another agent
    ({"type": "TaskClaim", "team": "blue", "task_id": "001", "agent_name": "eve"}, "PermissionDenied"),
    ({"type": "TaskClaim", "team": "red", "task_id": "001", "agent_name": "bob"}, "PermissionDenied"),
    # operations that belong to the operator, to the host, or to no caller
    (call("team.create", name="mine"), "PermissionDenied"),
    (call("team.status", team="blue"), "PermissionDenied"),
    (call("workspace.rows"), "NotFound"),
    (call("guest.heartbeat", agent=1, waiting=0), "NotFound"),
    (call("result.store", agent=2, message_id="x", success=True, exit_code=0), "NotFound"),
    (call("no.such"), "NotFound"),
    ({"type": "Call", "op": "team.status", "args": []}, "InvalidRequest"),
    ({"type": "Call", "op": 7}, "NotFound InvalidRequest"),
    # messages that a guest may not send
    ({"type": "NoSuchType"}, "InvalidRequest"),
    ({"type": "Exec", "command": "true"}, "InvalidRequest"),
    ({"type": "Shutdown"}, "InvalidRequest"),
    ({"type": "PollDaemonResults", "limit": 5}, "InvalidRequest"),
    ({"type": "TeamMessagePush", "message": {}}, "InvalidRequest"),
    ({"type": "CreateSubTeam", "name": "x", "parent_team": "blue", "roles": [], "max_vms": 1}, "PermissionDenied"),
    ({"type": "CreateSubTeam", "name": "x", "parent_team": "red", "roles": [], "max_vms": 1}, "PermissionDenied"),
    ({"type": "VaultRead", "path": "../../../../etc/passwd"}, "PermissionDenied InvalidRequest NotFound"),
    ({"type": "VaultWrite", "path": "teams/blue/x.md", "content": "x"}, "PermissionDenied"),
    ({"type": "VaultWrite", "path": "x.md", "content": "x", "mode": "burn"}, "InvalidRequest"),
    ({"type": "VaultSearch", "query": "x", "path": "teams/blue"}, "PermissionDenied"),
    ({"type": "VaultSearch", "query": "(("}, "InvalidRequest"),
    # A caller with a guessed token for an agent's door is refused. The operation and the agents
    # in its arguments make no difference.
    (dict(call("message.send", content="x"), door="bob." + "0" * 64), "PermissionDenied"),
    (dict(call("message.send", content="x"), door="lead." + "0" * 64), "PermissionDenied"),
    (dict(call("message.receive"), door="eve." + "0" * 64), "PermissionDenied"),
    (dict(call("agent.whois"), door="bob"), "PermissionDenied"),
    (dict(call("team.destroy"), door="lead." + "0" * 64), "PermissionDenied"),
    (dict(call("message.send", content="x", **{"from": "lead"}), door="bob." + "0" * 64), "PermissionDenied"),
    (dict(call("message.send", content="x", agent="lead"), door="bob." + "0" * 64), "PermissionDenied"),
]
# The text that the refusal of a message must contain. The text names the direction and the port
# of this message.
SAYS = {"PollDaemonResults": "host to guest, on port 5000"}
ALLOWED = [
    ({"type": "TeamMessage", "to": "bob", "content": "truly ann's"}, "TeamMessageDelivered"),
    ({"type": "TeamMessage", "to": "bob", "content": "ann again", "from": "ann"}, "TeamMessageDelivered"),
    ({"type": "TeamMessage", "to": "ann", "content": "a note", "thread": "t"}, "TeamMessageDelivered"),
    ({"type": "TeamReceive", "limit": 10}, "TeamMessages"),
    ({"type": "TaskClaim", "team": "red", "task_id": "001", "agent_name": "ann"}, "TaskClaimed"),
    ({"type": "VaultWrite", "path": "note.md", "content": "one\n"}, "VaultWriteOk"),
    ({"type": "VaultWrite", "path": "note.md", "content": "two\n", "mode": "append"}, "VaultWriteOk"),
    ({"type": "VaultRead", "path": "note.md"}, "VaultContent"),
    ({"type": "VaultList"}, "VaultEntries"),
    ({"type": "VaultSearch", "query": "^t.o$"}, "VaultSearchResults"),
    (call("message.peek"), "CallResult"),
]


def ask(conn, message, id):
    say(conn, dict(message, id=id))
    while True:
        answer = hear(conn)
        if answer.get("id") == id:
            return answer
        if answer["type"] == "Ping":
            say(conn, {"type": "Pong", "id": answer["id"], "version": "0", "uptime_secs": 0})


def lie(conn):
    greet(conn)
    for i, (message, codes) in enumerate(REFUSED):
        answer = ask(conn, message, "r%d" % i)
        if answer["type"] != "Error" or answer["code"] not in codes.split():
            print("not refused:", message, answer, file=report)
        said = answer.get("message", "") + answer.get("hint", "")
        if answer.get("code") != "PermissionDenied" and SAYS.get(message["type"], "") not in said:
            print("no word of what to do:", message, answer, file=report)
    for i, (message, kind) in enumerate(ALLOWED):
        answer = ask(conn, message, "a%d" % i)
        if answer["type"] != kind:
            print("refused:", message, answer, file=report)
        if kind == "VaultContent" and answer.get("content") != "one\ntwo\n":
            print("not what was written:", answer, file=report)
        if kind == "TeamMessages" and [(m["from"], m["content"], m["thread"]) for m in answer["messages"]] != [
                ("ann", "a note", "t")]:
            print("not what was sent:", answer, file=report)
    # A token for bob's door does not open ann's door.
    token = ask(conn, call("agent.door", name="bob"), "d0")["result"]["token"]
    if ask(conn, dict(call("message.send", content="x"), door=token), "d1")["type"] != "Error":
        print("a token for another door was good", file=report)
    # A message through ann's door is always from ann to ann, even if the arguments name other
    # agents.
    token = ask(conn, call("agent.door", name="ann"), "d2")["result"]["token"]
    answer = ask(conn, dict(call("message.send", to=["bob"], content="at the door"), door=token), "d3")
    if [d["to"] for d in answer["result"]["deliveries"]] != ["ann"]:
        print("a message at a door went elsewhere:", answer, file=report)
    answer = ask(conn, dict(call("message.receive", agent="bob", lease_seconds=0), door=token), "d4")
    if [m["content"] for m in answer["result"]["messages"]][-1:] != ["at the door"]:
        print("what was received at a door is another's:", answer, file=report)
    # The host survives an answer that nobody asked for, an answer with the id of a call of the
    # host, and a second Hello.
    for lost in ({"type": "Ok", "id": 999999}, {"type": "CallResult", "id": "r0", "result": {}},
                 {"type": "Hello", "version": "0", "role": "host", "boot_id": "x", "agent": "bob"},
                 {"type": "Heartbeat", "running": ["not", "mine"], "waiting": -5, "results": 10 ** 15}):
        say(conn, lost)
    if ask(conn, call("message.peek"), "still")["type"] != "CallResult":
        print("not served after nonsense", file=report)
    # The host must not keep all answers for a guest that makes many calls and reads no answer.
    try:
        conn.settimeout(3)
        for i in range(20000):
            say(conn, dict(call("agent.list"), id="f%d" % i))
    except OSError:
        pass
    conn.close()


def serve(name, first):
    path = folder + "/" + name
    if os.path.exists(path):
        os.unlink(path)
    server = socket.socket(socket.AF_UNIX)
    server.bind(path)
    server.listen(4)
    turn = 0
    while True:
        conn, _ = server.accept()
        try:
            if first and turn == 0:
                lie(conn)
            elif first and turn == 1:
                greet(conn)
                conn.sendall(struct.pack(">I", (4 << 20) + 1) + b"{")  # too large
                read(conn, 1 << 30)
            elif first and turn == 2:
                greet(conn)
                conn.sendall(b"\0\0\0\5[1,2]")  # no message
                read(conn, 1 << 30)
            elif first and turn == 3:
                greet(conn)
                deep = b"[" * 100000
                conn.sendall(struct.pack(">I", len(deep)) + deep)
                read(conn, 1 << 30)
            elif first and turn == 4:
                say(conn, {"type": "Hello", "id": hear(conn)["id"], "version": "0", "role": "guest",
                           "workspace": "01890000-0000-7000-8000-00000000ffff", "boot_id": "b"})
                read(conn, 1 << 30)
            else:
                if first:
                    print("done", file=report)
                greet(conn)
                read(conn, 1 << 30)
        except (EOFError, OSError, ValueError, KeyError):
            pass
        conn.close()
        turn += 1


def relay():
    path = folder + "/relay.sock"
    server = socket.socket(socket.AF_UNIX)
    server.bind(path)
    server.listen(4)

    def answer(conn):
        try:
            greet(conn)
            while True:
                while os.path.exists(folder + "/deaf"):  # the client stops reading
                    time.sleep(0.1)
                message = hear(conn)
                kind = "Pong" if message["type"] == "Ping" else "Ok"
                say(conn, {"type": kind, "id": message["id"], "version": "0", "uptime_secs": 0})
        except (EOFError, OSError, ValueError, KeyError):
            conn.close()

    while True:
        threading.Thread(target=answer, args=(server.accept()[0],), daemon=True).start()


threading.Thread(target=relay, daemon=True).start()
serve("control.sock", True)
