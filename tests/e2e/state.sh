# A person reads the state's file with SQL while cadre uses the file. Every view and every query
# of docs/state.md runs, and returns the right rows.
set -eu
. "$(dirname "$0")/../lib/story.sh"
cadre init >/dev/null
cadre team create alpha --roles '[{"name":"coder"},{"name":"tester"}]' >/dev/null
cadre task create "Write the parser" >/dev/null
cadre task create "Test the parser" --depends-on 001 >/dev/null
cadre --as coder claim 001 >/dev/null
cadre --as coder send tester "the parser is on its way" --thread design >/dev/null
cadre --as coder done 001 "it parses" >/dev/null

ask() { sqlite3 -readonly "$CADRE_HOME/state.db" "$1"; }

for view in v_team v_agent v_inbox v_message v_delivery v_board v_ready v_note \
	v_assignment v_result v_workspace v_network v_snapshot v_event; do
	ask "SELECT * FROM $view" >/dev/null || bad "$view does not answer"
	columns=$(ask "SELECT group_concat(name, ' ') FROM pragma_table_info('$view')")
	grep -qF "| \`$view\` |" "$here/../docs/state.md" || bad "$view is not documented"
	grep -F "| \`$view\` |" "$here/../docs/state.md" | grep -qF "\`$columns\`" ||
		bad "$view has: $columns"
done

# Every query in docs/state.md runs without an error.
awk '/^```sql/ { on = 1; next } /^```/ { if (on) print "--END--"; on = 0 } on' \
	"$here/../docs/state.md" >"$TMPDIR/queries"
n=0; query=
while IFS= read -r line; do
	if [ "$line" = "--END--" ]; then
		ask "$query" >/dev/null || bad "does not run: $query"
		n=$((n + 1)); query=
	else
		query="$query $line"
	fi
done <"$TMPDIR/queries"
[ "$n" -eq 10 ] || bad "$n queries, not 10"

# The queries return rows about the team's tasks, messages and events.
[ "$(ask "SELECT id FROM v_ready")" = 002 ] || bad "002 is not ready"
[ "$(ask "SELECT sender || ' ' || agent FROM v_inbox")" = "coder tester" ]
[ "$(ask "SELECT status || ' ' || result FROM v_board WHERE id = '001'")" = "completed it parses" ]
[ "$(ask "SELECT count(*) FROM v_event WHERE event = 'task.completed' AND actor = 'coder'")" = 1 ]
id=$(ask "SELECT id FROM v_message")
cadre receipt "$id" --json | grep -q '"state":"queued"'
# Every event in the state's table `word` is an event of the schema.
cadre docs reference >"$TMPDIR/reference.md"
for word in $(ask "SELECT word FROM word WHERE list = 'event'"); do
	grep -qF "$word" "$TMPDIR/reference.md" || bad "$word is no event"
done
# The table `word` contains words for every list that a view uses.
lists=$(ask "SELECT sql FROM sqlite_schema WHERE type = 'view'" | grep -o "list = '[a-z_]*'" | cut -d"'" -f2 | sort -u)
[ -n "$lists" ] || bad "no view asks for a word"
for list in $lists; do
	[ "$(ask "SELECT count(*) FROM word WHERE list = '$list'")" -gt 0 ] || bad "no words of $list"
done
# The view v_network shows the transports of a VM's forwarded ports by name. The test inserts
# the rows of a VM, and starts no VM.
cp "$CADRE_HOME/state.db" "$TMPDIR/forwards.db"
[ "$(sqlite3 "$TMPDIR/forwards.db" "PRAGMA foreign_keys = OFF;
	INSERT INTO workspace (id, name, team, backend, state, slot, created_at, changed_at) VALUES (1, 'v', 1, 2, 1, 5, 0, 0);
	INSERT INTO workspace_forward (host, transport, port, workspace, target, public) VALUES (1, 0, 8080, 1, 80, 0), (1, 1, 53, 1, 5353, 0);
	SELECT forwards FROM v_network")" = "tcp 8080>80, udp 53>5353" ] ||
	bad "v_network: $(sqlite3 "$TMPDIR/forwards.db" 'SELECT * FROM v_network')"
# After a team ends, the state contains no secret of the team's guests.
sqlite3 "$CADRE_HOME/state.db" "PRAGMA foreign_keys = OFF;
	INSERT INTO workspace (name, team, backend, state, link_token, created_at, changed_at)
	SELECT 'far', id, 1, 2, 'a secret of its guest', 0, 0 FROM team WHERE name = 'alpha'"
cadre team destroy --yes alpha >/dev/null
[ "$(ask "SELECT count(*), count(link_token) FROM workspace")" = "1|0" ] || bad "a token is left"
[ "$(ask "PRAGMA integrity_check")" = ok ]
# While a host runs, `status` names a trigger that is not cadre's, and can still read the state.
set +e
cadre up >/dev/null || bad "up"
cadre team create beta >/dev/null
beside '^nothing needs you' cadre status
sqlite3 "$CADRE_HOME/state.db" "CREATE TRIGGER t BEFORE INSERT ON event BEGIN SELECT RAISE(FAIL, 'no'); END"
is 5 'a trigger that does not belong to cadre: t' cadre team create gamma
is 0 '^state\t\t\t.*/state.db holds a trigger that does not belong to cadre: t\t\tremove it with sqlite3' cadre status
sqlite3 "$CADRE_HOME/state.db" 'DROP TRIGGER t'
beside '^nothing needs you' cadre status
cadre down >/dev/null || bad "down"
exit $failed
