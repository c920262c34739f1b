#!/bin/sh
# cards - the mirrored card of each agent, and the one that is told, are as the public schema has
# them, whoever makes or changes them.
set -u
. "$(dirname "$0")/../lib/story.sh"
trap 'cadre down --all >/dev/null 2>&1' EXIT
valid() { # FILE...: each a card by the schema
	/usr/bin/python3 - "$ROOT/schema/agent-card.schema.json" "$@" <<'PY'
import json, sys
import jsonschema
schema = json.load(open(sys.argv[1]))
check = jsonschema.Draft202012Validator(schema)
check.check_schema(schema)
for path in sys.argv[2:]:
    card = json.load(open(path))
    check.validate(card.get("card", card))
PY
}
ROOT=$(cd "$(dirname "$0")/../.." && pwd)

cadre up >/dev/null || bad "up"
is 0 . cadre team create crew --max-vms 4 --roles '[{"name":"coder","workspace":true,"skills":["c","sql"],"description":"writes"},{"name":"guard","role":"observer"}]' --wait
is 0 . cadre team create sub --parent crew --max-vms 1 --roles digger
is 0 . cadre agent update coder --team crew --input-schema '{"type":"object"}' --protocols mcp --protocols a2a --project /srv/parser
cards=$CADRE_HOME/vault/teams/crew/cards
until_done grep -q '"/srv/parser"' "$cards/coder.json"
until_done test -e "$CADRE_HOME/vault/teams/sub/cards/digger.json"
valid "$cards"/*.json "$CADRE_HOME"/vault/teams/sub/cards/*.json || bad "no card by the schema"
cadre agent whois crew/coder --json >"$TMPDIR/told.json"
valid "$TMPDIR/told.json" || bad "what is told is no card by the schema: $(cat "$TMPDIR/told.json")"
# A validator that takes anything would find nothing.
sed 's/"generation": 1/"generation": "one"/' "$cards/coder.json" >"$TMPDIR/wrong.json"
valid "$TMPDIR/wrong.json" 2>"$TMPDIR/why" && bad "a wrong card passes"
grep -q "'one' is not of type 'integer'" "$TMPDIR/why" || bad "refused for another reason: $(cat "$TMPDIR/why")"
sed 's/"coder"/"no name!"/' "$cards/coder.json" >"$TMPDIR/wrong.json"
valid "$TMPDIR/wrong.json" 2>/dev/null && bad "a wrong name passes"
exit $failed
