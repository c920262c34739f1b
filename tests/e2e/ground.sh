#!/bin/sh
# ground - the state's folder or files are taken away while programs have them open. A later
# change is acknowledged only if it is in the files that a person finds in the state's folder.
# The fault of a refused change gives the reason. The story also tests a state.db beside the WAL
# of another database.
set -u
. "$(dirname "$0")/../lib/story.sh"
story=$TMPDIR
trap 'kill $clients 2>/dev/null; cadre down >/dev/null 2>&1' EXIT
clients=

new_state() {
	export CADRE_HOME="$story/$1"
	rm -rf "$CADRE_HOME" "$CADRE_HOME.x"
	cadre init >/dev/null
	cadre team create t --roles a --roles b >/dev/null
	token=$(cadre agent register c --team t --json | sed 's/.*"token":"\([0-9a-f]*\)".*/\1/')
}
ask() { sqlite3 -readonly "$1/state.db" "$2"; }

# Makes a backup of another state. A person may copy this backup over the story's own state.
new_state other
cadre --team t --as a send b "of the other state" >/dev/null
cadre backup "$story/other.db" >/dev/null

take_away() {
	case $1 in
	rm) rm -rf "$CADRE_HOME" ;;
	mv) mv "$CADRE_HOME" "$CADRE_HOME.x" ;;
	rm-db) rm "$CADRE_HOME/state.db" ;;
	rm-wal) rm -f "$CADRE_HOME/state.db-wal" "$CADRE_HOME/state.db-shm" ;;
	replace) cp "$story/other.db" "$CADRE_HOME/n" && mv "$CADRE_HOME/n" "$CADRE_HOME/state.db" ;;
	over) cp "$story/other.db" "$CADRE_HOME/state.db" ;;
	anew) rm -rf "$CADRE_HOME" && cadre --direct init >/dev/null ;;
	esac
}
# Checks that all acknowledged messages are in the state in FOLDER. FILE lists the messages that
# the host acknowledged to clients.
kept() { # CASE FILE FOLDER
	grep -o 'told [0-9]*' "$2" | cut -d' ' -f2 | sort -u >"$story/told"
	ask "$3" "SELECT substr(content, 3) FROM v_message WHERE content LIKE 'm %'" | sort -u >"$story/found"
	lost=$(comm -23 "$story/told" "$story/found" | wc -l)
	[ "$lost" = 0 ] || bad "$1: $lost of $(wc -l <"$story/told") acknowledged sends are not in the state"
}

# --- a host, which then ends ------------------------------------------------------------

cat >"$story/send.py" <<'PY'
import json, os, socket, struct, sys, time
s = socket.socket(socket.AF_UNIX); s.settimeout(120); s.connect(sys.argv[1])
def say(o):
    b = json.dumps(o).encode(); s.sendall(struct.pack(">I", len(b)) + b)
def hear():
    def take(n):
        b = b""
        while len(b) < n:
            d = s.recv(n - len(b))
            if not d: raise OSError
            b += d
        return b
    return json.loads(take(struct.unpack(">I", take(4))[0]))
say({"type": "Hello", "version": "t", "role": "client", "boot_id": "", "team": "t", "agent": "a", "as": True}); hear()
i = 0
try:
    while True:
        i += 1
        say({"type": "Call", "id": i, "op": "message.send", "args": {"to": ["b"], "content": "m %d" % i}})
        r = hear()
        print("told %d" % i if r["type"] == "CallResult" else "refused: " + r["message"] + " | " + r["hint"], flush=True)
        time.sleep(0.002)
except OSError: pass
PY
for how in rm mv rm-db rm-wal replace over anew; do
	new_state "h-$how"
	"$CADRE" serve >"$story/host.out" 2>&1 &
	host=$!
	until_is 'host  *yes' cadre status
	socket=$(find "$XDG_RUNTIME_DIR" -name host.sock | head -1)
	/usr/bin/python3 "$story/send.py" "$socket" >"$story/$how.out" 2>&1 &
	client=$! clients="$host $!"
	until_is 'told 20$' cat "$story/$how.out"
	take_away $how
	wait $host
	code=$?
	wait $client
	clients=
	[ $code = 7 ] || bad "$how: the host ended with $code"
	grep -q '^refused: .*state.db .*moved, removed or replaced.*cadre restore' "$story/$how.out" ||
		bad "$how: sends were not refused with the reason: $(tail -1 "$story/$how.out")"
	tail -2 "$story/host.out" | grep -q '^cadre: unavailable: .*state.db ' ||
		bad "$how: the host's last line is $(tail -1 "$story/host.out")"
	case $how in
	mv) kept $how "$story/$how.out" "$CADRE_HOME.x" ;;
	rm-wal) kept $how "$story/$how.out" "$CADRE_HOME" ;;
	esac
	case $how in # checks that the copied state.db is undamaged
	replace | over)
		[ "$(sqlite3 "file:$CADRE_HOME/state.db?immutable=1" 'PRAGMA integrity_check')" = ok ] ||
			bad "$how: the copy was damaged"
		cadre --team t --as b inbox peek >"$story/out" 2>&1 && bad "$how: a foreign WAL was taken"
		grep -q 'state.db-wal .*does not belong to the state.db beside it' "$story/out" || bad "$how: $(cat "$story/out")"
		grep -q 'cadre restore' "$story/out" || bad "$how: restore is not named"
		cadre doctor | grep -q 'bad *state .*state.db-wal' || bad "$how: doctor says nothing"
		cadre restore --yes "$story/other.db" >/dev/null || bad "$how: restore"
		cadre --team t --as b inbox peek | grep -q 'of the other state' || bad "$how: not restored"
		;;
	rm-db)
		cadre init >"$story/out" 2>&1 && bad "a state was made beside the WAL of the one removed"
		grep -q 'state.db of .* is gone; secret, state.lock, state.db-wal' "$story/out" ||
			bad "$how: $(cat "$story/out")"
		;;
	anew) [ "$(ask "$CADRE_HOME" 'SELECT count(*) FROM v_message')" = 0 ] || bad "the new state is not new" ;;
	rm-wal) cadre --team t --as b inbox peek >/dev/null || bad "$how: the state does not open" ;;
	esac
done

# --- a long `cadre mcp` without a host ---------------------------------------------------

mcp_send() { # NUMBER
	printf '{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"team_message","arguments":{"to":["b"],"content":"m %d"}}}\n' "$1" "$1" >&3
	until_is "\"id\":$1[,}]" cat "$story/mcp.out"
	if grep "\"id\":$1[,}]" "$story/mcp.out" | grep -q '"isError":true'; then
		grep "\"id\":$1[,}]" "$story/mcp.out" >>"$story/mcp.refused"
	else
		echo "told $1" >>"$story/mcp.told"
	fi
}
for how in rm mv rm-wal replace over anew; do
	new_state "m-$how"
	rm -f "$story/in" "$story"/mcp.*
	: >"$story/mcp.refused"
	mkfifo "$story/in"
	CADRE_TEAM=t CADRE_AGENT=c CADRE_TOKEN=$token "$CADRE" mcp <"$story/in" >"$story/mcp.out" 2>&1 &
	clients=$!
	exec 3>"$story/in"
	echo '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}' >&3
	for i in 1 2 3; do mcp_send $i; done
	[ "$(wc -l <"$story/mcp.told")" = 3 ] || bad "mcp $how: sends before it"
	take_away $how
	for i in 4 5 6; do mcp_send $i; done
	grep -q 'state.db .*moved, removed or replaced' "$story/mcp.refused" ||
		bad "mcp $how: not told: $(cat "$story/mcp.refused")"
	case $how in
	rm-wal) # the server continues with the remaining files
		kept "mcp $how" "$story/mcp.told" "$CADRE_HOME"
		grep -q 'told 6' "$story/mcp.told" || bad "mcp $how: it does not go on"
		;;
	mv) # when the folder is moved back, the server works again
		grep -q 'told 4' "$story/mcp.told" && bad "mcp $how: acknowledged without a state"
		mv "$CADRE_HOME.x" "$CADRE_HOME"
		mcp_send 7
		grep -q 'told 7' "$story/mcp.told" || bad "mcp $how: $(tail -1 "$story/mcp.refused")"
		kept "mcp $how" "$story/mcp.told" "$CADRE_HOME"
		;;
	*) grep -q 'told [456]' "$story/mcp.told" && bad "mcp $how: acknowledged: $(tail -1 "$story/mcp.told")" ;;
	esac
	exec 3>&-
	wait $clients
	clients=
done

# --- only -shm is removed, while a host writes nothing --------------------------------------

# The next process makes another -shm file. The host does not see the changes that are committed
# with the new -shm file. When the host ends, the host must not cut these changes off the WAL.
for end in down itself; do
	new_state "shm-$end"
	"$CADRE" serve >/dev/null 2>&1 &
	host=$! clients=$!
	until_is 'host  *yes' cadre status
	cadre --team t --as a send b first >/dev/null
	rm "$CADRE_HOME/state.db-shm"
	: >"$story/shm.out"
	for i in 1 2 3 4 5; do
		cadre --direct --team t --as a send b "m $i" >/dev/null 2>&1 && echo "told $i" >>"$story/shm.out"
	done
	[ -s "$story/shm.out" ] || bad "shm $end: nothing was sent beside the host"
	if [ $end = down ]; then
		cadre down >/dev/null 2>&1
	else
		cadre --team t --as a send b "m 6" >/dev/null 2>&1 && echo "told 6" >>"$story/shm.out"
	fi
	wait $host
	clients=
	kept "shm $end" "$story/shm.out" "$CADRE_HOME"
	cadre --team t --as b inbox peek | grep -q first || bad "shm $end: what was there before is not"
done

# --- single commands -----------------------------------------------------------------------

new_state d
i=0
: >"$story/d.out"
while [ $i -lt 30 ]; do
	i=$((i + 1))
	[ $i != 15 ] || take_away mv
	cadre --direct --team t --as a send b "m $i" >/dev/null 2>"$story/err" && echo "told $i" >>"$story/d.out"
done
kept direct "$story/d.out" "$CADRE_HOME.x"
[ "$(wc -l <"$story/d.out")" = 14 ] || bad "direct: $(wc -l <"$story/d.out") acknowledged, not 14"

# --- a backup copied over a state after a crash ---------------------------------------------

new_state w
"$CADRE" serve >/dev/null 2>&1 &
host=$! clients=$!
until_is 'host  *yes' cadre status
cadre --team t --as a send b first >/dev/null
cadre backup "$story/w.db" >/dev/null
cadre --team t --as a send b second >/dev/null
kill -9 $host
wait $host 2>/dev/null
clients=
cp "$story/w.db" "$CADRE_HOME/state.db"
cadre --team t --as b inbox peek >"$story/out" 2>&1 && bad "the WAL left by a crash was applied to the backup"
grep -q 'does not belong to the state.db beside it' "$story/out" || bad "$(cat "$story/out")"
cadre restore --yes "$story/w.db" >/dev/null || bad "restore"
cadre --team t --as b inbox peek | grep -q first || bad "the backup is not there"
exit $failed
