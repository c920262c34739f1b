"""A client of `cadre mcp --direct` that asks for large answers and reads none.

    mcp_unread.py CADRE

Prints by how many KiB the process grew over what one answer takes, once it takes no
more requests.
"""
import json, os, subprocess, sys, time


def kib(pid):
    for line in open("/proc/%d/status" % pid):
        if line.startswith("RssAnon"):
            return int(line.split()[1])


def request(number, method, params):
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\n"


server = subprocess.Popen([sys.argv[1], "mcp", "--direct"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
page = {"name": "inbox", "arguments": {"action": "list", "limit": 100, "max_result_tokens": 250000}}
server.stdin.write(request(1, "initialize", {"protocolVersion": "2025-06-18", "capabilities": {},
                                             "clientInfo": {"name": "t", "version": "1"}}))
server.stdin.write(request(2, "tools/call", page))
server.stdin.flush()
for line in server.stdout:
    if json.loads(line).get("id") == 2:
        if len(line) < 300000:
            sys.exit("a small answer: %.300s" % line)
        break
before = kib(server.pid)
os.set_blocking(server.stdin.fileno(), False)
left, number, moved = b"", 3, time.time()
# A server that takes no byte for three seconds has stopped reading.
while time.time() - moved < 3:
    left = left or b"".join(request(number + i, "tools/call", page) for i in range(50))
    number += 50
    try:
        n = os.write(server.stdin.fileno(), left)
        left, moved = left[n:], time.time()
    except BlockingIOError:
        time.sleep(0.05)
print(kib(server.pid) - before)
server.kill()
server.wait()
