"""The vsock of a Firecracker or Cloud Hypervisor, and a guest's program behind it.

    vmm.py PATH GUEST REPORT

At PATH a host says CONNECT and is joined to the guest that listens in the folder GUEST.
Whenever the host listens at PATH_5000, that is dialled as a program in the VM would
dial CID 2: what it finds wrong is a line of REPORT, and each round ends with `done`.
"""
import json, os, socket, struct, sys, threading, time

SCALE = int(os.environ.get("TEST_SCALE", "1"))

path, guest, report = sys.argv[1], sys.argv[2], open(sys.argv[3], "w", buffering=1)


def pipe(source, sink):
    try:
        while data := source.recv(65536):
            sink.sendall(data)
    except OSError:
        pass
    for end in (source, sink):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def join(host):
    line = b""
    while not line.endswith(b"\n"):
        part = host.recv(1)
        if not part:
            return
        line += part
    behind = socket.socket(socket.AF_UNIX)
    names = {b"CONNECT 5000\n": "control.sock", b"CONNECT 5001\n": "relay.sock"}
    if line not in names:
        print("not a CONNECT:", line, file=report)
        return host.close()
    try:
        behind.connect(guest + "/" + names[line])
    except OSError:
        return host.close()  # no guest listens at that port
    for part in (b"OK 10737", b"41824\n"):
        host.sendall(part)
        time.sleep(0.02)
    threading.Thread(target=pipe, args=(behind, host), daemon=True).start()
    pipe(host, behind)


def serve():
    server = socket.socket(socket.AF_UNIX)
    server.bind(path)
    server.listen(16)
    while True:
        threading.Thread(target=join, args=(server.accept()[0],), daemon=True).start()


def dial():
    conn = socket.socket(socket.AF_UNIX)
    conn.connect(path + "_5000")
    conn.settimeout(30 * SCALE)
    return conn


def take(conn, size):
    data = b""
    while len(data) < size:
        part = conn.recv(size - len(data))
        if not part:
            raise EOFError
        data += part
    return data


def ask(conn, **message):
    body = json.dumps(message).encode()
    conn.sendall(struct.pack(">I", len(body)) + body)
    return json.loads(take(conn, struct.unpack(">I", take(conn, 4))[0]))


def hello(**claims):
    return dict(type="Hello", id=1, version="0", role="guest", boot_id="x", **claims)


def call(op, **args):
    return {"type": "Call", "id": 2, "op": op, "args": args}


LIES = [
    (hello(agent="bob"), call("message.peek")),
    (hello(agent="ann", **{"as": True}), call("message.peek")),
    (hello(team="blue"), call("message.peek")),
    (hello(), call("message.peek", agent="bob")),
    (hello(), {"type": "TeamMessage", "id": 2, "to": "bob", "from": "lead", "content": "x"}),
    (hello(), call("team.destroy", team="red")),
]


def listener():
    """The socket's owner: another host makes it anew."""
    made = os.stat(path + "_5000")
    return made.st_ino, made.st_ctime_ns


def round():
    conn = dial()
    if ask(conn, **hello(agent="ann", team="red"))["type"] != "Hello":
        print("not greeted", file=report)
    answer = ask(conn, type="TeamMessage", id=2, to="bob", content="from inside")
    if answer["type"] != "TeamMessageDelivered":
        print("not delivered:", answer, file=report)
    conn.close()
    for first, second in LIES:
        conn = dial()
        said = [ask(conn, **first), ask(conn, **second)]
        if all(answer.get("code") != "PermissionDenied" for answer in said):
            print("not refused:", first, second, said, file=report)
        conn.close()
    print("done", file=report)


threading.Thread(target=serve, daemon=True).start()
while True:
    try:
        here = listener()
        round()
        while listener() == here:
            time.sleep(0.1)
    except (OSError, EOFError):
        time.sleep(0.1)
