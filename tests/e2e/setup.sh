#!/bin/sh
# setup - `cadre setup` writes entries for cadre into the clients' own files. The option
# --dry-run shows the changes, and a second `setup` changes nothing. The option --check finds
# later differences, and the option --remove restores every byte. The test runs the real command
# on real files, links, modes and folders.
set -u
. "$(dirname "$0")/../lib/story.sh"
export HOME="$TMPDIR/home"
unset XDG_CONFIG_HOME XDG_STATE_HOME CODEX_HOME CLAUDE_CONFIG_DIR
P=$TMPDIR/project
mkdir -p "$HOME" "$TMPDIR/bin" "$P"
# This copy of the program is in a folder that PATH does not contain.
mkdir "$TMPDIR/opt" && cp "$CADRE" "$TMPDIR/opt/cadre"
CADRE=$TMPDIR/opt/cadre
export CADRE
cd "$P" || exit 1
git init -q .
# state_of FOLDER: prints each file and folder in FOLDER, with its mode and a checksum of its
# bytes.
state_of() {
	(cd "$1" && find . -path ./.git -prune -o -path ./.local -prune -o -print | sort | while read -r f; do
		stat -c '%A %n' "$f"
		if [ -L "$f" ]; then readlink "$f"; elif [ -f "$f" ]; then cksum <"$f"; fi
	done)
}
unchanged() { state_of "$P" | diff - "$TMPDIR/before" || bad "$*: files are others than before"; }
before() { state_of "$P" >"$TMPDIR/before"; }

# --- without a change ------------------------------------------------------------------------

is 2 'no client is named' cadre setup
is 2 'neither a known client' cadre setup emacs
is 2 'not both' cadre setup claude --user --project
is 3 'none of the clients is installed' env PATH=/nowhere "$CADRE" setup --detect
(cd "$TMPDIR" && is 2 'this directory is in no project' cadre setup claude; exit $failed) || failed=1
before
is 0 '+      "args": \["mcp"\]' cadre setup all --dry-run --diff
is 0 '^make .mcp.json$' cadre setup all --dry-run
is 0 '^would change 12 files\|^would change 13 files' cadre setup all --dry-run
is 0 'nothing to do' cadre setup --remove
is 0 'no client is set up in' cadre setup --check
is 2 'not both' cadre setup --check --remove
unchanged "a dry run"
[ -z "$(ls -A "$HOME")" ] || bad "a dry run wrote into the home: $(ls -A "$HOME")"

# --- all clients are set up twice, and removed ------------------------------------------------

mkdir .cursor
printf '{\r\n\t// mine\r\n\t"mcpServers": {\r\n\t\t"x": { "command": "x" }, // x\r\n\t},\r\n}' >.mcp.json
printf 'model = "m" # mine' >plain.toml
mkdir .codex && mv plain.toml .codex/config.toml
printf '# Rules' >AGENTS.md
ln -s AGENTS.md CLAUDE.md
chmod 640 .mcp.json
before
is 0 '^changed .mcp.json$' cadre setup all
for line in '^made .claude/settings.json$' '^note: commit these files' '^next: cadre agent run NAME --worktree -- claude$'; do
	grep -q "$line" "$TMPDIR/out" || bad "setup does not say $line: $(cat "$TMPDIR/out")"
done
[ -L CLAUDE.md ] || bad "the link was replaced"
[ "$(grep -c 'cadre setup: begin' AGENTS.md)" = 1 ] || bad "the block: $(cat AGENTS.md)"
[ "$(stat -c %a .mcp.json)" = 640 ] || bad "the mode is $(stat -c %a .mcp.json)"
[ "$(grep -c "$(printf '\r')$" .mcp.json)" = "$(($(wc -l <.mcp.json)))" ] || bad "line ends: $(cat -A .mcp.json)"
/usr/bin/python3 - .codex/config.toml "$CADRE" <<'END' || bad "TOML: $(cat .codex/config.toml)"
import os, sys, tomllib
with open(sys.argv[1], "rb") as f:
    got = tomllib.load(f)
assert got == {"model": "m", "mcp_servers": {"cadre": {"command": os.path.realpath(sys.argv[2]), "args": ["mcp"]}}}, got
END
/usr/bin/python3 - <<'END' || bad "the files of hooks"
import json
for path, events in ((".claude/settings.json", 5), (".codex/hooks.json", 5), (".gemini/settings.json", 5), (".cursor/hooks.json", 4)):
    with open(path) as f:
        got = json.load(f)
    assert len(got["hooks"]) == events, (path, got)
    client = path[1:path.index("/")]
    for items in got["hooks"].values():
        assert len(items) == 1 and (items[0].get("hooks") or items)[0]["command"].endswith(" hook " + client), items
with open(".cursor/hooks.json") as f:
    assert json.load(f)["version"] == 1
with open("opencode.json") as f:
    assert json.load(f)["mcp"]["cadre"]["command"][1:] == ["mcp"]
with open(".vscode/mcp.json") as f:
    assert json.load(f)["servers"]["cadre"]["type"] == "stdio"
END
grep -q "spawn(\"$(realpath "$CADRE")\"" .opencode/plugins/cadre.js || bad "the plugin: $(cat .opencode/plugins/cadre.js)"
state_of "$P" >"$TMPDIR/after"
is 0 '^nothing to do' cadre setup all
state_of "$P" | diff - "$TMPDIR/after" || bad "a second run changed something"
[ -z "$(find . -name '*cadre-*')" ] || bad "something is left beside a file"
is 0 'ok *claude *is set up' cadre setup --check
is 0 '"act":"remove"' cadre setup --remove --dry-run --json
# The instructions in AGENTS.md stay as long as a client that reads AGENTS.md is set up.
is 0 . cadre setup codex --remove
grep -q 'cadre setup: begin' AGENTS.md || bad "the block is gone, though Cursor reads it"
is 0 '^removed .claude/settings.json$' cadre setup --remove
unchanged "to and fro"
[ ! -e "$HOME/.local/state/cadre/setup-folders" ] || bad "folders are noted that are gone: $(cat "$HOME"/.local/state/cadre/setup-folders)"

# --- drift is reported, by doctor too, and repaired -----------------------------------

is 0 . cadre setup claude
is 0 'ok *claude *is set up in the project' cadre doctor
sed -i 's,[^"]*/cadre"\,,/gone/cadre"\,,' .mcp.json
sed -i 's/"Stop"/"SessionEnd"/' .claude/settings.json # an older version of setup wrote this hook
either=yes is 1 'there is no /gone/cadre any more (.mcp.json)' cadre setup --check
grep -q 'hooks: 1 of 5 missing (.claude/settings.json)' "$TMPDIR/out" || bad "a hook: $(cat "$TMPDIR/out")"
grep -q -e '-> cadre setup claude --project' "$TMPDIR/out" || bad "what to do: $(cat "$TMPDIR/out")"
is 0 '^warn *claude' cadre doctor
either=yes is 1 '"ok":false' cadre setup claude --check --json
either=yes is 1 'codex *is not set up' cadre setup codex --check
is 0 'changed 2 files' cadre setup claude
is 0 'ok *claude' cadre setup --check
is 0 . cadre setup --remove # removes the older hook too
unchanged "drift"

# --- a person's own entries for cadre stay, and are no drift ---------------------------------

printf '{"mcpServers": {"cadre": {"command": "%s", "args": ["mcp"], "env": {"A": "b"}}}}\n' "$CADRE" >.mcp.json
mkdir -p .claude
printf '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "env X=1 cadre hook claude"}]}]}}\n' >.claude/settings.json
before
is 0 'no client is set up in' cadre setup --check
is 0 'kept: the entry cadre in .mcp.json, which differs from the entry of setup$' cadre setup claude
grep -q 'kept: 1 of the hooks in .claude/settings.json, which differ from the hooks of setup' "$TMPDIR/out" || bad "a hook of a person's: $(cat "$TMPDIR/out")"
is 0 'ok *claude' cadre setup --check
is 0 '"notes":\["kept: the entry cadre in' cadre setup claude --json
is 0 . cadre setup --remove
unchanged "a person's own"
rm -r .mcp.json .claude

# --- the program's file may have another name ---------------------------------------------------

before
mv "$CADRE" "$CADRE-0.9"
is 0 . "$CADRE-0.9" setup all
is 0 '^nothing to do' "$CADRE-0.9" setup all
is 0 'ok *claude' "$CADRE-0.9" setup --check
is 0 . "$CADRE-0.9" setup --remove
mv "$CADRE-0.9" "$CADRE"
unchanged "a program of another name"

# --- a file that imports AGENTS.md gets no instructions ---------------------------------------

rm CLAUDE.md
printf '@AGENTS.md\n' | tee CLAUDE.md >GEMINI.md
before
is 0 . cadre setup claude gemini
is 0 . cadre setup codex
[ "$(cat CLAUDE.md GEMINI.md | grep -cv '^@AGENTS.md$')" = 0 ] || bad "what imports: $(cat CLAUDE.md GEMINI.md)"
[ "$(grep -c 'cadre setup: begin' AGENTS.md)" = 1 ] || bad "the block: $(cat AGENTS.md)"
is 0 'ok *gemini' cadre setup --check
is 0 . cadre setup --remove codex claude
grep -q 'cadre setup: begin' AGENTS.md || bad "the block is gone, though Gemini CLI reads it"
is 0 . cadre setup --remove
unchanged "an import"
rm GEMINI.md && ln -sf AGENTS.md CLAUDE.md

# --- a refused setup writes nothing --------------------------------------------------------

before
refuses() { # STATUS PATTERN COMMAND...
	is "$@"
	unchanged "$@"
}
printf '{\n  "a": 1\n  "b": 2\n}\n' >.mcp.json
before
refuses 2 '\.mcp\.json:3:3: a comma or } must follow' cadre setup claude
printf 'a = \n' >.codex/config.toml
before
refuses 2 '\.codex/config\.toml:1:5' cadre setup codex
printf '{"mcpServers": {"cadre": {"command": "other"}}}\n' >.mcp.json
before
refuses 4 'an entry named cadre is there' cadre setup claude
is 0 'nothing to do' cadre setup claude --remove
printf '{}' >.mcp.json
chmod 444 .mcp.json
before
refuses 5 'mcp.json is read-only' cadre setup claude
rm .mcp.json
ln -s "$HOME/elsewhere" .mcp.json
before
refuses 1 'mcp.json' cadre setup claude
echo '{}' >"$HOME/elsewhere"
before
refuses 5 'leads out of the project' cadre setup claude
[ "$(cat "$HOME/elsewhere")" = '{}' ] || bad "a link led out of the project"
rm .mcp.json
mkfifo .mcp.json
before
refuses 2 'is not a file' cadre setup claude
rm .mcp.json

# --- --remove skips broken files, and says so -------------------------------------------------

rm -rf .codex .cursor
mkdir .codex .gemini
printf 'a = \n' >.codex/config.toml
printf '{"x": \n' >.gemini/settings.json
before
is 0 . cadre setup claude
is 0 'skipped: .codex/config.toml:1:5' cadre setup --remove
grep -c 'skipped: .gemini/settings.json' "$TMPDIR/out" | grep -qx 1 || bad "said not once: $(cat "$TMPDIR/out")"
unchanged "beside broken files"
refuses 2 '\.codex/config\.toml:1:5' cadre setup --remove codex
printf '[mcp_servers.cadre\n' >.codex/config.toml
before
is 0 . cadre setup claude
either=yes is 1 'skipped: .codex/config.toml:1' cadre setup --remove
unchanged "a broken file that may have ours"
rm -rf .codex .gemini
rm CLAUDE.md AGENTS.md
git checkout -q . 2>/dev/null
rm -rf .codex .cursor

# --- a large file, and control characters -----------------------------------------------------

/usr/bin/python3 - <<'END'
import json
with open(".mcp.json", "w") as f:
    json.dump({"projects": {f"/home/ann/{i}": {"history": ["é" * 20, i] * 4} for i in range(20000)}}, f, indent=1)
END
before
is 0 '^+ "mcpServers": {' cadre setup claude --diff
[ "$(wc -l <"$TMPDIR/out")" -lt 140 ] || bad "the difference has $(wc -l <"$TMPDIR/out") lines"
is 0 . cadre setup claude --remove
unchanged "a file of $(wc -c <.mcp.json) bytes"
truncate -s 65M .mcp.json
is 2 'larger than 64 MiB' cadre setup claude
printf '{"a": "\033]0;hi\007"}' >.mcp.json
is 2 'control character' cadre setup claude
printf '\033]0;hi\007' >CLAUDE.md
rm .mcp.json
cadre setup claude >out
grep -q "$(printf '\033')" out && bad "a file drives the terminal"
cadre setup claude --remove >/dev/null
[ "$(od -An -c CLAUDE.md | tr -d ' ')" = '033]0;hi\a' ] || bad "CLAUDE.md: $(od -c CLAUDE.md)"
rm CLAUDE.md out

# --- in an agent's worktree no secret is written ----------------------------------------------

cadre team create red --roles '[{"name":"w"}]' >/dev/null
token=$(cadre agent env w --team red | sed -n "s/^export CADRE_TOKEN='\(.*\)'/\1/p")
[ -n "$token" ] || bad "no token"
(
	eval "$(cadre agent env w --team red)"
	cadre setup all
) >/dev/null
grep -rq "$token" "$P" "$HOME" && bad "a token was written"
grep -rqi 'token' "$P/.mcp.json" "$P/.claude" && bad "an entry speaks of a token"
cadre setup --remove >/dev/null

# --- the user's own files, for installed clients ----------------------------------------------

ln -s "$(realpath "$CADRE")" "$TMPDIR/bin/cadre"
printf '#!/bin/sh\n' >"$TMPDIR/bin/gemini"
chmod +x "$TMPDIR/bin/gemini"
mkdir -p "$HOME/dots" "$HOME/.claude" "$HOME/.config/opencode"
echo '{"numStartups": 3}' >"$HOME/dots/claude.json"
ln -s dots/claude.json "$HOME/.claude.json"
echo '{}' >"$HOME/.config/opencode/opencode.jsonc"
state_of "$HOME" >"$TMPDIR/home-before"
PATH="$TMPDIR/bin:/usr/bin:/bin"
is 0 '^changed 8 files in your own files' "$TMPDIR/bin/cadre" setup --detect --user
[ -L "$HOME/.claude.json" ] || bad "the link of the user was replaced"
grep -q '"command": "cadre"' "$HOME/dots/claude.json" || bad "the user's entry: $(cat "$HOME/dots/claude.json")"
grep -q '"cadre", "mcp"' "$HOME/.config/opencode/opencode.jsonc" || bad "opencode.jsonc: $(cat "$HOME/.config/opencode/opencode.jsonc")"
[ ! -e "$HOME/.cursor" ] && [ ! -e "$HOME/.codex" ] || bad "clients that are not there were set up"
grep -q '"command": "cadre hook gemini"' "$HOME/.gemini/settings.json" || bad "gemini: $(cat "$HOME/.gemini/settings.json")"
is 0 'ok *gemini *is set up for the user' "$TMPDIR/bin/cadre" setup --check --user
rm "$TMPDIR/bin/cadre"
either=yes is 1 'there is no cadre any more' "$CADRE" setup --check --user
is 0 . "$CADRE" setup --remove --user
state_of "$HOME" | diff - "$TMPDIR/home-before" || bad "the home is another"
# For `setup --user`, the variable CODEX_HOME may name the folder of the client's files by an
# absolute path.
is 2 'CODEX_HOME is dots, a relative path' env CODEX_HOME=dots "$CADRE" setup codex --user
is 0 . env CODEX_HOME=dots "$CADRE" setup codex --dry-run
CODEX_HOME=$HOME/c is 0 . "$CADRE" setup codex --user
[ -s "$HOME/c/config.toml" ] && [ -s "$HOME/c/AGENTS.md" ] || bad "CODEX_HOME is passed over"

# --- a person's own entry does not keep the instructions of a removed client ------------------

P=$TMPDIR/own
mkdir "$P" && cd "$P" || exit 1
git init -q .
printf '{ "mcp": { "cadre": { "type": "local", "command": ["cadre", "mcp"], "environment": { "A": "b" } } } }\n' >opencode.json
printf '# Rules\n' >AGENTS.md
before
is 0 'changed' cadre setup codex
grep -q 'cadre setup: begin' AGENTS.md || bad "no text: $(cat AGENTS.md)"
is 0 'changed' cadre setup --remove codex
unchanged "an entry of a person's own beside codex"
exit $failed
