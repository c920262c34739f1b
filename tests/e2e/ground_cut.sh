#!/bin/sh
# ground_cut - state.db or its WAL is truncated or overwritten while a program uses the file. In
# other cases an older state.db is copied back beside the log of a killed host. A later change
# is acknowledged only if it is in the files that a person finds in the state's folder. The
# fault of a refused change gives the reason, and a backup restores the state.
set -u
. "$(dirname "$0")/../lib/story.sh"
story=$TMPDIR
trap 'kill $clients 2>/dev/null; cadre down >/dev/null 2>&1' EXIT
clients=

# Makes a state and a backup of this state.
new_state() {
	export CADRE_HOME="$story/$1"
	cadre init >/dev/null
	cadre team create t --roles a --roles b >/dev/null
	token=$(cadre agent register c --team t --json | sed 's/.*"token":"\([0-9a-f]*\)".*/\1/')
	cadre --team t --as a send b "in the backup" >/dev/null
	cadre backup "$story/$1.db" >/dev/null
}
# Copies the whole log into state.db. The next change then writes the log from its beginning.
copied() { [ "$(sqlite3 "$CADRE_HOME/state.db" 'PRAGMA wal_checkpoint(RESTART)' | cut -c1)" = 0 ]; }
checkpoint() { until_done copied; }
peek() { cadre --team t --as b inbox peek; }

change() { # HOW
	case $1 in
	file) truncate -s 90112 "$CADRE_HOME/state.db" ;;
	log) truncate -s 20000 "$CADRE_HOME/state.db-wal" ;;
	empty-log) : >"$CADRE_HOME/state.db-wal" ;;
	older-log) cp "$story/log" "$CADRE_HOME/state.db-wal" ;;
	esac
}
# Checks that state.db holds all messages that were acknowledged after the cut. FILE lists the
# numbers of these messages.
kept_since() { # HOW FILE
	while read -r number; do
		sqlite3 -readonly "$CADRE_HOME/state.db" \
			"SELECT content FROM v_message WHERE content = 'm $number'" | grep -q . ||
			bad "$1: m $number was acknowledged and is not there"
	done <"$2"
}
brought_back() { # HOW NAME
	cadre restore "$story/$2.db" --yes >"$story/out" 2>&1 || bad "$1: restore: $(cat "$story/out")"
	peek | grep -q 'in the backup' || bad "$1: the backup is not there"
	cadre --team t --as a send b "after it" >/dev/null || bad "$1: it does not go on"
	[ "$(sqlite3 -readonly "$CADRE_HOME/state.db" 'PRAGMA integrity_check')" = ok ] || bad "$1: not sound"
}
said_why() { # HOW FILE
	grep -q 'state.db \(was cut off\|had its -wal cut off or written over\) while it was in use.*cadre restore' "$2" ||
		bad "$1: the reason is not said: $(cat "$2")"
}

# --- a host, which then ends ------------------------------------------------------------

cat >"$story/send.py" <<'PY'
import json, os, socket, struct, sys
s = socket.socket(socket.AF_UNIX); s.settimeout(120); s.connect(sys.argv[1])
def say(o):
    b = json.dumps(o).encode(); s.sendall(struct.pack(">I", len(b)) + b)
def take(n):
    b = b""
    while len(b) < n:
        d = s.recv(n - len(b))
        if not d: raise OSError
        b += d
    return b
def hear(): return json.loads(take(struct.unpack(">I", take(4))[0]))
say({"type": "Hello", "version": "t", "role": "client", "boot_id": "", "team": "t", "agent": "a", "as": True}); hear()
def send(i, content):
    say({"type": "Call", "id": i, "op": "message.send", "args": {"to": ["b"], "content": content}})
    return hear()
if len(sys.argv) > 2: # writes until the file grows, cuts the file off, and writes more
    path, i, size, told = sys.argv[2], 0, os.path.getsize(sys.argv[2]), "CallResult"
    while os.path.getsize(path) < size + (1 << 20) and told == "CallResult":
        i += 1; told = send(i, "x" * 9000)["type"]
    for n in range(100): # in this time the checkpoint ends that made the file grow
        i += 1; send(i, "x" * 9000)
    os.truncate(path, os.path.getsize(path) - (512 << 10))
    for n in range(2000):
        try:
            r = send(i + n + 1, "x" * 9000)
        except OSError: break
        if r["type"] == "Error": print("refused"); break
    sys.exit()
i = 0
for line in sys.stdin:
    for n in range(int(line)):
        i += 1
        try:
            r = send(i, "m %d" % i)
        except OSError: break # the host noticed the cut by itself
        print("told %d" % i if r["type"] == "CallResult" else "refused: " + r["message"] + " | " + r["hint"], flush=True)
    print("done", flush=True)
PY
ask_for() { # SENDS: sends SENDS messages, and waits for the answers
	asked=$((asked + 1))
	echo "$1" >&3
	until_done answered
}
answered() { [ "$(grep -c done "$story/sent")" = $asked ]; }

for how in file log empty-log older-log; do
	new_state "h-$how"
	"$CADRE" serve >"$story/host.out" 2>&1 &
	host=$!
	until_is 'host  *yes' cadre status
	socket=$(find "$XDG_RUNTIME_DIR" -name host.sock | head -1)
	rm -f "$story/in"
	mkfifo "$story/in"
	/usr/bin/python3 "$story/send.py" "$socket" <"$story/in" >"$story/sent" 2>/dev/null &
	client=$! clients="$host $!" asked=0
	exec 3>"$story/in"
	ask_for 40
	cp "$CADRE_HOME/state.db-wal" "$story/log"
	checkpoint
	ask_for 10
	[ "$(grep -c told "$story/sent")" = 50 ] || bad "$how: sends before it"
	change $how
	ask_for 5
	until_is '^cadre: unavailable' tail -2 "$story/host.out" || kill $host
	wait $host
	code=$?
	exec 3>&-
	wait $client
	clients=
	[ $code = 7 ] || bad "$how: the host ended with $code"
	tail -2 "$story/host.out" >"$story/out"
	grep -q '^cadre: unavailable: .*state.db .*cut off' "$story/out" ||
		bad "$how: the host's last line is $(tail -1 "$story/host.out")"
	[ "$(grep -c told "$story/sent")" = 50 ] || bad "$how: acknowledged behind it"
	grep refused "$story/sent" >"$story/out" && said_why $how "$story/out"
	brought_back $how "h-$how"
done

# The host ends when its writer has seen the damage, even if the host's other connections have
# not seen the file grow.
new_state h-grown
"$CADRE" serve >"$story/host.out" 2>&1 &
host=$! clients=$!
until_is 'host  *yes' cadre status
/usr/bin/python3 "$story/send.py" "$(find "$XDG_RUNTIME_DIR" -name host.sock | head -1)" "$CADRE_HOME/state.db" >"$story/sent"
[ "$(cat "$story/sent")" = refused ] || bad "grown: nothing is refused: $(cat "$story/sent")"
until_is '^cadre: unavailable.*cut off' tail -2 "$story/host.out" || kill $host
wait $host
[ $? = 7 ] || bad "grown: the host goes on: $(tail -2 "$story/host.out")"
clients=
brought_back grown h-grown

# --- between two commits of a session without a host ---------------------------------------

mcp_send() { # NUMBER
	printf '{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"team_message","arguments":{"to":["b"],"content":"m %d"}}}\n' "$1" "$1" >&3
	until_is "\"id\":$1[,}]" cat "$story/mcp.out"
	if grep "\"id\":$1[,}]" "$story/mcp.out" | grep -q '"isError":true'; then
		grep "\"id\":$1[,}]" "$story/mcp.out" >>"$story/mcp.refused"
	else
		echo "$1" >>"$story/mcp.told"
	fi
}
for how in file log empty-log older-log; do
	new_state "m-$how"
	rm -f "$story/in" "$story"/mcp.*
	: >"$story/mcp.refused"
	mkfifo "$story/in"
	CADRE_TEAM=t CADRE_AGENT=c CADRE_TOKEN=$token "$CADRE" mcp <"$story/in" >"$story/mcp.out" 2>&1 &
	clients=$!
	exec 3>"$story/in"
	echo '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}' >&3
	for i in 1 2 3 4 5; do mcp_send $i; done
	cp "$CADRE_HOME/state.db-wal" "$story/log"
	checkpoint
	for i in 6 7; do mcp_send $i; done
	[ "$(wc -l <"$story/mcp.told")" = 7 ] || bad "mcp $how: sends before it: $(cat "$story/mcp.refused")"
	: >"$story/mcp.told"
	change $how
	for i in 8 9 10; do mcp_send $i; done
	grep -q '^8$' "$story/mcp.told" && bad "mcp $how: acknowledged"
	said_why "mcp $how" "$story/mcp.refused"
	kept_since "mcp $how" "$story/mcp.told"
	exec 3>&-
	wait $clients
	clients=
	brought_back "mcp $how" "m-$how"
done

# --- an older state.db, copied back beside the log of a host that was killed ----------------

new_state k
cp "$CADRE_HOME/state.db" "$story/older"
"$CADRE" serve >/dev/null 2>&1 &
host=$! clients=$!
until_is 'host  *yes' cadre status
for i in 1 2 3; do
	cadre --team t --as a send b "m $i" >/dev/null || bad "send $i"
	checkpoint
done
cadre --team t --as a send b "m 4" >/dev/null || bad "send 4"
kill -9 $host
wait $host 2>/dev/null
clients=
cp "$CADRE_HOME/state.db" "$story/newest"
cp "$CADRE_HOME/state.db-wal" "$story/log"
cp "$story/older" "$CADRE_HOME/state.db"
peek >"$story/out" 2>&1 && bad "the log was applied to an older state.db"
grep -q 'state.db-wal .*does not belong to the state.db beside it.*' "$story/out" || bad "$(cat "$story/out")"
grep -q 'cadre restore' "$story/out" || bad "restore is not named: $(cat "$story/out")"
cmp -s "$story/older" "$CADRE_HOME/state.db" || bad "the older state.db was changed"
cmp -s "$story/log" "$CADRE_HOME/state.db-wal" || bad "the log was changed"
cp "$story/newest" "$CADRE_HOME/state.db" # after the newest file is put back, no message is lost
peek | grep -q 'm 4' || bad "the former state.db is not taken: $(peek 2>&1)"
cp "$story/older" "$CADRE_HOME/state.db"
cp "$story/log" "$CADRE_HOME/state.db-wal"
peek >/dev/null 2>&1 && bad "the log was applied to an older state.db later"
brought_back "older" k
exit $failed
