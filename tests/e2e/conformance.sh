#!/bin/sh
# conformance - the official MCP suite over HTTP: both frozen requirement sets against a program with
# the suite's tools, and what fits any server against the real one.  Needs npm, once its registry.
set -u
. "$(dirname "$0")/../lib/story.sh"
packages conformance node
proxy=
trap 'test -z "$proxy" || kill "$proxy"; cadre down --all >/dev/null 2>&1' EXIT

serve() { # PROGRAM: its host with a team, behind a proxy that shows the operator's token
	CADRE=$1
	cadre up >/dev/null || bad "up"
	cadre team create crew --roles coder >/dev/null
	node "$root/tests/conformance/proxy.mjs" "$(cat "$CADRE_HOME/endpoint")" "$(cadre token create --operator)" >"$TMPDIR/url" &
	proxy=$!
	until_done test -s "$TMPDIR/url"
	url=$(cat "$TMPDIR/url")/mcp
}
end() {
	kill "$proxy"
	proxy=
	cadre down >/dev/null
	: >"$TMPDIR/url"
}
suite() { # WORDS...: runs the suite's server part, in plain text
	(cd "$TMPDIR" && "$place/node_modules/node/bin/node" "$place/node_modules/@modelcontextprotocol/conformance/dist/index.js" \
		server --url "$url" --timeout 60000 "$@") >"$TMPDIR/out" 2>&1
	status=$?
	sed 's/\x1b\[[0-9;]*m//g' "$TMPDIR/out" >"$TMPDIR/plain"
	return $status
}

real=$CADRE
serve "$(dirname "$real")/conformance"
for set in 2026-07-28:37 2025-11-25:30; do
	suite --requirements "${set%:*}" -o "$TMPDIR/o" || bad "requirements of ${set%:*}: $(grep -v '^✓' "$TMPDIR/plain" | tail -40)"
	# Scenarios that are said not to be scored are none that the revision requires.
	passed=$(sed -n '/=== SUMMARY/,/^Not scored/p' "$TMPDIR/plain" | grep -c '^[✓✗]')
	unscored=$(sed -n '/^Not scored/,$p' "$TMPDIR/plain" | grep -c '^  [✓✗]')
	test $((passed - unscored)) = "${set#*:}" || bad "$((passed - unscored)) scenarios of ${set%:*} ran, not ${set#*:}"
	echo "requirements ${set%:*}: $(grep '^Total' "$TMPDIR/plain"), $((passed - unscored)) scenarios"
done
end
serve "$real"
for one in server-initialize server-session-lifecycle ping logging-set-level tools-list resources-list prompts-list \
	server-sse-multiple-streams dns-rebinding-protection; do
	suite --scenario $one --spec-version 2025-11-25 || bad "$one, 2025-11-25: $(tail -30 "$TMPDIR/plain")"
done
for one in tools-list resources-list prompts-list server-sse-multiple-streams dns-rebinding-protection caching \
	sep-2164-resource-not-found input-required-result-unsupported-methods http-header-validation; do
	suite --scenario $one --spec-version 2026-07-28 || bad "$one, 2026-07-28: $(tail -30 "$TMPDIR/plain")"
done
end
exit $failed
