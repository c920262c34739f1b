#!/bin/sh
# mcp-hour - the first hour of two models over MCP costs few tokens, and none of its calls is
# refused. Names that models bring from other servers work, and nearly right names are told.
set -u
. "$(dirname "$0")/../lib/story.sh"
CADRE_LIMITS_ENABLED=false
export CADRE CADRE_LIMITS_ENABLED

told=$(/usr/bin/python3 "$here/peers/hour.py" "$CADRE" "$TMPDIR" | tee "$TMPDIR/hour" | tail -n 1)
calls=${told%% *} rest=${told#* }
tokens=${rest%% *} rest=${rest#* }
first=${rest%% *} refused=${rest#* }
[ "$calls" = 48 ] && [ "$refused" = 0 ] || bad "the hour: $(cat "$TMPDIR/hour")"
[ "$tokens" -le 4400 ] || bad "$tokens tokens of answers: $(cat "$TMPDIR/hour")"
[ "$first" -le 3300 ] || bad "$first tokens of instructions and tools"
cost=$(cadre mcp --toolsets core --cost | awk '$1 == "core" { print ($2 <= 15 && $3 <= 3000) }')
[ "$cost" = 1 ] || bad "the tools of core: $(cadre mcp --toolsets core --cost)"

cat >"$TMPDIR/ask.py" <<'PY'
import json, subprocess, sys
p = subprocess.Popen([sys.argv[1], "mcp"] + sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
def ask(n, method, params):
    p.stdin.write(json.dumps({"jsonrpc": "2.0", "id": n, "method": method, "params": params}) + "\n")
    return json.loads(p.stdout.readline())
ask(0, "initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}})
n = 0
for line in sys.stdin:
    if line.startswith("!"):  # a command of the shell between two calls
        subprocess.run(line[1:], shell=True, check=True, stdout=subprocess.DEVNULL)
        continue
    n += 1
    name, _, args = line.strip().partition(" ")
    r = ask(n, "tools/call", {"name": name, "arguments": json.loads(args or "{}")})
    print(n, r["result"]["content"][0]["text"] if "result" in r else r["error"]["message"])
p.stdin.close()
p.wait()
PY
mkdir "$TMPDIR/carl"
said=$(cd "$TMPDIR/carl" && CADRE_MCP_MAX_WAIT_SECONDS=1 /usr/bin/python3 "$TMPDIR/ask.py" "$CADRE" --toolsets core,lead <<'END'
register_agent {"project_key":"/p","program":"x","model":"y","name":"carl","task_description":"tests"}
Task {"action":"Create","title":"first"}
mcp__cadre__task {"action":"add","title":"second"}
send_message {"project_key":"/p","sender_name":"carl","to":["ann"],"subject":"the plan","body_md":"as said","importance":"urgent","thread_id":"plan"}
ready {"limit":"1"}
claim {"issue_id":"005"}
update {"issue_id":"005","title":"the first","status":"open"}
update {"issue_id":"005","title":"the first","type":"bug"}
task {"action":"done","task":"005","tick_all":true}
task {"action":"assign","task":"005"}
send {"to":"ann"}
file_reservation_paths {"project_key":"/p","agent_name":"carl","paths":["lib/**"],"exclusive":true,"reason":"mine"}
release_file_reservations {"paths":["lib/**"]}
close {"id":"005","reason":"done"}
!"$CADRE" --team shop send carl "look at it"
reply_message {"message_id":8,"body_md":"seen"}
fetch_inbox {"agent_name":"carl","limit":5}
claim_task
complete
task {"action":"finihs"}
frobnicate
results {"action":"list"}
inbox {"action":"ack","id":"#1"}
lead {"action":"budget"}
team {"action":"usage","tokens_in":5}
task {"action":"create","title":"prepare","before":["006"],"acceptance_criteria":["it builds","it runs"]}
task {"action":"claim","task":"006"}
task {"action":"tick","task":"007","criterion":[2]}
inbox {"action":"wait","follow":["006"],"wait_seconds":300}
!"$CADRE" --team shop send carl "once"
inbox {"action":"receive","lease_seconds":1}
!until "$CADRE" --team shop --as carl inbox peek | grep -q once; do sleep 0.1; done # polls: the end of a lease makes no event
inbox {"action":"wait","follow":["006"],"wait_seconds":0}
inbox {"action":"receive"}
!"$CADRE" --team shop send carl "all of it, at once"
inbox {"action":"wait","follow":["006"],"wait_seconds":60}
inbox {"action":"receive"}
END
)
says() { printf '%s\n' "$said" | grep "^$1 " | grep -qF -e "$2" || bad "answer $1 lacks $2: $(printf '%s\n' "$said" | grep "^$1 ")"; }
lacks() { printf '%s\n' "$said" | grep "^$1 " | grep -qF -e "$2" && bad "answer $1 has $2"; }
says 1 '"name":"carl"'
says 1 'Passed over: project_key, program, model'
says 2 '"id":"005"'
says 3 '"id":"006"'
says 4 '{"seq":'
lacks 4 message_id
says 5 '"tasks":[{'
says 6 '"id":"005"'
lacks 6 created_at
# A status that other servers set is refused, and the hint names the calls that change the status.
says 7 'completed: task action=complete; blocked: task action=block'
says 8 'Passed over: type'
says 9 'Tick the criteria first: task action=tick'
says 10 'Did you mean team_assign?'
says 11 'no tool send: did you mean team_message?'
says 12 '"glob":"lib/**"'
says 14 '"status":"completed"'
says 15 '"seq":9'
says 16 '"messages":['
says 17 'no tool claim_task: did you mean task action=claim?'
says 18 'did you mean task action=complete?'
says 19 'Did you mean complete'
says 20 'the tools are team, team_message'
says 21 '{"results":[]}'
lacks 22 'unknown'
says 23 'lead has no action budget'
says 24 '"tokens":5'
# A new task holds another task up. A tick tells what is ticked and what is left.
says 25 '006 waits for it'
says 26 'waits for 007 (ready)'
says 27 '"left":["1 it builds"]'
# The server's limit ends a wait, and the answer says so. A message that the session has received
# is no news when its lease has ended, and the next receive acknowledges the message.
says 28 'in 1 s, the longest wait over MCP without progress (mcp.max_wait_seconds). Call again'
says 29 '"content":"once"'
says 30 '"text":"nothing has come'
says 31 '{"messages":[]}'
# A wait that ends with mail hands the mail out.
says 32 '"content":"all of it, at once"'
says 33 '{"messages":[]}'
list=$(printf '%s\n' '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}' '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}' | "$CADRE" mcp --toolsets all)
printf '%s\n' "$list" | grep -oE '"(wait_seconds|timeout|timeout_seconds|timeoutSeconds)":\{[^}]*\}' | grep -vE '"minimum":0,"maximum":(30|300)[,}]' && bad "a wait without its bounds"
cadre --team shop messages --json | grep -q '"content":"the plan\\n\\nas said".*"priority":"urgent"' || bad "a subject: $(cadre --team shop messages --json)"
exit $failed
