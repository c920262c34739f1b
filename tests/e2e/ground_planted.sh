#!/bin/sh
# ground_planted - a log or a journal of another person's state lies beside the user's own
# state.db. A checkout of a branch, or an archive, may leave such a file. cadre refuses the file
# with a clear message and changes nothing. When the file is removed, the user's own board works
# again.
set -u
. "$(dirname "$0")/../lib/story.sh"
own=$CADRE_HOME

cadre init >/dev/null || bad "init"
cadre team create crew >/dev/null || bad "team create"
cadre --team crew task create "my work" >/dev/null || bad "task create"

export CADRE_HOME="$TMPDIR/strange"
cadre init >/dev/null
cadre team create evil >/dev/null
cadre --team evil task create "their work" >/dev/null
# An attacker who plants a log can write page 1 many times. After many writes, one of the change
# counters in the planted log may match the counter of state.db.
{
	echo 'PRAGMA wal_autocheckpoint = 0;'
	i=0
	while [ $i -lt 60 ]; do
		echo 'VACUUM;'
		i=$((i + 1))
	done
	echo ".shell cp '$CADRE_HOME/state.db-wal' '$TMPDIR/log'"
} | sqlite3 "$CADRE_HOME/state.db"
[ -s "$TMPDIR/log" ] || bad "the strange state left no log"
sqlite3 "$CADRE_HOME/state.db" >/dev/null <<SQL
PRAGMA journal_mode = DELETE;
PRAGMA cache_size = 1;
BEGIN;
UPDATE task SET title = title || 'x';
DELETE FROM event;
.shell cp '$CADRE_HOME/state.db-journal' '$TMPDIR/journal'
ROLLBACK;
SQL
# SQLite writes the journal's header only when a page of the database must be written. The
# journal was copied before SQLite wrote the header, so the test writes the header into the
# copy.
printf '\331\325\005\371\040\241\143\327' | dd of="$TMPDIR/journal" conv=notrunc 2>/dev/null

export CADRE_HOME="$own"
for what in wal:log journal:journal; do
	kind=${what%:*}
	cp "$CADRE_HOME/state.db" "$TMPDIR/before"
	cp "$TMPDIR/${what#*:}" "$CADRE_HOME/state.db-$kind"
	for verb in status "task list" up; do
		cadre $verb >"$TMPDIR/out" 2>&1 && bad "$kind: $verb goes on"
		grep -q "state.db-$kind in .* does not belong to the state.db beside it: .*git.* an archive" \
			"$TMPDIR/out" || bad "$kind: $verb: $(cat "$TMPDIR/out")"
		grep -q "nothing is damaged yet: .*move state.db-$kind away" "$TMPDIR/out" ||
			bad "$kind: $verb does not say what to do: $(cat "$TMPDIR/out")"
	done
	cmp -s "$TMPDIR/before" "$CADRE_HOME/state.db" || bad "$kind: state.db was changed"
	rm "$CADRE_HOME/state.db-$kind"
	cadre --team crew task list >"$TMPDIR/out" 2>&1
	grep -q 'my work' "$TMPDIR/out" || bad "$kind: one's own board is gone: $(cat "$TMPDIR/out")"
done
exit $failed
