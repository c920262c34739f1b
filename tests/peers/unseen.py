"""Messages that nobody saw are not acknowledged, tasks that nobody holds are not claimed.

usage: unseen.py N [WORD...]        with the command in $CADRE

N hand-outs and claims in all are broken off near the moment of the answer, at each door
in each way: killed, cancelled, reset, or written to a full disk or to nobody.  The WORDs
choose among them by name.  Then the doors are asked until nothing is left.  Every message
must have been seen, and no task be held by nobody who was told.  A try counts only if all
of it was done: what failed in the storm itself is told and tried again."""
import collections, contextlib, json, os, random, re, select, shlex, signal, socket, struct
import subprocess, sys, time
import urllib.request

from unseen_world import CADRE, META, Mcp, Storm, World, procs

DICE = random.Random(int(os.environ.get("SEED", "7")))
PIPE = subprocess.PIPE
total = collections.Counter()


def soon(most):
    end = time.perf_counter() + DICE.random() * most
    while time.perf_counter() < end:
        pass


def tell(name, host, tries, struck, what):
    total["tries"] += tries
    print("%-32s %-6s %6d tries, %6d broken off, %s" %
          (name, "host" if host else "direct", tries, struck, what), flush=True)


@contextlib.contextmanager
def nobody_reads():
    """An output whose other end is closed."""
    reading, writing = os.pipe()
    os.close(reading)
    yield writing
    os.close(writing)


def full():
    return open("/dev/full", "w")


# --- one try of each kind, which returns whether the call ended before its answer was read ---


def command_killed(w, kind, i):
    take = ["--take"] if i % 3 == 2 else []
    w.sweep()
    p = w.popen("inbox", "--wait-seconds", "20", "--json", *take, stdout=PIPE)
    time.sleep(.02)
    id = w.b.start(*w.send(kind))
    soon(.008)
    # Without a host no SIGKILL is sent, since a killed process cannot give its lease back.
    p.send_signal(DICE.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT]
                              if w.host else [signal.SIGTERM, signal.SIGINT]))
    w.look(p.stdout.read().decode())
    p.wait()
    p.stdout.close()
    w.sent(w.b, id)
    return p.returncode < 0


def command_unwritten(w, kind, i, out):
    words = [[], ["--take"], ["--json", "--take"], ["--wait-seconds", "5"]][i % 4]
    w.sent(w.b, w.b.start(*w.send(kind)))
    if w.popen("inbox", "--limit", "1", *words, stdout=out).wait() != 1:
        raise SystemExit("an answer that could not be written was no failure")
    if i % 5 == 0:
        w.sweep()
    return True


def command_full(w, kind, i):
    with full() as out:
        return command_unwritten(w, kind, i, out)


def command_pipe(w, kind, i):
    with nobody_reads() as out:
        return command_unwritten(w, kind, i, out)


def receive(i):
    words = {"action": "receive", "wait_seconds": 30}
    return dict(words, lease_seconds=0) if i % 3 == 2 else words


def mcp_cancelled(w, kind, i, modern):
    a = w.clients[modern]
    if i % 3 == 1:
        w.look(json.dumps(a.tool("inbox", action="receive", limit=100)))
    w.sweep()
    id = a.start("inbox", receive(i))
    time.sleep(.01)
    sent = w.b.start(*w.send(kind))
    soon(.004)
    a.put({"method": "notifications/cancelled", "params": {"requestId": id}})
    w.sent(w.b, sent)
    a.n += 1  # answers to cancelled requests are ignored
    a.put({"id": a.n, "method": "tools/list", "params": {}})
    return id not in a.until(a.n)


def mcp_killed(w, kind, i, modern):
    w.sweep()
    a = Mcp(w, "a", modern)
    a.start("inbox", receive(i))
    time.sleep(.03 if modern else .01)
    sent = w.b.start(*w.send(kind))
    soon(.004)
    if DICE.random() < .5 and w.host:
        a.p.kill()
    else:
        a.p.stdin.close()
    got = a.p.stdout.read().decode()
    w.look(got)
    a.p.stdout.close()
    a.p.wait(120)
    w.sent(w.b, sent)
    return "msg-" not in got


def mcp_unwritten(w, kind, i, modern, out):
    w.sent(w.b, w.b.start(*w.send(kind)))
    a = Mcp(w, "a", modern, stdout=out)
    try:
        a.start("inbox", receive(i))
    except BrokenPipeError:  # the server ended at the answer to initialize
        if modern:
            raise Storm("cadre mcp has ended")
    a.p.wait(120)
    with contextlib.suppress(BrokenPipeError):
        a.p.stdin.close()
    if i % 5 == 0:
        w.sweep()
    return True


def mcp_full(w, kind, i, modern):
    with full() as out:
        return mcp_unwritten(w, kind, i, modern, out)


def mcp_pipe(w, kind, i, modern):
    with nobody_reads() as out:
        return mcp_unwritten(w, kind, i, modern, out)


def http_open(w):
    s = socket.create_connection(("127.0.0.1", int(w.door["url"].rsplit(":", 1)[1])))
    s.settimeout(120)
    return s


def http_left(w, kind, i, linger):
    w.sent(w.b, w.b.start(*w.send(kind)))
    s = http_open(w)
    if linger:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.sendall(b"GET /messages HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer %s\r\n\r\n" %
              w.door["token"].encode())
    soon(.01)
    s.close()
    if i % 5 == 4:
        http_look(w)
    return True


def http_look(w):
    """Names what it got before, and looks at what it gets."""
    name = "r%d" % len(w.kinds)
    ask = urllib.request.Request(
        "%s/messages?limit=100&request_id=%s&seen=%s" % (w.door["url"], name, w.named),
        headers={"Authorization": "Bearer " + w.door["token"]})
    w.look(urllib.request.urlopen(ask, timeout=120).read().decode())
    w.named = name


def http_reset(w, kind, i):
    return http_left(w, kind, i, True)


def http_closed(w, kind, i):
    return http_left(w, kind, i, False)


def in_guest(w, words):
    p = w.popen("exec", "t/a", words, who="lead", stdout=PIPE)
    return p


def guest_end(w, p, wanted):
    got = p.stdout.read().decode()
    p.wait()
    p.stdout.close()
    w.look(got)
    if wanted not in got:
        raise Storm("in the guest: %r" % got[-200:])
    return got


def guest_killed(w, kind, i):
    w.sweep()
    p = in_guest(w, shlex.quote(CADRE) + " inbox --wait-seconds 20 --json & p=$!; sleep 0.0%d;"
                 "kill -%s $p; wait $p; test $? -eq 127 || echo; echo did it" %
                 (DICE.randint(20, 60), DICE.choice(["9", "TERM"])))
    time.sleep(.04)
    id = w.b.start(*w.send(kind))
    got = guest_end(w, p, "\ndid it")
    w.sent(w.b, id)
    return "msg-" not in got


def guest_full(w, kind, i):
    w.sent(w.b, w.b.start(*w.send(kind)))
    guest_end(w, in_guest(w, shlex.quote(CADRE) + " inbox --limit 1 %s >/dev/full;"
                          "test $? = 1 && echo failed" % ["", "--take"][i % 2]), "failed")
    if i % 5 == 0:
        w.sweep()
    return True


def guest_pipe(w, kind, i):
    w.sent(w.b, w.b.start(*w.send(kind)))
    guest_end(w, in_guest(w, "mkfifo f; { exec 3<>f 4>f 3<&-; %s inbox --limit 1 %s >&4; "
                          "test $? = 1 && echo failed; rm f; } 2>&1" %
                          (shlex.quote(CADRE), ["", "--take"][i % 2])), "failed")
    if i % 5 == 0:
        w.sweep()
    return True


# --- the host's HTTP door ---------------------------------------------------------------


def web_start(w, path, body, *headers):
    with open(os.path.join(w.home, "endpoint")) as f:
        port = int(f.read().strip().rsplit(":", 1)[1])
    s = socket.create_connection(("127.0.0.1", port))
    s.settimeout(120)
    text = json.dumps(body).encode()
    head = ["POST %s HTTP/1.1" % path, "Host: 127.0.0.1", "Authorization: Bearer " + w.token["a"],
            "Content-Type: application/json", "Accept: application/json, text/event-stream",
            "Content-Length: %d" % len(text), *headers]
    s.sendall("\r\n".join([*head, "", ""]).encode() + text)
    return s


def web_ask(w, *what):
    """The whole answer on a connection of its own."""
    with contextlib.closing(web_start(w, *what, "Connection: close")) as s:
        return b"".join(iter(lambda: s.recv(65536), b"")).decode()


def web_api(w, words):
    return "/api/inbox/receive", {k: v for k, v in words.items() if k != "action"}


def web_tool(words, **more):
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "inbox", "arguments": words, **more}}


def web_legacy(w, words):
    if not hasattr(w, "session"):
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        got = web_ask(w, "/mcp", {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello})
        w.session = re.search(r"(?i)\r\n(mcp-session-id: \S+)", got)[1]
    return "/mcp", web_tool(words), w.session


def web_modern(w, words):
    return ("/mcp", web_tool(words, _meta=META), "MCP-Protocol-Version: 2026-07-28",
            "Mcp-Method: tools/call", "Mcp-Name: inbox")


def web_left(w, kind, i, door):
    """A client leaves at some time before it has read its answer, and asks again."""
    words = {"action": "receive", **({"lease_seconds": 0} if i % 2 else {})}
    what = door(w, words)
    w.sent(w.b, w.b.start(*w.send(kind)))
    s = web_start(w, *what, *(["Connection: close"] if i % 4 > 1 else []))
    if i % 3 == 0:
        select.select([s], [], [], 30)
    elif i % 3 == 1:
        soon(.01)
    if i % 5 == 0:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.close()
    time.sleep(.01)
    w.look(web_ask(w, *what))
    return True


# --- claims ----------------------------------------------------------------------------


def cancelled_claim(a, b, i, where):
    """Whether a task stays held when its claim is cancelled near the answer."""
    id = a.start("task", {"action": "claim", "wait_seconds": 30, **where})
    time.sleep(.01)
    team = {"team": where["team"]} if "team" in where else {}
    made = b.start("task", {"action": "create", "title": "t%d" % i, **team})
    soon(.004)
    if i % 4 == 3:  # cancels after the answer was written, but before it is read
        select.select([a.p.stdout], [], [], 30)
    a.put({"method": "notifications/cancelled", "params": {"requestId": id}})
    task = json.loads(b.until(made)[made]["result"]["content"][0]["text"])["task"]["id"]
    a.ask("ping")
    for _ in range(200):
        status = b.tool("task", action="show", task=task, **team)["task"]["status"]
        if status == "pending":
            break
        time.sleep(.01)
    b.tool("task", action="cancel", task=task, **team)
    return status != "pending"


def claim_cancelled(n, host):
    """A waiting claim is cancelled around the task's arrival: it is free then, whoever
    claimed it for whom in which team, and no other task of that number is."""
    world = World(host)
    world.run("team", "create", "other", "--roles", "a")
    own, b = Mcp(world, "a"), Mcp(world, "b")
    everywhere, maker = Mcp(world, None), Mcp(world, None)
    ways = [(own, b, {}), (everywhere, maker, {"team": "t", "agent": "a"}),
            (everywhere, maker, {"team": "other"}),
            (everywhere, maker, {"team": "other", "agent_name": "a"})]
    held = 0
    for i in range(n):
        a, b, where = ways[i // 4 % len(ways)]
        held += cancelled_claim(a, b, i, where)
    tell("claim cancelled", host, n, n, "%d held by nobody" % held)
    for m in (own, everywhere, maker):
        m.close()
    world.end()
    return held + claims_kept(host)


def claims_kept(host):
    """A late cancel leaves these alone: the same number elsewhere, and work that began."""
    world = World(host)
    world.run("team", "create", "other", "--roles", "a")
    m = Mcp(world, None)
    for team in ("t", "other"):
        m.tool("task", action="create", title="x", team=team)
    m.tool("task", action="claim", task="001", team="t")
    first = m.n
    second = m.start("task", {"action": "claim", "task": "001", "team": "other"})
    select.select([m.p.stdout], [], [], 30)
    m.put({"method": "notifications/cancelled", "params": {"requestId": second}})
    m.tool("task", action="start", task="001", team="t")
    m.put({"method": "notifications/cancelled", "params": {"requestId": first}})
    m.ask("ping")
    time.sleep(.2)
    stand = [m.tool("task", action="show", task="001", team=team)["task"]["status"]
             for team in ("t", "other")]
    m.close()
    world.end()
    if stand != ["in_progress", "pending"]:
        print("late cancels of claims left %s" % stand)
    return stand != ["in_progress", "pending"]


def claim_series(n, host, name, one):
    """A claim of the only task, which nobody is told of; it is free again soon."""
    world = World(host)
    world.run("task", "create", "only", who="b")
    held = struck = 0
    for i in range(n):
        struck += one(world, ["claim"] + (["--wait-seconds", "5"] if i % 2 else []))
        for _ in range(200):
            status = world.js("task", "show", "001", who="b")["task"]["status"]
            if status == "pending":
                break
            time.sleep(.01)
        held += status != "pending"
    tell(name, host, n, struck, "%d held by nobody" % held)
    world.end()
    return held


def unwritten(world, words, out):
    if world.popen(*words, stdout=out).wait() != 1:
        raise SystemExit("a claim that could not be written was no failure")
    return True


def full_once(world, words):
    with full() as out:
        return unwritten(world, words, out)


def pipe_once(world, words):
    with nobody_reads() as out:
        return unwritten(world, words, out)


def claim_full(n, host):
    return claim_series(n, host, "claim to a full disk", full_once)


def claim_pipe(n, host):
    return claim_series(n, host, "claim that nobody reads", pipe_once)


# --- the whole run ---------------------------------------------------------------------


def series(world, kind, n, one):
    """N tries that were really made; one that failed by itself is made again."""
    done = struck = faults = 0
    while done < n:
        try:
            struck += one(world, kind, done + faults)
            done += 1
        except (Storm, OSError, subprocess.TimeoutExpired) as e:
            faults += 1
            print("%s: made again: %s" % (kind, e), flush=True)
            if faults > 20 + n // 10:
                raise SystemExit("the storm fails too often")
            world.revive()
    world.struck[kind] = (done, struck)


def tell_series(world):
    """Asks until nothing is left, also of what is held by a session that has ended."""
    world.sweep(len(world.kinds) + 50)
    wrong = 0
    for kind, (done, struck) in world.struck.items():
        lost = world.lost(kind)
        tell(kind, world.host, done, struck, "%d never seen" % lost)
        wrong += lost
        total["struck"] += struck
    world.end()
    return wrong


def messages(n, host, kinds):
    world = World(host)
    world.open()
    for kind, one in kinds:
        series(world, kind, n, one)
    return tell_series(world)


def eras(one, name):
    return [("mcp %s %s" % (era, name), lambda w, kind, i, m=m: one(w, kind, i, m))
            for era, m in (("2025", False), ("2026", True))]


COMMANDS = [("command killed", command_killed), ("command to a full disk", command_full),
            ("command that nobody reads", command_pipe),
            *eras(mcp_cancelled, "cancelled"), *eras(mcp_killed, "killed or left"),
            *eras(mcp_full, "to a full disk"), *eras(mcp_pipe, "that nobody reads")]
WEB = [("http call left", lambda w, kind, i: web_left(w, kind, i, web_api)),
       ("mcp 2025 over http left", lambda w, kind, i: web_left(w, kind, i, web_legacy)),
       ("mcp 2026 over http left", lambda w, kind, i: web_left(w, kind, i, web_modern))]
GUESTS = [("http door reset", http_reset), ("http door closed", http_closed),
          ("guest's command killed", guest_killed),
          ("guest's command to a full disk", guest_full),
          ("guest's command that nobody reads", guest_pipe)]
CLAIMS = [("claim cancelled", claim_cancelled), ("claim to a full disk", claim_full),
          ("claim that nobody reads", claim_pipe)]


def chosen(kinds, words):
    return [k for k in kinds if not words or any(w in k[0] for w in words)]


def main(n, words):
    plan = [(True, chosen(COMMANDS + WEB, words)), (False, chosen(COMMANDS, words))]
    claiming = [(host, one) for _, one in chosen(CLAIMS, words) for host in (True, False)]
    guests = chosen(GUESTS, words)
    parts = sum(len(kinds) for _, kinds in plan) + len(claiming) + len(guests)
    share, wrong = -(-n // parts), 0  # each kind gets at least its share of the tries
    for host, kinds in plan:
        if kinds:
            wrong += messages(share, host, kinds)
    for host, one in claiming:
        wrong += one(share, host)
    if guests:
        wrong += guest_messages(share, guests)
    print("%d tries, %d of messages broken off, %d wrong" %
          (total["tries"], total["struck"], wrong), flush=True)
    idle = any(kinds for _, kinds in plan) and not total["struck"]
    if idle:
        print("nothing was broken off: the storm tested nothing")
    return wrong or total["tries"] < n or idle


def guest_messages(n, kinds):
    world = World(True, workspace=True)
    world.open()
    world.open_guest()
    for kind, one in kinds:
        series(world, kind, n, one)
    http_look(world)
    return tell_series(world)


if __name__ == "__main__":
    began = time.time()
    try:
        status = main(int(sys.argv[1]), sys.argv[2:])
    finally:
        for p in procs:
            if p.poll() is None:
                p.kill()
    print("%.0f s, %.1f s for a thousand" % (time.time() - began,
          1000 * (time.time() - began) / max(1, total["tries"])))
    sys.exit(bool(status))
