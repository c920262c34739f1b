"""Clients whose waiting calls are too many together, and one who is held up by them.

    crowded.py SOCKET

Prints what became of the last call of the one, before the others leave and after.
"""
import json, select, socket, struct, sys

OTHERS, EACH, OWN = 43, 96, 8  # more than 4,096 calls in all; beyond that a client may have 8


def frame(message):
    body = json.dumps(message).encode()
    return struct.pack(">I", len(body)) + body


def come():
    conn = socket.socket(socket.AF_UNIX)
    conn.connect(sys.argv[1])
    conn.settimeout(30)
    conn.sendall(frame({"type": "Hello", "id": 1, "version": "0", "role": "client", "boot_id": "", "team": "red"}))
    hear(conn)
    return conn


def hear(conn):
    size = struct.unpack(">I", conn.recv(4, socket.MSG_WAITALL))[0]
    return json.loads(conn.recv(size, socket.MSG_WAITALL))


def waits(n):
    args = {"wait_seconds": 300}
    return b"".join(frame({"type": "Call", "id": 2 + i, "op": "message.receive", "args": args}) for i in range(n))


look = frame({"type": "Call", "id": 999, "op": "agent.list", "args": {}})
others = []
for n in range(OTHERS):
    conn = come()
    conn.sendall(waits(EACH) + look)
    if n + 1 < OTHERS:
        hear(conn)  # `look` is answered, so the waits are parked; the last client is held up
    others.append(conn)
one = come()
one.sendall(waits(OWN) + look)
before = "answered" if select.select([one], [], [], 1)[0] else "held up"
for conn in others:
    conn.close()
print(before, "then", "answered" if hear(one)["id"] == 999 else "?")
