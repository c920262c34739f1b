#!/bin/sh
# other-host - a state contains a workspace and a snapshot of another host. This host starts and
# destroys its own workspaces, and changes no workspace or snapshot of the other host.
set -eu
. "$(dirname "$0")/../lib/story.sh"
trap 'cadre down >/dev/null 2>&1 || true' EXIT
ask() { sqlite3 "$CADRE_HOME/state.db" "$1"; }
far() { ask "SELECT w.state, w.pid, w.was_up, w.changed_at, s.state FROM workspace w
	JOIN snapshot s ON s.workspace = w.id WHERE w.name = 'far'"; }
ours() { ask "SELECT s.state FROM snapshot s JOIN workspace w ON w.id = s.workspace WHERE w.host = 1"; }

cadre init >/dev/null
cadre team create alpha --roles '[{"name":"a"}]' >/dev/null
# A workspace in state 0 is being made, so its host would continue to make the workspace. The
# process that the row names is on another machine.
ask "INSERT INTO host (id, name, created_at) VALUES (2, 'far', 0);
	INSERT INTO workspace (host, team, name, backend, path, state, pid, pid_start, machine_boot, created_at, changed_at)
	SELECT 2, id, 'far', 0, 'workspaces/far', 0, 1, 1, 'elsewhere', 0, 0 FROM team;
	INSERT INTO workspace (host, team, name, backend, path, state, created_at, changed_at)
	SELECT 1, id, 'near', 0, 'workspaces/near', 4, 0, 0 FROM team;
	INSERT INTO snapshot (workspace, name, state, created_at) SELECT id, 's', 0, 0 FROM workspace;"
before=$(far)
[ -n "$before" ] || bad "there is no row of another host"

cadre up >/dev/null
cadre workspace create --agent a --team alpha >/dev/null
until_is '^1$' ask "SELECT count(*) FROM workspace WHERE host = 1 AND state = 1"
until_is '^2$' ours
[ "$(far)" = "$before" ] || bad "changed at the start: $before became $(far)"
[ ! -e "$CADRE_HOME/workspaces/far" ] || bad "a folder was made for another host's workspace"
# This host refuses a call that needs a guest of the other host, and does not change the
# workspace's row.
ask "UPDATE workspace SET state = 1 WHERE name = 'far'"
before=$(far)
told=$(cadre exec far --team alpha -- true 2>&1) && bad "a command ran in another host's workspace"
case $told in
*'another host runs workspace far: far'*"Make the call on that host's machine."*) ;;
*) bad "a command in another host's workspace: $told" ;;
esac
# This host refuses to copy files of the other host's workspace, and changes no row.
ask "UPDATE workspace SET was_up = 1, state = 1 WHERE name = 'far';
	UPDATE snapshot SET state = 1 WHERE workspace = (SELECT id FROM workspace WHERE name = 'far')"
before=$(far)
for call in 'snapshot far t' 'forget far s' 'fork far' 'fork far --snapshot s'; do
	told=$(cadre workspace $call --team alpha 2>&1) && bad "done for another host: $call"
	case $told in
	*'another host runs workspace far: far'*) ;;
	*) bad "workspace $call: $told" ;;
	esac
done
[ "$(far)" = "$before" ] || bad "changed by what was refused: $before became $(far)"
told=$(cadre team create beta --roles '[{"name":"b","workspace":true}]' --golden far 2>&1) && bad "a copy of another host's files"
case $told in *'another host runs workspace far: far'*) ;; *) bad "a golden of another host: $told" ;; esac
told=$(cadre workspace info far --team alpha --json)
case $told in *'"host": "far"'* | *'"host":"far"'*) ;; *) bad "the workspace does not name its host: $told" ;; esac
case $told in *'"pid"'* | *'"path"'*) bad "a process and a path of another machine: $told" ;; esac
told=$(cadre doctor) || true
case $told in *'far is not running'*) bad "the doctor looks for another machine's process" ;; esac
# This host ends its own workspace, and the workspace's guest.
cadre workspace destroy --yes a --team alpha >/dev/null
until_is '^0$' ask "SELECT count(*) FROM workspace WHERE host = 1 AND pid IS NOT NULL"
cadre down >/dev/null
[ "$(far)" = "$before" ] || bad "changed at the end: $before became $(far)"

# This host did not run for an hour. If the other host ran during this hour, agents could make
# calls, so leases do not change. If no host ran during this hour, leases become an hour longer.
cadre task create work --team alpha >/dev/null
cadre claim --team alpha --as a >/dev/null
hour=3600000
for other in 1 0; do
	ask "UPDATE task SET lease_ms = 2 * $hour, lease_until = strftime('%s') * 1000 + $hour / 2;
		UPDATE host SET alive_at = (strftime('%s') * 1000 - $hour * (id = 1)) * (id = 1 OR $other)"
	lease=$(ask "SELECT lease_until FROM task")
	cadre up >/dev/null
	cadre send a "still there?" --team alpha >/dev/null # waits until the host has checked leases
	cadre down >/dev/null
	moved=$(($(ask "SELECT lease_until FROM task") - lease))
	case $other:$((moved / 1000000)) in
	1:0 | 0:3) ;;
	*) bad "the other host ran: $other, and the lease moved by $moved ms" ;;
	esac
done
exit $failed
