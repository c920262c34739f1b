"""Speaks to a VM's guest over its virtio-serial port, while no host does.

    serial.py SOCKET

Names the machine and gives it an address, well and badly; ends with 0 when all is
as the dialect says.
"""
import json, os, socket, struct, sys, time

SCALE = int(os.environ.get("TEST_SCALE", "1"))

conn = socket.socket(socket.AF_UNIX)
conn.connect(sys.argv[1])
end = time.monotonic() + 60 * SCALE
# The serial line may lose the first bytes. Therefore the test sends marks with new nonces until
# the guest answers with the newest nonce.
for n in range(1000):
    nonce = b"%016d" % n
    conn.sendall(b"\xff\xff\xff\xff?" + nonce)
    conn.settimeout(3 * SCALE)
    seen = b""
    try:
        while b"\xff\xff\xff\xff!" + nonce not in seen:
            seen += conn.recv(1)
        break
    except TimeoutError:
        if time.monotonic() > end:
            raise
conn.settimeout(30 * SCALE)


def take(n):
    data = b""
    while len(data) < n:
        data += conn.recv(n - len(data))
    return data


def ask(**message):
    body = json.dumps(message).encode()
    conn.sendall(struct.pack(">I", len(body)) + body)
    return json.loads(take(struct.unpack(">I", take(4))[0]))


def expect(answer, kind, **fields):
    assert answer["type"] == kind, answer
    for key, value in fields.items():
        assert answer.get(key) == value, (key, answer)
    return answer


expect(ask(type="Ping"), "Pong")
expect(ask(type="SetHostname", hostname="-bad"), "Error", code="InvalidRequest")
expect(ask(type="SetHostname", hostname="named-anew"), "Ok")
expect(ask(type="Exec", command="hostname; cat /etc/hostname"), "ExecResult",
       stdout="named-anew\nnamed-anew\n")
expect(ask(type="ConfigureNetwork", ip_address="10.1.2.300", gateway="10.1.0.1"), "Error",
       code="InvalidRequest")
expect(ask(type="ConfigureWorkspace", ip_address="10.1.2.3", gateway="10.1.0.1", hostname=""),
       "Error", code="InvalidRequest")
has_card = "eth0" in ask(type="Exec", command="ls /sys/class/net")["stdout"]
answer = ask(type="ConfigureWorkspace", ip_address="10.1.2.3", gateway="10.1.0.1",
             dns=["9.9.9.9"], hostname="named-again")
if has_card:
    expect(answer, "Ok")
    assert "10.1.2.3/16" in ask(type="Exec", command="ip addr show eth0")["stdout"]
    assert "default via 10.1.0.1" in ask(type="Exec", command="ip route")["stdout"]
else:
    expect(answer, "Error", code="IoError")
    assert "no network interface" in answer["message"], answer
    expect(ask(type="SetHostname", hostname="named-again"), "Ok")
assert ask(type="Exec", command="cat /etc/resolv.conf")["stdout"] == "nameserver 9.9.9.9\n"
expect(ask(type="Exec", command="hostname"), "ExecResult", stdout="named-again\n")
# A call without `dns` sets the default name servers of the older dialect. An empty list `dns`
# leaves the name servers unchanged.
for dns, servers in (({}, ["1.1.1.1", "8.8.8.8"]), ({"dns": ["9.9.9.8"]}, ["9.9.9.8"]),
                     ({"dns": []}, ["9.9.9.8"])):
    ask(type="ConfigureNetwork", ip_address="10.1.2.3", gateway="10.1.0.1", **dns)
    said = ask(type="Exec", command="cat /etc/resolv.conf")["stdout"]
    assert said == "".join("nameserver %s\n" % s for s in servers), said
