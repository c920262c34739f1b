#!/bin/sh
# budgets - the limits of teams for tokens, money, time and messages. The teams below a team
# never spend more than their share, even under simultaneous calls. A report of spent tokens
# counts once even if the host is killed. A spent budget allows no new work until the budget is
# made larger.
set -u
. "$(dirname "$0")/../lib/story.sh"
trap 'cadre down --all >/dev/null 2>&1' EXIT
as_agent() { # TEAM AGENT COMMAND...: runs COMMAND with the agent's own token
	(eval "$(cadre agent env "$2" --team "$1")" && shift 2 && "$@")
}
row() { # SQL: prints one value from the state
	sqlite3 -cmd '.timeout 20000' "$CADRE_HOME/state.db" "$1"
}

cadre up >/dev/null || bad "up"
is 0 'created team top' cadre team create top --roles '[{"name":"lead"},{"name":"hand"}]' --max-tokens 6500 --max-messages 100
is 6 'team top has 6500 of 6500 tokens left' as_agent top lead cadre team create sub

# When a team's time is used up, the host immediately reports this, though nobody in the team
# makes a call.
is 0 'created team brief' cadre team create brief --max-seconds 5

# Each of 64 new teams asks for 1,000 of the 6,500 tokens. Only six of the teams are made.
seq 64 | xargs -P 16 -I{} sh -c "'$CADRE' team create race-{} --parent top --max-tokens 1000 --max-messages 1 >/dev/null 2>>'$TMPDIR/race' && echo made" >"$TMPDIR/made"
is 0 team.exhausted cadre events --team brief --kind team.exhausted --wait-seconds "$(bound)"
told=$(row "SELECT group_concat(w.word || CASE WHEN e.at - b.since < iif(w.word = 'team.low', 4000, 5000)
		THEN ' too early' ELSE '' END, ', ') FROM event e JOIN team t ON t.id = e.team
	JOIN budget b ON b.team = t.id AND b.since IS NOT NULL
	JOIN word w ON w.list = 'event' AND w.n = e.kind AND w.word IN ('team.low', 'team.exhausted')
	WHERE t.name = 'brief' ORDER BY e.seq")
[ "$told" = "team.low, team.exhausted" ] || bad "told of 5 seconds: $told"
[ "$(wc -l <"$TMPDIR/made")" = 6 ] || bad "made: $(wc -l <"$TMPDIR/made")"
[ "$(grep -c 'team top has 500 of 6500 tokens left (max_tokens): 0 are used, 6000 reserved' "$TMPDIR/race")" = 58 ] ||
	bad "not told why: $(sort "$TMPDIR/race" | uniq -c)"
is 0 '^top\ttokens\t6500\t0\t6000\t500\t92$' cadre team budget top
is 0 '^top  *tokens  *6,500  *0  *6,000  *500 ' cadre --table team budget top # USED stays
[ "$(cadre team budget top --json | grep -o '"path":"top / race-[0-9]*","kind":"tokens","limit":1000' | wc -l)" = 6 ] || bad "not all below are shown"

# Reports of tokens are repeated under the same keys while the host is killed. Each report
# counts once.
report() { # KEY: repeats a report until it is acknowledged
	for try in $(seq 100); do
		"$CADRE" team usage --team top --agent hand --tokens-in 1 --idempotency-key "turn-$1" >/dev/null 2>&1 && return
		sleep 0.2
	done
	echo "$1" >>"$TMPDIR/unreported"
}
for n in $(seq 40); do report "$n" & report "$n" & done
sleep 0.3
kill -9 "$(cut -d' ' -f1 "$CADRE_HOME/host.lock")"
cadre up >/dev/null || bad "up again"
wait
[ ! -e "$TMPDIR/unreported" ] || bad "not reported: $(cat "$TMPDIR/unreported")"
[ "$(row "SELECT used FROM v_budget WHERE team = 'top' AND kind = 'tokens'")" = 40 ] ||
	bad "40 reports of a token each: $(row "SELECT used FROM v_budget WHERE team = 'top' AND kind = 'tokens'")"

# A spent budget stops new work, and the lead and the operator get a message. A larger budget
# allows work again.
is 0 . cadre --team top task create Dig
is 0 'has spent 500 tokens of 6500' cadre team usage --team top --agent hand --tokens-out 460
is 6 'team top has 0 of 6500 tokens left (max_tokens): 500 are used, 6000 reserved' as_agent top hand cadre claim
grep -q 'Ask for a higher max_tokens\|see cadre team update' "$TMPDIR/err" || bad "not told what to do: $(cat "$TMPDIR/err")"
is 0 'team top has 0 of 6500 tokens left' as_agent top lead cadre inbox
is 0 'team top has 0 of 6500 tokens left' cadre inbox --team top
is 0 'exhausted' cadre --team top events
is 0 'at most .* 7000 tokens' cadre team update top --max-tokens 7000
is 0 'Dig' as_agent top hand cadre claim
until_done grep -q '^| tokens | 7000 | 500 | 6000 |$' "$CADRE_HOME/vault/teams/top/TEAM.md"

# People read and write money in dollars, on a terminal beside a bar. A program may still write
# millionths.
is 0 'created team shop' cadre team create shop --max-cost '$5'
is 0 'has spent 0 tokens, and \$0\.031 of \$5$' cadre team usage --team shop --agent lead --cost 31000
is 0 'and \$4\.231 of \$5' cadre team usage --team shop --agent lead --cost 4.20$
is 0 '"limit":5000000,"used":4231000,"reserved":0,"left":769000,"share":84' cadre team budget shop --json
is 0 '^shop\tcost\t\$5\t\$4\.231\t\$0\t\$0\.769\t84$' cadre team budget shop
is 2 'max.cost must be a whole number' cadre team update shop --max-cost '$5.0000001'
script -qec "stty cols 100; '$CADRE' team budget shop" /dev/null >"$TMPDIR/out" </dev/null
grep -q '████████░░  84 %' "$TMPDIR/out" || bad "no bar: $(cat "$TMPDIR/out")"
is 0 '^top  *tokens  *7,000  *500  *6,000  *500  ' env COLUMNS=80 "$CADRE" team budget top --table

# A team that ends returns its unspent budget.
first=$(row "SELECT c.name FROM team c WHERE c.name LIKE 'race-%' ORDER BY c.id LIMIT 1")
is 0 . cadre team usage --team "$first" --tokens-in 900
is 0 . cadre team destroy "$first" --yes
is 0 '^top\ttokens\t7000\t1400\t5000\t600\t91$' cadre team budget top
is 0 . cadre --team brief task create Hurry
is 6 'team brief has 0 of 5 seconds left' cadre --team brief claim

# Over MCP the argument max_tokens sets the team's budget, not the size of an answer. The team
# gets exactly this budget.
for tokens in 5 400; do
	printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}' \
		'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"team","arguments":{"action":"create","parent":"top","name":"by-mcp-'$tokens'","max_tokens":'$tokens',"max_messages":1,"max_result_tokens":800}}}' |
		"$CADRE" mcp --operator >"$TMPDIR/mcp"
	is 0 "^top / by-mcp-$tokens\ttokens\t$tokens\t0\t0\t$tokens\t0\$" cadre team budget "by-mcp-$tokens"
done
exit $failed
