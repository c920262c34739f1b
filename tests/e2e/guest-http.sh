#!/bin/sh
# guest-http - the HTTP doors of workspaces. Except for /health, a door admits only callers with
# the right token. A door stores each message before it answers the sender. A door transfers
# files of any size. The story also restarts the host.
set -u
. "$(dirname "$0")/../lib/story.sh"
unset http_proxy HTTP_PROXY all_proxy ALL_PROXY
finish() {
	cadre up >/dev/null 2>&1
	for team in red blue shut; do cadre team destroy --yes $team; done >/dev/null 2>&1
	until_is '^0$' count_guests
	cadre down >/dev/null 2>&1
}
trap finish EXIT

field() { sed -n "s/.*\"$1\":\"\{0,1\}\([^\",}]*\).*/\1/p"; }
in_place() { cadre exec "$1" sh -c "$2"; }
url_of() { cadre agent whois "$1" --json | field http; }
door() { in_place "$1" "\"$CADRE\" agent door $2 --json" | field token; } # WHO WHOSE
# TOKEN PATH CURL-OPTIONS...: prints the status, and stores the body in $TMPDIR/body.
ask() {
	token=$1 path=$2
	shift 2
	curl -sS -m $((60 * TEST_SCALE)) -o "$TMPDIR/body" -w '%{http_code}' --path-as-is \
		${token:+-H "Authorization: Bearer $token"} "$@" "$url$path"
}
expect() { # STATUS PATTERN TOKEN PATH CURL-OPTIONS...
	want=$1 pattern=$2
	shift 2
	got=$(ask "$@")
	[ "$got" = "$want" ] || bad "$* gives $got, not $want: $(head -c 300 "$TMPDIR/body")"
	grep -q -e "$pattern" "$TMPDIR/body" || bad "$*: no '$pattern' in $(head -c 300 "$TMPDIR/body")"
}
messages() { cadre messages --team red --limit 1000 --json; }
rows() { messages | grep -o '"message_id"' | wc -l; }

cadre up >/dev/null || bad "up"
cadre team create red --roles '[{"name":"ann","workspace":true},{"name":"bob","workspace":true}]' >/dev/null || bad "team create"
cadre team create blue --roles '[{"name":"eve","workspace":true}]' >/dev/null || bad "team create blue"
cadre team create shut --no-allow-inter-vm --roles '[{"name":"dan","workspace":true}]' >/dev/null || bad "team create shut"
for who in red/ann red/bob blue/eve; do until_is http://127.0.0.1: url_of $who; done
url=$(url_of red/bob)
ann=$(door red/ann bob) own=$(door red/bob bob) eve=$(door blue/eve eve)
lead=$(cadre --team red --as lead agent door bob --json | field token)

# Anybody may call /health. Teammates may call the other paths, each with their own token.
expect 200 '"status":"ready","version":"[0-9.]*","uptime_secs":[0-9]' '' /health
expect 401 '"code":"denied"' '' /card
expect 200 '"name":"bob"' "$ann" /card
expect 200 '"http":"http://127.0.0.1:' "$ann" /card
expect 401 'is not valid at this door' "$eve" /card
expect 401 'is not valid at this door' "ann.$(echo "$ann" | tr 0-9a-f 1-9a-f0)" /card
expect 401 'no bearer' "" /card -H 'Authorization: Basic YTpi'
expect 401 'is not valid at this door' "$(cadre --team red --as ann agent door ann --json | field token)" /card
expect 404 'there is no /nothing' "$ann" /nothing
expect 405 'is for POST' "$ann" /task
expect 421 'not served here' "$ann" /card -H 'Host: evil.example'
url=$(url_of red/ann)
expect 401 'is not valid at this door' "$ann" /card # a token for bob's door does not open ann's door
url=$(url_of red/bob)

# Before the door answers, the message is stored as a row. The sender is the agent whose token
# the caller shows.
before=$(rows)
for path in /message /messages; do
	expect 202 '"status":"accepted","message_id":"' "$ann" $path -d '{"content":"well, \"bob\"?","message_type":"request","metadata":{"k":1}}'
done
id=$(field message_id <"$TMPDIR/body")
[ "$(rows)" = $((before + 2)) ] || bad "two messages are $(rows) rows, not $((before + 2))"
messages | grep -q "\"message_id\":\"$id\",\"seq\":[0-9]*,\"from\":\"ann\",\"to\":\"bob\",\"read\":\"queued\",\"content\":\"well, " || bad "the row of a message"
expect 202 accepted "$ann" /message -H 'Idempotency-Key: k1' -d '{"content":"once"}'
id=$(field message_id <"$TMPDIR/body")
expect 202 "$id" "$ann" /message -H 'Idempotency-Key: k1' -d '{"content":"once"}'
expect 202 accepted "$ann" /message -d '{"content":"myself","from":"ann"}'
before=$(rows)
expect 403 '/from' "$ann" /message -d '{"content":"x","from":"lead"}'
expect 403 '/from' "$lead" /message -d '{"content":"x","agent":"ann"}'
expect 401 denied '' /message -d '{"content":"x"}'
expect 401 denied "$eve" /message -d '{"content":"x"}'
expect 400 '/text' "$ann" /message -d '{"message_type":"text"}'
expect 400 'the body is not a JSON object' "$ann" /message -d '{"content":'
expect 400 'the body is not a JSON object' "$ann" /message -d '[]'
expect 413 'over 2097152' "$ann" /message -d "$(head -c 60000 /dev/zero | tr '\0' a)" -H 'Content-Length: 2097153'
expect 400 '/text' "$ann" /task -d '{"task_id":"x"}'
[ "$(rows)" = "$before" ] || bad "what was refused became a row"

# The message is handed out to bob, and to the lead. The door never hands out assignments.
expect 403 'only the lead' "$ann" /messages
expect 200 '"content":"well, ' "$lead" '/messages?limit=1'
grep -q '"content":"once"' "$TMPDIR/body" && bad "the limit"
expect 400 '/limit' "$own" '/messages?limit=none'
expect 202 accepted "$ann" /task -d '{"task_id":"t","command":"echo run >>ran","env":{"KEY":"secret"}}'
id=$(field message_id <"$TMPDIR/body")
expect 200 '"content":"once"' "$own" '/messages?limit=100&request_id=r1'
grep -q task_assignment "$TMPDIR/body" && bad "an assignment was handed out"
expect 200 '"content":"once"' "$own" '/messages?limit=100&request_id=r1'
expect 200 '"content":"once"' "$own" '/messages?request_id=r2' # the answer to r1 arrived, but no caller has confirmed that
expect 200 '"messages":\[\]' "$own" '/messages?seen=r1,r2'
messages | grep -q secret && bad "a key in the history"

# The command of the assignment runs once, and the assignment's sender gets the result.
waited 0 result "$id" --team red
[ "$(in_place red/bob 'cat ran')" = run ] || bad "the command ran other than once"
cadre --team red --as ann inbox --json | grep -q '"task_id":"t"' || bad "the result is not ann's"

# A large file is transferred whole. The guest never loads a whole file into memory.
guest=$(cadre workspace info red/bob --json | field pid)
size=$((160 << 20))
head -c $size /dev/urandom >"$TMPDIR/large"
expect 201 '"path":"in/large","size":167772160' "$ann" /files/in/large -T "$TMPDIR/large" -X POST
in_place red/bob "cmp in/large '$TMPDIR/large'" || bad "what was sent is not what stands there"
expect 200 '' "$ann" /files/in/large
cmp "$TMPDIR/large" "$TMPDIR/body" || bad "what came is not what stands there"
expect 200 '' "$ann" /files/in/large -r -7
cmp "$TMPDIR/large" "$TMPDIR/body" || bad "a range is not answered with the whole"
peak=$(sed -n 's/^VmHWM:[[:space:]]*\([0-9]*\).*/\1/p' "/proc/$guest/status")
[ "${peak:-100000}" -lt 100000 ] || bad "the guest took $peak KiB for a file"
expect 200 '"size":4' "$ann" /files/in/large -d 'tiny'
expect 200 '^tiny$' "$ann" /files/in/%6car%67e
expect 201 '"size":6' "$ann" /files/chunked -H 'Transfer-Encoding: chunked' -d 'chunks'
[ "$(curl -sSI -H "Authorization: Bearer $ann" "$url/files/chunked" | grep -ci '^content-length: 6')" = 1 ] || bad HEAD
expect 413 'at most 1 GiB' "$ann" /files/huge -d x -H 'Content-Length: 1073741825'

# An unfinished upload is never visible and leaves no file. The old file at the same path stays.
curl -sS -m $((60 * TEST_SCALE)) --limit-rate 2M -X POST -T "$TMPDIR/large" -H "Authorization: Bearer $ann" "$url/files/in/large" >/dev/null 2>&1 &
half=$!
until_is '/in/.*(deleted)' ls -l "/proc/$guest/fd"
[ "$(in_place red/bob 'ls -A in')" = large ] || bad "half an upload is there: $(in_place red/bob 'ls -A in')"
kill $half
wait $half 2>/dev/null
until_is '^large$' in_place red/bob 'ls -A in | tr "\n" " " | sed "s/ $//"'
expect 200 '^tiny$' "$ann" /files/in/large

# The door serves no path outside the workspace, and no path to the guest's own files.
echo secret >"$TMPDIR/secret"
in_place red/bob "ln -s $TMPDIR/secret out; ln -s / root; ln -s $CADRE_HOME/guests own; mkfifo pipe; mkdir folder"
for path in ../secret ..%2fsecret %2e%2e/secret in/../../secret //etc/passwd %2fetc%2fpasswd /etc/passwd \
	out root/etc/passwd own own/$(ls "$CADRE_HOME/guests" | head -1)/guest.lock in/%2e%2e/own/x \
	in%00 a%zz a%ffb % '' folder . pipe nothing; do
	got=$(ask "$ann" "/files/$path")
	case $got in 400 | 403 | 404) ;; *) bad "GET /files/$path gives $got" ;; esac
	[ -n "$path" ] && [ "$path" != nothing ] || continue
	got=$(ask "$ann" "/files/$path" -d x)
	case $got in 400 | 403 | 404) ;; *) bad "POST /files/$path gives $got" ;; esac
done
[ "$(cat "$TMPDIR/secret")" = secret ] || bad "a file outside was written"
expect 401 denied '' /files/ran
expect 401 denied "$eve" /files/ran

# If the policy turns the door off, the door refuses all callers.
shut_url() { # the card does not hold this address
	sqlite3 -readonly "$CADRE_HOME/state.db" \
		"SELECT w.http FROM workspace w JOIN team t ON t.id = w.team WHERE t.name = 'shut'"
}
until_is http://127.0.0.1: shut_url
url=$(shut_url)
expect 403 '(allow_inter_vm)' '' /health
in_place shut/dan "\"$CADRE\" agent door dan" 2>&1 | grep -q '(allow_inter_vm)' || bad "a token for a shut door"
expect 401 '' "$ann" /card
url=$(url_of red/bob)

# Without the host the door accepts no call and stores no message. With the host the door works
# again.
host=$(cadre status --json | field pid)
kill -9 "$host"
expect 503 '"code":"unavailable"' "$ann" /message -d '{"content":"lost"}'
expect 503 unavailable "$ann" /task -d '{"task_id":"u","command":"echo lost >>ran"}'
expect 503 unavailable "$ann" /files/ran
expect 503 unavailable "$ann" /card
expect 200 ready '' /health
cadre up >/dev/null || bad "up again"
until_is 202 ask "$ann" /message -d '{"content":"back"}'
messages | grep -q '"content":"lost"' && bad "a message was kept for later"
expect 200 '^run$' "$ann" /files/ran

# After a new generation of ann, tokens of the old generation are refused.
cadre agent register ann --team red --replace >/dev/null || bad "replace ann"
until_is 401 ask "$ann" /card
expect 401 denied "$ann" /message -d '{"content":"of the old one"}'
exit $failed
