#!/bin/sh
# conformance - runs the official MCP conformance suite over HTTP. The requirements of two
# protocol revisions are tested with a program that has the tools that the suite calls.
# Scenarios that need none of these tools are tested with the real `cadre`. The story needs npm,
# and needs the npm registry on the first run.
set -u
. "$(dirname "$0")/../lib/story.sh"
packages conformance node
proxy=
trap 'test -z "$proxy" || kill "$proxy"; cadre down --all >/dev/null 2>&1' EXIT

serve() { # PROGRAM: starts the host of PROGRAM with a team, and a proxy that adds the operator's token
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
suite() { # WORDS...: runs the suite's tests of servers, and removes the colours from the output
	(cd "$TMPDIR" && "$place/node_modules/node/bin/node" "$place/node_modules/@modelcontextprotocol/conformance/dist/index.js" \
		server --url "$url" --timeout 60000 "$@") >"$TMPDIR/out" 2>&1
	status=$?
	sed 's/\x1b\[[0-9;]*m//g' "$TMPDIR/out" >"$TMPDIR/plain"
	return $status
}

real=$CADRE
serve "$(dirname "$real")/conformance"
requirements() { # REVISION SCENARIOS
	suite --requirements "$1" -o "$TMPDIR/o" || bad "requirements of $1: $(grep -v '^✓' "$TMPDIR/plain" | tail -40)"
	# Scenarios that are listed as not scored are not required by the tested revision of the
	# protocol.
	passed=$(sed -n '/=== SUMMARY/,/^Not scored/p' "$TMPDIR/plain" | grep -c '^[✓✗]')
	unscored=$(sed -n '/^Not scored/,$p' "$TMPDIR/plain" | grep -c '^  [✓✗]')
	test $((passed - unscored)) = "$2" || bad "$((passed - unscored)) scenarios of $1 ran, not $2"
	echo "requirements $1: $(grep '^Total' "$TMPDIR/plain"), $((passed - unscored)) scenarios"
}
! in_turn 0 2 || requirements 2026-07-28 37
! in_turn 1 2 || requirements 2025-11-25 30
end
serve "$real"
n=0
scenarios() { # REVISION NAME...
	revision=$1
	shift
	for one; do
		n=$((n + 1))
		in_turn $((n % 6)) 6 || continue
		suite --scenario "$one" --spec-version "$revision" || bad "$one, $revision: $(tail -30 "$TMPDIR/plain")"
	done
}
scenarios 2025-11-25 server-initialize server-session-lifecycle ping logging-set-level tools-list resources-list \
	prompts-list server-sse-multiple-streams dns-rebinding-protection
scenarios 2026-07-28 tools-list resources-list prompts-list server-sse-multiple-streams dns-rebinding-protection caching \
	sep-2164-resource-not-found input-required-result-unsupported-methods http-header-validation
end
exit $failed
