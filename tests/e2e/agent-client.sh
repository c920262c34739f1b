#!/bin/sh
# agent-client - `cadre agent run` gives a client cadre's MCP server and hooks, though the
# agent's worktree has no file of `cadre setup`. The clients here are scripts that note their
# words and variables; `make clients` does the same with real clients.
set -u
. "$(dirname "$0")/../lib/story.sh"
trap 'cadre down --all >/dev/null 2>&1' EXIT
export HOME="$TMPDIR/home"
unset XDG_CONFIG_HOME XDG_STATE_HOME CODEX_HOME CLAUDE_CONFIG_DIR OPENCODE_CONFIG_CONTENT GEMINI_CLI_SYSTEM_DEFAULTS_PATH
mkdir -p "$HOME" "$TMPDIR/bin" "$TMPDIR/shop" && cd "$TMPDIR/shop" || exit 1
git init -q . && git config user.email a@b && git config user.name a && git commit -q --allow-empty -m one
cadre team create crew --roles lead,ann >/dev/null || bad "team"
ln -s "$CADRE" "$TMPDIR/bin/cadre"
for client in claude codex gemini opencode; do
	cat >"$TMPDIR/bin/$client" <<'END'
#!/usr/bin/python3
import json, os, sys
print("began")
json.dump({"words": sys.argv[1:], "env": dict(os.environ)}, open(os.environ["SEEN"], "w"))
END
done
chmod +x "$TMPDIR"/bin/*
export PATH="$TMPDIR/bin:$PATH" SEEN="$TMPDIR/seen"

# check CODE: checks the words and variables that the last client got.
check() {
	/usr/bin/python3 - "$SEEN" "$CADRE_HOME" <<END 2>"$TMPDIR/why" || bad "the client got $(cat "$SEEN"): $(tail -2 "$TMPDIR/why")"
import json, sys, tomllib
seen = json.load(open(sys.argv[1]))
words, env, home = seen["words"], seen["env"], sys.argv[2]
def hooks(found, client, events):
    assert sorted(found) == sorted(events), found
    for items in found.values():
        assert items[0]["hooks"][0]["command"] == "cadre hook " + client, items
CLAUDE = ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop"]
$1
END
}

either=yes is 0 'ann works in' cadre agent run ann --worktree -- claude -p 'a word'
check '
mcp, settings = words[0].split("=", 1), words[1].split("=", 1)
assert [mcp[0], settings[0], *words[2:]] == ["--mcp-config", "--settings", "-p", "a word"], words
assert json.loads(mcp[1]) == {"mcpServers": {"cadre": {"command": "cadre", "args": ["mcp"]}}}, mcp
hooks(json.loads(settings[1])["hooks"], "claude", CLAUDE)
assert env["CADRE_AGENT"] == "ann"'

is 0 '^began$' cadre agent run ann --worktree -- "$TMPDIR/bin/codex" exec Begin
check '
assert words[-2:] == ["exec", "Begin"] and words[:-2:2] == ["-c"] * (len(words) // 2 - 1), words
got = tomllib.loads("\n".join(words[1:-2:2]))
server = got["mcp_servers"]["cadre"]
assert server["command"] == "cadre" and server["args"] == ["mcp"] and "CADRE_TOKEN" in server["env_vars"], server
hooks(got["hooks"], "codex", CLAUDE)'

# Codex would run a hook of a file and a hook of its options, so only one of them is there.
mkdir -p "$HOME/.codex" && (cd "$TMPDIR" && is 0 . cadre setup codex --user; exit $failed) || failed=1
is 0 '^began$' cadre agent run ann --worktree -- codex exec Begin
check 'assert not any("hooks" in word for word in words), words'
rm -r "$HOME/.codex"

# The machine's defaults for Gemini CLI stay. No token is in the file.
printf '{ // ours\n"theme": "x", "mcpServers": {"other": {"command": "o"}}}\n' >"$TMPDIR/defaults.json"
is 0 '^began$' env GEMINI_CLI_SYSTEM_DEFAULTS_PATH="$TMPDIR/defaults.json" "$CADRE" agent run ann --worktree -- gemini -p Begin
check '
assert words == ["-p", "Begin"], words
path = env["GEMINI_CLI_SYSTEM_DEFAULTS_PATH"]
assert path == home + "/clients/crew.ann.json", path
got = json.load(open(path))
assert got["theme"] == "x" and got["mcpServers"]["other"] == {"command": "o"}, got
assert got["mcpServers"]["cadre"]["env"]["CADRE_TOKEN"] == "$CADRE_TOKEN", got
hooks(got["hooks"], "gemini", ["SessionStart", "BeforeAgent", "BeforeTool", "AfterTool", "AfterAgent"])
assert env["CADRE_TOKEN"] not in open(path).read()'
echo '{"hooks": 1' >"$TMPDIR/defaults.json"
is 2 "defaults.json:2" env GEMINI_CLI_SYSTEM_DEFAULTS_PATH="$TMPDIR/defaults.json" "$CADRE" agent run ann --worktree -- gemini -p Begin

is 0 '^began$' env OPENCODE_CONFIG_CONTENT='{"plugin": ["mine"], "model": "m"}' "$CADRE" agent run ann --worktree -- opencode run Begin
check '
got = json.loads(env["OPENCODE_CONFIG_CONTENT"])
assert got["model"] == "m" and got["mcp"]["cadre"]["command"] == ["cadre", "mcp"], got
assert got["plugin"] == ["mine", "file://" + home + "/clients/crew.ann.js"], got
assert "hook" in open(home + "/clients/crew.ann.js").read()'
is 2 'OPENCODE_CONFIG_CONTENT' env OPENCODE_CONFIG_CONTENT='{' "$CADRE" agent run ann --worktree -- opencode run Begin

# Nothing was written into the worktree, and a program of another name gets nothing.
[ -z "$(git -C "$CADRE_HOME/worktrees/crew.ann" status --porcelain)" ] || bad "the worktree has new files"
is 0 '^cadre-agent-test$' cadre agent run ann --worktree -- echo cadre-agent-test

# A person's own entry for cadre in the defaults stays, and gets no token. A relative path that
# leads to no file is no fault.
printf '{"mcpServers": {"cadre": {"command": "cadre", "args": ["mcp", "--operator"]}}}\n' >"$TMPDIR/defaults.json"
is 0 '^began$' env GEMINI_CLI_SYSTEM_DEFAULTS_PATH="$TMPDIR/defaults.json" "$CADRE" agent run ann --worktree -- gemini
check '
got = json.load(open(env["GEMINI_CLI_SYSTEM_DEFAULTS_PATH"]))
assert "env" not in got["mcpServers"]["cadre"], got'
is 0 '^began$' env GEMINI_CLI_SYSTEM_DEFAULTS_PATH=nowhere.json "$CADRE" agent run ann --worktree -- gemini

# A path with signs that have a meaning in a URL. A plugin that is in the list stays there once.
mkdir "$TMPDIR/a#b c" && (cd "$TMPDIR/a#b c" && export CADRE_HOME="$TMPDIR/a#b c/s" && git init -q . && git commit -q --allow-empty -m one &&
	cadre init >/dev/null 2>&1; cadre team create crew >/dev/null 2>&1
	is 0 '^began$' cadre agent run ann -- opencode
	check 'assert json.loads(env["OPENCODE_CONFIG_CONTENT"])["plugin"][0].endswith("/a%23b%20c/s/clients/crew.ann.js"), env'
	is 0 '^began$' env OPENCODE_CONFIG_CONTENT="$(/usr/bin/python3 -c 'import json, os; print(json.load(open(os.environ["SEEN"]))["env"]["OPENCODE_CONFIG_CONTENT"])')" "$CADRE" agent run ann -- opencode
	check 'assert len(json.loads(env["OPENCODE_CONFIG_CONTENT"])["plugin"]) == 1, env'
	exit $failed) || failed=1

# A client that takes neither options nor variables is named.
ln -s gemini "$TMPDIR/bin/cursor-agent"
either=yes is 0 '^note: Cursor gets .* only from its files; make the files with `cadre setup cursor`' cadre agent run ann --worktree -- cursor-agent
# Setup's own notes are not needed.
is 0 '^began$' env XDG_STATE_HOME=/dev/null "$CADRE" agent run ann --worktree -- gemini
check 'assert env["GEMINI_CLI_SYSTEM_DEFAULTS_PATH"]'
exit $failed
