#!/bin/sh
# nested - a lead makes teams below its own team, and gives them a part of its work and of its
# workspaces. No team gets more workspaces than were left, however many callers ask at the same
# time. A team and all teams below it end together.
set -u
. "$(dirname "$0")/../lib/story.sh"
trap 'cadre down --all >/dev/null 2>&1' EXIT
as_agent() { # TEAM AGENT COMMAND...: runs the command with the agent's token
	(eval "$(cadre agent env "$2" --team "$1")" && shift 2 && "$@")
}

cadre up >/dev/null || bad "up"
is 0 'created team top' cadre team create top --roles '[{"name":"boss","role":"lead"},{"name":"hand"}]' --max-vms 10
is 0 'created team parser' as_agent top boss cadre team create parser --roles coder --max-vms 4
is 5 'only the lead of team top' as_agent top hand cadre team create mine
is 5 'an agent can reach only its own team' as_agent parser coder cadre task list --team top

# 64 callers each ask for one of the six workspaces that are left. Six callers get a workspace.
# The other 58 callers get a refusal that names the cause.
seq 64 | xargs -P 16 -I{} sh -c "'$CADRE' team create race-{} --parent top --max-vms 1 >/dev/null 2>>'$TMPDIR/race' && echo made" >"$TMPDIR/made"
[ "$(wc -l <"$TMPDIR/made")" = 6 ] || bad "made: $(wc -l <"$TMPDIR/made")"
[ "$(grep -c 'exhausted: team top has 0 of 10 workspaces left (max_vms): 0 are used, 10 reserved' "$TMPDIR/race")" = 58 ] ||
	bad "not told why: $(sort "$TMPDIR/race" | uniq -c)"
[ "$(sqlite3 "$CADRE_HOME/state.db" 'SELECT sum(c.max_vms) FROM team c JOIN team p ON p.id = c.parent')" = 10 ] || bad "overspent"
is 0 '"vms":{"limit":10,"used":0,"reserved":10,"left":0}' cadre team status --team top --json

# A person sees the tree of teams in the list and in the vault.
is 0 '^parser\tready\t2\t0\t.*\ttop\ttop / parser$' cadre team list --tree
is 0 '^top\tready\t2\t0\t.*\t\ttop$' cadre team list --tree
is 0 '^parser\tready\t2\t0' cadre team status --team top
until_done grep -q '^Above it: \[top\](../top/TEAM.md)\.$' "$CADRE_HOME/vault/teams/parser/TEAM.md"
until_done grep -q '^Below it: \[parser\](../parser/TEAM.md), \[race-' "$CADRE_HOME/vault/teams/top/TEAM.md"
grep -q '"parent_team": "top"' "$CADRE_HOME/vault/teams/parser/cards/coder.json" || bad "no parent in the card"

# An agent of a team writes to the lead of a team below, and gets the lead's answer. If a team
# has no lead, the agent who made the team acts as its lead.
is 0 'sent' as_agent top hand cadre send parser/lead "what do you need?"
is 0 '^top/hand -> lead' as_agent top boss cadre inbox --team parser
is 0 . as_agent top boss cadre send top/hand "a grammar" --team parser
is 0 '^parser/lead -> hand' as_agent top hand cadre inbox
is 5 'parser/coder is not in team top' as_agent top hand cadre send parser/coder "psst"

# The host is killed in the middle of a call that ends a team and the teams below. Either all
# teams of the call end, or no team ends.
is 0 . cadre workspace create --team parser --agent coder --wait
until_is '^work$' cadre exec --team parser parser/coder 'echo work | tee file'
host=$(cut -d' ' -f1 "$CADRE_HOME/host.lock")
"$CADRE" team destroy top --yes >/dev/null 2>&1 &
kill -9 "$host"
wait $!
cadre up >/dev/null || bad "up again"
cadre team destroy top --yes >/dev/null 2>&1
beside 'no teams' cadre team list
until_is '^0$' count_guests
[ "$(sqlite3 "$CADRE_HOME/state.db" 'SELECT count(*) FROM team WHERE destroyed_at IS NULL')" = 0 ] || bad "a team lives"
is 0 'parser-coder-' cadre undo
exit $failed
