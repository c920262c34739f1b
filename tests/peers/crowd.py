"""More clients than a host has places for, of which it has 128.

    crowd.py SOCKET PID REPORT

The first thing that goes wrong is a line of the report, and the end; `full` says that
all places are taken by clients that have asked something, `done` stands at the end,
when the host has gone.
"""
import json, os, socket, struct, sys, time

PATH, PID, REPORT = sys.argv[1], sys.argv[2], sys.argv[3]
PLACES, BEYOND = 128, 60
SCALE = int(os.environ.get("TEST_SCALE", "1"))
report = open(REPORT, "a", buffering=1)


def bad(*words):
    """The checks that follow rest on the one that failed, and would only wait for it."""
    print("FAILED:", *words, file=report)
    sys.exit(1)


def come():
    conn = socket.socket(socket.AF_UNIX)
    conn.settimeout(60 * SCALE)
    conn.connect(PATH)
    return conn


def hear(conn):
    """The next frame; {} at the end."""
    try:
        head = conn.recv(4, socket.MSG_WAITALL)
        return json.loads(conn.recv(struct.unpack(">I", head)[0], socket.MSG_WAITALL)) if len(head) == 4 else {}
    except ConnectionError:
        return {}
    except TimeoutError:
        bad("a client hears neither a frame nor the end within %d s" % conn.gettimeout())


def say(conn, message):
    body = json.dumps(message).encode()
    try:
        conn.sendall(struct.pack(">I", len(body)) + body)
    except ConnectionError:
        pass  # the host had already refused the connection


def greet(conn):
    say(conn, {"type": "Hello", "id": 1, "version": "0", "role": "client", "boot_id": "", "team": "red"})
    return hear(conn)


def call(conn, op, args):
    say(conn, {"type": "Call", "id": 2, "op": op, "args": args})
    return hear(conn)


def served():
    conn = come()
    return conn, greet(conn).get("type") == "Hello"


def work(conn, when):
    """A connected client is served, through the guest too."""
    if "result" not in call(conn, "agent.list", {}):
        bad("no answer", when)
    said = call(conn, "workspace.exec", {"workspace": "red/ann", "command": "echo hello"})
    if said.get("result", {}).get("stdout") != "hello\n":
        bad("the guest", when, said)


def cpu():
    fields = open("/proc/%s/stat" % PID).read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


# If all places are taken, the host closes the connection of a client that has sent nothing, in
# favor of a new client.
silent = [come() for _ in range(PLACES)]
for _ in range(100 * SCALE):
    conn, is_served = served()
    if is_served:
        break
    conn.close()
    time.sleep(0.1)
else:
    bad("silent clients keep their places")
work(conn, "beside silent ones")
told = hear(silent[0])
if told.get("code") != "Exhausted" or hear(silent[0]):
    bad("the silent one who waited longest is told", told)
for s in silent + [conn]:
    s.close()

# Clients that have made a call keep their connections.
held, away = [], 0
for _ in range(200 * SCALE):
    conn, is_served = served()
    if is_served:
        held.append(conn)
        away = 0
    else:
        conn.close()
        away += 1
    if away == BEYOND:
        break
if not PLACES - 2 <= len(held) <= PLACES or away != BEYOND:
    bad(len(held), "have a place,", away, "were turned away")
conn = come()
told = hear(conn)
if told.get("code") != "Exhausted" or not told.get("hint") or hear(conn):
    bad("who finds no place is told", told)
work(held[0], "among many")
waiting = [come() for _ in range(BEYOND)]
before = cpu()
time.sleep(1)  # measures the processor time of an idle second
if cpu() - before > 0.5:
    bad("the host works %.2f s in a second of nothing to do" % (cpu() - before))
held.pop().close()
for _ in range(100 * SCALE):
    conn, is_served = served()
    if is_served:
        break
    conn.close()
    time.sleep(0.1)
else:
    bad("a place that was left is not given again")
print("full", file=report)
held[0].settimeout(None)
while hear(held[0]):
    pass
print("done", file=report)
