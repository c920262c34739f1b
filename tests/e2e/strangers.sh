#!/bin/sh
# strangers - the test calls every route and every tool of the operation table with bad tokens.
# A bad token is missing, made up, revoked, expired, of an older generation, read-only, or of
# another team. Callers with bad tokens learn nothing of a team, except that a read-only token
# may read. No row of the team changes.
set -u
. "$(dirname "$0")/../lib/story.sh"
export CADRE_LIMITS_ENABLED=false
finish() {
	cadre team destroy --yes red >/dev/null 2>&1
	until_is '^0$' count_guests
	cadre down >/dev/null 2>&1
}
trap finish EXIT
operator=$(cadre token create --operator)
field() { sed -n "s/.*\"$1\":\"\{0,1\}\([^\",}]*\).*/\1/p"; }

cadre up >/dev/null || bad "up"
url=$(cat "$CADRE_HOME/endpoint") || bad "no endpoint"
is 0 . cadre team create red --roles '[{"name":"lead"},{"name":"coder"},{"name":"tester"},{"name":"zebra-one","description":"zebra","skills":["zebra"]},{"name":"w","workspace":true}]'
is 0 . cadre team create zebra-child --parent red --roles zebra-two
is 0 . cadre team create out --roles '[{"name":"lead"},{"name":"spy"},{"name":"guard","role":"observer"}]'
red() { cadre --team red "$@"; }
is 0 . red task create "Find the zebra" --description "zebra" --acceptance-criteria '["zebra"]' --tags zebra
is 0 . red note 001 "zebra"
is 0 . red task create "Paint the zebra" --depends-on 001
is 0 . red --as tester send coder "zebra" --thread plans --metadata '{"zebra":1}'
message=$(red --as coder --json inbox --peek | field message_id)
is 0 . red --as tester send coder "zebra, too"
is 0 . cadre vault write teams/red/plan.md "# zebra"
is 0 . cadre vault write teams/red/zebra.md "striped"
is 0 . cadre vault write teams/red/gone.md "zebra"
is 0 . cadre vault delete --yes teams/red/gone.md
is 0 . red --as zebra-one reserve 'zebra/**'
is 0 . cadre token create red-token --agent red/zebra-one
waited 0 workspace red/w
is 0 zebra cadre exec red/w 'echo striped zebra | tee plan.txt; touch zebra.txt'
is 0 . cadre workspace snapshot red/w keep
workspace=$(cadre workspace info red/w --json | field name)
is 0 . red task create "Count zebras" --description zebra
is 0 . red task assign 003 w --command 'echo zebra' --wait
result=$(red --json results | field message_id)
curl -sS -o "$TMPDIR/job" -H "Authorization: Bearer $operator" -H 'Content-Type: application/json' \
	-d '{"team":"red","command":"echo zebra; sleep 1000"}' "$url/api/workspaces/$workspace/jobs"
job=$(field job_id <"$TMPDIR/job")
[ -n "$job" ] || bad "no job: $(cat "$TMPDIR/job")"

revoked=$(cadre token create gone --operator)
expired=$(cadre token create --operator --ttl-seconds 1)
outdated=$(cadre token create --agent red/coder)
is 0 revoked cadre token revoke gone
is 0 . cadre agent register coder --team red --replace
sleep 1.1
cat >"$TMPDIR/tokens" <<END
{"facts":{"message":"$message","workspace":"$workspace","result":"$result","job":${job:-0}},
"missing":null,"garbage":"cadre_1_0123456789abcdef","revoked":"$revoked","expired":"$expired","outdated":"$outdated",
"observer":"$(cadre token create --observer)","spy":"$(cadre token create --agent out/spy)","lead":"$(cadre token create --agent out/lead)",
"guard":"$(cadre token create --agent out/guard)","operator":"$operator"}
END
cadre docs reference >"$TMPDIR/operations"
/usr/bin/python3 "$here/peers/strangers.py" "$CADRE_HOME" "$url" "$TMPDIR/operations" "$TMPDIR/tokens" || bad "see above"
exit $failed
