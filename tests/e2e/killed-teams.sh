#!/bin/sh
# killed-teams - a host is killed after it has made, or has destroyed, some workspaces of a
# team. Under the next host the team has all its workspaces, or no workspace.
set -u
. "$(dirname "$0")/../lib/story.sh"
trap 'cadre down --all >/dev/null 2>&1' EXIT
MEMBERS=4
roles='[{"name":"a","workspace":true},{"name":"b","workspace":true},{"name":"c","workspace":true},{"name":"d","workspace":true}]'

number() { sqlite3 "$CADRE_HOME/state.db" "$1"; }
. "$(dirname "$0")/../lib/kill_at.sh"

cadre up >/dev/null || bad "up"
for at in 0 1 2 3 4; do
	TEAM=team-$at
	# The call has a key, so a repeated call makes no second team.
	"$CADRE" team create "$TEAM" --roles "$roles" --key "make-$at" >/dev/null 2>&1 &
	creating=$!
	up=$(kill_at "$TEAM" "$at" ready)
	wait "$creating"
	echo "killed when $up were up"
	is 0 . cadre up
	is 0 . cadre team create "$TEAM" --roles "$roles" --key "make-$at" --wait
	[ "$(number "SELECT count(*) FROM v_workspace WHERE team = '$TEAM' AND state = 'ready'")" = $MEMBERS ] ||
		bad "not all are up: the host was killed when $up were"
	until_is "^$MEMBERS\$" count_guests
	is 0 '"state":"ready"' cadre team status "$TEAM" --json
	[ "$(number "SELECT group_concat(detail, ' ') FROM (SELECT e.detail FROM event e JOIN team t ON t.id = e.team
		WHERE t.name = '$TEAM' AND e.kind = 101 ORDER BY e.seq)")" = "creating ready" ] ||
		bad "states of $TEAM: $(cadre events --team "$TEAM" --kind team.state)"
	[ "$(number "SELECT count(*) - count(DISTINCT subject) FROM event e JOIN team t ON t.id = e.team
		WHERE t.name = '$TEAM' AND e.kind = 151")" = 0 ] || bad "a workspace of $TEAM was ready twice"
	for member in a b c d; do
		is 0 '^here$' cadre exec --team "$TEAM" "$TEAM/$member" echo here
	done

	"$CADRE" team destroy "$TEAM" --yes >/dev/null 2>&1 &
	ending=$!
	down=$(kill_at "$TEAM" "$at" destroyed)
	wait "$ending"
	echo "killed when $down had ended"
	is 0 . cadre up
	until_is '^0$' count_guests
	[ "$(number "SELECT count(*) FROM workspace w JOIN team t ON t.id = w.team WHERE t.name = '$TEAM'
		AND (SELECT word FROM word WHERE list = 'workspace_state' AND n = w.state) <> 'destroyed'")" = 0 ] ||
		bad "not all of $TEAM ended: the host was killed when $down had"
	[ "$(number "SELECT count(*) FROM event e JOIN team t ON t.id = e.team
		WHERE t.name = '$TEAM' AND e.kind = 154")" = $MEMBERS ] ||
		bad "workspaces of $TEAM ended another number of times than once"
done
beside 'no teams' cadre team list
exit $failed
