#!/bin/sh
# setup-drift - `setup --check` and `doctor` report each difference from the files that setup
# wrote, and name the file and a remedy. A difference is, for example, a broken file, or a
# client's instructions without the client's other entries. An entry that runs another program
# or acts as the operator is also a difference.
set -u
. "$(dirname "$0")/../lib/story.sh"
export HOME="$TMPDIR/home"
unset XDG_CONFIG_HOME XDG_STATE_HOME CODEX_HOME CLAUDE_CONFIG_DIR
mkdir -p "$HOME" "$TMPDIR/project" "$TMPDIR/old" "$TMPDIR/new"
cp "$CADRE" "$TMPDIR/old/cadre"
CADRE=$TMPDIR/new/cadre
cp "$TMPDIR/old/cadre" "$CADRE"
cd "$TMPDIR/project" || exit 1
git init -q .

# drifts CLIENT PATTERN...: `setup --check` and `doctor` report the client CLIENT, in lines that
# match all patterns.
drifts() {
	client=$1
	shift
	either=yes is 1 "^bad *$client " cadre setup --check
	for pattern; do
		grep -q -e "$pattern" "$TMPDIR/out" "$TMPDIR/err" || bad "$client: no '$pattern'"
	done
	is 0 "^warn *$client " cadre doctor
	for pattern; do
		grep -q -e "$pattern" "$TMPDIR/out" || bad "doctor, $client: no '$pattern'"
	done
}
bads() { # NUMBER: `setup --check` reports this number of clients
	n=$(cadre setup --check 2>&1 | grep -c '^bad')
	[ "$n" = "$1" ] || bad "$n clients drift, not $1: $(cadre setup --check 2>&1)"
}
anew() {
	rm -rf .mcp.json .claude .codex .gemini .cursor .opencode opencode.json .vscode ./*.md
	is 0 'no client is set up in' cadre setup --check
}

# --- only the instructions are left -----------------------------------------------------------

for client in claude gemini; do
	is 0 . cadre setup $client
	rm -rf .mcp.json .claude .gemini
	drifts $client 'the MCP server: 1 of 1 missing (' 'instructions of this client or another are still there (' \
		"cadre setup $client --project; or remove it: cadre setup --remove --project"
	bads 1
	is 0 'changed 1 file' cadre setup --remove
	anew
done
# Instructions that several clients read are reported once, for the first of these clients.
for client in codex cursor opencode vscode; do
	is 0 . cadre setup $client
	is 0 "ok *$client" cadre setup $client --check
	bads 0
	rm -rf .codex .cursor .opencode opencode.json .vscode
	drifts codex 'instructions of this client or another are still there (AGENTS.md)'
	bads 1
	anew
done
is 0 . cadre setup codex --user
rm "$HOME"/.codex/*.toml "$HOME"/.codex/*.json
either=yes is 1 'or remove it: cadre setup --remove --user' cadre setup --check --user
is 0 '^warn *codex' cadre doctor
is 0 . cadre setup --remove --user
# If a person's own entry for cadre is beside the instructions, `setup --check` reports no
# drift.
mkdir .vscode
printf '{"servers": {"cadre": {"command": "%s", "args": ["mcp"], "env": {}}}}\n' "$CADRE" >.vscode/mcp.json
is 0 'kept: the entry cadre in ' cadre setup vscode
bads 0
anew

# --- a broken file -----------------------------------------------------------------------------

for place in claude:.mcp.json claude:.claude/settings.json codex:.codex/config.toml codex:.codex/hooks.json \
	gemini:.gemini/settings.json cursor:.cursor/mcp.json opencode:opencode.json vscode:.vscode/mcp.json; do
	client=${place%%:*} path=${place#*:}
	is 0 . cadre setup "$client"
	head -c -4 "$path" >cut
	cp cut "$path"
	drifts "$client" "$path:[0-9]*:[0-9]*: " "mend $path, then cadre setup $client --project"
	bads 1
	anew
done
rm -f cut
# All files of a client exist, but contain no text of cadre.
is 0 . cadre setup claude
echo '{' >.mcp.json
echo '{' >.claude/settings.json
drifts claude '\.mcp\.json:2:1: ' 'mend .mcp.json, .claude/settings.json, then cadre setup claude --project'
anew
is 0 . cadre setup vscode codex
echo '{' >.vscode/mcp.json
is 0 'ok *codex' cadre setup codex --check
either=yes is 1 '\.vscode/mcp\.json:2:1: ' cadre setup vscode --check
anew
is 0 . cadre setup codex
sed -i '/cadre setup: end/d' AGENTS.md
drifts codex 'AGENTS.md:1:1: the block of cadre that begins here has no end' 'mend AGENTS.md, then'
bads 1
anew
# The files in a cloned repository may contain very many blocks or hooks of cadre. A check of
# very many blocks or hooks does not take minutes.
is 0 . cadre setup codex gemini
/usr/bin/python3 - <<'END'
import json
with open("AGENTS.md", "w") as f:
    f.write("<!-- cadre setup: begin -->\n<!-- cadre setup: end -->\n" * 20000)
with open(".gemini/settings.json") as f:
    settings = json.load(f)
settings["hooks"]["AfterAgent"] *= 20000
with open(".gemini/settings.json", "w") as f:
    json.dump({"hooks": settings["hooks"]}, f)
END
cp .gemini/settings.json many.json
cp AGENTS.md many.md
is 0 '^warn *codex .*AGENTS.md:17:1: more than 8 blocks of cadre are here' timeout $((30 * TEST_SCALE)) "$CADRE" doctor
either=yes is 1 'skipped: AGENTS.md:17:1: more than 8 blocks' timeout $((30 * TEST_SCALE)) "$CADRE" setup --remove
grep -q 'skipped: .gemini/settings.json:1:[0-9]*: more than 32 hooks of cadre are here; parts' "$TMPDIR/out" "$TMPDIR/err" || bad "hooks"
cmp AGENTS.md many.md && cmp .gemini/settings.json many.json || bad "a file that was passed over is another"
[ ! -e .codex ] || bad "what could be taken away is there"
is 2 'more than 32 hooks' cadre setup --remove gemini
rm many.md many.json
anew
# `setup --check` does not report a broken file of a client that has no entries of cadre.
mkdir .cursor
echo '{' >.cursor/mcp.json
bads 0
anew

# --- another program, and the operator ------------------------------------------------------------

is 0 . "$TMPDIR/old/cadre" setup claude codex vscode
drifts claude "the MCP server: $TMPDIR/old/cadre is another program than this (.mcp.json)" \
	"hooks: $TMPDIR/old/cadre is another program than this (.claude/settings.json)"
drifts codex "$TMPDIR/old/cadre is another program than this (.codex/config.toml)"
drifts vscode "$TMPDIR/old/cadre is another program than this (.vscode/mcp.json)" \
	'-> cadre setup vscode --project'
# If entries and hooks run another copy of cadre, `setup` makes them run this copy. `setup
# --remove` also removes entries and hooks that run another copy.
is 0 'changed 5 files' cadre setup claude codex vscode
grep -rq "$TMPDIR/old" .mcp.json .claude .codex .vscode && bad "the former program is there: $(grep -r "$TMPDIR/old" . | head)"
bads 0
is 0 . "$TMPDIR/old/cadre" setup claude codex vscode
is 0 . cadre setup --remove
[ -z "$(ls -A | grep -vx .git)" ] || bad "left of another program's: $(ls -A)"
# `setup` does not change a person's own entry that runs another copy of cadre, and says so.
printf '{"mcpServers": {"cadre": {"command": "%s", "args": ["mcp"], "env": {}}}}\n' "$TMPDIR/old/cadre" >.mcp.json
cp .mcp.json kept
for words in 'setup claude' 'setup --remove'; do
	is 0 "kept: the entry cadre in .mcp.json, which differs from the entry of setup; it runs $TMPDIR/old/cadre, another program than this$" cadre $words
	cmp .mcp.json kept || bad "$words: $(cat .mcp.json)"
done
mkdir .claude
printf '{"hooks": {"Stop": [{"command": "./bin/cadre hook claude"}]}}\n' >.claude/settings.json
sed -i 's,"command": "[^"]*","command": "/gone/cadre",' .mcp.json
is 0 'entry cadre in .mcp.json, which differs from the entry of setup; there is no /gone/cadre any more$' cadre setup --remove
grep -q '1 of the hooks in .claude/settings.json, which differ from the hooks of setup' "$TMPDIR/out" || bad "a hook: $(cat "$TMPDIR/out")"
rm kept
anew
is 0 . cadre setup claude codex vscode
# A hard link to the same program does not count as another program.
ln "$CADRE" "$TMPDIR/new/link" && mkdir "$TMPDIR/link" && mv "$TMPDIR/new/link" "$TMPDIR/link/cadre"
sed -i "s,$TMPDIR/new,$TMPDIR/link," .mcp.json .claude/settings.json
bads 0
anew
is 0 . cadre setup all
sed -i 's/"mcp"\([^:]\|$\)/"mcp", "--operator"\1/' .mcp.json .codex/config.toml opencode.json
for place in claude:.mcp.json codex:.codex/config.toml opencode:opencode.json; do
	client=${place%%:*} path=${place#*:}
	drifts "$client" "the MCP server: --operator makes it act as the operator ($path)" "mend $path, then cadre setup $client"
done
bads 3
anew

# --- a file switches cadre off ----------------------------------------------------------------

# off CLIENT FILE PLACE CONTENT PATTERN: the file FILE with CONTENT switches a part of cadre off
# for CLIENT. `setup`, `setup --check` and `doctor` report the part that is switched off, and do
# not change FILE.
off() {
	mkdir -p "$(dirname "$2")" && printf '%s' "$4" >"$2"
	cp "$2" "$TMPDIR/before"
	is 0 . cadre setup "$1"
	grep -q "^note: .*$5" "$TMPDIR/out" || bad "setup $1 says nothing of $2: $(cat "$TMPDIR/out")"
	drifts "$1" "$(basename "$2"):$3: $5" "-> mend .*$(basename "$2")"
	is 0 . cadre setup --remove
	cmp "$2" "$TMPDIR/before" || bad "$2 is another than before"
	rm "$2"
	anew
}
server='switches the MCP server off' hooks='switches the hooks off'
off claude .claude/settings.local.json 1:29 '{"disabledMcpjsonServers": ["cadre"]}' "disabledMcpjsonServers $server"
off claude "$HOME/.claude/settings.json" 1:37 '{"x": 1, "disabledMcpjsonServers": ["cadre"]}' "disabledMcpjsonServers $server"
off claude .claude/settings.json 2:2 "$(printf '{\n "disableAllHooks": true // mine\n}')" "disableAllHooks $hooks"
off claude .claude/settings.json 1:32 '{"permissions": {"deny": ["x", "mcp__cadre"]}}' "permissions.deny $server"
off codex .codex/config.toml 2:1 "$(printf '[features]\nhooks = false')" "features.hooks $hooks"
off gemini .gemini/settings.json 1:23 '{"mcp": {"excluded": ["cadre"]}}' "mcp.excluded $server"
off gemini "$HOME/.gemini/settings.json" 1:10 '{"mcp": {"allowed": ["other"]}}' "mcp.allowed $server"
off opencode opencode.json 1:12 '{"tools": {"cadre*": false}}' "tools.cadre\* $server"
# `setup --check` does not report that a file switches another MCP server off.
mkdir .claude && printf '{"disabledMcpjsonServers": ["other"], "disableAllHooks": false}' >.claude/settings.local.json
is 0 . cadre setup claude
bads 0
anew
exit $failed
