"""An agent at `cadre mcp` that waits while no host runs, and others that use `cadre`.

    hostless.py CADRE

The environment names the state, the team red and ann with her token.  Prints what did
not end as it should, and `done` at the end.
"""
import json, os, subprocess, sys, threading, time

CADRE = sys.argv[1]
SCALE = int(os.environ.get("TEST_SCALE", "1"))
WAIT_S = 50  # time that a call waits
AT_ONCE_S = 40  # time within which a call must be answered
PATIENCE_S = 60 * SCALE
others = {k: v for k, v in os.environ.items() if k not in ("CADRE_AGENT", "CADRE_TOKEN")}


def cadre(*words):
    done = subprocess.run([CADRE, *words], env=others, capture_output=True, text=True, timeout=60 * SCALE)
    if done.returncode:
        print("failed", words, done.stdout, done.stderr)
    return done.stdout


class Agent:
    def __init__(self):
        self.process = subprocess.Popen([CADRE, "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.answers, self.came, self.number = {}, threading.Condition(), 0
        threading.Thread(target=self.hear, daemon=True).start()
        self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {},
                                "clientInfo": {"name": "t", "version": "1"}})

    def hear(self):
        for line in self.process.stdout:
            said = json.loads(line)
            with self.came:
                self.answers[said.get("id")] = said
                self.came.notify_all()

    def start(self, method, params):
        self.number += 1
        line = json.dumps({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()
        return self.number

    def answer(self, number, seconds):
        with self.came:
            self.came.wait_for(lambda: number in self.answers, seconds)
            return self.answers.pop(number, None)

    def ask(self, method, params):
        return self.answer(self.start(method, params), PATIENCE_S)

    def tool(self, name, **arguments):
        return self.start("tools/call", {"name": name, "arguments": arguments})

    # Starts a call that waits, and then calls the function `does`. The call must be answered
    # soon, and the answer must contain `text`.
    def woken(self, what, text, does, name, **arguments):
        number = self.tool(name, wait_seconds=WAIT_S, **arguments)
        self.ask("ping", {})  # by now the call waits, without an answer
        if number in self.answers:
            print(what, "does not wait:", self.answers[number])
        does()
        began = time.monotonic()
        said = self.answer(number, PATIENCE_S)
        if not said or text not in json.dumps(said):
            print(what, "is told", said)
        elif time.monotonic() - began > AT_ONCE_S:
            print(what, "is told when its wait ends, after", time.monotonic() - began, "s")


agent = Agent()
for i in range(3):
    agent.woken("a receive", "mail %d." % i, lambda: cadre("send", "ann", "mail %d." % i, "--as", "bob"),
                "inbox", action="receive")
    agent.woken("a claim", "work %d." % i, lambda: cadre("task", "create", "work %d." % i),
                "task", action="claim")
# bob releases his task, which makes the task free. cid's task becomes free only when the lease
# ends.
cadre("task", "create", "held.")
held = json.loads(cadre("claim", "--as", "bob", "--json"))["task"]["id"]
agent.woken("a claim of what is given back", "held.", lambda: cadre("release", held, "--as", "bob"),
            "task", action="claim")
cadre("task", "create", "leased.")
cadre("claim", "--as", "cid", "--lease-seconds", "5")  # cid makes no calls from now on
agent.woken("a claim across a lease's end", "leased.", lambda: None, "task", action="claim")
agent.process.stdin.close()
if agent.process.wait(60 * SCALE):
    print("cadre mcp ended with", agent.process.returncode)
print("done")
