"""Idle strangers at a guest's TCP port, and a host that comes behind them.

    idle.py PORT TOKEN

Each line that it prints is a fault of the guest's; the last one is `done`.
"""
import json, socket, struct, sys, time

port, token = int(sys.argv[1]), sys.argv[2]
STRANGERS = 150


def hear(conn):
    head = conn.recv(4, socket.MSG_WAITALL)
    if len(head) < 4:
        return {}
    return json.loads(conn.recv(struct.unpack(">I", head)[0], socket.MSG_WAITALL))


def come():
    conn = socket.create_connection(("127.0.0.1", port), timeout=60)
    return conn


def say(conn, message):
    body = json.dumps(message).encode()
    conn.sendall(struct.pack(">I", len(body)) + body)


def greet():
    conn = come()
    say(conn, {"type": "Hello", "id": 1, "version": "0", "role": "host", "boot_id": "h",
               "token": token})
    return conn, hear(conn)


# A client that has proven its identity stays connected, even if many strangers connect.
first, hello = greet()
if hello.get("type") != "Hello":
    print("the first host is answered", hello)
idle = [come() for i in range(STRANGERS)]
host, hello = greet()
if hello.get("type") != "Hello":
    print("a host behind", STRANGERS, "strangers is answered", hello)
said = hear(idle[0])
if said.get("code") != "Exhausted":
    print("the stranger who waited longest is told", said)
say(first, {"type": "Ping", "id": 2})
while True:
    answer = hear(first)
    if answer.get("type") != "Heartbeat":
        break
if answer.get("type") != "Pong":
    print("the first host is answered", answer)
print("done")
