#!/bin/sh
# setup-refused - `setup` refuses a read-only file before it writes any file. `setup` also
# refuses to run if the current directory is gone, or if the program's path is not UTF-8. A file
# that `setup` replaces keeps its group.
set -u
stateless=yes
. "$(dirname "$0")/../lib/story.sh"
export HOME="$TMPDIR/home"
unset XDG_CONFIG_HOME XDG_STATE_HOME CODEX_HOME CLAUDE_CONFIG_DIR
mkdir -p "$HOME" "$TMPDIR/project"
cd "$TMPDIR/project" || exit 1
git init -q .
state() { find . -path ./.git -prune -o -printf '%M %n %p\n' -type f -exec cksum {} + | sort; }
before() { state >"$TMPDIR/before"; }
unchanged() { state | diff "$TMPDIR/before" - || bad "$*"; }

# --- the current directory is gone, or the program's path is odd ------------------------------

mkdir "$TMPDIR/gone"
(
	cd "$TMPDIR/gone" && rmdir "$TMPDIR/gone" || exit 1
	for words in 'claude --project' claude '--remove --project' '--check --project'; do
		is 3 'the current directory is gone' cadre setup $words
	done
	[ -z "$(find "$HOME" -type f)" ] || bad "files of the user: $(find "$HOME" -type f)"
	is 0 'changed 3 files in your own files' cadre setup claude --user
	is 3 'the current directory is gone' cadre setup --remove --project
	is 0 '^ok *claude' cadre setup claude --user --check
	is 0 . cadre setup --remove --user
	exit $failed
) || failed=1
odd=$TMPDIR/$(printf 'odd\377')
mkdir "$odd" && cp "$CADRE" "$odd/cadre"
before
for words in claude 'codex --dry-run' opencode; do
	is 2 'the path of this program is not UTF-8' "$odd/cadre" setup $words
	unchanged "a program of an odd path: $words"
done
(PATH=$odd:$PATH && is 0 '"command": "cadre"' "$odd/cadre" setup claude --dry-run --diff; exit $failed) || failed=1
rm -r "$odd"
# A folder with the name of a client or of cadre does not count as a program.
mkdir -p "$TMPDIR/folders/cursor" "$TMPDIR/folders/cadre"
is 3 'none of the clients is installed' env PATH="$TMPDIR/folders" HOME="$TMPDIR" "$CADRE" setup --detect
printf '{"mcpServers": {"cadre": {"command": "cadre", "args": ["mcp"]}}}' >.mcp.json
either=yes is 1 'the MCP server: there is no cadre any more' env PATH="$TMPDIR/folders" "$CADRE" setup claude --check
rm .mcp.json

# --- refused before the first write ------------------------------------------------------------

# `setup` writes CLAUDE.md after the client's other files. `setup` refuses a read-only CLAUDE.md
# before it writes the other files.
printf '# Rules\n' >CLAUDE.md
chmod 444 CLAUDE.md
before
for words in '' --dry-run; do
	is 5 'CLAUDE.md is read-only' cadre setup claude $words
	unchanged "read-only: $words"
done
chmod 644 CLAUDE.md
# A file that `setup` need not change may have any mode.
is 0 . cadre setup claude
chmod 444 .mcp.json CLAUDE.md
is 0 'nothing to do' cadre setup claude

# --- removal ----------------------------------------------------------------------------------

before
is 5 '.mcp.json is read-only' cadre setup claude --remove
unchanged "a client that is named"
either=yes is 1 'skipped: .mcp.json is read-only; parts of cadre may still be in the file' cadre setup --remove --dry-run
unchanged "a dry run"
either=yes is 1 "\"may_be_left\":\[\"$(realpath .)/.mcp.json\",\"$(realpath .)/CLAUDE.md\"\]" cadre setup --remove --dry-run --json
either=yes is 1 'skipped: CLAUDE.md is read-only; parts of cadre may still be in the file' cadre setup --remove
[ ! -e .claude ] || bad "the hooks are there, which could be taken away"
chmod 644 .mcp.json CLAUDE.md
is 0 'changed 2 files' cadre setup --remove
[ "$(ls)" = CLAUDE.md ] && [ "$(cat CLAUDE.md)" = '# Rules' ] || bad "left: $(ls -A)"
is 0 '"may_be_left":\[\]' cadre setup --remove --json

# --- bytes that are not UTF-8, in JSON ------------------------------------------------------------

mkdir "$TMPDIR/$(printf 'place\377')" && cd "$TMPDIR/$(printf 'place\377')" && git init -q . || exit 1
bad_byte=$(printf '\357\277\275')
is 0 "\"path\":\"[^\"]*/place$bad_byte/\.mcp\.json\",\"act\":\"make\"" cadre setup claude --json
is 0 "\"path\":\"[^\"]*/place$bad_byte/CLAUDE\.md\",\"act\":\"remove\"" cadre setup claude --remove --json
# `setup` cuts a long path in its answer. In this test the longest allowed part of the path
# would end in the middle of a character.
long=/$(printf '%0197d' 0)
for more in '' x; do
	printf '{"mcpServers": {"cadre": {"command": "%s", "args": ["mcp"]}}}' "$long$more$(printf '\303\244')/cadre" >.mcp.json
	either=yes is 1 '^{"clients":\[{"client":"claude","ok":false,"found":"the MCP server: there is no /000' cadre setup claude --check --json
done
echo '{ cadre' >.mcp.json
either=yes is 1 "\"may_be_left\":\[\"[^\"]*/place$bad_byte/\.mcp\.json\"\]" cadre setup --remove --json
cd "$TMPDIR/project" || exit 1

# --- modes, groups and access lists -----------------------------------------------------------

# A folder with the set-group-ID bit gives its group to new files, but not to a file that
# `setup` replaces.
if [ "$(id -u)" = 0 ]; then group=1234; else group=$(id -G | tr ' ' '\n' | grep -vx "$(id -g)" | head -n 1); fi
if [ -n "$group" ]; then
	mkdir "$TMPDIR/shared" && cd "$TMPDIR/shared" && git init -q . || exit 1
	printf '# Rules\n' >CLAUDE.md
	chgrp "$group" . && chmod g+s .
	is 0 . cadre setup claude
	[ "$(stat -c %g CLAUDE.md)" = "$(id -g)" ] || bad "CLAUDE.md is of group $(stat -c %g CLAUDE.md)"
	chgrp "$group" CLAUDE.md
	is 0 . cadre setup --remove
	[ "$(stat -c %g CLAUDE.md)" = "$group" ] || bad "CLAUDE.md is of group $(stat -c %g CLAUDE.md)"
else
	echo "skipped: the user is in one group alone"
fi
# A file that `setup` replaces keeps its access list. A replaced file without an access list
# gets no list from its folder.
mkdir "$TMPDIR/listed" && cd "$TMPDIR/listed" && git init -q . || exit 1
printf '# Rules\n' >CLAUDE.md && printf '{}' >.mcp.json && chmod 640 .mcp.json
# lists [FILE]: prints the access list of FILE. Without FILE, lists() sets access lists on
# CLAUDE.md and on the folder. These lists contain user 34.
lists() {
	/usr/bin/python3 - "$@" <<-'END'
	import os, struct, sys
	def pack(*rights):
	    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", tag, may, who) for tag, may, who in rights)
	own = 0xffffffff
	if len(sys.argv) > 1:
	    print(os.getxattr(sys.argv[1], "system.posix_acl_access").hex() if "system.posix_acl_access" in os.listxattr(sys.argv[1]) else "none")
	else:
	    os.setxattr("CLAUDE.md", "system.posix_acl_access", pack((1, 6, own), (2, 4, 34), (4, 0, own), (16, 4, own), (32, 0, own)))
	    os.setxattr(".", "system.posix_acl_default", pack((1, 7, own), (2, 6, 34), (4, 0, own), (16, 7, own), (32, 0, own)))
	END
}
if lists 2>/dev/null; then
	list=$(lists CLAUDE.md)
	is 0 . cadre setup claude
	[ "$(lists CLAUDE.md)" = "$list" ] || bad "CLAUDE.md has the list $(lists CLAUDE.md), not $list"
	[ "$(stat -c %a CLAUDE.md)" = 640 ] || bad "CLAUDE.md has the mode $(stat -c %a CLAUDE.md)"
	[ "$(lists .mcp.json)" = none ] || bad ".mcp.json has the list of its folder: $(lists .mcp.json)"
	[ "$(stat -c %a .mcp.json)" = 640 ] || bad ".mcp.json has the mode $(stat -c %a .mcp.json)"
else
	echo "skipped: no access lists here"
fi
# If the program `diff` is missing, `setup --diff` says that the change is not shown.
mkdir "$TMPDIR/few" && ln -s "$(command -v git)" "$TMPDIR/few/git"
is 0 'no `diff` in PATH: the change is not shown' env PATH="$TMPDIR/few" "$CADRE" setup codex --dry-run --diff
exit $failed
