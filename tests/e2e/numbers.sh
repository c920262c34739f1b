# Numbers of enums and events in SQL are asked for by name: what sqlgen puts in their
# place, and what it refuses.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root" || exit 1
bad=0

# gives SQL TEXT: the statement reads so in the end.
gives() {
	printf -- '-- name: probe\n-- scan ok: a test\n%s;\n' "$1" >"$TMPDIR/probe.sql"
	build/sqlgen schema/*.op storage/enums migrations/*.sql -- "$TMPDIR/probe.sql" \
		>"$TMPDIR/out" 2>"$TMPDIR/err" && grep -qF -- "$2" "$TMPDIR/out" && return
	echo "$1: not $2"
	cat "$TMPDIR/err"
	bad=1
}

# refused SQL TEXT: it is, and the refusal says this, with the place.
refused() {
	printf -- '-- name: probe\n-- scan ok: a test\n%s;\n' "$1" >"$TMPDIR/probe.sql"
	! build/sqlgen schema/*.op storage/enums migrations/*.sql -- "$TMPDIR/probe.sql" \
		>"$TMPDIR/out" 2>"$TMPDIR/err" && grep -qF -- "$2" "$TMPDIR/err" &&
		grep -q "^$TMPDIR/probe.sql:[13]: " "$TMPDIR/err" && return
	echo "$1: is not refused with: $2"
	cat "$TMPDIR/err"
	bad=1
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
gives "SELECT id FROM agent WHERE kind = 1" "kind = 1;"

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
exit $bad
