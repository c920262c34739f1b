"""malformed - N requests of each class that is no good HTTP, or no good call, at a host's HTTP
door: URL TOKEN N.

Each is made anew from a seed, and shows the operator's own token: where one was taken for what it
is not, a task or a note would be there.  Each gets one refusal, or none where it is not whole, and
its connection ends.  Meanwhile good clients are served.  It prints what went wrong, and counts.
"""
import asyncio
import os
import random
import re
import signal
import sys
import time

HOST, PORT = sys.argv[1].removeprefix("http://").rsplit(":", 1)
TOKEN, N = sys.argv[2].encode(), int(sys.argv[3])
SCALE = int(os.environ.get("TEST_SCALE", "1"))
SEED = int(os.environ.get("SEED", "1"))
AT_ONCE = 64
SLOW_AT_ONCE = 10000
BODY_S = 30  # the door's time limit for a body, and for an answer that nobody reads

AUTH = b"Authorization: Bearer " + TOKEN + b"\r\n"
NAMES = b"Host: localhost\r\n" + AUTH + b"Content-Type: application/json\r\n"
TASK = b'{"team":"shop","title":"smuggled"}'
CALL = (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"task","arguments":{'
        b'"action":"create","team":"shop","title":"smuggled"},"_meta":{"io.modelcontextprotocol/'
        b'protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t",'
        b'"version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}')
MODERN = b"MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: task\r\n"
GOOD = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"

faults = []


def bad(*words):
    faults.append(" ".join(str(w) for w in words))


def post(body, path=b"/api/tasks", more=b""):
    return b"POST " + path + b" HTTP/1.1\r\n" + NAMES + more + \
        b"Content-Length: %d\r\n\r\n" % len(body) + body


def target(rng):
    """A request that would do something if it were taken: its head without an end, and its body."""
    return rng.choice([
        (b"POST /api/tasks HTTP/1.1\r\n" + NAMES, TASK),
        (b"POST /mcp HTTP/1.1\r\n" + NAMES + MODERN, CALL),
        (b"PUT /api/vault/note HTTP/1.1\r\n" + NAMES, b'{"path":"smuggled.md","content":"x"}'),
    ])


# --- smuggling: requests with two different ends, or without an end -----------------

BLANKS = [b" ", b"\t", b"\x0b", b"\x0c", b"\r", b"\x00", b"\xa0", b"\x85"]


def chunks(rng, body):
    out = b""
    while body:
        n = rng.randint(1, len(body))
        out += b"%x\r\n" % n + body[:n] + b"\r\n"
        body = body[n:]
    return out + b"0\r\n\r\n"


def two_lengths(rng, head, body):
    inner = post(TASK)
    lengths = [len(body), rng.choice([0, 1, len(body) + 1, len(body + inner), len(body)])]
    rng.shuffle(lengths)
    between = rng.choice([b"", b"X-Between: 1\r\n"])
    return head + b"Content-Length: %d\r\n" % lengths[0] + between + \
        b"Content-Length: %d\r\n\r\n" % lengths[1] + body + inner


def odd_length(rng, head, body):
    n = b"%d" % len(body)
    odd = rng.choice([b"+" + n, b"-" + n, b"0x%x" % len(body), n + b"," + n, n + b" " + n, n + b", 0",
                      b"", b"\xef\xbc\x95", n + b";", n + b".0", n + b"e0", b'"' + n + b'"',
                      n + rng.choice(BLANKS[2:]), rng.choice(BLANKS[2:]) + n, n + b"_0", n + b"n"])
    return head + b"Content-Length: " + odd + b"\r\n\r\n" + body + post(TASK)


def both(rng, head, body):
    lines = [b"Content-Length: %d\r\n" % rng.choice([0, 4, len(body), len(chunks(rng, body))]),
             b"Transfer-Encoding: " + rng.choice([b"chunked", b"Chunked", b"CHUNKED"]) + b"\r\n"]
    rng.shuffle(lines)
    return head + b"".join(lines) + b"\r\n" + chunks(rng, body) + post(TASK)


def odd_coding(rng, head, body):
    blank = rng.choice(BLANKS[2:])
    odd = rng.choice([b"xchunked", b"chunked, identity", b"identity, chunked", b"identity", b"gzip",
                      b"chunked;q=1", b'"chunked"', b"chunked,", b",chunked", b"chunked, chunked",
                      b"chunke\xc4\x8f", b"gzip, chunked", b"chunked" + blank, blank + b"chunked",
                      b"", b"chunk", b"chunked\r\nTransfer-Encoding: chunked",
                      b"chunked\r\nTransfer-Encoding: identity"])
    return head + b"Transfer-Encoding: " + odd + b"\r\n\r\n" + chunks(rng, body) + post(TASK)


def odd_line(rng, head, body):
    """A header that says where the body ends and is none, or part of another."""
    name, value = rng.choice([(b"Content-Length", b"%d" % len(body)), (b"Transfer-Encoding", b"chunked")])
    line = rng.choice([
        name + rng.choice(BLANKS) + b": " + value, rng.choice(BLANKS) + name + b": " + value,
        b"X: 1\r\n" + rng.choice([b" ", b"\t", b"  \t"]) + name + b": " + value,
        name + b":\r\n" + rng.choice([b" ", b"\t"]) + value, b"X: 1\r" + name + b": " + value,
        b"X: 1\n" + name + b": " + value, name + b"\r\n: " + value, name[:7] + b"\x00" + name[7:] + b": " + value,
        b": " + value, name + b" " + value, name[:4] + b"\x80" + name[4:] + b": " + value])
    return head + line + b"\r\n\r\n" + (chunks(rng, body) if value == b"chunked" else body) + post(TASK)


def odd_chunk(rng, head, body):
    n = b"%x" % len(body)
    size = rng.choice([b"0x" + n, b"+" + n, b"-" + n, b" " + n, n + b" ", b"\t" + n, n + b"\x00", n + b"g",
                       b"1" + b"0" * 14 + n, b"f" * 16, b"f" * 17, b"1" + b"0" * 16, b"", n + b";a\rb", n + b";a\nb",
                       n + b"\r", n + b"_", n + b"h"])
    end = rng.choice([b"\r\n0\r\n\r\n", b"\n0\r\n\r\n", b"XX0\r\n\r\n", b"0\r\n\r\n", b"\r0\r\n\r\n"])
    if rng.random() < 0.5:
        size, end = n, rng.choice([b"\n0\r\n\r\n", b"XX0\r\n\r\n", b"\r0\r\n\r\n", b"\r\n0\r\n\rX", b"\r\n0\n\r\n"])
    return head + b"Transfer-Encoding: chunked\r\n\r\n" + size + b"\r\n" + body + end + post(TASK)


def odd_end(rng, head, body):
    """The head ends otherwise than by an empty line."""
    end = rng.choice([b"\r\n\rX", b"\r\r\n", b"\n\n", b"\n\r\n", b"\r\n\r\r\n", b"\r\n\x00\r\n", b"\r\n \r\n\r\n"])
    return head + b"Content-Length: %d" % len(body) + end + body + post(TASK)


def odd_start(rng, head, body):
    method, path, _ = head.split(b"\r\n", 1)[0].split(b" ")
    rest = head.split(b"\r\n", 1)[1]
    line = rng.choice([
        method + b"\t" + path + b" HTTP/1.1", method + b" " + path + b"\tHTTP/1.1", path + b" HTTP/1.1",
        method + b" " + path + b" HTTP/1.1 x", method + b" " + path + b" http/1.1", method.lower() + b" " + path + b" HTTP/1.1",
        method + b" " + path + b" HTTP/" + rng.choice([b"0.9", b"1.2", b"2.0", b"3.0", b"1.10", b"11", b"1,1", b"01.1", b"9.9"]),
        method + b" " + path, method + b" http://elsewhere" + path + b" HTTP/1.1", method + b" " + path[1:] + b" HTTP/1.1",
        method + b" " + path + b"#x HTTP/1.1", method + b" *" + path + b" HTTP/1.1", method + b"\x00 " + path + b" HTTP/1.1",
        method + b" " + path + b" HTTP/1.1\rX: 1", method + b" " + path + b" HTTP/1.1\r\n X: 1", b"\x16\x03\x01" + method,
        method + b" " + path + b" HTTP/1.1\r\nHost: localhost", method + b" " + path + b" HTTP/1.1\r\nOrigin: null",
        b"PRI * HTTP/2.0", b"CONNECT localhost:80 HTTP/1.1"])
    return line + b"\r\n" + rest + b"Content-Length: %d\r\n\r\n" % len(body) + body


SMUGGLERS = [two_lengths, odd_length, both, odd_coding, odd_line, odd_chunk, odd_end, odd_start]


def smuggling(rng):
    head, body = target(rng)
    return rng.choice(SMUGGLERS)(rng, head, body)


# --- absurd lengths ---------------------------------------------------------------------------------

def size(rng, least, most):
    return int(least * (most / least) ** rng.random())


def lengths(rng):
    head, body = target(rng)
    n = size(rng, 20 << 10, 1 << 20)
    kind = rng.randrange(15)
    if kind == 0:
        return head + b"Content-Length: %d\r\n\r\n" % rng.randint(13 << 20, 1 << rng.randint(25, 200)) + body
    if kind == 1:
        return b"GET /api/tasks/" + b"x" * n + b" HTTP/1.1\r\n" + NAMES + b"\r\n"
    if kind == 2:
        return b"GET /api/tasks?team=shop&text=" + b"x" * n + b" HTTP/1.1\r\n" + NAMES + b"\r\n"
    if kind == 3:
        return head + b"X: " + b"x" * n + b"\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    if kind == 4:
        return head + b"x" * n + b": 1\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    if kind == 5:
        return b"A" * n + b" /api/tasks HTTP/1.1\r\n" + NAMES + b"\r\n"
    if kind == 6:
        return head + b"Transfer-Encoding: chunked\r\n\r\n%x;" % len(body) + b"x" * n + b"\r\n" + body + b"\r\n0\r\n\r\n"
    if kind == 7:
        return head + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n" % rng.randint(5 << 20, 1 << rng.randint(24, 80)) + \
            b"[" * size(rng, 5 << 20, 6 << 20)
    if kind == 8:
        deep = rng.choice([b"[", b'{"a":', b"[{"]) * (n // 5)
        return head + b"Content-Length: %d\r\n\r\n" % len(deep) + deep
    if kind == 9:
        return post(b'{"team":"shop","title":"smuggled","priority":' + b"9" * n + b"}")
    if kind == 10:
        return post(b'{"team":"shop","title":"' + b"smuggled" * (n // 8) + b'"}')
    if kind == 11:
        return post(b'{"team":"shop","title":"smuggled","' + b"x" * n + b'":1}')
    if kind == 12:
        return b"GET /events?after=" + b"9" * rng.randint(20, 16000) + b" HTTP/1.1\r\n" + NAMES + b"\r\n"
    if kind == 13:
        return b"GET /api/tasks?team=shop&limit=" + rng.choice([b"9" * rng.randint(4, 9000), b"-1", b"1e9"]) + \
            b" HTTP/1.1\r\n" + NAMES + b"\r\n"
    return post(TASK, more=b"Idempotency-Key: " + b"k" * rng.randint(200, 15000) + b"\r\n")


# --- bad UTF-8 -----------------------------------------------------------------------------------------

BROKEN = [b"\xff", b"\xfe\xff", b"\x80", b"\xc0\xaf", b"\xc1\xbf", b"\xe0\x80\xaf", b"\xed\xa0\x80", b"\xed\xbf\xbf",
          b"\xf0\x80\x80\xaf", b"\xf4\x90\x80\x80", b"\xf8\x88\x80\x80\x80", b"\xe2\x82", b"\xf0\x9f\x98", b"\xc3", b"\xc3\x28"]


def utf8(rng):
    broken = rng.choice(BROKEN)
    text = bytes(rng.choices(b"abc", k=rng.randint(0, 9))) + broken + bytes(rng.choices(b"abc", k=rng.randint(0, 9)))
    escaped = b"".join(b"%%%02x" % c for c in broken)
    kind = rng.randrange(13)
    if kind == 0:
        return b"GET /api/tasks/" + rng.choice([escaped, broken, b"%", b"%4", b"%zz", b"%00"]) + b" HTTP/1.1\r\n" + NAMES + b"\r\n"
    if kind == 1:
        return b"GET /api/tasks?team=shop&text=" + rng.choice([escaped, broken, b"%", b"%0", b"%gg", b"%00"]) + \
            b" HTTP/1.1\r\n" + NAMES + b"\r\n"
    if kind == 2:
        return b"GET /api/tasks?team=shop&" + escaped + b"=1 HTTP/1.1\r\n" + NAMES + b"\r\n"
    if kind == 3:
        return post(b'{"team":"shop","title":"' + text + b'"}')
    if kind == 4:
        return post(b'{"team":"shop","title":"smuggled","' + text + b'":"x"}')
    if kind == 5:
        return post(b'{"team":"shop","title":"smuggled' + rng.choice([b"\\ud800", b"\\udc00\\ud800", b"\\u0000", b"\\x00", b"\x00"]) + b'"}')
    if kind == 6:
        return post(TASK, more=b"Idempotency-Key: " + text + b"\r\n")
    if kind == 7:
        return post(TASK).replace(TOKEN, TOKEN + text)
    if kind == 8:
        return b"GET /events HTTP/1.1\r\n" + NAMES + b"Last-Event-ID: " + text + b"\r\n\r\n"
    if kind == 9:
        return post(CALL.replace(b"smuggled", b"smuggled" + text), b"/mcp", MODERN)
    if kind == 10:
        return post(CALL, b"/mcp", MODERN.replace(b"2026", text))
    if kind == 11:
        return post(TASK).replace(b"localhost", b"localhost" + text)
    return post(TASK, more=rng.choice([b"Origin: http://" + text + b"\r\n", b"Expect: " + text + b"\r\n"]))


# --- floods of headers ---------------------------------------------------------------------------------

def floods(rng):
    head, body = target(rng)
    n = size(rng, 100, 20000)
    kind = rng.randrange(6)
    if kind == 0:
        lines = b"".join(b"X-%d: 1\r\n" % i for i in range(n))
    elif kind == 1:
        lines = rng.choice([b"A: b\r\n", b"A:\r\n", b"Cookie: a=b\r\n", b"Accept: */*\r\n"]) * n
    elif kind == 2:
        lines = rng.choice([AUTH, b"Host: localhost\r\n", b"Origin: http://localhost\r\nOrigin: http://localhost\r\n",
                            b"Idempotency-Key: a\r\nIdempotency-Key: a\r\n"]) * rng.randint(1, n // 50)
    elif kind == 3:
        lines = b"X: " + b"a, " * 3000 + b"\r\nY: " + b"b;" * 5000 + b"\r\n"
    elif kind == 4:
        return b"\r\n" * rng.randint(0, 3000) + head + b": \r\n" * n + b"\r\n" + body
    else:
        return head + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n" % len(body) + body + b"\r\n0\r\n" + \
            b"".join(b"Trailer-%d: 1234567890\r\n" % i for i in range(n + 900)) + b"\r\n"
    return head + lines + b"Content-Length: %d\r\n\r\n" % len(body) + body


# --- each request ---------------------------------------------------------------------------------------

def statuses(got):
    return [int(code) for code in re.findall(rb"HTTP/1\.1 (\d{3}) ", got)]


async def hear(reader):
    got = b""
    try:
        while piece := await reader.read(65536):
            got += piece
    except ConnectionError:
        pass
    return got


async def dial():
    for _ in range(50):
        try:
            return await asyncio.open_connection(HOST, int(PORT), limit=1 << 20)
        except ConnectionError:
            await asyncio.sleep(0.1)
    bad("the door takes nobody")
    raise SystemExit(1)


async def say(data, rng):
    """Sends it, sometimes in pieces, and hears until the door hangs up."""
    reader, writer = await dial()
    heard = asyncio.ensure_future(hear(reader))
    try:
        at = 0
        while at < len(data) and not heard.done():
            n = rng.choice([len(data), len(data), 1 + len(data) // 2, 1 + len(data) // 7])
            writer.write(data[at:at + n])
            await writer.drain()
            at += n
        writer.write_eof()
    except OSError:
        pass  # the door refused the request before all was sent
    try:
        return await asyncio.wait_for(heard, 60 * SCALE)
    except asyncio.TimeoutError:
        return None
    finally:
        writer.close()


async def one(name, make, i):
    rng = random.Random("%d %s %d" % (SEED, name, i))
    data, before = make(rng), rng.choice([0, 0, 0, 1, 3])
    for _ in range(5):
        got = await say(GOOD * before + data, rng)
        if got != b"" or not before:
            break
        await asyncio.sleep(1)  # the kernel dropped the connection before the door accepted it
    if got is None:
        bad(name, i, "is neither answered nor hung up on:", data[:300])
        return
    codes = statuses(got)
    if codes[:before] != [200] * before or len(codes) > before + 1 or any(c < 400 or c == 500 for c in codes[before:]):
        bad(name, i, "gives", codes, "for", data[:400], got[-300:])


async def many(name, make):
    began, turn = time.monotonic(), iter(range(N))

    async def lane():
        for i in turn:
            if len(faults) < 20:
                await one(name, make, i)
    await asyncio.gather(*(lane() for _ in range(AT_ONCE)))
    print("%-10s %6d in %.1f s" % (name, N, time.monotonic() - began), flush=True)


# --- slow bodies ---------------------------------------------------------------------------------------

async def slow_one(i):
    """Begins a request, goes on too slowly or not at all, and is let go."""
    rng = random.Random("%d slow %d" % (SEED, i))
    head, body = target(rng)
    large = rng.choice([1 << 10, 60 << 10, 1000 << 10])
    start, drop = rng.choice([
        (b"Content-Length: %d\r\n\r\n" % len(body), body[:5]),
        (b"Content-Length: %d\r\n\r\n" % large, b"[" * (large - 1)),
        (b"Content-Length: %d\r\nExpect: 100-continue\r\n\r\n" % large, b""),
        (b"Transfer-Encoding: chunked\r\n\r\n%x\r\n" % large, b"[" * (large - 1)),
        (b"Transfer-Encoding: chunked\r\n\r\n", b"1"),
        (b"X: ", b"x"),
    ])
    await asyncio.sleep(rng.random() * N / 2000)  # a door drops connections that do not fit into its queue
    reader, writer = await dial()
    began = time.monotonic()
    heard = asyncio.ensure_future(hear(reader))
    writer.write(head + start + drop)
    trickles = rng.random() < 0.5
    leaves = rng.random() < 0.1
    while not heard.done() and not leaves and time.monotonic() - began < (BODY_S + 60) * SCALE:
        await asyncio.wait([heard], timeout=5)
        if trickles and not drop.endswith(b"[") and not heard.done():
            writer.write(b"x" if start.startswith(b"X") else b"0")
    if not heard.done() and not leaves:
        bad("slow", i, "is waited for", time.monotonic() - began, "s:", head[:40], start)
    elif heard.done():
        codes = [c for c in statuses(heard.result()) if c != 100]
        if len(codes) > 1 or any(c < 400 or c == 500 for c in codes):
            bad("slow", i, "gives", codes, "for", head[:40], start)
    heard.cancel()
    writer.close()


async def slow():
    began = time.monotonic()
    for first in range(0, N, SLOW_AT_ONCE):
        await asyncio.gather(*(slow_one(i) for i in range(first, min(N, first + SLOW_AT_ONCE))))
    print("%-10s %6d in %.1f s" % ("slow", N, time.monotonic() - began), flush=True)


# --- good clients at the same time -----------------------------------------------------------------------------

class Served:
    n = slowest = 0


async def good(request, holds, over):
    while not over.is_set():
        began = time.monotonic()
        reader, writer = await dial()
        writer.write(request)
        got = await hear(reader)
        writer.close()
        Served.slowest = max(Served.slowest, time.monotonic() - began)
        Served.n += 1
        if statuses(got) != [200] or holds not in got:
            bad("a good request gets", got[:400])
            return
        await asyncio.sleep(0.02)


async def be_good():
    """In a process of its own, until it is told that the others have ended."""
    over = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, over.set)
    end = b"Connection: close\r\n"
    listing = CALL.replace(b'"create"', b'"list"').replace(b',"title":"smuggled"', b"")
    await asyncio.gather(*(good(r, holds, over) for r, holds in (
        (b"GET /api/team?team=shop HTTP/1.1\r\n" + NAMES + end + b"\r\n", b'"name":"shop"'),
        (post(listing, b"/mcp", MODERN + end), b"counts"))))
    print("good       %6d, the slowest in %.0f ms" % (Served.n, Served.slowest * 1000), flush=True)
    if Served.n < 50:
        bad("only", Served.n, "good requests")


async def be_bad():
    slowly = asyncio.ensure_future(slow())
    for name, make in (("smuggling", smuggling), ("lengths", lengths), ("utf8", utf8), ("floods", floods)):
        await many(name, make)
    await slowly


child = os.fork()
asyncio.run(be_bad() if child else be_good())
for fault in faults[:20]:
    print("FAILED:", fault)
if child:
    os.kill(child, signal.SIGTERM)
    faults += [1] * (os.waitpid(child, 0)[1] != 0)
sys.exit(len(faults) > 0)
