"""Clients that make calls without an end and read no answer.

    calls.py SOCKET PID

Prints by how many MiB the host's memory grew, and whether another client is answered.
"""
import json, selectors, socket, struct, sys, time

PATH, PID = sys.argv[1], sys.argv[2]
CLIENTS, SECONDS = 120, 6


def frame(message):
    body = json.dumps(message).encode()
    return struct.pack(">I", len(body)) + body


def come():
    conn = socket.socket(socket.AF_UNIX)
    conn.connect(PATH)
    conn.sendall(frame({"type": "Hello", "id": 1, "version": "0", "role": "client", "boot_id": "", "team": "red",
                        "agent": "ann", "as": True}))
    return conn


def hear(conn):
    size = struct.unpack(">I", conn.recv(4, socket.MSG_WAITALL))[0]
    return json.loads(conn.recv(size, socket.MSG_WAITALL))


def memory():
    for line in open("/proc/%s/status" % PID):
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) // 1024


calls = b"".join(frame({"type": "Call", "id": n, "op": "message.list", "args": {"limit": 100}}) for n in range(256))
first = peak = memory()
kinds = selectors.DefaultSelector()
for _ in range(CLIENTS):
    conn = come()
    conn.setblocking(False)
    kinds.register(conn, selectors.EVENT_WRITE)
until = time.monotonic() + SECONDS
while time.monotonic() < until and kinds.get_map():
    for key, _ in kinds.select(0.05):
        try:
            key.fileobj.send(calls)
        except BlockingIOError:
            pass
        except OSError:
            kinds.unregister(key.fileobj)  # the host has closed it
    peak = max(peak, memory())
other = come()
other.settimeout(30)
hear(other)
other.sendall(frame({"type": "Call", "id": 2, "op": "agent.list", "args": {}}))
print(peak - first, hear(other)["type"])
