# A backup is a whole state. A backup and its secret, copied into a new folder, are a working
# state. The agents' old tokens are still valid in the new state.
set -eu
. "$(dirname "$0")/../lib/story.sh"
cadre init >/dev/null
token=$(cadre team create alpha --roles coder --json |
	sed 's/.*"name":"coder"[^}]*"token":"\([0-9a-f]*\)".*/\1/')
cadre task create "Keep me" >/dev/null
cadre backup "$TMPDIR/copy.db" | grep -q verified
cadre task create "Made after the backup" >/dev/null

mkdir -m 700 "$TMPDIR/again"
cp "$TMPDIR/copy.db" "$TMPDIR/again/state.db"
cp "$TMPDIR/copy.db.secret" "$TMPDIR/again/secret"
export CADRE_HOME="$TMPDIR/again"
[ "$(sqlite3 -readonly "$CADRE_HOME/state.db" 'SELECT count(*) FROM v_board')" = 1 ]
CADRE_TEAM=alpha CADRE_AGENT=coder CADRE_TOKEN=$token cadre claim --json |
	grep -q '"title":"Keep me"'
cadre backup "$TMPDIR/copy.db" 2>"$TMPDIR/err" && bad "overwrote a backup"
grep -q '^cadre: ' "$TMPDIR/err"
cadre backup "$TMPDIR/nowhere/x.db" 2>"$TMPDIR/err" && bad "a backup into no folder"
grep -q "the folder $TMPDIR/nowhere: No such file" "$TMPDIR/err" &&
	grep -q 'make the folder' "$TMPDIR/err" || bad "told: $(cat "$TMPDIR/err")"

set +e
# The option --keep N leaves the N newest backups. The backup that was just made is always kept,
# even if the name of another backup contains a later time. Files that are no backups are kept,
# too.
for i in 1 2 3; do cadre backup >/dev/null; done
touch "$CADRE_HOME/backups/mine.db" "$CADRE_HOME/backups/state-29991231-235959.000000000.db"
is 0 verified cadre backup --keep 3
[ "$(ls "$CADRE_HOME/backups" | grep -c '^state-2.*\.db$')" = 3 ] || bad "kept: $(ls "$CADRE_HOME/backups")"
is 0 verified cadre backup --keep 1
[ "$(ls "$CADRE_HOME/backups" | grep -c '^state-2.*\.db$')" = 1 ] && [ -e "$CADRE_HOME/backups/mine.db" ] ||
	bad "kept: $(ls "$CADRE_HOME/backups")"
last=$(sed -n '1s/: .*//p' "$TMPDIR/out")
[ -e "$last" ] && [ -e "$last.secret" ] || bad "the backup that was made is gone"
is 2 '^cadre: invalid: --keep must be a number from 1 to 100000$' cadre backup --keep 0
is 2 'only with the folder of backups' cadre backup --keep 2 "$TMPDIR/other.db"
# A backup that fails leaves no file. The hint of the fault advises the person to free some
# space on the disk.
mkdir "$TMPDIR/small"
if [ "$(id -u)" = 0 ] && mount -t tmpfs -o size=64k none "$TMPDIR/small" 2>/dev/null; then
	is 7 . cadre backup "$TMPDIR/small/copy.db"
	grep -q 'Free some room' "$TMPDIR/err" || bad "no way on: $(cat "$TMPDIR/err")"
	[ -z "$(ls -A "$TMPDIR/small")" ] || bad "left: $(ls -A "$TMPDIR/small")"
	head -c 70000 /dev/zero >"$TMPDIR/small/full" 2>/dev/null
	is 7 'Free some room' cadre export "$TMPDIR/small/lines"
	[ "$(ls -A "$TMPDIR/small")" = full ] || bad "left: $(ls -A "$TMPDIR/small")"
	umount "$TMPDIR/small"
fi
# The next export removes a file that a killed export left.
sh -c 'echo $$' >"$TMPDIR/ended"
touch "$TMPDIR/lines.$(cat "$TMPDIR/ended").tmp"
is 0 . cadre export "$TMPDIR/lines"
[ ! -e "$TMPDIR/lines.$(cat "$TMPDIR/ended").tmp" ] || bad "a leftover of an export stays"

# A plain copy does not notice that a page of a table has lost its last row. `backup` refuses a
# database that has lost a row, and removes no older backup.
for i in $(seq 20); do cadre task create "task $i $(head -c 300 /dev/zero | tr '\0' x)" >/dev/null; done
sqlite3 "$CADRE_HOME/state.db" 'PRAGMA wal_checkpoint(TRUNCATE)' >/dev/null
/usr/bin/python3 - "$CADRE_HOME/state.db" <<-'END'
	import sqlite3, sys
	db = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
	page = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'task'").fetchone()[0]
	size = db.execute("PRAGMA page_size").fetchone()[0]
	db.close()
	data = bytearray(open(sys.argv[1], "rb").read())
	at = lambda page: (page - 1) * size
	while data[at(page)] == 5:  # finds the last leaf page, from which the last cell is then cut off
	    page = int.from_bytes(data[at(page) + 8:at(page) + 12], "big")
	cells = int.from_bytes(data[at(page) + 3:at(page) + 5], "big")
	data[at(page) + 3:at(page) + 5] = (cells - 1).to_bytes(2, "big")
	with open(sys.argv[1], "r+b") as f:
	    f.write(data)
END
is 1 'damaged, and was not copied' cadre backup --keep 1
is 1 'damaged, and the export holds what is left' cadre export "$TMPDIR/left.jsonl"
[ -s "$TMPDIR/left.jsonl" ] || bad "what is left was not written"
[ -e "$last" ] && [ -e "$last.secret" ] || bad "the last good backup is gone"
# If a state has lost rows to which other rows refer, `backup` fails, and removes no older
# backup.
export CADRE_HOME="$TMPDIR/lost"
cadre init >/dev/null && cadre team create lost --roles ann >/dev/null && cadre send ann one >/dev/null || bad "a state"
is 0 verified cadre backup --keep 1
sqlite3 "$CADRE_HOME/state.db" 'PRAGMA foreign_keys = OFF; DELETE FROM message'
is 1 'rows of the state are lost: message 1 of delivery is a copy whose message or recipient is lost' cadre backup --keep 1
[ "$(ls "$CADRE_HOME"/backups/*.db | wc -l)" = 1 ] || bad "the good copy is gone: $(ls "$CADRE_HOME/backups")"
is 1 'holds what is left: rows of the state are lost: message 1 of delivery' sh -c '"$CADRE" export >"$TMPDIR/lost.jsonl"'
grep -q '"end"' "$TMPDIR/lost.jsonl" || bad "the export of a state that lost rows has no end"
cadre doctor | grep -q 'delivery is a copy whose message or recipient is lost' || bad "doctor: $(cadre doctor)"
exit $failed
