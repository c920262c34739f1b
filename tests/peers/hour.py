#!/usr/bin/env python3
"""hour - plays the first hour of two models over MCP, and says what the hour costs.

    hour.py CADRE FOLDER [-v]

FOLDER holds the state.  Two sessions of `cadre mcp` register in folders of their own, and read,
claim, write, ask, answer, search and complete.  A token is 4 bytes of an answer's text.  The
last line has the numbers of calls, tokens, tokens that one session reads first, and calls that
were refused though they must not be.
"""
import collections
import json
import os
import subprocess
import sys

CADRE, TOP = sys.argv[1:3]
LOUD = "-v" in sys.argv
costs = collections.defaultdict(lambda: [0, 0])
first = refused = 0


class Session:
    """One session of `cadre mcp`."""

    def __init__(self, name):
        global first
        folder = os.path.join(TOP, name)
        os.mkdir(folder)
        self.name, self.n = name, 0
        self.peer = subprocess.Popen([CADRE, "mcp"], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        hello = self.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "hour", "version": "1"}})
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        tools = self.ask("tools/list", {})["result"]["tools"]
        first = (len(hello["result"]["instructions"]) + len(json.dumps(tools, separators=(",", ":"), ensure_ascii=False))) // 4

    def send(self, message):
        self.peer.stdin.write(json.dumps(message) + "\n")

    def ask(self, method, params):
        self.n += 1
        self.send({"jsonrpc": "2.0", "id": self.n, "method": method, "params": params})
        while True:
            message = json.loads(self.peer.stdout.readline())
            if message.get("id") == self.n:
                return message

    def call(self, tool, action=None, must=True, **args):
        global refused
        if action:
            args["action"] = action
        answer = self.ask("tools/call", {"name": tool, "arguments": args})
        result = answer.get("result", {})
        text = "".join(c["text"] for c in result.get("content", [])) or json.dumps(answer.get("error"))
        cost = costs["%s %s" % (tool, action or "")]
        cost[0] += 1
        cost[1] += len(text.encode())
        if must and (result.get("isError") or "error" in answer):
            refused += 1
            print("refused:", self.name, tool, args, text[:300])
        if LOUD:
            print(self.name, tool, json.dumps(args)[:90], "->", text[:400])


def command(*words):
    subprocess.run([CADRE, *words], cwd=TOP, check=True, stdout=subprocess.DEVNULL)


LONG = "The lexer splits the input into words. " * 40
command("team", "create", "shop", "--roles", "coder,tester")
for title in ("Write the parser", "Test the parser", "Measure its start", "Write the page"):
    command("task", "create", title, "--description", LONG, "--acceptance-criteria", "no warning", "--acceptance-criteria", "the corpus passes")
command("task", "update", "002", "--depends-on", "001")
ann, bob = Session("ann"), Session("bob")
ann.call("agents", "register", name="ann", role="coder")
bob.call("agents", "register", name="bob", role="tester")
ann.call("agents", "start")
bob.call("agents", "start")
ann.call("task", "list")
ann.call("task", "claim", task="001")
ann.call("task", "start", task="001")
bob.call("task", "ready")
bob.call("task", "claim")
bob.call("agents", "list")
ann.call("team_message", to="bob", text="I have the parser; which corpus do you use for it?")
bob.call("inbox", "receive")
bob.call("inbox", "reply", message="#1", text="The published one, in tests/corpus; 400 files.")
ann.call("inbox", "receive")
ann.call("reserve", "take", globs=["src/parser/**"], ttl_seconds=3600)
for i in range(4):
    ann.call("task", "note", task="001", text="step %d of the parser stands, tests of it pass here" % i)
ann.call("task", "tick", task="001", criterion=1)
ann.call("vault", "write", path="parser.md", content="# Parser\n\nhow it works: " + LONG)
bob.call("search", query="lexer")
bob.call("vault", "read", path="parser.md")
bob.call("task", "show", task="001")
for i in range(3):
    bob.call("team_message", to="ann", text="question %d: may a word begin with a digit?" % i)
ann.call("inbox", "receive")
ann.call("team_message", to="*", text="words may begin with a digit from now on")
bob.call("inbox", "receive")
ann.call("task", "tick", task="001", criterion=2)
ann.call("task", "complete", task="001", text="it parses; commit b2869e9 on branch ann")
bob.call("task", "list")
bob.call("task", "ready")
bob.call("inbox", "receive")
bob.call("agents", "start")
bob.call("task", "fail", text="no machine to measure on")
bob.call("task", "claim", task="002")
bob.call("task", "block", task="002", reason="waits for the corpus' licence")
bob.call("events")
ann.call("inbox", "receive")
ann.call("inbox", "list")
ann.call("agents", "whois", name="bob")
ann.call("team", "status")
bob.call("task", "unblock", task="002")
bob.call("task", "complete", task="002", text="400 of 400 pass", anyway=True)
ann.call("task", "nonsense", must=False)
ann.call("claim_task", must=False)
for session in (ann, bob):
    session.peer.stdin.close()
    session.peer.wait()
for what, (n, size) in sorted(costs.items(), key=lambda c: -c[1][1]):
    print("%6d tokens  %3d x  %s" % (size // 4, n, what))
print(sum(n for n, _ in costs.values()), sum(size for _, size in costs.values()) // 4, first, refused)
