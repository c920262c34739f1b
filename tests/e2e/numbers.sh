# numbers - sqlgen compiles SQL statements. sqlgen refuses a bare number in place of the name of
# an enum's value or of an event.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root" || exit 1
bad=0 n=0

# gives SQL TEXT: sqlgen compiles the statement, and the result contains TEXT. refused SQL TEXT:
# sqlgen refuses the statement, and the refusal contains TEXT and the statement's place. judge()
# checks the statements of gives() and refused() at the end, since one run of sqlgen compiles
# many statements and prints all refusals.
gives() { probes given "$@"; }
refused() { probes refused "$@"; }
probes() {
	n=$((n + 1))
	printf -- '-- name: probe%d\n-- scan ok: a test\n%s;\n\n' "$n" "$2" >>"$TMPDIR/$1.sql"
	printf '%s\n' "$3" >>"$TMPDIR/$1.said"
}
judge() {
	build/sqlgen schema/*.op storage/enums migrations/*.sql -- "$TMPDIR/given.sql" \
		>"$TMPDIR/out" || { echo "something is refused"; bad=1; }
	awk '
	FILENAME ~ /said$/ { said[++m] = $0; next }
	/^\t\[sql_(late_)?probe[0-9]+\] = / { n++ }
	/^};/ && n { n = m + 1 }
	{ got[n] = got[n] $0 "\n" }
	END {
		for (i = 1; i <= m; i++)
			if (index(got[i], said[i]) == 0) {
				printf "no %s in\n%s", said[i], got[i]
				bad = 1
			}
		exit bad
	}' "$TMPDIR/given.said" "$TMPDIR/out" || bad=1
	! build/sqlgen schema/*.op storage/enums migrations/*.sql -- "$TMPDIR/refused.sql" \
		>"$TMPDIR/out" 2>"$TMPDIR/err" || { echo "nothing is refused"; bad=1; }
	awk -v file="$TMPDIR/refused.sql:" '
	FILENAME ~ /refused.sql$/ && /^-- name: / { begins[++n] = FNR; sql[n] = "" }
	FILENAME ~ /refused.sql$/ { sql[n] = sql[n] $0 "\n"; next }
	FILENAME ~ /said$/ { said[++m] = $0; next }
	index($0, file) == 1 {
		split(substr($0, length(file) + 1), place, ":")
		for (i = n; i > 1 && begins[i] > place[1] + 0; i--) { }
		told[i] = told[i] $0 "\n"
	}
	END {
		for (i = 1; i <= n; i++)
			if (index(told[i], said[i]) == 0) {
				printf "%sis not refused with: %s\n%s", sql[i], said[i], told[i]
				bad = 1
			}
		exit bad
	}' "$TMPDIR/refused.sql" "$TMPDIR/refused.said" "$TMPDIR/err" || bad=1
}

gives "SELECT id FROM task WHERE state = {task_state.failed}" "WHERE state = 5;"
gives "SELECT id FROM task WHERE state IN {task_state.claimed in_progress}" "state IN (1, 2);"
gives "SELECT id FROM task WHERE state IN {task_state.failed pending}" "state IN (0, 5);"
gives "SELECT id FROM task WHERE state IN {task_state.open}" "state < 4;"
gives "SELECT id FROM task WHERE state NOT IN {task_state.open}" "state > 3;"
gives "SELECT id FROM task WHERE state IN {task_state.held}" "state BETWEEN 1 AND 3;"
gives "SELECT id FROM task WHERE state BETWEEN {task_state.open}" "state BETWEEN 0 AND 3;"
gives "SELECT seq FROM event WHERE kind BETWEEN {events.task}" "kind BETWEEN 200 AND 299;"
gives "SELECT seq FROM event WHERE kind = {event.message_sent}" "kind = 120;"
gives "SELECT id FROM agent WHERE kind = {agent_kind.operator}" "kind = 1;"
gives "SELECT agent FROM inbox WHERE lane IN {delivery_lane.mail}" "lane < 2;"

refused "SELECT id FROM task WHERE state = {task_state.faild}" "the nearest is {task_state.failed}"
refused "SELECT id FROM task WHERE state = {task_stat.failed}" "the nearest is task_state"
refused "SELECT seq FROM event WHERE kind = {event.message_send}" "the nearest is {event.message_sent}"
refused "SELECT seq FROM event WHERE kind BETWEEN {events.mail}" "no numbers are kept for the events of mail"
refused "SELECT seq FROM event WHERE kind = {events.task}" "stands behind BETWEEN"
refused "SELECT id FROM task WHERE state = {task_state.held}" "stand behind IN or BETWEEN"
refused "SELECT id FROM task WHERE state = {task_state.failed" "not closed"
refused "SELECT id FROM task WHERE state = 5" "state holds task_state"
refused "SELECT k.id FROM task k WHERE k.state IN (1, 2)" "state holds task_state"
refused "SELECT id FROM task WHERE :id AND after_lapse < 3" "after_lapse holds task_state"
refused "UPDATE task SET state = CASE WHEN :id THEN 1 ELSE 2 END" "state holds task_state"
refused "UPDATE task SET state = {team_state.ready}" "state holds task_state"
refused "SELECT e.seq FROM event e WHERE e.kind <> 120" "kind holds event"
refused "SELECT id FROM agent WHERE kind = {event.message_sent}" "kind holds agent_kind"
refused "SELECT agent FROM inbox WHERE lane < 2" "lane holds delivery_lane"
refused "SELECT id FROM task WHERE state BETWEEN {task_state.claimed} AND 3" "in place of 3"
refused "SELECT id FROM task WHERE state = CASE WHEN owner > 1 THEN {task_state.claimed} ELSE 3 END" "in place of 3"
refused "SELECT id FROM task WHERE CASE state WHEN 3 THEN 1 ELSE 0 END = 1" "in place of 3"
refused "UPDATE task SET state = CASE WHEN owner > 1 THEN {task_state.claimed} WHEN owner > 2 THEN (3) END WHERE id = :id" "in place of 3"
refused "UPDATE task SET state = CASE WHEN owner > 1 THEN CASE WHEN owner > 2 THEN state ELSE 3 END ELSE state END" "in place of 3"
refused "UPDATE task SET updated_at = :now, state = coalesce(:state, 3) WHERE id = :id" "in place of 3"
refused "INSERT INTO snapshot (workspace, name, state, created_at) VALUES (:workspace, :name, 0, :now)" "state holds snapshot_state"
refused "INSERT INTO snapshot (workspace, name, state, created_at) VALUES (:workspace, :name, {team_state.ready}, :now)" "state holds snapshot_state"
refused "INSERT INTO snapshot (workspace, name, state, created_at) VALUES (1, 'a', {snapshot_state.ready}, 2), (1, 'b', 0, 2)" "state holds snapshot_state"
refused "INSERT INTO snapshot (workspace, name, state, created_at) SELECT id, coalesce(name, ''), 0, :now FROM workspace" "state holds snapshot_state"
refused "INSERT INTO snapshot (workspace, name, state, created_at) SELECT id, name, CASE WHEN id > 1 THEN {snapshot_state.ready} ELSE 0 END, :now FROM workspace" "in place of 0"
refused "INSERT INTO snapshot (workspace, name, state, created_at) SELECT id, name, {snapshot_state.ready}, :now FROM workspace UNION ALL SELECT id, name, 0, 0 FROM workspace" "in place of 0"
refused "SELECT id FROM task WHERE 0 = state" "state holds task_state"
refused "SELECT id FROM task WHERE +state = 1" "state holds task_state"
refused "SELECT id FROM task WHERE state IS NOT DISTINCT FROM 1" "in place of 1"
refused "SELECT id FROM task WHERE state IS DISTINCT FROM 1" "in place of 1"
refused "SELECT id FROM task WHERE state IN (SELECT 1)" "state holds task_state"
refused "SELECT id FROM task WHERE coalesce(state, 0) = 1" "in place of 0"
refused "SELECT id FROM task WHERE nullif(state, 1) IS NULL" "in place of 1"
refused "SELECT id FROM task WHERE state + 0 = 1" "in place of 0"
refused "SELECT id FROM task WHERE state - 1 = 0" "in place of 1"
refused "SELECT id FROM task WHERE state / 2 <> 0" "in place of 2"
refused "SELECT id FROM task WHERE (state & 1) <> 0" "in place of 1"
refused "UPDATE task SET state = state + 1" "in place of 1"
refused "SELECT message, team, agent, state FROM assignment WHERE state = {team_state.ready}" "state holds assignment_state"
gives "SELECT x.s AS a, y.s AS b FROM (SELECT state AS s FROM task) x, (SELECT status AS s FROM agent) y WHERE x.s = {task_state.failed} AND y.s = {agent_status.ready}" "x.s = 5"
refused "INSERT INTO delivery (message, agent, lane, state) VALUES (1, 2, {delivery_lane.urgent}, {delivery_state.queued}) ON CONFLICT (message, agent) DO UPDATE SET state = 2" "in place of 2"
gives "SELECT w.word FROM task k JOIN word w ON w.list = 'task_state' AND w.n = k.state" "w.n = k.state"
gives "SELECT coalesce(max(state), {task_state.pending}) AS n, count(DISTINCT state) AS kinds FROM task" "coalesce(max(state), 0)"
gives "SELECT seq FROM event WHERE kind BETWEEN :low AND :high AND (:kinds >> CAST(kind - :low AS INTEGER)) & 1 = 1" "kind - :low"
gives "INSERT INTO snapshot (id, workspace, name, state, created_at) SELECT 7, 1, 'a', {snapshot_state.ready}, 2" "SELECT 7, 1, 'a', 1, 2"
gives "SELECT id, team, state FROM task WHERE priority = 3 AND state IN {task_state.open} AND owner IN (1, 2)" "priority = 3"
refused "SELECT id FROM task WHERE title = \"x\"" "no such column"

# A statement that is marked `-- late` must not return rows, since no caller reads its result.
gives "-- late
UPDATE task SET title = :title WHERE id = :id" ".late = true"
refused "-- late
SELECT id FROM task" "so it is not late"
refused "-- late
UPDATE task SET title = :title WHERE id = :id RETURNING id" "so it is not late"

# A named list of columns is written once, and later statements use the list by its name.
gives "SELECT id FROM team;

-- columns: both
k.id,
 k.title
-- columns: three
{columns.both}, k.state

-- name: probe_of_a_list
-- scan ok: a test
SELECT {columns.three}, k.number
FROM task k" "SELECT k.id, k.title, k.state, k.number"
refused "SELECT {columns.missing} FROM task" "no list above is called missing"

judge

# A refusal names the line of the number, not the line of the statement's name.
printf -- '-- name: probe\n-- scan ok: a test\nSELECT id\n-- a comment\nFROM task\nWHERE state = 3;\n' >"$TMPDIR/probe.sql"
build/sqlgen schema/*.op storage/enums migrations/*.sql -- "$TMPDIR/probe.sql" 2>&1 >/dev/null |
	grep -q "^$TMPDIR/probe.sql:6: probe: state holds" || { echo "the wrong line"; bad=1; }

mkdir "$TMPDIR/migrations"
printf -- '-- name: one\nSELECT count(*) AS n FROM team;\n' >"$TMPDIR/one.sql"

# sqlgen also refuses a bare number in a migration, even behind a comment with a semicolon.
for text in '-- one; two\nUPDATE task SET state = 3 WHERE state = {task_state.failed};' \
	"UPDATE task SET title = title COLLATE NOCASE WHERE state = 3;"; do
	printf '%b\n' "$text" >"$TMPDIR/migrations/$(printf %04d $(($(ls migrations/*.sql | wc -l) + 1)))-held.sql"
	! build/sqlgen schema/*.op storage/enums migrations/*.sql "$TMPDIR"/migrations/*.sql -- "$TMPDIR/one.sql" >/dev/null 2>"$TMPDIR/err" &&
		grep -q 'held.sql:.*state ' "$TMPDIR/err" || { echo "a number in a migration: $text"; cat "$TMPDIR/err"; bad=1; }
done

# The file storage/exports must list every table and column of the state, even a table or column
# that exports leave out.
exports() { # PATTERN MIGRATION EXPORTS: the exports are refused with this text
	printf '%s\n' "$2" >"$TMPDIR/migrations/$(printf %04d $(($(ls migrations/*.sql | wc -l) + 1)))-held.sql"
	{ cat storage/exports; printf '%b' "$3"; } >"$TMPDIR/exports"
	! build/sqlgen schema/*.op storage/enums "$TMPDIR/exports" migrations/*.sql "$TMPDIR"/migrations/*.sql -- "$TMPDIR/one.sql" \
		>/dev/null 2>"$TMPDIR/err" && grep -q -e "$1" "$TMPDIR/err" || { echo "exports: $1"; cat "$TMPDIR/err"; bad=1; }
}
new='CREATE TABLE fresh (id INTEGER PRIMARY KEY, seal BLOB, of INTEGER) STRICT;'
exports 'table fresh: say what it is to an export' "$new" ''
exports 'team.motto: say what it is to an export' 'ALTER TABLE team ADD COLUMN motto TEXT;' ''
exports 'fresh.of: say what it is to an export' "$new" 'fresh\n\tid key\n\tseal left\n'
exports 'fresh.seal: a BLOB has to be `left`' "$new" 'fresh\n\tid key\n\tseal text\n\tof -> team\n'
exports 'fresh.of: there is no table teams' "$new" 'fresh\n\tid key\n\tseal left\n\tof -> teams\n'
exports 'fresh.of: schema/ has no type size' "$new" 'fresh\n\tid key\n\tseal left\n\tof size\n'
exports 'fresh: a column is named that it does not have' "$new" 'fresh\n\tid key\n\tseal left\n\tof int\n\tmore int\n'

# sqlgen can also compile the statements of another database, which has its own migrations and
# prefix.
build/sqlgen -p spool_ storage/spool/migrations/*.sql -- storage/spool/spool.sql >"$TMPDIR/out" || bad=1
printf 'CREATE TABLE t (n INTEGER);\n' >"$TMPDIR/own.sql"
printf -- '-- name: probe\n-- scan ok: a test\nSELECT rowid AS id, max(n, 1) AS n FROM t;\n' >"$TMPDIR/probe.sql"
build/sqlgen -p own_ "$TMPDIR/own.sql" -- "$TMPDIR/probe.sql" >"$TMPDIR/out" || { echo "the own database"; bad=1; }
exit $bad
