#!/bin/sh
# mcp-forms - cadre accepts values in the many forms in which clients send them. Over stdio a
# client may send nulls, numbers with a decimal point, a byte order mark, JSON in strings, and
# tool names with a prefix. Over HTTP a client may send a slash after the path, a content type
# in upper or lower case, and blanks after a header's value.
set -u
. "$(dirname "$0")/../lib/story.sh"
trap 'cadre down >/dev/null 2>&1' EXIT
cadre team create shop --roles ann,bob >/dev/null || bad "team"
cat >"$TMPDIR/ask.py" <<'PY'
import json, subprocess, sys
lines = [l.rstrip("\n") for l in sys.stdin]
hello = '{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}'
p = subprocess.Popen([sys.argv[1], "mcp", "--operator"] + sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
p.stdin.write("".join(["\ufeff" + hello + "\n"] + [l + "\n" for l in lines]).encode())
p.stdin.flush()
for _ in range(len(lines) + 1):
    print(p.stdout.readline().decode(), end="")
p.stdin.close()
p.wait()
PY
ask() { /usr/bin/python3 "$TMPDIR/ask.py" "$CADRE" "$@"; }
call() { printf '{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"%s","arguments":%s}}\n' "$1" "$2" "$3"; }

{
	for method in ping tools/list resources/list resources/templates/list prompts/list; do
		printf '{"jsonrpc":"2.0","id":1.0,"method":"%s","params":null}\n' $method
	done
	call 2 mcp__cadre__task '{"action":"create","title":"t","priority":"2","tags":"[\"a\",\"b\"]","assignee":null,"depends_on":"null"}'
	call 3 cadre:team_message '{"to":"[\"ann\",\"bob\"]","text":"[1]","ack_required":"true","metadata":"{\"k\":1}"}'
	call 4 task '{"action":"list","status":"[\"pending\"]"}'
	call 5 tasks '{}'
	call 6 message '{}'
	call 7 frobnicate '{}'
	call 8 task '{"action":"create","title":"t","priority":"high"}'
	call 9 task null
} | ask >"$TMPDIR/said"
[ "$(grep -c '"id":1,"result"' "$TMPDIR/said")" = 5 ] && grep -q '"id":"hello","result"' "$TMPDIR/said" ||
	bad "nulls, a mark or 1.0: $(cut -c1-120 "$TMPDIR/said")"
# says ID PATTERN: the answer with this ID matches the pattern.
says() { grep "\"id\":$1," "$TMPDIR/said" | tr -d '\\' | grep -q -e "$2" || bad "answer $1: no $2 in $(grep "\"id\":$1," "$TMPDIR/said" | cut -c1-300)"; }
says 2 '"id":"001"'
says 3 '"recipients":2'
says 4 '"id":"001"'
says 5 'no tool tasks: did you mean task?'
says 6 'no tool message: did you mean team_message?'
says 7 'no tool frobnicate; the tools are team, team_message'
says 8 '"where":"/priority"'
says 9 'action'
[ "$(sqlite3 "$CADRE_HOME/state.db" "SELECT t.priority, group_concat(g.tag) FROM task t JOIN task_tag g ON g.task = t.id")" = "2|a,b" ] ||
	bad "a list in a string: $(sqlite3 "$CADRE_HOME/state.db" 'SELECT * FROM v_board')"
cadre messages --json | grep -q '"content":"\[1\]".*"metadata":{"k":1}' || bad "a message in strings: $(cadre messages --json)"

# The tool `team` answers in the form of an earlier system. If the operator names no sender, the
# team's lead is the sender. An answer has all JSON fields that the earlier system's answers
# have.
{
	call 10 team '{"action":"receive","team":"shop","agent":"lead"}'
	call 11 team '{"action":"message","team":"shop","to":"bob","content":"hi"}'
	call 12 team '{"action":"message","team":"shop","to":"bob","content":"ho","agent":"ann"}'
} | ask >"$TMPDIR/said"
says 10 '{"messages":\[\],"count":0}'
says 12 '"status":"queued"'
call 13 team '{"action":"receive","team":"shop","agent":"bob"}' | ask >"$TMPDIR/said"
says 13 '"from":"lead","to":"bob","content":"hi","message_type":"text","timestamp"'
says 13 '"from":"ann","to":"bob","content":"ho","message_type":"text"'

# If teams are not enabled, the tools for messages between teammates answer with an error.
call 20 teammate_message '{"teamId":"shop","to":"bob","message":"m"}' >"$TMPDIR/asked"
call 21 teammate_broadcast '{"teamId":"shop","message":"m"}' >>"$TMPDIR/asked"
CADRE_TEAMS_ENABLED=false ask --toolsets teammates <"$TMPDIR/asked" >"$TMPDIR/said"
for id in 20 21; do says $id '"error":"Teams are not enabled."'; done
ask --toolsets teammates <"$TMPDIR/asked" >"$TMPDIR/said"
says 20 '"delivered":true'

cadre up >/dev/null || bad "up"
token=$(cadre token create --agent shop/ann)
for path in mcp mcp/; do
	for type in application/json Application/JSON 'application/json; charset=utf-8' 'application/json '; do
		status=$(curl -s -o "$TMPDIR/body" -w '%{http_code}' -H "Authorization: Bearer $token  " -H "Content-Type: $type" -H 'Accept: application/json, text/event-stream' \
			-d '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}' "$(cat "$CADRE_HOME/endpoint")/$path")
		[ "$status" = 200 ] || bad "/$path with '$type': $status $(cat "$TMPDIR/body")"
	done
done
exit $failed
