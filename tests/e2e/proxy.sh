#!/bin/sh
# proxy - clients reach the host through nginx, which has the settings of docs/http.md. The test
# covers calls, large bodies, streams, MCP and a browser.
set -u
. "$(dirname "$0")/../lib/story.sh"
proxy=''
trap 'cadre down >/dev/null 2>&1; [ -z "$proxy" ] || kill "$proxy" 2>/dev/null' EXIT
root=$(cd "$(dirname "$0")/../.." && pwd)
name=cadre.example.org
seconds=$((20 * TEST_SCALE))

export CADRE_HTTP_HOSTS=$name
cadre up >/dev/null || bad "up"
is 0 . cadre team create shop --roles coder
token=$(cadre token create --agent shop/coder)
inner=$(sed 's|.*:||' "$CADRE_HOME/endpoint")
port=$(/usr/bin/python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj "/CN=$name" -addext "subjectAltName=DNS:$name" \
	-keyout "$TMPDIR/key.pem" -out "$TMPDIR/cert.pem" 2>/dev/null || bad "no certificate"

# nginx gets the server section of docs/http.md, with another port and a certificate of this
# test.
{
	[ "$(id -u)" != 0 ] || echo 'user root;'
	printf 'daemon off; pid %s/nginx.pid; error_log %s/nginx.log; events { }\nhttp { access_log off;\n' "$TMPDIR" "$TMPDIR"
	for what in client_body proxy fastcgi uwsgi scgi; do printf '%s_temp_path %s/%s;\n' $what "$TMPDIR" $what; done
	sed -n '/^server {/,/^}/p' "$root/docs/http.md" | sed -e "s|listen 443 ssl|listen 127.0.0.1:$port ssl|" \
		-e "s|/etc/ssl/cadre.pem|$TMPDIR/cert.pem|" -e "s|/etc/ssl/cadre.key|$TMPDIR/key.pem|" -e "s|127.0.0.1:9223|127.0.0.1:$inner|"
	printf '}\n'
} >"$TMPDIR/nginx.conf"
grep -q 'proxy_pass' "$TMPDIR/nginx.conf" || bad "the document shows no server"
nginx -p "$TMPDIR" -c "$TMPDIR/nginx.conf" >"$TMPDIR/nginx.out" 2>&1 &
proxy=$!
via() { # CURL-OPTION...: sends a request to nginx
	curl -sS --cacert "$TMPDIR/cert.pem" --resolve "$name:$port:127.0.0.1" "$@"
}
at() { # PATH [CURL-OPTION...]: the agent's client makes this request; prints body and HTTP status
	path=$1
	shift
	via -m "$seconds" -H "Authorization: Bearer $token" -w '\n%{http_code}' "$@" "https://$name:$port$path"
}
up() { at /healthz | grep -q ok; }
until_done up || bad "nginx: $(cat "$TMPDIR/nginx.out" "$TMPDIR/nginx.log")"

is 0 '"name":"coder"' at /api/whoami
is 0 '403' at /api/whoami -H 'Origin: https://evil.example'
is 0 '"recipients":1' at /api/messages -H 'Content-Type: application/json' -d '{"to":"lead","content":"through nginx"}'
/usr/bin/python3 -c 'import json; print(json.dumps({"path": "large.md", "content": "x" * 3000000}))' >"$TMPDIR/large"
is 0 'large.md' at /api/vault/note -X PUT -H 'Content-Type: application/json' --data-binary "@$TMPDIR/large"

# Events pass through nginx without delay, and a client that connects again misses no event.
via -N -H "Authorization: Bearer $token" \
	"https://$name:$port/events?kind=task" >"$TMPDIR/events" 2>/dev/null &
follower=$!
sleep 0.5
is 0 . cadre task create "dig" --team shop
until_done grep -q task.created "$TMPDIR/events" || bad "no event came: $(cat "$TMPDIR/events")"
kill "$follower"
last=$(sed -n 's/^id: //p' "$TMPDIR/events" | tail -1)
is 0 . cadre task create "fill" --team shop
via -N -m 2 -H "Authorization: Bearer $token" \
	-H "Last-Event-ID: $last" "https://$name:$port/events?kind=task" >"$TMPDIR/behind" 2>/dev/null
[ "$(grep -c '^event: ' "$TMPDIR/behind")" = 1 ] || bad "not one event behind $last: $(cat "$TMPDIR/behind")"

# MCP works through nginx, both as a session with a stream and as a single request without a
# session.
mcp() {
	at /mcp -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' "$@"
}
mcp -D "$TMPDIR/head" -d '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}' >"$TMPDIR/begun"
session=$(tr -d '\r' <"$TMPDIR/head" | sed -n 's/^[Mm]cp-[Ss]ession-[Ii]d: //p')
[ -n "$session" ] || bad "no session: $(cat "$TMPDIR/begun")"
is 0 'subscribed\|"result"' mcp -H "Mcp-Session-Id: $session" -d '{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"cadre://board/shop"}}'
via -N -H "Authorization: Bearer $token" \
	-H "Mcp-Session-Id: $session" -H 'Accept: text/event-stream' "https://$name:$port/mcp" >"$TMPDIR/stream" 2>/dev/null &
follower=$!
sleep 0.5
is 0 . cadre task create "rest" --team shop
until_done grep -q resources/updated "$TMPDIR/stream" || bad "the stream tells nothing: $(cat "$TMPDIR/stream")"
kill "$follower"
is 0 '"tools"' mcp -H 'Mcp-Method: tools/list' -H 'MCP-Protocol-Version: 2026-07-28' \
	-d '{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}'

# A browser logs in through nginx by an address that contains a login code.
page=$(cadre page)
code=$(via -m "$seconds" -D "$TMPDIR/head" -o "$TMPDIR/body" -w '%{http_code}' "https://$name:$port/${page##*/}")
[ "$code" = 303 ] || bad "no way in: $code $(cat "$TMPDIR/head")"
cookie=$(tr -d '\r' <"$TMPDIR/head" | sed -n 's/^[Ss]et-[Cc]ookie: \([^;]*\);.*/\1/p')
is 0 '"level":"operator"' via -m "$seconds" -H "Cookie: $cookie" "https://$name:$port/api/whoami"
exit $failed
