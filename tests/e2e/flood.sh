#!/bin/sh
# flood - strangers without a token ask the host again and again for the longest answer that
# anybody may get. An answer costs the host little more than the sending of the bytes. Other
# clients are served at the same time.
set -u
. "$(dirname "$0")/../lib/story.sh"
trap 'cadre down >/dev/null 2>&1' EXIT

cadre init >/dev/null
cadre up >/dev/null || bad "up"
cadre team create shop --roles coder >/dev/null
/usr/bin/python3 - "$CADRE" "$(cat "$CADRE_HOME/endpoint")" "$(cut -d' ' -f1 "$CADRE_HOME/host.lock")" <<'PY' || bad "see above"
import http.client, os, socket, subprocess, sys
cadre, url, pid = sys.argv[1:]
where, port = url.split("//")[1].split(":")
PATIENCE = 60 * int(os.environ.get("TEST_SCALE", "1"))
DOCUMENT = "/api/openapi.json"
wrong = 0

def spent():  # nanoseconds of CPU time of the loop's thread so far
    return int(open("/proc/%s/schedstat" % pid).read().split()[0])
def cost(path, times):
    c, before = http.client.HTTPConnection(where, int(port), timeout=PATIENCE), spent()
    for _ in range(times):
        c.request("GET", path)
        answer = c.getresponse()
        size = len(answer.read())
        assert answer.status == 200, answer.status
    return (spent() - before) / times, size
def look():
    assert cost("/healthz", 1)[1] == 3
def call():
    subprocess.run([cadre, "task", "list", "--team", "shop"], check=True, stdout=subprocess.DEVNULL,
                   timeout=PATIENCE)

# The host makes the text of DOCUMENT only once, at the first request for DOCUMENT. Each later
# answer costs only the sending of the text.
cost(DOCUMENT, 1)
(short, _), (long, size) = cost("/healthz", 300), cost(DOCUMENT, 300)
print("%d us for /healthz, %d us for %d bytes" % (short / 1000, long / 1000, size))
if long > 16 * short + 300e3:
    wrong += 1
    print("the document costs too much")

# Clients send many requests and read no answer. For each client the host holds only one answer,
# and waits until the client reads.
flood = []
for _ in range(100):
    s = socket.create_connection((where, int(port)))
    s.setblocking(False)
    s.send(("GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n" % DOCUMENT).encode() * 1000)
    flood.append(s)
for _ in range(5):
    look()
    call()
sys.exit(wrong)
PY
! cadre logs | grep -q 'no calls were possible' || bad "leases were moved for strangers"
exit $failed
