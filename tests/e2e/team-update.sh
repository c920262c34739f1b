#!/bin/sh
# team-update - a team is renamed while its members work, without a host and with a host. The
# members keep their mail, claims, worktrees and workspaces. The team's folder in the vault gets
# the new name, even if the host is killed between the change of the row and the move of the
# folder.
set -u
. "$(dirname "$0")/../lib/said.sh"
unset CADRE_TEAM CADRE_AGENT CADRE_TOKEN
export CADRE_VAULT_MESSAGES=true

trap '(cd "$TMPDIR/shop" && "$CADRE" down --all) >/dev/null 2>&1' EXIT
mkdir -p "$TMPDIR/shop" && cd "$TMPDIR/shop" || exit 1
git init . && git commit --allow-empty -m one
is 0 "^made" "$CADRE" init
vault=$PWD/.cadre/vault/teams main=$PWD
is 0 . "$CADRE" team create shop --roles coder,tester
git worktree add ../coder || bad "no worktree"
cd ../coder && is 0 '^you are coder of team shop' "$CADRE" agent env coder --here
is 0 . "$CADRE" task create "Write the parser"
is 0 . "$CADRE" claim 001
is 0 . "$CADRE" send tester "before the rename"
is 0 . "$CADRE" --operator --team shop agent env tester
mv "$TMPDIR/out" "$TMPDIR/env"

# renamed OLD NEW: the team's folder has the new name, and still contains a person's note.
renamed() {
	until_done test -f "$vault/$2/tasks/001-write-the-parser.md"
	until_done grep -q "\"team\": \"$2\"" "$vault/$2/cards/coder.json"
	until_done grep -q "^# $2\$" "$vault/$2/TEAM.md"
	until_done grep -q "^# Board of $2\$" "$vault/$2/tasks/INDEX.md"
	[ -f "$vault/$2/note.md" ] || bad "$1 to $2: a person's note is not in the new folder"
	[ ! -e "$vault/$1" ] || bad "$1 to $2: the old folder is there: $(ls -A "$vault/$1")"
	until_is '^ok *vault *whole' "$CADRE" --operator doctor
}
# goes_on NEW: in the renamed team NEW, the worktree of the agent coder still belongs to coder,
# and coder still holds its task. Messages from before the rename can still be read.
goes_on() {
	cd "$TMPDIR/coder" || exit 1
	is 0 '001.*coder' "$CADRE" task list
	is 0 . "$CADRE" note 001 "as $1"
	is 0 . "$CADRE" send tester "by a member of $1"
	is 0 "^coder of team $1, the agent of" "$CADRE" whoami
	grep -qx "team $1" "$main"/.cadre/here/* || bad "the name $1 is not kept"
	cd "$main" || exit 1
	is 0 "before the rename" "$CADRE" --team "$1" --as tester messages
	is 0 "by a member of $1" "$CADRE" --team "$1" --as tester messages
	until_done grep -rq "by a member of $1" "$vault/$1/messages"
}
cd "$main" || exit 1
echo "a person's" >"$vault/shop/note.md"

# Without a host, a person's folder that already has the team's new name is not lost.
mkdir "$vault/store" && echo "older" >"$vault/store/older.md"
is 0 '^team store, as it is called now: at most 10 workspaces, 100 messages' "$CADRE" team update shop --new-name store
is 0 'each other, on the ports 22, 80 alone$' "$CADRE" team update store --allowed-ports 22,80
is 0 '"allow_inter_vm":true,"allowed_ports":\[22,80\]' "$CADRE" team status store --json
renamed shop store
[ "$(cat "$vault"/store/older.md)" = older ] || bad "a folder of that name is lost"
is 0 'team.updated.*shop' "$CADRE" --team store events
is 3 'Team shop is called store now' "$CADRE" --team shop task list
(unset CADRE_HOME && export CADRE_TEAM=shop && is 3 'Team shop is called store now' "$CADRE" task list && exit $failed) || failed=1
(. "$TMPDIR/env" && is 0 '001.*coder' "$CADRE" task list && exit $failed) || failed=1
# Another team gets the old name. An agent with a token of the renamed team still acts in the
# renamed team.
is 0 . "$CADRE" team create shop
(. "$TMPDIR/env" && is 0 '^tester of team store, as CADRE_AGENT says$' "$CADRE" whoami && is 0 '"team":"store"' "$CADRE" whoami --json && exit $failed) || failed=1
is 0 . "$CADRE" team destroy shop --yes
goes_on store
is 4 'there is a team store already' "$CADRE" team create store
is 0 . "$CADRE" team create shop
is 4 'there is a team store already' "$CADRE" team update shop --new-name store
is 0 . "$CADRE" team destroy --yes shop

# If a message is redacted after a rename of its team, no file of the vault contains the
# message's text.
number=$("$CADRE" --team store --as coder send tester "hunter2" | sed -n 's/^sent #\([0-9]*\).*/\1/p')
until_done grep -q hunter2 "$vault/store/messages"/*.md
# stopped COMMAND...: runs the command while the mirror cannot write.
stopped() {
	/usr/bin/python3 - "$main/.cadre/vault/.cadre-mirror" "$@" <<'END'
import fcntl, subprocess, sys
lock = open(sys.argv[1], "r+")
fcntl.lockf(lock, fcntl.LOCK_EX)
sys.exit(subprocess.run(sys.argv[2:]).returncode)
END
}
# Before the folder moves, the team is renamed twice, a message is redacted, and another team
# gets the old name.
cat >"$TMPDIR/steps" <<END
"$CADRE" team update store --new-name between &&
"$CADRE" team update between --new-name depot &&
"$CADRE" --team depot --as coder message redact '#$number' &&
"$CADRE" team create store --roles other
END
is 0 . stopped sh "$TMPDIR/steps"
[ -d "$vault/store" ] && [ ! -e "$vault/depot" ] || bad "the mirror was not stopped"
is 0 . "$CADRE" team list
is 0 . "$CADRE" --team depot note 001 "go on"
until_done test -f "$vault/store/cards/other.json"
[ ! -e "$vault/store/note.md" ] || bad "the new store has the old one's note"
[ "$(cat "$vault/depot/note.md")" = "a person's" ] || bad "a person's note is lost"
! grep -rq hunter2 "$vault" || bad "a redacted text is in $(grep -rl hunter2 "$vault")"
is 0 . "$CADRE" team destroy --yes store
renamed store depot
goes_on depot
# If a team ends before its folder was moved, the folder is moved to the archive under the
# team's last name.
is 0 . "$CADRE" team create short --roles one
echo "kept" >"$vault/short/mine.md"
is 0 . stopped sh -c "'$CADRE' team update short --new-name late && '$CADRE' team destroy --yes late"
is 0 . "$CADRE" --team depot note 001 "on"
until_done test -f "$(echo "$vault"/.archive/late-*/mine.md)"
[ ! -e "$vault/short" ] && [ ! -e "$vault/late" ] || bad "a team that is over has a folder"

# If living teams exchange their names, each folder gets its team's new name. The test exchanges
# the names of three teams in a ring.
for team in ring1 ring2 ring3; do
	is 0 . "$CADRE" team create $team
	echo "of $team" >"$vault/$team/mine.md"
done
cat >"$TMPDIR/steps" <<END
"$CADRE" team update ring1 --new-name between &&
"$CADRE" team update ring3 --new-name ring1 &&
"$CADRE" team update ring2 --new-name ring3 &&
"$CADRE" team update between --new-name ring2
END
is 0 . stopped sh "$TMPDIR/steps"
is 0 . "$CADRE" --team depot note 001 "on again"
for pair in ring1:ring3 ring2:ring1 ring3:ring2; do
	until_done grep -qx "of ${pair#*:}" "$vault/${pair%:*}/mine.md"
	is 0 . "$CADRE" team destroy --yes "${pair%:*}"
done
ls -d "$vault"/.moving-* 2>/dev/null && bad "a folder is left aside"

# With a host, a renamed team's workspace keeps its name. Later in this test, the host is killed
# right after each rename.
is 0 up "$CADRE" up
is 0 . "$CADRE" --team depot workspace create --agent tester --wait
place=$("$CADRE" --team depot --json workspace list | sed -n 's/.*"name":"\([^"]*\)".*/\1/p')
is 0 . "$CADRE" team update depot --new-name mill --max-vms 1
renamed depot mill
goes_on mill
is 4 'has 1 workspaces' "$CADRE" team update mill --max-vms 0
is 0 "$place" "$CADRE" --team mill workspace list
is 0 '^hello' "$CADRE" --team mill exec tester 'echo hello'
# The environment of a running guest still contains the old names of its team and agent. The
# guest's token still proves its agent, even if another agent has the old name now.
is 0 '"team":"mill"' "$CADRE" --team mill exec tester "$CADRE --json agent whois self"
is 0 . "$CADRE" team create depot --roles tester
is 0 . "$CADRE" --team mill agent update tester --new-name checker
is 0 . "$CADRE" --team mill agent register tester
is 0 '"name":"checker".*"team":"mill"' "$CADRE" --team mill exec checker "$CADRE --json agent whois self"
is 0 . "$CADRE" --team mill exec checker "$CADRE send coder 'from the guest'"
is 0 'checker.*from the guest' "$CADRE" --team mill --as coder messages
is 0 . "$CADRE" --team mill agent update tester --new-name spare
is 0 . "$CADRE" --team mill agent update checker --new-name tester
is 0 . "$CADRE" team destroy --yes depot
is 0 '"team":"mill"' "$CADRE" --team mill exec tester "CADRE_TEAM=mill $CADRE --json agent whois self"
# The same team may be named before the verb and again as an argument.
is 0 '^team mill' "$CADRE" --team mill team update mill --max-vms 1
is 2 "is given twice: 'shop'" "$CADRE" --team mill team update shop --max-vms 1
was=mill
for name in n1 n2 n3 n4; do
	host=$(cut -d' ' -f1 .cadre/host.lock)
	is 0 . "$CADRE" team update "$was" --new-name "$name"
	kill -9 "$host"
	until_done sh -c "! kill -0 $host"
	is 0 up "$CADRE" up
	renamed "$was" "$name"
	was=$name
done
goes_on n4
# If a person removes files from the renamed folder, the mirror writes the files again.
rm "$vault/n4/messages"/*.md
until_done grep -rq "before the rename" "$vault/n4/messages"
rm "$vault/n4/cards/coder.json"
until_done test -f "$vault/n4/cards/coder.json"
exit $failed
