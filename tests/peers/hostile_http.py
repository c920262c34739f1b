"""hostile_http - a client that means a workspace's HTTP door harm: HOST PORT TOKEN OTHER
REPORT, with the tokens of two teammates.

What goes wrong is a line of the report; the last one is `done`.
"""
import os
import re
import socket
import sys
import time

SCALE = int(os.environ.get("TEST_SCALE", "1"))

HOST, PORT, TOKEN, OTHER, REPORT = sys.argv[1], int(sys.argv[2]), *sys.argv[3:6]
AUTH = b"Host: localhost\r\nAuthorization: Bearer " + TOKEN.encode() + b"\r\n"
OTHERS = b"Host: localhost\r\nAuthorization: Bearer " + OTHER.encode() + b"\r\n"
report = open(REPORT, "a", buffering=1)


def bad(*words):
    print("FAILED:", *words, file=report)


def dial():
    s = socket.create_connection((HOST, PORT), timeout=60 * SCALE)
    return s


def hear(s):
    """All until the guest hangs up."""
    got = b""
    try:
        while piece := s.recv(65536):
            got += piece
    except ConnectionError:
        pass
    except TimeoutError:
        bad("the guest neither goes on nor hangs up after", got[:300])
    return got


def statuses(got):
    return [int(code) for code in re.findall(rb"HTTP/1[.]1 (\d{3}) ", got)]


def say(data, want, what):
    s = dial()
    try:
        s.sendall(data)
        s.shutdown(socket.SHUT_WR)
    except OSError:
        pass  # the server answered before all was sent
    got = statuses(hear(s))
    s.close()
    if got != want:
        bad(what, "gives", got, "not", want)


def serves(when):
    """An honest teammate is served."""
    s = dial()
    s.sendall(b"GET /card HTTP/1.1\r\n" + OTHERS + b"Connection: close\r\n\r\n")
    got = hear(s)
    s.close()
    if statuses(got) != [200] or b'"name":"bob"' not in got:
        bad("no service", when, got[:200])


def half(request, n=1):
    """Connections that never say the rest."""
    held = []
    for _ in range(n):
        s = dial()
        try:
            s.sendall(request)
        except OSError:
            pass
        held.append(s)
    return held


def let_go(held):
    for s in held:
        s.close()


CARD = b"GET /card HTTP/1.1\r\n" + AUTH + b"\r\n"
UPLOAD = b"POST /files/harm HTTP/1.1\r\n" + AUTH

serves("at first")
say(CARD * 50, [200] * 50, "fifty requests at once")
say(b"GET /card HTTP/1.1\r\n" + AUTH + b"X: " + b"x" * (100 << 10) + b"\r\n\r\n", [431], "a large header")
say(b"GET /" + b"x" * (100 << 10) + b" HTTP/1.1\r\n" + AUTH + b"\r\n", [414], "a long target")
say(b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 5000 + b"\r\n", [431], "many headers")
say(UPLOAD + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nno\r\n", [400], "a broken chunk")
say(UPLOAD + b"Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n", [400], "a chunk without end")
say(UPLOAD + b"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\nabc", [400], "two lengths")
say(UPLOAD + b"Content-Length: 10\r\n\r\nabc", [], "half a body")
say(UPLOAD + b"Content-Length: 2000000000\r\n\r\n" + b"x" * 100000, [413], "a body that is too large")
say(b"POST /message HTTP/1.1\r\n" + AUTH + b"Content-Length: 100000\r\n\r\n" + b"[" * 100000, [400], "deep JSON")
for body, what in ((b'{"content":"a","content":"b"}', "one key twice"),
                   (b'{"content":"a","team":"other"}', "a team"),
                   (b'{"content":"a","wait_for_reply":true}', "a wait")):
    say(b"POST /message HTTP/1.1\r\n" + AUTH + b"Content-Length: %d\r\n\r\n" % len(body) + body, [400], what)
say(bytes(range(256)) * 400, [400], "garbage")
say(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", [400], "TLS")
say(UPLOAD + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabcXX0\r\n\r\n", [400], "no line end behind a chunk")
say(UPLOAD + b"Transfer-Encoding: chunked\r\n\r\n3;" + b"x" * 1000000, [413], "an extension without end")
say(b"GET /card HTTP/1.1\r\n" + AUTH + b"Authorization: Bearer x\r\n\r\n", [400], "two tokens")
say(b"GET http://elsewhere/card HTTP/1.1\r\n" + AUTH + b"\r\n", [400], "a target of another host")
say(b"GET /card HTTP/1.1\r\n" + AUTH.replace(b"localhost", b"localhost:1:2") + b"\r\n", [400], "two ports")
say(b"GET / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding : chunked\r\n\r\n", [400], "a blank in a name")
say(b"GET /card HT", [], "half a request")
say(b"\r\n" * 20000 + CARD, [200], "empty lines")
serves("after nonsense")

for _ in range(500):
    dial().close()
serves("after five hundred who come and go")

silent = half(b"", 500)
serves("beside five hundred who say nothing")
loris = half(b"GET /card HTTP/1.1\r\nHost: localhost\r\nX: ", 300)
serves("beside three hundred half requests")
trickle = half(UPLOAD + b"Content-Length: 1000000\r\n\r\nx", 20)
deaf = half(b"GET /files/large HTTP/1.1\r\n" + AUTH + b"\r\n", 20)
serves("beside those who neither go on nor read")
for s in silent + loris:  # the server closed some connections to make room
    try:
        s.sendall(b"y")
    except OSError:
        pass
serves("beside drops")
let_go(silent + loris + trickle + deaf)
serves("at last")

# With one token, 4 requests for files and 10 requests in all may run at once. Other callers are
# not disturbed.
BODY = b"Content-Length: 1000000\r\n\r\nx"
END = b"Connection: close\r\n\r\n"
MESSAGE = b"POST /message HTTP/1.1\r\n" + AUTH + BODY
LARGE = b"GET /files/large HTTP/1.1\r\n"


def refused(request, what):
    s = dial()
    s.sendall(request)  # without the request's end, so only the guest can end the connection
    got = hear(s)
    s.close()
    if statuses(got) != [429] or b'"code":"exhausted"' not in got or b"Retry-After: 1" not in got:
        bad(what, "gives", got[:300])


def until(want, request, what):
    """A request under way begins and ends a moment after its connection.  The test that follows
    rests on it: where it does not come so, that is the end."""
    end = time.monotonic() + 60 * SCALE
    while True:
        s = dial()
        s.sendall(request)
        got = statuses(hear(s))
        s.close()
        if got == want:
            return
        if time.monotonic() > end:
            bad(what, "gives", got, "not", want)
            sys.exit(1)
        time.sleep(0.05)


until([200], LARGE + AUTH + END, "a file when the others are gone")
files = half(LARGE + AUTH + b"\r\n", 2) + half(UPLOAD + BODY, 2)
until([429], LARGE + AUTH + END, "a fifth file")
refused(LARGE + AUTH + b"\r\n", "a fifth file, fetched")
refused(UPLOAD + b"Content-Length: 1\r\n\r\nx", "a fifth file, brought")
until([200], b"GET /card HTTP/1.1\r\n" + AUTH + END, "a card beside four files")
say(LARGE + OTHERS + END, [200], "another's file")
bodies = half(MESSAGE, 6)
until([429], b"GET /card HTTP/1.1\r\n" + AUTH + END, "an eleventh request")
refused(MESSAGE, "an eleventh request with a body")
more = half(MESSAGE, 150)
serves("beside a hundred and fifty more of one token")
let_go(files + bodies + more)
until([200], b"GET /card HTTP/1.1\r\n" + AUTH + END, "a card when they are gone")
print("done", file=report)
