"""A guest that greets its host and leaves, again and again, just when it is pushed to.

    leaver.py FOLDER REPORT TIMES

It listens at control.sock and relay.sock in the folder; after TIMES it says `done` in
REPORT and ends.
"""
import json, random, socket, struct, sys, time

folder, report, times = sys.argv[1], sys.argv[2], int(sys.argv[3])


def listen(name):
    server = socket.socket(socket.AF_UNIX)
    server.bind(folder + "/" + name)
    server.listen(4)
    return server


def greet(conn):
    size = struct.unpack(">I", conn.recv(4, socket.MSG_WAITALL))[0]
    hello = json.loads(conn.recv(size, socket.MSG_WAITALL))
    body = json.dumps({"type": "Hello", "id": hello["id"], "version": "0", "role": "guest",
                       "workspace": hello["workspace"], "boot_id": "b"}).encode()
    conn.sendall(struct.pack(">I", len(body)) + body)


control, relay = listen("control.sock"), listen("relay.sock")
for n in range(times):
    a, b = control.accept()[0], relay.accept()[0]
    try:
        greet(a)
        greet(b)
        until = time.perf_counter() + random.random() * 0.002
        while time.perf_counter() < until:
            pass
    except (OSError, struct.error, ValueError):
        pass
    b.close()
    a.close()
with open(report, "w") as file:
    print("done", file=file)
