#!/bin/sh
# setup-killed - no text in a person's files is lost if several setups run at once, or if setups
# are killed. `setup --remove` restores the person's files byte for byte, and leaves no file of
# cadre.
set -u
stateless=yes
. "$(dirname "$0")/../lib/story.sh"
export HOME="$TMPDIR/home"
unset XDG_CONFIG_HOME XDG_STATE_HOME CODEX_HOME CLAUDE_CONFIG_DIR
mkdir -p "$HOME" "$TMPDIR/one/.codex" "$TMPDIR/two"
git init -q "$TMPDIR/two"
cd "$TMPDIR/one" || exit 1
git init -q .
printf '{"mcpServers": {}, // mine\n}' >.mcp.json
chmod 640 .mcp.json
printf 'model = "m"' >.codex/config.toml
printf '# Rules\r\n' >AGENTS.md
ln -s AGENTS.md CLAUDE.md
state() { # prints names, modes and bytes in both projects and the home
	(cd "$TMPDIR" && find one two home ! -path '*/.git/*' ! -path 'home/.local*' -printf '%M %u %p %l\n' | sort
	find one two ! -path '*/.git/*' -type f -exec cksum {} + | sort
	find home -type f)
}
state >"$TMPDIR/before"
unchanged() { state | diff "$TMPDIR/before" - || bad "$*"; }

# --- eight setups at once, in two projects of one user ------------------------------------

for round in 1 2 3; do
	for who in one.claude one.codex one.gemini one.cursor one.opencode two.vscode two.claude two.all; do
		(cd "$TMPDIR/${who%.*}" && cadre setup "${who#*.}" >"$TMPDIR/$who.out" 2>&1 || touch "$TMPDIR/$who.bad") &
	done
	wait
	for file in "$TMPDIR"/*.bad; do
		[ ! -e "$file" ] || bad "setup $file: $(cat "${file%.bad}.out")"
		rm -f "$file"
	done
	for client in claude codex gemini cursor opencode; do
		is 0 "ok *$client" cadre setup --check "$client"
	done
	(cd ../two && is 0 . cadre setup all --check; exit $failed) || failed=1
	is 0 . cadre setup --remove
	(cd ../two && is 0 . cadre setup --remove; exit $failed) || failed=1
	unchanged "round $round of setups at once"
done

# --- setups that are killed at any moment -----------------------------------------------------

/usr/bin/python3 - "$CADRE" <<'END' || bad "too few setups were killed"
import random, subprocess, sys, time
def run(words, after):
    p = subprocess.Popen([sys.argv[1], "setup"] + words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        return p.wait(after)
    except subprocess.TimeoutExpired:
        p.kill()
        return p.wait()
took = []
for i in range(3):
    began = time.monotonic()
    assert run(["all"], None) == 0
    took.append(time.monotonic() - began)
    run(["--remove"], None)
killed = 0
for i in range(300):
    killed += run(["--remove"] if i % 4 == 3 else ["all"], random.uniform(0, min(took))) == -9
    if killed == 30:
        sys.exit(0)
sys.exit(1)
END
is 0 . cadre setup claude
[ -z "$(find . "$HOME" -name '*.cadre-*')" ] || bad "left beside a file: $(find . "$HOME" -name '*.cadre-*')"
is 0 . cadre setup all
is 0 . cadre setup --remove
unchanged "after setups that were killed"

# A run of `setup --remove` may be killed after it removes a file and before it removes the
# file's folder. The next run of `setup --remove` removes the folder.
is 0 . cadre setup all
rm -rf .gemini/* .vscode
is 0 . cadre setup --remove
unchanged "after files of ours were lost"

# --- files of others beside AGENTS.md are not removed -----------------------------------------

echo mine >AGENTS.md.cadre-notes
mkdir AGENTS.md.cadre-0123456789abcdef
ln -s AGENTS.md AGENTS.md.cadre-1123456789abcdef
echo live >AGENTS.md.cadre-2123456789abcdef
echo dead >AGENTS.md.cadre-3123456789abcdef
exec 8<AGENTS.md.cadre-2123456789abcdef
flock -n 8 || bad "no lock"
is 0 . cadre setup all --dry-run
[ -e AGENTS.md.cadre-3123456789abcdef ] || bad "a dry run removed a file"
is 0 . cadre setup codex
[ "$(echo AGENTS.md.cadre-*)" = "AGENTS.md.cadre-0123456789abcdef AGENTS.md.cadre-1123456789abcdef AGENTS.md.cadre-2123456789abcdef AGENTS.md.cadre-notes" ] ||
	bad "beside AGENTS.md: $(echo AGENTS.md.cadre-*)"
exec 8<&-
rm -r AGENTS.md.cadre-[01n]*
is 0 . cadre setup --remove
unchanged "with files of others beside"
exit $failed
