#!/bin/sh
# mirror - the vault of a running host under people's hands: removed files come back,
# typed text stays, and no other user can read a file.
set -u
. "$(dirname "$0")/../lib/story.sh"
vault=$CADRE_HOME/vault/teams/shop
trap 'cadre down >/dev/null 2>&1' EXIT

whole() { cadre doctor | grep -q '^ok *vault *whole$'; }

cadre team create shop --roles coder >/dev/null || bad "team"
cadre task create "Write the parser" >/dev/null || bad "task"
cadre task create "Test the parser" >/dev/null || bad "task"
until_done whole

# Without a host nobody looks, but doctor tells.
rm "$vault/tasks/001-write-the-parser.md"
cadre doctor | grep -q 'vault *1 files are not as their rows: teams/shop/tasks/001' ||
	bad "doctor misses a file that is gone"
echo "my own words" >"$vault/tasks/002-test-the-parser.md"
cadre up >/dev/null || bad "up"
until_done test -f "$vault/tasks/001-write-the-parser.md"
until_done sh -c "$CADRE doctor | grep -q '^warn *vault *1 file was edited by hand and may differ from its row: teams/shop/tasks/002'"
grep -q "my own words" "$vault/tasks/002-test-the-parser.md" || bad "an edit is gone"

# A running host brings all of them back by itself.
rm "$vault/TEAM.md" "$vault/tasks/INDEX.md"
until_done test -f "$vault/TEAM.md"
until_done test -f "$vault/tasks/INDEX.md"
rm -r "$vault/cards"
until_done test -f "$vault/cards/coder.json"
rm -r "$CADRE_HOME/vault"
until_done test -f "$vault/tasks/001-write-the-parser.md"
until_done whole

# The log of messages is off until somebody wants it; then it holds all of them,
# and of a command only what may be shown.
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

# Agents cannot write to the terminal of a person who prints a file: the state keeps what they
# sent, the files show question marks.
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

# Without a host doctor tells of a log that lacks messages; the next host writes it.
cadre down >/dev/null
: >"$log"
cadre doctor | grep -q 'vault *1 files are not as their rows: teams/shop/messages/.*behind its rows' ||
	bad "doctor misses a log that is empty: $(cadre doctor | grep vault)"
cadre up >/dev/null || bad "up"
until_done grep -q '^> after$' "$log"

# All files of a state are closed to other users.
cadre backup "$TMPDIR/copy" >/dev/null || bad "backup"
open=$(find "$CADRE_HOME" "$TMPDIR/copy" -perm /077 ! -type l)
[ -z "$open" ] || bad "others may look at: $open"
exit $failed
