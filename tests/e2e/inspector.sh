#!/bin/sh
# inspector - the official MCP inspector lists cadre's tools, resources and prompts, and calls a
# tool, over stdio and HTTP. The test needs node, and for its first run the npm registry.
set -u
. "$(dirname "$0")/../lib/story.sh"
trap 'cadre down >/dev/null 2>&1' EXIT
packages inspector @modelcontextprotocol/inspector --ignore-scripts
inspect() {
	timeout $((60 * TEST_SCALE)) "$place/node_modules/.bin/mcp-inspector" --cli "$@"
}
cadre up >/dev/null || bad "up"
is 0 . cadre team create shop --roles coder,tester
agent=$(cadre token create --agent shop/coder)
url=$(cat "$CADRE_HOME/endpoint")/mcp

stdio() {
	inspect "$CADRE" mcp -e "CADRE_HOME=$CADRE_HOME" -e "XDG_RUNTIME_DIR=$XDG_RUNTIME_DIR" \
		-e CADRE_TEAM=shop -e CADRE_AGENT=coder -e "CADRE_TOKEN=$own" "$@"
}
http() {
	inspect "$url" --transport http --header "Authorization: Bearer $agent" "$@"
}
own=$(cadre agent env coder --team shop --json | sed -n 's/.*"token":"\([0-9a-f]*\)".*/\1/p')
n=0
for way in stdio http; do
	in_turn $n 2 && ways="${ways-} $way"
	n=$((n + 1))
done
for way in $ways; do
	is 0 '"name": "team_message"' "$way" --method tools/list
	is 0 'seq' "$way" --method tools/call --tool-name team_message --tool-arg to=tester --tool-arg "content=by $way"
	is 0 'cadre://board/shop' "$way" --method resources/list
	is 0 'cadre://board/shop' "$way" --method resources/read --uri cadre://board/shop
	is 0 '"name":' "$way" --method prompts/list
done
for way in $ways; do
	is 0 "by $way" cadre --as tester --team shop inbox --peek
done
exit $failed
