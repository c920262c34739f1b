#!/bin/sh
# asks - work in workspaces is not removed unasked: refused where nobody can be asked, asked
# on a terminal, with what would go; --yes and confirm=true do it.
set -u
. "$(dirname "$0")/../lib/story.sh"
trap 'cadre team destroy --yes shop >/dev/null 2>&1; cadre team destroy --yes idle >/dev/null 2>&1
	until_is "^0$" count_guests; cadre down >/dev/null 2>&1' EXIT

answers() { # WORD COMMAND...: what the command says on a terminal where WORD is typed
	word=$1
	shift
	WORD=$word python3 - "$@" <<'PY'
import os, pty, sys
pid, fd = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
said = b""
while True:
    try:
        data = os.read(fd, 4096)
    except OSError:
        break
    if not data:
        break
    said += data
    if said.endswith(b"[y/N] "):
        os.write(fd, os.environ["WORD"].encode() + b"\n")
        said += b"\n"
print(said.decode(), end="")
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
PY
}
mcp() { # ARGUMENTS: what the operator's tool `workspace` says to them
	{
		echo '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}'
		echo '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"workspace","arguments":'"$1"'}}'
	} | cadre mcp --operator --toolsets core,workspace | grep '"id":2' | tr -d '\\'
}

cd "$TMPDIR" || exit 1
mkdir golden
echo a >golden/a.txt
touch -d '2 days ago' golden/a.txt
cadre up >/dev/null || bad "up"
cadre team create idle --golden "./golden" --roles '[{"name":"i","workspace":true}]' >/dev/null || bad "team"
cadre team create shop --golden "./golden" --roles '[{"name":"w","count":2,"workspace":true}]' >/dev/null || bad "team"
until_is '^a.txt$' cadre exec --team idle idle/i ls
until_is '^a.txt$' cadre exec --team shop shop/w-1 ls
until_is '^a.txt$' cadre exec --team shop shop/w-2 ls

# Where nobody worked nothing is asked.
is 0 'team idle is destroyed; what 1 workspace held is kept until 20..-..-..: cadre undo' cadre team destroy idle

# Where somebody did, it is said how many, and which.
cadre exec --team shop shop/w-1 'echo precious >work.txt' >/dev/null
is 4 '2 workspaces would go, 1 with work that was done there: shop/w-1' cadre team destroy shop
is 4 'Do it with --yes.*days: cadre undo' cadre team destroy shop
is 0 precious cadre exec --team shop shop/w-1 'cat work.txt'
is 4 '1 workspace would go, 1 with work' cadre workspace destroy shop/w-1
is 0 '^a.txt$' cadre exec --team shop shop/w-2 ls

# Over MCP it is a conflict, and the tool is said to destroy.
mcp '{"action":"destroy","workspace":"shop/w-1"}' >said
grep -q '"code":"conflict","where":"/confirm"' said || bad "over MCP: $(cat said)"
grep -q 'Do it with confirm=true.*by the operator' said || bad "the hint over MCP: $(cat said)"

# On a terminal it is asked; anything but yes leaves all as it was.
answers n cadre team destroy shop >said && bad "no was taken for yes"
grep -q '1 with work that was done there: shop/w-1' said || bad "on a terminal: $(cat said)"
is 0 precious cadre exec --team shop shop/w-1 'cat work.txt'
mcp '{"action":"destroy","workspace":"shop/w-1","confirm":true}' >said
grep -q '"isError"' said && bad "confirmed over MCP: $(cat said)"
grep -q '"note":"what 1 workspace held is kept until .*: cadre undo"' said || bad "kept, over MCP: $(cat said)"
cadre exec --team shop shop/w-2 'rm a.txt; echo more >b.txt' >/dev/null
answers y cadre team destroy shop >said || bad "yes: $(cat said)"
grep -q 'destroyed' said || bad "yes did nothing: $(cat said)"
until_is '^2$' sh -c "ls '$CADRE_HOME/trash' | wc -l"

# A workspace that is too large for the trash is named before it goes, and when it is gone.
cadre down >/dev/null
printf '[workspace]\ntrash_mb = 1\n' >"$CADRE_HOME/cadre.toml"
cadre up >/dev/null || bad "up"
cadre team create big --golden "./golden" --roles '[{"name":"b","count":2,"workspace":true}]' >/dev/null || bad "team"
until_is '^a.txt$' cadre exec --team big big/b-1 ls
until_is '^big$' cadre exec --team big big/b-2 'head -c 2000000 /dev/urandom >big; ls big'
is 4 '2 workspaces would go, 1 with .*: big/b-2; too large to keep: big/b-2' cadre team destroy big
answers n cadre workspace destroy big/b-2 >said && bad "no was taken for yes"
grep -q 'Nothing of it can be brought back' said || bad "asked: $(cat said)"

# A team is asked for without a host as well, and what becomes of its guests is told.
cadre down >/dev/null
is 4 '2 workspaces would go, 1 with' cadre team destroy big
is 0 'held is kept until .*; too large to keep: big/b-2; no host runs: guests go on until the next' cadre team destroy --yes big
cadre up >/dev/null || bad "up"
until_is '^0$' sh -c "ls '$CADRE_HOME/workspaces' | grep -c big-b"

# The notes of a team are purged only where that is confirmed; without, they are archived.
cadre team create notes --roles n >/dev/null || bad "team"
cadre vault write teams/notes/mine.md "my words" >/dev/null || bad "write"
is 4 '[1-9][0-9]* notes of the vault.s folder teams/notes would be removed for good' cadre team destroy notes --purge
answers n cadre team destroy notes --purge >said && bad "no was taken for yes"
is 0 'my words' cadre vault read teams/notes/mine.md
is 0 'team notes is destroyed$' cadre team destroy notes --purge --yes
until_is '^1$' sh -c "[ -e '$CADRE_HOME/vault/teams/notes' ] || echo 1"

# On a terminal the inbox of somebody else is not emptied by a look.
cadre team create mail --roles ann,bob >/dev/null || bad "team"
cadre --team mail --as ann send bob "for you" >/dev/null

# The question about names says them as they are to be written.
is 2 'For both: cadre send ann,bob …; for ann alone: cadre send ann -- bob' cadre --team mail send ann, bob hi

# A title is never left out of a table, and who asks for some is not told of all.
cadre --team mail task create "$(printf '\\"%.0s' $(seq 90))" >/dev/null || bad "task"
answers y sh -c "stty cols 80; '$CADRE' --team mail task list" >said
grep -q 'TITLE' said || bad "no title: $(cat said)"
is 0 '^no tasks$' cadre --team mail task list --status completed
answers n cadre --team mail --as bob inbox >said && bad "the mail of bob was taken"
grep -q 'takes the mail of bob' said || bad "inbox says: $(cat said)"
answers n cadre --team mail --as bob inbox peek | grep -q 'for you' || bad "peek shows nothing"
answers n cadre --team mail --as bob inbox --take | grep -q 'for you' || bad "--take takes nothing"
exit $failed
