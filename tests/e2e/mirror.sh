#!/bin/sh
# mirror - people change files in the vault of a running host. The host writes removed files
# again and keeps the text that people typed. No other user can read the state's files.
set -u
. "$(dirname "$0")/../lib/story.sh"
vault=$CADRE_HOME/vault/teams/shop
trap 'cadre down >/dev/null 2>&1' EXIT

whole() { cadre doctor | grep -q '^ok *vault *whole$'; }

cadre team create shop --roles coder >/dev/null || bad "team"
cadre task create "Write the parser" >/dev/null || bad "task"
cadre task create "Test the parser" >/dev/null || bad "task"
until_done whole

# Without a host no process repairs the vault, but the doctor reports the missing file.
rm "$vault/tasks/001-write-the-parser.md"
cadre doctor | grep -q 'vault *1 files differ from their rows: teams/shop/tasks/001' ||
	bad "doctor misses a file that is gone"
echo "my own words" >"$vault/tasks/002-test-the-parser.md"
cadre up >/dev/null || bad "up"
until_done test -f "$vault/tasks/001-write-the-parser.md"
until_done sh -c "$CADRE doctor | grep -q '^warn *vault *1 file was edited by hand and may differ from its row: teams/shop/tasks/002'"
grep -q "my own words" "$vault/tasks/002-test-the-parser.md" || bad "an edit is gone"

# A running host writes all removed files again by itself.
rm "$vault/TEAM.md" "$vault/tasks/INDEX.md"
until_done test -f "$vault/TEAM.md"
until_done test -f "$vault/tasks/INDEX.md"
rm -r "$vault/cards"
until_done test -f "$vault/cards/coder.json"
rm -r "$CADRE_HOME/vault"
until_done test -f "$vault/tasks/001-write-the-parser.md"
until_done whole

# The mirror writes no log of messages until the user turns the log on. The log contains all
# messages, including messages from before the log was turned on. For a message with a command,
# the log does not contain the command's environment.
[ ! -e "$vault/messages" ] || bad "messages are logged unasked"
cadre send coder "before" >/dev/null || bad "send"
cadre down >/dev/null
export CADRE_VAULT_MESSAGES=true
cadre up >/dev/null || bad "up"
log=$vault/messages/$(date -u +%F).md
cadre send coder '{"task_id":"x","command":"make","env":{"KEY":"hunter2"}}' \
	--message-type task_assignment >/dev/null || bad "an assignment"
cadre --as coder send lead "after" --thread design >/dev/null || bad "send"
until_done grep -q '^> after$' "$log"
until_done grep -q '^> before$' "$log"
grep -q '^## .* -> coder <!-- 2 -->$' "$log" || bad "the assignment is not in the log"
! grep -rq hunter2 "$CADRE_HOME/vault" || bad "a key is in the vault"
rm "$log"
until_done grep -q '^> before$' "$log"
until_done whole

# An agent cannot send control characters to the terminal of a person who prints a file. The
# state keeps the bytes that the agent sent. The vault's files have question marks, blanks or
# escapes in place of the control characters.
odd=$(printf 'red \033]0;title\007 \342\200\256 \302\233 end')
for what in "task create" "send coder"; do cadre $what "$odd" >/dev/null || bad "$what"; done
cadre agent register painter --team shop --description "$odd" >/dev/null || bad "register"
until_done grep -q '^> red ?]0;title? ??? ?? end$' "$log"
until_done grep -qr --include='003-*.md' '^# red  ]0;title  ??? ?? end$' "$vault/tasks"
until_done grep -q 'u009b' "$vault/cards/painter.json"
until_done grep -q "red  ]0;title" "$vault/TEAM.md"
until_done whole
! grep -rqE "$(printf '\033|\007|\342\200\256|\302\233')" "$vault" || bad "a file drives the terminal"
cadre task show 003 --json | grep -qi 'u001b' || bad "the state does not keep a text"

# Without a host the doctor reports that the log of messages is incomplete. The next host writes
# the missing messages.
cadre down >/dev/null
: >"$log"
cadre doctor | grep -q 'vault *1 files differ from their rows: teams/shop/messages/.*behind its rows' ||
	bad "doctor misses a log that is empty: $(cadre doctor | grep vault)"
cadre up >/dev/null || bad "up"
until_done grep -q '^> after$' "$log"

# All files of a state are closed to other users.
cadre backup "$TMPDIR/copy" >/dev/null || bad "backup"
open=$(find "$CADRE_HOME" "$TMPDIR/copy" -perm /077 ! -type l)
[ -z "$open" ] || bad "others may look at: $open"
exit $failed
