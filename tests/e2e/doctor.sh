#!/bin/sh
# doctor - the story damages each thing that the doctor checks. The doctor names the damage and
# says how to mend it. --fix mends the damage, reports the repair and loses no row, and the next
# check finds no damage.
set -u
. "$(dirname "$0")/../lib/story.sh"
export CADRE_LIMITS_ENABLED=false
H=$CADRE_HOME
cd "$TMPDIR" || exit 1
vm=
finish() {
	for pid in $(pgrep -f "guest --workspace .* --state $H/"); do kill -CONT "$pid"; done 2>/dev/null
	kill $vm 2>/dev/null
	cadre workspace destroy --yes red/w --team red >/dev/null 2>&1
	cadre down --all >/dev/null 2>&1
}
trap finish EXIT
rows() { sqlite3 "$H/state.db" 'SELECT * FROM message; SELECT * FROM task; SELECT id, name FROM team; SELECT id, name FROM agent; SELECT count(*) FROM delivery; SELECT * FROM task_note'; }
# names VERDICT CHECK PATTERN: the doctor prints a line with VERDICT, CHECK and PATTERN, and
# changes nothing.
names() {
	before=$(rows)
	cadre doctor >out 2>&1
	rc=$?
	[ $rc = "$([ "$1" = bad ] && echo 1 || echo 0)" ] || bad "$2: doctor ended with $rc"
	grep -q "^$1 *$2 *.*$3" out || bad "doctor does not say '$1 $2 $3': $(cat out)"
	[ "$(rows)" = "$before" ] || bad "$2: doctor changed rows"
}
# mends CHECK DID: `doctor --fix` prints the repair DID of CHECK once. After the repair no check
# fails, and every row still exists.
mends() {
	before=$(rows)
	is 0 "^did *$1 *.*$2" cadre doctor --fix
	grep -q '^\(warn\|bad\)' "$TMPDIR/out" && bad "$1: not well after the fix: $(cat "$TMPDIR/out")"
	[ "$(rows)" = "$before" ] || bad "$1: the fix changed rows: $(rows)"
	is 0 . cadre doctor --fix
	grep -q '^did' "$TMPDIR/out" && bad "$1: mended twice: $(cat "$TMPDIR/out")"
	is 0 '"fixes":\[\]' cadre doctor --fix --json
	is 0 '"ok":true' cadre doctor --json
}

cadre team create red --roles w --roles v >/dev/null 2>&1
# A finding with bytes that are no UTF-8 is in the JSON, too.
is 0 '"found":"cadre does not know CADRE_' env "$(printf 'CADRE_\377=1')" "$CADRE" doctor --json
cadre --team red --as v send w "a wonderful message" >/dev/null
cadre --team red --as v send w "another remarkable one" >/dev/null
cadre task create --team red "Find it" >/dev/null
cadre search wonderful --team red | grep -q '#1' || bad "search"
is 0 . cadre doctor
is 2 'takes only --fix' cadre doctor --mend
is 5 'for the operator' env CADRE_TEAM=red CADRE_AGENT=w \
	CADRE_TOKEN="$(cadre agent env w --team red | sed -n "s/^export CADRE_TOKEN='\(.*\)'/\1/p")" "$CADRE" doctor --fix

# --- permissions ----------------------------------------------------------------------

cadre backup >/dev/null
chmod 644 "$H/secret" "$H/state.db" "$H"/backups/*.secret
names bad secret "$H/secret is open to other users: 644"
grep -q 'cadre doctor --fix; or: chmod 600 it' out || bad "what to do: $(cat out)"
names bad permissions "backups/.*secret is open to other users"
mends permissions 'secret had the mode 644, and has the mode 600 now'
[ "$(stat -c %a "$H/secret" "$H/state.db" "$H"/backups/*.secret | sort -u)" = 600 ] || bad "modes: $(stat -c '%a %n' "$H"/*)"
chmod 711 "$H/backups"
names bad permissions "$H/backups is open to other users: 711"
mends permissions 'backups had the mode 711, and has the mode 700 now'
chmod 777 "$H/state.db" "$H/vault" "$H"
names bad permissions "$H/vault is open to other users: 777"
mends permissions 'state.db had the mode 777, and has the mode 600 now'
[ "$(stat -c %a "$H/state.db" "$H/vault" "$H" | tr '\n' ' ')" = '600 700 700 ' ] || bad "modes of 777: $(stat -c '%a %n' "$H" "$H"/*)"

# --- a search index that differs from the rows, or is damaged -----------------------------

sqlite3 "$H/search.db" "INSERT INTO message_text(message_text) VALUES ('delete-all')"
[ "$(cadre search wonderful --team red | grep -c '#1')" = 0 ] || bad "the index still has it"
names bad search '2 of the newest messages are not in the index'
mends search 'the former index is in .*/doctor-[0-9]*-[0-9]*$'
[ -s "$(ls -d "$H"/doctor-*)/search.db" ] || bad "the former index is not kept"
cadre search wonderful --team red | grep -q '#1' || bad "search after the fix"
rm -r "$H"/doctor-*
cadre up >/dev/null
sqlite3 "$H/search.db" "INSERT INTO message_text(message_text) VALUES ('delete-all')"
either=yes is 1 'search *not repaired: a host runs' cadre doctor --fix
cadre down >/dev/null
mends search 'is whole, up to event [0-9]'
rm -r "$H"/doctor-*

# A search deletes a damaged index. Without --fix, the doctor does not change a damaged index.
# With --fix, the doctor keeps a copy of the damaged index.
for from in 4096 0; do
	cadre search wonderful --team red >/dev/null
	/usr/bin/python3 - "$H/search.db" $from <<'END'
import os, sys
with open(sys.argv[1], "r+b") as f:
    size = os.fstat(f.fileno()).st_size
    f.seek(int(sys.argv[2]))
    f.write(os.urandom(size - int(sys.argv[2])))
END
	sum=$(cksum <"$H/search.db")
	names bad search 'search.db is damaged'
	[ "$(cksum <"$H/search.db")" = "$sum" ] || bad "a look at a damaged index changed it"
	mends search 'the former index is in .*/doctor-[0-9]*-[0-9]*$'
	[ "$(cksum <"$(ls -d "$H"/doctor-*)/search.db")" = "$sum" ] || bad "the damaged index is not kept"
	rm -r "$H"/doctor-*
	until_is '#1' cadre search wonderful --team red
done

# --- a vault that differs from the rows ------------------------------------------------------

page=$H/vault/teams/red/tasks/001-find-it.md
rm "$page"
names warn vault '1 files differ from their rows: teams/red/tasks/001'
mends mirror 'files of the vault were written again'
[ -s "$page" ] || bad "the file is not there again"
echo "by hand" >>"$page"
cp "$page" edited
names warn vault '1 file was edited by hand and may differ from its row: teams/red/tasks/001-find-it.md'
is 0 'may differ from its row' cadre doctor --fix
is 0 'this file shows a row, but was edited by hand' sh -c 'cadre vault read teams/red/tasks/001-find-it.md 2>&1 >/dev/null'
is 0 '"edited":"this file shows a row, but was edited by hand and may differ from the row' cadre vault read teams/red/tasks/001-find-it.md --json
cmp "$page" edited || bad "a person's edit is gone"
rm "$page"
cadre doctor --fix >/dev/null

# --fix writes the vault anew if the vault is missing, or if the vault's cursor file holds no
# cursor.
rm -rf "$H/vault"
names warn mirror 'the vault does not show the state'
[ ! -e "$H/vault" ] || bad "a look made the vault"
mends mirror 'files of the vault were written again'
[ -s "$page" ] || bad "the vault is not there again"
echo rubbish >"$H/vault/.cadre-cursor"
names warn mirror 'the vault does not show the state'
mends mirror 'files of the vault were written again'
[ -z "$(ls -d "$H"/doctor-* 2>/dev/null)" ] || bad "something was taken away"
# If the row of an agent is lost, the agent's card is the last record of the agent, so --fix
# keeps the card.
cadre agent register stray --team red --role hand >/dev/null
card=vault/teams/red/cards/stray.json
[ -s "$H/$card" ] || bad "no card of stray"
cp "$H/state.db" whole.db
sqlite3 "$H/state.db" "DELETE FROM agent_inbox WHERE agent = (SELECT id FROM agent WHERE name = 'stray'); DELETE FROM agent WHERE name = 'stray'"
echo rubbish >"$H/vault/.cadre-cursor"
is 0 '^did *mirror *files of the vault without a row are in' cadre doctor --fix
[ -s "$(echo "$H"/doctor-*/"$card")" ] || bad "the card is not kept"
rm -r "$H"/doctor-*

# --- lost rows of which the vault may hold the only copy ---------------------------------------

cadre task create --team red "Lose it" >/dev/null
cadre backup >/dev/null
kept=$(ls "$H"/backups/*.db | tail -n 1)
sqlite3 "$H/state.db" "DELETE FROM agent WHERE name IN ('w', 'operator'); DELETE FROM task WHERE number = 2"
rm "$H/vault/teams/red/TEAM.md"
sqlite3 "$H/search.db" "INSERT INTO message_text(message_text) VALUES ('delete-all')"
(cd "$H/vault/teams/red" && ls -R . && cat cards/* tasks/*) >shown
either=yes is 1 '^bad *integrity' cadre doctor --fix
grep -q '^did' "$TMPDIR/out" && bad "something was made of a damaged state: $(cat "$TMPDIR/out")"
for check in mirror search; do
	grep -q "^warn *$check *not repaired: the state is damaged" "$TMPDIR/out" || bad "$check: $(cat "$TMPDIR/out")"
done
(cd "$H/vault/teams/red" && ls -R . && cat cards/* tasks/*) | cmp - shown || bad "the vault is another one"
is 0 . cadre restore --yes "$kept"
cadre doctor --fix >/dev/null
rm -rf "$H"/doctor-*
is 0 . cadre doctor

# --- leases that ran out ------------------------------------------------------------------------

cadre --team red --as w claim 001 --lease-seconds 5 >/dev/null
cadre --team red --as w inbox --lease-seconds 1 --limit 1 >/dev/null
sqlite3 "$H/state.db" "UPDATE task SET lease_until = lease_until - 200000; UPDATE delivery SET due_at = due_at - 200000 WHERE due_at IS NOT NULL; UPDATE host SET alive_at = 0"
names warn leases 'some leases ran out more than a minute ago'
before=$(sqlite3 "$H/state.db" 'SELECT count(*), sum(length(title)) FROM task; SELECT count(*), sum(length(content)) FROM message; SELECT count(*) FROM delivery')
is 0 'did *leases *.*the leases of 1 tasks and 1 messages had run out' cadre doctor --fix
[ "$(sqlite3 "$H/state.db" 'SELECT count(*), sum(length(title)) FROM task; SELECT count(*), sum(length(content)) FROM message; SELECT count(*) FROM delivery')" = "$before" ] ||
	bad "leases: rows are gone"
is 0 '001\tready' cadre task list --team red
cadre events --limit 50 | grep -q 'task.lapsed' || bad "nobody was told of the lapse"
is 0 . cadre doctor
grep -q leases "$TMPDIR/out" && bad "leases are still late"
# After an hour without a host, a new host would extend the lease of task 001. The doctor also
# extends the lease instead of ending the lease.
cadre --team red --as w claim 001 --lease-seconds 600 >/dev/null
now=$(($(date +%s) * 1000))
sqlite3 "$H/state.db" "UPDATE task SET lease_until = $now - 3500000 + 200000 WHERE number = 1; UPDATE host SET alive_at = $now - 3600000"
is 0 'did *leases *.*the leases of 0 tasks' cadre doctor --fix
is 0 '001\tclaimed' cadre task list --team red
cadre --team red --as w release 001 >/dev/null

# --- the clock ---------------------------------------------------------------------------------------

at=$(sqlite3 "$H/state.db" 'SELECT max(seq) FROM event')
sqlite3 "$H/state.db" "UPDATE event SET at = at + 7200000 WHERE seq = $at"
names bad clock 'the clock is 7[0-9]* s behind the newest event'
sqlite3 "$H/state.db" "UPDATE event SET at = at - 7200000 WHERE seq = $at"
sqlite3 "$H/state.db" 'UPDATE budget SET since = 99999999999999 WHERE team = 1 AND kind = 3'
names bad clock "or behind the clock of a team's budget"
sqlite3 "$H/state.db" 'UPDATE budget SET since = NULL'

# --- rows that operations refuse, from an import with fewer checks -----------------------------------

sqlite3 "$H/state.db" 'UPDATE task SET lease_ms = lease_ms + 90000000 WHERE id = 1'
names bad rules 'id 1 of task is a task with a longer lease than a claim may have'
sqlite3 "$H/state.db" 'UPDATE task SET lease_ms = lease_ms - 90000000 WHERE id = 1;
	INSERT INTO task_dep (task, dep) VALUES (1, 2), (2, 1)'
names bad rules 'task 1 of task_dep waits for itself, by way of other tasks'
sqlite3 "$H/state.db" 'DELETE FROM task_dep WHERE task IN (1, 2) AND dep IN (1, 2)'
is 0 . cadre doctor

# --- a killed host, and guests that are dead, stopped or without a workspace -----------------------------

cadre up >/dev/null
cadre workspace create --agent w --team red --wait >/dev/null
pid=$(pgrep -f "guest --workspace .* --state $H/" | head -n 1)
kill -STOP "$pid"
until_is '^bad *daemon *the guest of .*, process [0-9]*, is stopped$' cadre doctor
# While a host runs, --fix lets a stopped guest continue, but writes no file that the host is
# about to write.
cadre doctor --fix >out
grep -q 'did *daemons *.*goes on' out || bad "the guest is not told to go on: $(cat out)"
case $(ps -o stat= -p "$pid") in T*) bad "the guest still stands still" ;; esac
# A fix that fails makes --fix fail, too, although a warning alone does not.
state=$(sqlite3 "$H/state.db" "SELECT state FROM workspace WHERE pid = $pid")
sqlite3 -cmd '.timeout 60000' "$H/state.db" "UPDATE workspace SET state = 3 WHERE pid = $pid"
is 0 '^warn *guest .*failed' cadre doctor
either=yes is 1 '^warn *guests *not repaired: a host runs' cadre doctor --fix
sqlite3 -cmd '.timeout 60000' "$H/state.db" "UPDATE workspace SET state = $state WHERE pid = $pid"
socket=$(cut -d' ' -f3 "$H/host.lock")
host=$(cut -d' ' -f1 "$H/host.lock")
kill -9 "$host" "$pid"
until_is '^0$' count_guests
until_is '^0$' sh -c "ps -o stat= -p $host | grep -cv Z"
mv "$socket" "$socket.left"
echo mine >"$socket" # a plain file, not a socket
is 0 'guest ' cadre doctor
grep -q '^warn *socket' "$TMPDIR/out" && bad "a file is taken for a socket: $(cat "$TMPDIR/out")"
mv "$socket.left" "$socket"
names warn socket 'a host that was killed has left'
[ -e "$H/endpoint" ] || echo http://127.0.0.1:1 >"$H/endpoint"
names warn endpoint 'a host that was killed has left .*/endpoint'

sqlite3 "$H/state.db" "UPDATE workspace SET pid = $$ WHERE pid = $pid" # as if the pid now belonged to another process
names warn guest 'is not running'
mends 'socket\|guests' 'is removed\|is gone, and its row now says so'
[ ! -e "$socket" ] || bad "the socket is still there"
[ ! -e "$H/endpoint" ] || bad "the endpoint is still there"
is 0 'guests *1; a host will start 1 of them' cadre doctor
cadre up >/dev/null
until_is '1, none dead' cadre doctor
cadre down --all >/dev/null

id=0198c0de-0000-7000-8000-000000000001
mkdir -p -m 700 "$H/disks/$id"
echo work >"$H/disks/$id/file"
/usr/bin/python3 -c 'import os, sys
os.execv(sys.executable, ["qemu-system-x86_64", "-c", "import time; time.sleep(600)"] + sys.argv[1:])' \
	-uuid "$id" -drive "file=$H/disks/$id/1.qcow2" &
vm=$!
words() { tr '\0' ' ' <"/proc/$vm/cmdline"; }
until_is '^qemu-system' words
names warn guest "process $vm runs in .*a workspace that the state does not know"
rm -rf "$H/replaced" # an earlier restore made this folder
is 0 "did *orphans *process $vm is ended; its files stay" cadre doctor --fix
[ -z "$({ tr -d '\0' <"/proc/$vm/cmdline"; } 2>/dev/null)" ] || bad "the VM runs on"
wait $vm 2>/dev/null
vm=
[ -s "$H/disks/$id/file" ] || bad "files of the orphan are gone"
[ -d "$H/replaced" ] || bad "nothing says that its files stay"

# --- --fix removes only this host's bridge, taps and tables -----------------------------------------

cat >net.sh <<'END'
tag=$1 own=$2 # the script runs in its own network namespace
ip link add br-cadre$tag type bridge && ip tuntap add cd01234567-$tag mode tap && ip link set cd01234567-$tag master br-cadre$tag &&
	ip link add br-cadre0000 type bridge && nft add table inet cadre$tag && nft add table inet cadre0000 || exit 77
"$CADRE" doctor >named || echo "a bridge that is left is bad"
"$CADRE" doctor --fix >mended || echo "not mended: $(cat mended)"
ip -o link | cut -d: -f2 | tr -d ' \n'
nft list tables | tr -d '\n'
"$CADRE" doctor >well
END
tag=$(cut -d' ' -f3 "$H/host.lock" | sed 's,.*\(....\)/host.sock,\1,')
if unshare -n true 2>/dev/null && command -v nft ip >/dev/null; then
	left=$(CADRE="$CADRE" unshare -n sh net.sh "$tag" x)
	if [ $? != 77 ]; then
		grep -q "^warn *network *the bridge br-cadre$tag, its taps and its rules are left" named || bad "network: $(cat named)"
		grep -q "^did *taps *the bridge br-cadre$tag, its taps and its tables are removed" mended || bad "network: $(cat mended)"
		grep -q '^warn *network' well && bad "network: $(cat well)"
		case $left in *"$tag"*) bad "something is left: $left" ;; esac
		case $left in *br-cadre0000*cadre0000*) ;; *) bad "what is others' is gone: $left" ;; esac
	fi
fi

# --- a damaged database, which --fix does not change ---------------------------------------------------------

rm -rf "$H/backups"
cadre backup >/dev/null
newest=$(ls "$H"/backups/*.db)
cp "$H/state.db" whole.db
/usr/bin/python3 - "$H/state.db" <<'END'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
root = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'task_state'").fetchone()[0]
size = db.execute("PRAGMA page_size").fetchone()[0]
db.close()
with open(sys.argv[1], "r+b") as f:
    f.seek((root - 1) * size)
    f.write(b"\x07" * size)
END
sum=$(cksum <"$H/state.db")
cadre doctor >out 2>&1 && bad "a damaged database is well"
grep -q "^bad *integrity" out || bad "doctor does not name the damage: $(cat out)"
tr -d '\n' <out | sed 's/  */ /g' | grep -q "cadre restore $newest\|cadre restore .*backups/" || bad "the last backup is not named: $(cat out)"
cadre doctor --fix >out 2>&1 && bad "--fix calls a damaged database well"
grep -q '^did *state' out && bad "--fix mended a damaged database"
[ "$(cksum <"$H/state.db")" = "$sum" ] || bad "--fix wrote into a damaged database"
is 0 . cadre restore --yes "$newest"
is 0 '^ok *integrity' cadre doctor

# If a state has lost its row in the table `state`, each command that needs this row names the
# loss, with and without a host.
lost_row() {
	for verb in status events 'search wonderful' "export $1.jsonl" "backup $1.db"; do
		cadre $verb >out 2>&1 && bad "$verb goes on"
		grep -q 'the row about the state itself is gone' out || bad "$verb does not say what is lost: $(cat out)"
	done
	either=yes is 1 '^bad *integrity .*the row about the state itself is gone' cadre doctor
}
is 0 . cadre up
is 0 . cadre --team red send w "the log has begun"
sqlite3 -cmd '.timeout 60000' "$H/state.db" 'DELETE FROM state'
lost_row beside
is 0 . cadre down
lost_row alone
is 0 . cadre restore --yes "$newest"
is 0 '^ok *integrity' cadre doctor
exit $failed
