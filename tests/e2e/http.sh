#!/bin/sh
# http - clients call every operation over HTTP. A client's token proves who the caller is.
set -u
. "$(dirname "$0")/../lib/story.sh"
trap 'cadre down >/dev/null 2>&1; [ -z "${other:-}" ] || CADRE_HOME=$other cadre down >/dev/null 2>&1' EXIT
seconds=$((30 * TEST_SCALE))
# http METHOD PATH TOKEN [CURL-OPTION...]: prints the HTTP status, and writes the body to
# $TMPDIR/body.
http() {
	method=$1 path=$2 token=$3
	shift 3
	[ -z "$token" ] || set -- -H "Authorization: Bearer $token" "$@"
	curl -sS -m "$seconds" -o "$TMPDIR/body" -w '%{http_code}' --path-as-is -X "$method" "$@" "$url$path"
}
# answers STATUS PATTERN METHOD PATH TOKEN [CURL-OPTION...]: the answer has this HTTP status,
# and its body matches PATTERN.
answers() {
	want=$1 pattern=$2
	shift 2
	got=$(http "$@")
	[ "$got" = "$want" ] || bad "$1 $2: $got, and not $want: $(cat "$TMPDIR/body")"
	grep -q -- "$pattern" "$TMPDIR/body" || bad "$1 $2: no '$pattern' in $(cat "$TMPDIR/body")"
}
json() { # JSON: writes JSON into the file for a body
	printf '%s' "$1" >"$TMPDIR/json"
}
post() { # STATUS PATTERN PATH TOKEN JSON [CURL-OPTION...]
	want=$1 pattern=$2 path=$3 token=$4
	json "$5"
	shift 5
	answers "$want" "$pattern" POST "$path" "$token" -H 'Content-Type: application/json' --data-binary "@$TMPDIR/json" "$@"
}

export CADRE_LIMITS_ENABLED=false # this test calls more often than the limits allow
cadre init >/dev/null
cadre up >/dev/null || bad "up"
url=$(cat "$CADRE_HOME/endpoint") || bad "no endpoint"
is 0 . cadre team create shop --roles '[{"name":"coder"},{"name":"tester"},{"name":"guard","role":"observer"}]'
is 0 . cadre team create other --roles spy
beside '^no client has a token; `cadre token create --agent NAME` makes one$' cadre token list
coder=$(cadre token create --agent shop/coder)
spy=$(cadre token create --agent other/spy)
guard=$(cadre token create --agent shop/guard)
operator=$(cadre token create --operator)
observer=$(cadre token create looker --observer)

# Any caller may read /healthz and /readyz. A request to /api needs a token that proves its
# caller.
answers 200 ok GET /healthz ''
answers 200 ready GET /readyz ''
answers 401 'the request has no token' GET /api/team ''
answers 401 'the token is not valid' GET /api/team cadre_1_0000
answers 401 'the token is not valid' GET /api/team "${coder%?}x"
answers 401 . GET /api/team '' -H 'Authorization: Basic b3BlcmF0b3I6'
curl -sSI "$url/api/team" | grep -qi '^www-authenticate: bearer' || bad "401 does not say what it wants"

# If any part of a request is not UTF-8, the host refuses the request and changes nothing.
answers 400 'UTF-8' GET '/api/tasks?status=%ff' "$operator"
answers 400 'UTF-8' DELETE '/api/members/coder?team=shop&to=%ff' "$operator"
answers 400 'UTF-8' GET '/api/agents/%ff' "$operator"
answers 400 'UTF-8' POST '/api/messages' "$operator" -H 'Content-Type: application/json' -H "$(printf 'Idempotency-Key: \377\376')" -d '{"team":"shop","to":"coder","content":"x"}'
answers 400 'have different keys' POST '/api/messages' "$operator" -H 'Content-Type: application/json' -H 'Idempotency-Key: a' -d '{"team":"shop","to":"coder","content":"x","idempotency_key":"b"}'
answers 400 'twice' GET /healthz '' -H "Origin: $url" -H 'Origin: http://evil.example'
answers 501 . POST /api/messages "$operator" -H 'Transfer-Encoding: gzip, chunked' -H 'Content-Type: application/json' -d '{}'
[ "$(cadre agent list --team shop --json | grep -c '"name":"coder"')" = 1 ] || bad "a member was removed by a call that is none"

# An agent's client cannot use its token to get another token, because the second token could
# outlive the first.
post 403 'cannot make agents' /api/agents "$coder" '{}'
lead=$(cadre token create --agent shop/lead)
answers 403 'cannot read other tokens' GET /api/agents/coder/env "$lead"
post 200 '"name":"hand"' /api/members "$lead" '{"name":"hand"}'
grep -q token "$TMPDIR/body" && bad "a lead's client is told a member's token"
answers 200 . DELETE /api/members/hand "$lead"

# A client with an invalid token is refused before its large body arrives. Twenty clients with
# an invalid token do not keep another client from sending a large body.
cat >"$TMPDIR/large.py" <<'PY'
import socket, sys
host, port = sys.argv[1][7:].split(":")
held = []
for i in range(20):
    s = socket.create_connection((host, int(port)))
    s.sendall(b"PUT /api/vault/note HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer cadre_1_0000\r\nContent-Type: application/json\r\nContent-Length: 12000000\r\n\r\n" + b"x" * 200)
    held.append(s)
print("held", held[0].recv(12).decode(), flush=True)
sys.stdin.read()
PY
mkfifo "$TMPDIR/hold"
/usr/bin/python3 "$TMPDIR/large.py" "$url" <"$TMPDIR/hold" >"$TMPDIR/held" &
exec 9>"$TMPDIR/hold"
until_done grep -q '^held HTTP/1.1 401$' "$TMPDIR/held"
# The host refuses a request without a valid token before the body arrives, even if the request
# gives no length. With a valid token, the host refuses JSON whose values would take far more
# memory than the text. The host estimates the memory for the values of JSON before it parses
# the JSON.
/usr/bin/python3 - "$url" "$coder" <<'PY' || bad "bodies before tokens, or JSON without a bound"
import json, socket, sys
host, port = sys.argv[1].split("/")[2].split(":")
def answer(path, headers, body=b"", method="POST"):
    s = socket.create_connection((host, int(port)), timeout=60)
    s.sendall((f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
               f"{headers}Accept: application/json, text/event-stream\r\n\r\n").encode() + body)
    said = b""
    while b"\r\n\r\n" not in said or (status := int(said.split()[1])) == 400 and b"}" not in said:
        said += s.recv(65536) or b"HTTP/1.1 0 \r\n\r\n}"
    s.close()
    return "bounded" if b"the values take more than" in said else status
failed = []
for path in "/api/messages", "/mcp":
    for who in "", "Authorization: Bearer nonsense\r\n", "Authorization: Bearer cadre_1_zzzz\r\n":
        for length in "Content-Length: 5000\r\n", "Content-Length: 1000000\r\n", "Transfer-Encoding: chunked\r\n":
            if (got := answer(path, who + length)) != 401:
                failed.append((path, who, length, got))
        if (got := answer(path, who + "Content-Length: 1\r\n", b"{")) != 401:
            failed.append((path, who, "no JSON", got))
    for bomb in b"[" + b"{}," * 100000 + b"{}]", b'{"metadata":{"a":[' + b"[]," * 300000 + b"[]]}}":
        said = f"Authorization: Bearer {sys.argv[2]}\r\nContent-Length: {len(bomb)}\r\n"
        if (got := answer(path, said, bomb)) != "bounded":
            failed.append((path, len(bomb), got))
card = json.dumps({"path": "cards/coder.json", "content": "[" + "{}," * 100000 + "{}]"}).encode()
said = f"Authorization: Bearer {sys.argv[2]}\r\nContent-Length: {len(card)}\r\n"
if (got := answer("/api/vault/note", said, card, "PUT")) != "bounded":
    failed.append(("a card", got))
print(*failed, sep="\n")
sys.exit(bool(failed))
PY
[ "$(awk '/^VmHWM/ { print $2 }' "/proc/$(cut -d' ' -f1 "$CADRE_HOME/host.lock")/status")" -lt 200000 ] || bad "bodies that were refused cost the host $(grep VmHWM "/proc/$(cut -d' ' -f1 "$CADRE_HOME/host.lock")/status")"
/usr/bin/python3 -c 'import json; print(json.dumps({"path": "large.md", "content": "x" * 3000000}))' >"$TMPDIR/json"
answers 200 large.md PUT /api/vault/note "$operator" -H 'Content-Type: application/json' --data-binary "@$TMPDIR/json"
answers 401 . PUT /api/vault/note '' -H 'Content-Type: application/json' --data-binary "@$TMPDIR/json"
exec 9>&-
# Clients disconnect while a thread of the host parses the bodies of their requests. The host
# does not fail, and still accepts large requests of other clients.
/usr/bin/python3 - "$url" "$operator" <<'PY' || bad "clients that leave behind large bodies"
import json, socket, sys
host, port = sys.argv[1].split("/")[2].split(":")
for path, body in ("/api/vault/note", {"path": "left.md", "content": "x" * 3000000}), ("/mcp", ["x"] * 60000):
    body = json.dumps(body).encode()
    for i in range(60):
        s = socket.create_connection((host, int(port)), timeout=60)
        s.sendall((f"{'PUT' if 'api' in path else 'POST'} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                   f"Authorization: Bearer {sys.argv[2]}\r\nContent-Length: {len(body)}\r\n\r\n").encode() + body)
        s.close()
PY
# On a busy machine the host may answer 503 until the calls of the disconnected clients have
# ended.
large() { [ "$(http PUT /api/vault/note "$operator" -H 'Content-Type: application/json' --data-binary "@$TMPDIR/json")" != 503 ]; }
until_done large
answers 200 large.md PUT /api/vault/note "$operator" -H 'Content-Type: application/json' --data-binary "@$TMPDIR/json"

# An agent's client can act only in the agent's own team, and only within the agent's rights.
answers 200 '"name":"shop"' GET /api/team "$coder"
answers 403 . GET '/api/team?team=other' "$coder"
post 200 '"recipients":1' /api/messages "$coder" '{"to":"tester","content":"over HTTP"}'
post 403 . /api/messages "$coder" '{"to":"tester","content":"as another","from":"tester"}'
post 403 . /api/messages "$spy" '{"to":"shop/tester","content":"from outside"}'
post 403 . /api/members "$coder" '{"name":"friend"}'
answers 403 . GET /api/tokens "$coder"
is 0 'over HTTP' cadre --as tester --team shop inbox --peek
# The host also accepts the token that `cadre agent env` prints.
own=$(cadre agent env tester --team shop --json | sed -n 's/.*"token":"\([0-9a-f]*\)".*/\1/p')
post 200 'over HTTP' /api/inbox/receive "$own" '{"request_id":"r1"}'
post 200 'over HTTP' /api/inbox/receive "$own" '{"request_id":"r1"}'

# The routes for agents in tabs (docs/http.md) have their own names, answers and faults.
same() { # TEXT: the body is exactly TEXT
	[ "$(cat "$TMPDIR/body")" = "$1" ] || bad "the body is not $1: $(cat "$TMPDIR/body")"
}
is 0 . cadre team create tabs --roles '[{"name":"puppet"},{"name":"abra"}]'
puppet=$(cadre token create --agent tabs/puppet)
answers 200 . GET /api/agents "$puppet"
[ "$(sed 's/"last_active":"[^"]*"/T/g' "$TMPDIR/body")" = '{"agents":[{"name":"abra","status":"ready","project":null,T},{"name":"lead","status":"ready","project":null,T},{"name":"puppet","status":"ready","project":null,T}]}' ] ||
	bad "agents: $(cat "$TMPDIR/body")"
answers 200 '"name":"spy"' GET '/api/agents?team=other' "$operator"
answers 403 . GET '/api/agents?team=other' "$puppet"
post 200 . /api/agents/abra/messages "$puppet" '{"message":"hi","sender":"puppet"}'
same '{"delivered":true,"target":"abra"}'
post 404 . /api/agents/nobody/messages "$puppet" '{"message":"hi"}'
same '{"delivered":false,"error":"Agent not found","available":["abra","lead"],"code":"not_found"}'
for name in '*' '%2A' '%20' a,b 'no%20name' 'role%3Acoder'; do # none of these is an agent's name
	post 404 . "/api/agents/$name/messages" "$puppet" '{"message":"hi"}'
	same '{"delivered":false,"error":"Agent not found","available":["abra","lead"],"code":"not_found"}'
done
post 403 '"delivered":false' /api/agents/abra/messages "$puppet" '{"message":"hi","sender":"lead"}'
post 400 'massage' /api/agents/abra/messages "$puppet" '{"massage":"hi"}'
post 401 'the token is not valid' /api/agents/abra/messages "cadre_1_00" '{"massage":"hi"}'
post 200 . /api/agents/broadcast "$puppet" '{"message":"all"}'
same '{"delivered_to":["abra","lead"],"failed":[]}'
json '{"name":"puppet-dev","project":"/srv/puppet"}'
answers 200 . PUT /api/agents/puppet "$puppet" -H 'Content-Type: application/json' --data-binary "@$TMPDIR/json"
same '{"success":true,"previous_name":"puppet","new_name":"puppet-dev"}'
answers 200 '"project":"/srv/puppet"' GET /api/agents "$puppet"
json '{"name":"abra"}'
answers 409 '"success":false' PUT /api/agents/puppet-dev "$puppet" -H 'Content-Type: application/json' --data-binary "@$TMPDIR/json"
is 0 'hi' cadre --as abra --team tabs inbox --peek
is 0 . cadre team destroy --yes tabs

# A browser logs in by an address that works once, and stores a cookie that scripts cannot read.
is 0 '^http://127.0.0.1:[0-9]*/login?code=cadre_' cadre page
page=$(cadre page --observer)
answers 401 . GET /api/whoami "${page##*=}"
[ "$(curl -sS -m "$seconds" -o "$TMPDIR/body" -D "$TMPDIR/head" -w '%{http_code}' "$page")" = 303 ] || bad "no way in: $(cat "$TMPDIR/body")"
grep -i '^Set-Cookie: cadre_[0-9]*=cadre_[0-9_a-f]*; HttpOnly; SameSite=Strict; Path=/; Max-Age=43200' "$TMPDIR/head" >/dev/null || bad "no cookie: $(cat "$TMPDIR/head")"
cookie=$(sed -n 's/^Set-Cookie: \([^;]*\);.*/\1/p' "$TMPDIR/head")
answers 200 '"level":"observer"' GET /api/whoami '' -H "Cookie: theme=dark; $cookie"
answers 200 '"name":"shop"' GET '/api/team?team=shop' '' -H 'Cookie: theme=dark' -H "Cookie: $cookie"
answers 401 . GET "/${page##*/}" ''
answers 401 . GET /api/whoami "${page##*=}"
answers 400 'is required' GET /login ''
# A request with a cookie may write only if a page of the host itself sends the request.
page=$(cadre page)
cookie=$(curl -sS -m "$seconds" -D - -o /dev/null "$page" | sed -n 's/^Set-Cookie: \([^;]*\);.*/\1/p')
post 401 . /api/messages '' '{"team":"shop","to":"coder","content":"from a page"}' -H "Cookie: $cookie"
post 403 'may not call this host' /api/messages '' '{"team":"shop","to":"coder","content":"from a page"}' -H "Cookie: $cookie" -H 'Origin: http://127.0.0.1:1'
post 200 '"recipients":1' /api/messages '' '{"team":"shop","to":"coder","content":"from a page"}' -H "Cookie: $cookie" -H "Origin: $url"
answers 401 . GET /api/whoami '' -H "Cookie: $cookie" -H 'Sec-Fetch-Site: same-site'
answers 401 . GET /api/whoami 'cadre_1_00' -H "Cookie: $cookie"
browser=$(cadre token list --json | sed -n 's/.*"name":"\(browser-[0-9]*\)","kind":"operator".*/\1/p')
is 0 'is revoked' cadre token revoke "$browser"
answers 401 . GET /api/whoami '' -H "Cookie: $cookie"

# A write that is repeated under the same key is done only once.
post 200 '"task"' /api/tasks "$operator" '{"team":"shop","title":"dig"}' -H 'Idempotency-Key: once'
post 200 '"replayed":true' /api/tasks "$operator" '{"team":"shop","title":"dig"}' -H 'Idempotency-Key: once'
post 409 . /api/tasks "$operator" '{"team":"shop","title":"other"}' -H 'Idempotency-Key: once'
[ "$(cadre task list --team shop --json | grep -o '"title"' | wc -l)" = 1 ] || bad "a repeated task is made twice"

# An observer's token can read all teams, and cannot change anything.
answers 200 '"name":"other"' GET '/api/team?team=other' "$observer"
answers 200 dig GET '/api/tasks?team=shop' "$observer"
post 403 'task.create changes the state: this token may only read' /api/tasks "$observer" '{"team":"shop","title":"no"}'
post 403 . /api/agents "$observer" '{"team":"shop","name":"joiner"}'
post 403 . /api/claim "$guard" '{}'

# A call that waits for messages is answered when a message arrives. If the client of a waiting
# call has disconnected, the call takes no message out of the inbox.
(sleep 0.3; cadre send spy --team other "woken") >/dev/null 2>&1 &
post 200 woken /api/inbox/receive "$spy" '{"request_id":"w1","wait_seconds":20}'
wait
curl -sS -m 0.3 -o /dev/null -H "Authorization: Bearer $spy" -H 'Content-Type: application/json' \
	-d '{"request_id":"w2","wait_seconds":30}' "$url/api/inbox/receive" 2>/dev/null
is 0 . cadre send spy --team other "for whoever comes"
post 200 'for whoever comes' /api/inbox/receive "$spy" '{"request_id":"w3","wait_seconds":5}'

# An answer that its client has read has arrived, whether the connection ends or has a further
# request. Then a message that was received for good is acknowledged.
acked() { cadre messages --agent spy --team other --limit 1 --json | grep -q "\"read\":\"acked\""; }
for way in closed open; do
	is 0 . cadre send spy --team other "for good, $way"
	if [ $way = closed ]; then
		post 200 "for good, $way" /api/inbox/receive "$spy" '{"lease_seconds":0}'
		until_done acked || bad "not acknowledged: $(cadre messages --agent spy --team other --limit 1 --json)"
	else
		/usr/bin/python3 - "$url" "$spy" <<-'END' || bad "not acknowledged on an open connection"
			import http.client, json, sys, urllib.parse
			c = http.client.HTTPConnection(urllib.parse.urlsplit(sys.argv[1]).netloc)
			def ask(method, path, body=None):
			    c.request(method, path, body, {"Authorization": "Bearer " + sys.argv[2], "Content-Type": "application/json"})
			    return c.getresponse().read().decode()
			assert "for good, open" in ask("POST", "/api/inbox/receive", json.dumps({"lease_seconds": 0}))
			for _ in range(1000):
			    if '"acked"' in ask("GET", "/api/messages?limit=1"):
			        sys.exit(0)
			sys.exit(1)
		END
	fi
done

# Arguments are read from the path, the query and the body.
answers 200 '"id":"001"' GET /api/tasks/001 "$coder"
answers 200 '"tasks":\[\]' GET '/api/tasks?status=completed' "$coder"
answers 200 '"tasks":\[' GET '/api/tasks?status=completed&status=pending&limit=1' "$coder"
answers 400 '"where":"/limit"' GET '/api/tasks?limit=none' "$coder"
answers 400 'not known here' GET '/api/tasks?limits=1' "$coder"
answers 400 '%XX' GET '/api/tasks?text=%zz' "$coder"
answers 404 . GET /api/tasks/999 "$coder"
answers 404 'nothing at /api/nothing' GET /api/nothing "$coder"
answers 404 . POST /api/tasks/001/../001/claimed "$coder"
post 200 '"id":"002"' /api/tasks "$coder" '{"title":"tick","acceptance_criteria":["one","two","three"]}'
post 200 '"left":\["2 two"\]' /api/tasks/002/criteria/1,3 "$coder" '{}'
post 200 '"left":\[\]' /api/tasks/002/criteria/2 "$coder" '{"criterion":2}'
post 400 '"where":"/criterion/1"' /api/tasks/002/criteria/1,x "$coder" '{}'
answers 405 . DELETE /api/tasks "$coder"
curl -sS -o /dev/null -D- -X DELETE "$url/api/tasks" | grep -qi '^allow: .*GET' || bad "405 does not say which methods"
post 400 'the body is not a JSON object: the value has another type' /api/tasks "$coder" '[1]'
post 400 'the body is not a JSON object: unexpected token' /api/tasks "$coder" '{"title":'
post 400 'the body is not a JSON object: duplicate object key' /api/tasks "$coder" '{"title":"a","title":"b"}'
post 400 'the body and the path have different values of task' /api/tasks/001/start "$coder" '{"task":"002"}'
answers 415 . POST /api/tasks "$coder" -d title=dig
answers 413 . POST /api/tasks "$coder" -H 'Content-Type: application/json' -H 'Content-Length: 99999999' -d '{}'
answers 200 '"name":"shop"' GET /api/team "$coder" -H 'Transfer-Encoding: chunked' -H 'Content-Type: application/json' --data-binary '{}'
[ "$(curl -sS -I -H "Authorization: Bearer $coder" "$url/api/team" | grep -ci '^content-length: [1-9]')" = 1 ] || bad HEAD

# The host refuses requests from pages of other sites. The host checks the Origin header and the
# Host header of each request.
answers 403 'the host is not called' GET /healthz '' -H 'Host: evil.example'
answers 403 'may not call' GET /api/team "$coder" -H 'Origin: https://evil.example'
answers 403 . GET /api/team "$coder" -H 'Origin: null'
answers 200 . GET /api/team "$coder" -H "Origin: $url"
answers 200 . GET /healthz '' -H 'Host: localhost:9223'

# A token is invalid if it was revoked, if it has expired, or if its agent has a newer
# generation.
is 0 revoked cadre token revoke looker
answers 401 'the token is not valid' GET '/api/team?team=shop' "$observer"
short=$(cadre token create --agent shop/coder --ttl-seconds 600)
answers 200 . GET /api/team "$short"
sqlite3 -cmd '.timeout 60000' "$CADRE_HOME/state.db" 'UPDATE token SET expires_at = expires_at - 700000 WHERE expires_at IS NOT NULL'
answers 401 'the token is not valid' GET /api/team "$short"
is 0 . cadre agent register coder --team shop --replace
answers 401 'the token is not valid' GET /api/team "$coder"
cadre token list --all --json >"$TMPDIR/tokens"
for secret in "$coder" "$spy" "$operator"; do
	! grep -q "$secret" "$TMPDIR/tokens" || bad "a list shows a token"
	! grep -rqa "${secret#cadre_*_}" "$CADRE_HOME" || bad "a token is kept as it is"
done
grep -q '"used_at"' "$TMPDIR/tokens" || bad "no token's use is noted"

# Only the operator can reach the host's Unix socket, so every caller at this socket is the
# operator. If a caller at the Unix socket names an unknown team or agent, the fault names the
# state's folder, because the caller may use the wrong state. Faults for callers over TCP do not
# name the state's folder.
local_socket=$(dirname "$(cut -d' ' -f3- "$CADRE_HOME/host.lock")")/http.sock
for place in '/api/team?team=nowhere' '/api/agents/ghost?team=other'; do
	curl -sS --unix-socket "$local_socket" "http://localhost$place" | grep -q "the state is $CADRE_HOME" || bad "$place: not which state"
	answers 404 'there is no' GET "$place" "$operator"
	! grep -q "$CADRE_HOME" "$TMPDIR/body" || bad "$place: where the state is: $(cat "$TMPDIR/body")"
done
[ "$(stat -c %a "$local_socket")" = 600 ] || bad "others reach $local_socket"
curl -sS --unix-socket "$local_socket" http://localhost/api/teams | grep -q '"name":"other"' || bad "no teams at $local_socket"

# If the port is taken, the host uses the next port. A host that ends removes its file
# `endpoint`.
other=$TMPDIR/second
mkdir "$other"
CADRE_HOME=$other cadre --home "$other" --create init >/dev/null 2>&1
CADRE_HOME=$other cadre up >/dev/null || bad "up beside another host"
[ "$(cat "$other/endpoint")" != "$url" ] || bad "two hosts have one endpoint"
curl -sS "$(cat "$other/endpoint")/healthz" | grep -q ok || bad "the second host does not answer"
CADRE_HOME=$other cadre down >/dev/null
[ ! -e "$other/endpoint" ] || bad "the endpoint of a host that has ended stays"

# The host listens for other machines only if a token for a client exists.
CADRE_HTTP_ADDRESS=0.0.0.0 CADRE_HOME=$other cadre up >/dev/null || bad "up at 0.0.0.0"
[ ! -e "$other/endpoint" ] || bad "it listens for everybody without a token"
CADRE_HOME=$other cadre logs | grep -q 'so a client must have a token first' || bad "nobody is told why"

# A report of a team's usage is repeated after the team was destroyed. The repeated report is
# refused, and the refusal says that the first report was counted.
lead=$(cadre token create --agent shop/lead)
is 0 . cadre --team shop --as lead team create fleet
report='{"team":"fleet","tokens_in":3,"idempotency_key":"fleet-1"}'
post 200 '"tokens":3' /api/team/usage "$lead" "$report"
is 0 . cadre team destroy fleet --yes
post 403 'The first call with this key took effect' /api/team/usage "$lead" "$report"
exit $failed
