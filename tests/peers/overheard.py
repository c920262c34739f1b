"""Listens where a guest's host dials, passes all on to the guest, and prints each push.

    overheard.py FRONT GUEST

Both are folders with control.sock and relay.sock.  A line is the message's id, its number
(- where it has none), how many are unread as the host says, and its text.
"""
import json, os, socket, struct, sys, threading


def tell(rest):
    """Prints the pushes among the whole frames of `rest`; what is left of it."""
    while len(rest) >= 4 and len(rest) >= 4 + struct.unpack(">I", rest[:4])[0]:
        size = 4 + struct.unpack(">I", rest[:4])[0]
        frame = json.loads(rest[4:size])
        if frame["type"] == "TeamMessage":
            print(frame["message_id"], frame.get("seq", "-"), frame.get("unread", "-"), frame["content"], flush=True)
        rest = rest[size:]
    return rest


def pass_on(source, sink, tells):
    rest = b""
    try:
        while part := source.recv(65536):
            if tells:
                rest = tell(rest + part)
            sink.sendall(part)
    except OSError:
        pass
    for end in source, sink:
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def serve(conn, path, tells):
    guest = socket.socket(socket.AF_UNIX)
    try:
        guest.connect(path)
    except OSError:
        conn.close()
        return
    threading.Thread(target=pass_on, args=(guest, conn, False), daemon=True).start()
    pass_on(conn, guest, tells)


def listen(name, tells):
    server = socket.socket(socket.AF_UNIX)
    server.bind(os.path.join(sys.argv[1], name))
    server.listen(16)
    while True:
        conn, _ = server.accept()
        threading.Thread(target=serve, args=(conn, os.path.join(sys.argv[2], name), tells), daemon=True).start()


threading.Thread(target=listen, args=("relay.sock", True), daemon=True).start()
listen("control.sock", False)
