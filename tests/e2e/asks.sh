#!/bin/sh
# asks - commands ask a question before they remove work in workspaces. If nobody can be asked,
# the command is refused. On a terminal the command asks, and lists the files that would be
# removed. --yes and confirm=true skip the question.
set -u
. "$(dirname "$0")/../lib/story.sh"
trap 'cadre team destroy --yes shop >/dev/null 2>&1; cadre team destroy --yes idle >/dev/null 2>&1
	until_is "^0$" count_guests; cadre down >/dev/null 2>&1' EXIT

answers() { # WORD COMMAND...: runs COMMAND on a terminal, and types WORD
	word=$1
	shift
	WORD=$word PYTHONPATH=$here/lib /usr/bin/python3 - "$@" <<'PY'
import os, sys
import terminal
answered = 0
def heard(said):
    global answered
    if said.count(b"[y/N] ") > answered:
        answered += 1
        return os.environ["WORD"].encode() + b"\n"
said, status = terminal.run(sys.argv[1:], 80, heard)
print(said.decode(), end="")
sys.exit(status)
PY
}
mcp() { # ARGUMENTS [TOOL]: calls the operator's tool `workspace`, or TOOL, with ARGUMENTS
	{
		echo '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}'
		echo '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"'"${2:-workspace}"'","arguments":'"$1"'}}'
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

# The command does not ask before it removes a workspace without work.
is 0 'team idle is destroyed; the files of 1 workspace are kept until 20..-..-.., or until the trash needs the room: cadre undo' cadre team destroy --yes idle

# For workspaces with work, the question names the files and their number.
cadre exec --team shop shop/w-1 'echo precious >work.txt' >/dev/null
is 4 '2 workspaces would go, 1 with work that was done there: 1 file (shop/w-1/work.txt)$' cadre team destroy shop
is 4 'Add --yes to do it[.].*cadre undo' cadre team destroy shop
is 0 precious cadre exec --team shop shop/w-1 'cat work.txt'
is 4 '1 workspace would go, 1 with work' cadre workspace destroy shop/w-1
is 0 '^a.txt$' cadre exec --team shop shop/w-2 ls

# Over MCP a call without `confirm` fails with a conflict, and the list of tools marks the tool
# as destructive.
mcp '{"action":"destroy","workspace":"shop/w-1"}' >said
grep -q '"code":"conflict","where":"/confirm"' said || bad "over MCP: $(cat said)"

# On a terminal the command asks. Every answer except yes leaves the workspaces unchanged.
answers n cadre team destroy shop >said && bad "no was taken for yes"
grep -q '1 file (shop/w-1/work.txt)' said || bad "on a terminal: $(cat said)"
is 0 precious cadre exec --team shop shop/w-1 'cat work.txt'
mcp '{"action":"destroy","workspace":"shop/w-1","confirm":true}' >said
grep -q '"isError"' said && bad "confirmed over MCP: $(cat said)"
grep -q '"note":"the files of 1 workspace are kept until .*: cadre undo"' said || bad "kept, over MCP: $(cat said)"
cadre exec --team shop shop/w-2 'rm a.txt; echo more >b.txt' >/dev/null
answers y cadre team destroy shop >said || bad "yes: $(cat said)"
grep -q 'destroyed' said || bad "yes did nothing: $(cat said)"
until_is '^3$' sh -c "ls '$CADRE_HOME/trash' | wc -l"

# `workspace restore` asks before a snapshot replaces newer work. The replaced work is kept for
# `cadre undo`.
cadre team create snap --golden "./golden" --roles '[{"name":"w","workspace":true},{"name":"f"}]' >/dev/null || bad "team"
until_is '^a.txt$' cadre exec --team snap snap/w ls
is 0 . cadre workspace snapshot snap/w s1
is 0 . cadre workspace restore snap/w s1
until_is '^precious$' cadre exec --team snap snap/w 'echo precious | tee p.txt'
is 4 'this would replace the work done in snap/w since its last snapshot: 1 file (snap/w/p.txt)$' cadre workspace restore snap/w s1
snapshot() { mcp "$1" snapshot; }
snapshot '{"action":"restore","workspace":"snap/w","snapshot":"s1"}' >said
grep -q '"code":"conflict","where":"/confirm"' said || bad "restore over MCP: $(cat said)"
answers n cadre workspace restore snap/w s1 >said && bad "no was taken for yes"
is 0 precious cadre exec --team snap snap/w 'cat p.txt'
is 0 'are kept until .*: cadre undo' cadre workspace restore --yes snap/w s1
until_is '^a.txt$' cadre exec --team snap snap/w ls
is 0 snap-w cadre undo
is 0 . cadre undo snap-w --agent f --team snap
until_is '^precious$' cadre exec --team snap snap/f 'cat p.txt'

# All files that `undo` brought back into a workspace count as work, since the files may exist
# nowhere else.
is 4 '1 with work that was done there: 2 files (.*snap/f/p.txt.*)$' cadre workspace destroy snap/f
is 0 . cadre workspace destroy snap/w

# A change counts as work even if the file's size and time stay the same. A removed file counts
# as work, too.
cadre team create sly --golden "./golden" --roles '[{"name":"w","workspace":true}]' >/dev/null || bad "team"
until_is '^a.txt$' cadre exec --team sly sly/w ls
is 0 . cadre workspace snapshot sly/w s1
cadre exec --team sly sly/w 'echo b >a.txt; touch -d "2 days ago" a.txt' >/dev/null
is 4 'only copy of what sly/w held when it was made; the workspace has changed since then: 1 file (sly/w/a.txt)$' cadre workspace forget sly/w s1
is 4 '1 with work' cadre workspace destroy sly/w
is 0 'are kept until .*: cadre undo' cadre workspace restore --yes sly/w s1
until_is '^a$' cadre exec --team sly sly/w 'cat a.txt'
cadre exec --team sly sly/w 'rm a.txt' >/dev/null
is 4 '1 with work that was done there: sly/w$' cadre workspace destroy sly/w
is 0 'are kept until .*: cadre undo' cadre workspace forget --yes sly/w s1
is 0 . cadre team destroy --yes sly
is 0 . cadre team destroy --yes snap

# The question names the first five files of all workspaces together.
cadre team create fill --golden "./golden" --roles '[{"name":"f","count":3,"workspace":true}]' >/dev/null || bad "team"
for f in 1 2 3; do
	until_is '^a.txt$' cadre exec --team fill fill/f-$f ls
done
cadre exec --team fill fill/f-1 'git init -q . && echo more >>a.txt; mkdir d; echo d >d/d' >/dev/null
is 4 '1 workspace would go, 1 with work that was done there: 2 files (\(fill/f-1/a.txt, fill/f-1/d/d\|fill/f-1/d/d, fill/f-1/a.txt\))$' cadre workspace destroy fill/f-1
cadre exec --team fill fill/f-2 'touch 1 2 3 4 5 6' >/dev/null
is 4 '3 workspaces would go, 2 with work that was done there: 8 files (\(fill/f-[12]/[^ ]*, \)\{5\}…)$' cadre team destroy fill
touch "$(echo "$CADRE_HOME"/workspaces/fill-f-3-*)/$(printf 'a\033[2Jb\377')"
is 4 '1 file (fill/f-3/a.*b.*)$' cadre workspace destroy fill/f-3
! grep -q "$(printf '\033')" "$TMPDIR/err" || bad "a file's name moves the cursor"
mcp '{"action":"destroy","workspace":"fill/f-3"}' >said
grep -q '1 file (fill/f-3/a' said || bad "over MCP: $(cat said)"
touch "$(echo "$CADRE_HOME"/workspaces/fill-f-3-*)/$(printf '%0120d' 0)"
is 4 '2 files (.*fill/f-3/….*)$' cadre workspace destroy fill/f-3
is 4 '(fill/f-[^…]*, [^…]*…' cadre team destroy fill
is 0 . cadre vault write teams/fill/plan.md "my words"
is 4 '1 note of the vault.s folder teams/fill would be removed (fill/plan.md), and work in 3 workspaces$' cadre team destroy fill --purge
is 0 . cadre team destroy --yes fill

# `team destroy` also asks if agents hold tasks, or if the operator has not read all messages.
cadre team create busy --roles a,b >/dev/null || bad "team"
cadre --team busy task create "half done" >/dev/null
cadre --team busy --as a claim >/dev/null
is 4 '^cadre: conflict: team busy (3 members) would be destroyed: 1 open task is cancelled, 1 of them held: 001 half done (a)$' cadre team destroy busy
cadre --team busy --as b send operator "read me" >/dev/null
is 4 ', 1 of them held: 001 half done (a); the operator has not read 1 message: #[0-9]* read me (b)' cadre team destroy busy
# A person who answers no gets the exit status of a conflict, but no fault.
cat >"$TMPDIR/no" <<'PY'
import sys, terminal
said, status = terminal.run(sys.argv[1:], 80, lambda said: b"n\n" if said.endswith(b"[y/N] ") else None)
print(said.decode() + "status", status)
PY
is 0 '^status 4' env PYTHONPATH="$here/lib" /usr/bin/python3 "$TMPDIR/no" "$CADRE" team destroy busy
is_said() { tr -d '\r' <"$TMPDIR/out" | grep -q "$1" || bad "no $1: $(cat "$TMPDIR/out")"; }
is_said '^nothing was done$'
! grep -q conflict "$TMPDIR/out" || bad "a no is a fault: $(cat "$TMPDIR/out")"
cadre --team busy --as a done 1 "ready" >/dev/null
is 4 'conflict: team busy (3 members) would be destroyed; the operator has not read 1 message: #[0-9]* read me (b)$' cadre team destroy busy
cadre --team busy inbox --lease-seconds 0 >/dev/null
is 0 'busy is destroyed' cadre team destroy --yes busy

# The question also names teams below and counts tasks that nobody holds. An id of a team below has
# the team's name. A team with nothing but its lead ends without a question.
cadre team create top --roles lead,a >/dev/null || bad "team"
cadre team create sub --parent top --roles lead,b,c >/dev/null || bad "team below"
for n in 1 2 3 4; do cadre --team sub task create "below $n" >/dev/null; done
for n in 1 2; do cadre --team top task create "above $n" >/dev/null; done
is 4 '^cadre: conflict: team top (2 members) and 1 team below, sub (3), would be destroyed: 6 open tasks are cancelled$' cadre team destroy top
for n in lead b c; do cadre --team sub --as $n claim >/dev/null; done
is 4 '6 open tasks are cancelled, 3 of them held: sub/001 below 1 ([a-z]*), sub/002 below 2 ([a-z]*), …$' cadre team destroy top
cadre --team top --as a claim >/dev/null
is 4 '4 of them held: 001 above 1 (a), sub/001 below 1 ([a-z]*), …$' cadre team destroy top
is 4 '^cadre: conflict: team sub (3 members) would be destroyed: 4 open' cadre team destroy sub
is 0 'top is destroyed' cadre team destroy --yes top
cadre team create one --roles lead >/dev/null || bad "team"
is 0 'one is destroyed' cadre team destroy one

# Without a host, `team destroy` also asks, and says that the team's guests run on until the
# next host starts.
cadre team create big --golden "./golden" --roles '[{"name":"b","count":2,"workspace":true}]' >/dev/null || bad "team"
until_is '^a.txt$' cadre exec --team big big/b-1 ls
until_is '^big$' cadre exec --team big big/b-2 'echo big >big; ls big'
all_moved() { ! cadre undo 2>&1 | grep -q 'not in the trash yet'; }
until_done all_moved
cadre down >/dev/null
is 4 '2 workspaces would go, 1 with work that was done there: 1 file (big/b-2/big)$' cadre team destroy big
is 0 'are kept until .*: cadre undo; no host runs: guests go on until the next' cadre team destroy --yes big
beside '2 more removed workspaces are not in the trash yet' cadre undo
cadre up >/dev/null || bad "up"
until_is '^0$' sh -c "ls '$CADRE_HOME/workspaces' | grep -c big-b"

# `--purge` removes the notes of a team only after a confirmation. Without --purge the notes are
# archived.
cadre team create notes --roles n >/dev/null || bad "team"
cadre vault write teams/notes/mine.md "my words" >/dev/null || bad "write"
is 4 'conflict: team notes (2 members) would be destroyed; 1 note of the vault.s folder teams/notes would be removed (notes/mine.md)$' cadre team destroy notes --purge
answers n cadre team destroy notes --purge >said && bad "no was taken for yes"
is 0 'my words' cadre vault read teams/notes/mine.md
is 4 'note teams/notes/mine.md, 8 bytes, would be deleted$' cadre vault delete teams/notes/mine.md
answers n cadre vault delete teams/notes/mine.md >said && bad "no was taken for yes"
grep -q '^It can be brought back for 7 days: cadre vault restore' said || bad "vault delete asks: $(cat said)"
is 0 'my words' cadre vault read teams/notes/mine.md
is 0 . cadre vault write teams/notes/other.md more
is 0 . cadre vault delete --yes teams/notes/other.md
is 0 'team notes is destroyed; the notes are kept until .*: cadre undo teams/notes/' cadre team destroy notes --purge --yes
until_is '^1$' sh -c "[ -e '$CADRE_HOME/vault/teams/notes' ] || echo 1"

# A workspace larger than the trash is removed for good, and the command does not promise to
# keep the workspace.
cadre down >/dev/null
printf '[workspace]\ntrash_mb = 1\n' >"$CADRE_HOME/cadre.toml"
cadre up >/dev/null || bad "up"
cadre team create t --roles '[{"name":"a","workspace":true},{"name":"b","workspace":true}]' >/dev/null || bad "team"
until_is '^2000000$' cadre exec --team t t/a 'head -c 2000000 /dev/urandom >big; stat -c %s big'
until_is '^b$' cadre exec --team t t/b 'echo b | tee b'
is 4 '1 with work that was done there; 1 folder larger than workspace.trash_mb would be removed for good: 1 file (t/a/big)$' cadre workspace destroy t/a
is 4 'This cannot be undone' cadre workspace destroy t/a
is 4 '2 with work that was done there; 1 folder larger than' cadre team destroy t
is 4 'The kept files can be brought back for 7 days' cadre team destroy t
is 0 'the files of 1 workspace are larger than workspace.trash_mb and are removed for good' cadre workspace destroy t/a --yes
! grep -q 'is kept until' "$TMPDIR/out" || bad "what is too large is said to be kept"
for n in 1 2; do
	head -c 700000 /dev/zero | tr '\0' x | cadre vault write teams/t/$n.md - >/dev/null || bad "write"
done
is 4 '2 notes of the vault.s folder teams/t would be removed for good' cadre team destroy t --purge
is 0 'team t is destroyed; the files of 1 workspace are kept until 20[^;]*$' cadre team destroy t --purge --yes
rm "$CADRE_HOME/cadre.toml"
cadre restart >/dev/null

# If --keep-days is less than gc.keep_days, `gc` asks before it removes old events and messages,
# since they are removed for good.
is 4 '[1-9][0-9]* events and [0-9]* messages would be removed, although gc.keep_days = 30 keeps them' cadre gc --keep-days 0
answers n cadre gc --keep-days 0 >said && bad "no was taken for yes"
grep -q 'Go on?' said || bad "gc asks: $(cat said)"
is 0 '^nothing to remove' cadre gc
is 0 '^removed [1-9]' cadre gc --keep-days 0 --yes

# On a terminal, the command `inbox` asks before it takes another agent's messages. `inbox peek`
# takes no messages.
cadre team create mail --roles ann,bob >/dev/null || bad "team"
cadre --team mail --as ann send bob "for you" >/dev/null
answers n cadre --team mail --as bob inbox >said && bad "the mail of bob was taken"
grep -q 'take the mail that bob needs' said || bad "inbox says: $(cat said)"
answers n cadre --team mail inbox --agent bob >said && bad "the mail of bob was taken with --agent"
grep -q 'To look: cadre --as bob inbox peek' said || bad "inbox --agent says: $(cat said)"
answers n cadre --team mail --as bob inbox peek | grep -q 'for you' || bad "peek shows nothing"
answers n cadre --team mail --as bob inbox --take | grep -q 'for you' || bad "--take takes nothing"
exit $failed
