"""A minimal guest of the older dialect: no Hello, no ids, one thing at a time.

    guest.py FOLDER

It listens at control.sock and relay.sock in the folder and closes a connection
on which it hears a type that it does not know, as the older guest does.
"""
import json, os, socket, struct, subprocess, sys, threading, time

inbox, results, lock, began = [], [], threading.Lock(), time.time()


def hear(conn):
    head = b""
    while len(head) < 4:
        part = conn.recv(4 - len(head))
        if not part:
            raise EOFError
        head += part
    size, body = struct.unpack(">I", head)[0], b""
    while len(body) < size:
        part = conn.recv(size - len(body))
        if not part:
            raise EOFError
        body += part
    return json.loads(body)


def say(conn, message):
    body = json.dumps(message).encode()
    conn.sendall(struct.pack(">I", len(body)) + body)


def run(command, timeout):
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, timeout=timeout)
    return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")


def work(envelope):
    task = json.loads(envelope["content"])
    code, out, err = run(task["command"], task.get("timeout_secs", 300))
    with lock:
        results.append({"task_id": task["task_id"], "success": code == 0, "exit_code": code,
                        "stdout": out, "stderr": err, "elapsed_secs": 0,
                        "source_message_id": envelope["message_id"]})


def control(message):
    kind = message["type"]
    if kind == "Ping":
        return {"type": "Pong", "version": "0.1.0", "uptime_secs": int(time.time() - began)}
    if kind == "Exec":
        code, out, err = run(message["command"], message.get("timeout_secs", 120))
        return {"type": "ExecResult", "exit_code": code, "stdout": out, "stderr": err}
    if kind == "ListDir":
        return {"type": "Error", "code": "NotFound", "message": "no such directory"}
    if kind == "PollDaemonResults":
        with lock:  # each result is given at most once, and then removed
            given = results[: message.get("limit", 20)]
            del results[: len(given)]
        return {"type": "DaemonResults", "results": given, "pending_tasks": 0}
    raise ValueError(kind)


def relay(message):
    kind = message["type"]
    if kind == "Ping":
        return {"type": "Pong", "version": "0.1.0", "uptime_secs": int(time.time() - began)}
    if kind == "TeamMessage":
        envelope = {"message_id": message.get("message_id", ""), "from": message.get("from") or message["to"],
                    "to": "self", "content": message["content"], "message_type": message.get("message_type", "text")}
        # Prints `to`, which holds the sender in the older dialect.
        print(message["to"], envelope["from"], envelope["message_type"], envelope["content"], flush=True)
        if envelope["message_type"] == "task_assignment":
            threading.Thread(target=work, args=(envelope,), daemon=True).start()
        return {"type": "Ok"}
    raise ValueError(kind)


def serve(conn, answer):
    try:
        while True:
            say(conn, answer(hear(conn)))
    except (EOFError, OSError, ValueError, KeyError):
        conn.close()


def listen(path, answer):
    if os.path.exists(path):
        os.unlink(path)
    server = socket.socket(socket.AF_UNIX)
    server.bind(path)
    server.listen(16)
    while True:
        conn, _ = server.accept()
        threading.Thread(target=serve, args=(conn, answer), daemon=True).start()


folder = sys.argv[1]
threading.Thread(target=listen, args=(folder + "/relay.sock", relay), daemon=True).start()
listen(folder + "/control.sock", control)
