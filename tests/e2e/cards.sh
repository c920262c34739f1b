#!/bin/sh
# cards - the mirrored card of each agent, and the card that a call returns, match the public
# schema. This is tested for every way to make or change a card.
set -u
. "$(dirname "$0")/../lib/story.sh"
trap 'cadre down --all >/dev/null 2>&1' EXIT
valid() { # FILE...: whether each file matches the schema of cards
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
is 0 . cadre team create sub --parent crew --max-vms 1 --roles '[{"name":"digger","workspace":true}]' --wait
is 0 . cadre agent update coder --team crew --input-schema '{"type":"object"}' --protocols mcp --protocols a2a --project /srv/parser
cards=$CADRE_HOME/vault/teams/crew/cards
until_done grep -q '"/srv/parser"' "$cards/coder.json"
until_done test -e "$CADRE_HOME/vault/teams/sub/cards/digger.json"
valid "$cards"/*.json "$CADRE_HOME"/vault/teams/sub/cards/*.json || bad "no card by the schema"
cadre agent whois crew/coder --json >"$TMPDIR/told.json"
valid "$TMPDIR/told.json" || bad "what is told is no card by the schema: $(cat "$TMPDIR/told.json")"
# A wrong card must be refused, which proves that the validator does not accept everything.
sed 's/"generation": 1/"generation": "one"/' "$cards/coder.json" >"$TMPDIR/wrong.json"
valid "$TMPDIR/wrong.json" 2>"$TMPDIR/why" && bad "a wrong card passes"
grep -q "'one' is not of type 'integer'" "$TMPDIR/why" || bad "refused for another reason: $(cat "$TMPDIR/why")"
sed 's/"coder"/"no name!"/' "$cards/coder.json" >"$TMPDIR/wrong.json"
valid "$TMPDIR/wrong.json" 2>/dev/null && bad "a wrong name passes"

# A card gives the address of a door only while the policies of its team, and of the teams
# above, allow the door.
doors() { # COUNT: whether COUNT cards show a door
	[ "$(grep -l '"http": "http' "$cards/coder.json" "$CADRE_HOME/vault/teams/sub/cards/digger.json" | wc -l)" = "$1" ]
}
until_done doors 2 || bad "cards without doors"
is 0 . cadre team update crew --no-allow-inter-vm
until_done doors 0 || bad "a card shows a door that the policy has shut"
is 0 '^ok *vault' cadre doctor
is 0 . cadre team update crew --allow-inter-vm
until_done doors 2 || bad "a card does not show a door that is open again"

# If a person saves the file of a card in an editor, the change counts as a change by the card's
# agent. The mirror then shows the changed card.
edit() { # FILE PYTHON: changes FILE, the file of a card, without replacing the file
	/usr/bin/python3 - "$1" "$2" <<'PY'
import json, sys
card = json.load(open(sys.argv[1]))
exec(sys.argv[2])
json.dump(card, open(sys.argv[1], "w"))
PY
}
described() { # TEXT: whether the row and the file of coder's card hold TEXT, the file as the mirror writes it
	cadre agent whois crew/coder --json | grep -q "\"$1\"" &&
		grep -q "^  \"description\": \"$1\"" "$cards/coder.json"
}
no_conflict() { ! ls "$cards" | grep conflict; }
edit "$cards/coder.json" 'card["description"] = "reads"; card["skills"].append("lex")'
until_done described reads || bad "a card that was saved is not taken: $(cat "$cards/coder.json")"
is 0 'agent.updated\t.*\tas coder\tcoder\t' cadre events --team crew
sed -i 's/reads/counts/' "$cards/coder.json"
until_done described counts || bad "a card that an editor put in its place is not taken"
edit "$cards/coder.json" 'card["skills"] = list(card["skills"])'
until_done described counts || bad "a card that says the same is not shown as it was"
no_conflict || bad "a card that was taken is kept as a conflict"

# If a person changes a field that belongs to the host, the field gets its old value back. The
# refused text is kept beside the card.
edit "$cards/coder.json" 'card["generation"] = 9; card["description"] = "lies"'
until_done test -e "$cards/coder.conflict.json" || bad "a refused card is not put back"
until_done described counts || bad "a refused card stays"
grep -q '"lies"' "$cards/coder.conflict.json" || { bad "the text of a refused card is lost: $(cat "$cards"/*.json | tr -d "\n" | head -c 3000)"; }
until_is 'cards/coder.json where=/content/generation error="only the host writes generation' cadre logs
rm "$cards/coder.conflict.json"
echo '{"name":' >"$cards/coder.json"
until_done test -e "$cards/coder.conflict.json" || bad "half a card is not put back"
until_done described counts || bad "half a card stays"
rm "$cards/coder.conflict.json"

# A saved text that was made from an older version of the card does not undo the agent's later
# changes. The saved text is kept beside the card.
cp "$cards/coder.json" "$TMPDIR/old.json"
is 0 . cadre agent update coder --team crew --skills go
until_done grep -q '"go"' "$cards/coder.json"
sed 's/counts/guesses/' "$TMPDIR/old.json" >"$TMPDIR/new.json"
mv "$TMPDIR/new.json" "$cards/coder.json"
until_done test -e "$cards/coder.conflict.json" || bad "an old card is taken"
until_done described counts || bad "an old card stays"
is 0 '"go"' cadre agent whois crew/coder --json
until_is 'cards/coder.json where=/content error="the card has changed since event .* the card and this text differ in: description, skills' cadre logs
rm "$cards/coder.conflict.json"
# A saved card is accepted even if the host has changed a field meanwhile. In this test the
# agent has begun to work.
cp "$cards/coder.json" "$TMPDIR/old.json"
is 0 . cadre task create dig --team crew
is 0 . cadre claim --team crew --as coder
until_done grep -q '"status": "working"' "$cards/coder.json"
sed 's/counts/reckons/' "$TMPDIR/old.json" >"$TMPDIR/new.json"
mv "$TMPDIR/new.json" "$cards/coder.json"
until_done described reckons || bad "a card whose agent began to work is not taken"
until_done grep -q '"status": "working"' "$cards/coder.json"
no_conflict || bad "a card whose agent began to work is kept as a conflict"

# A saved file that is no text is moved beside the card, and is logged.
printf 'a\0b' >"$cards/coder.json"
until_done test -e "$cards/coder.conflict.json" || bad "a binary file stays as a card"
until_is 'cards/coder.json error="it is not a text' cadre logs
rm "$cards/coder.conflict.json"
ln -sf guard.json "$cards/coder.json" # the host may write the card at any time
until_done test -L "$cards/coder.conflict.json" || bad "a link stays as a card"
until_is 'cards/coder.json error="it is a link' cadre logs
rm "$cards/coder.conflict.json"
head -c 16777217 /dev/zero | tr '\0' ' ' >"$cards/coder.json"
until_done test -e "$cards/coder.conflict.json" || bad "a file larger than a card stays"
until_is 'cards/coder.json error="it is larger than a card may be' cadre logs
rm "$cards/coder.conflict.json"
until_done described reckons || bad "the card is not shown again"

# An older text of the mirror, or a text of another card, does not count as a person's change.
# The mirror immediately writes the newest text of the card again.
cp "$cards/coder.json" "$TMPDIR/newest.json"
put_back() { # COMMAND...: COMMAND replaces the card by a text that is no person's change
	"$@"
	until_done cmp -s "$TMPDIR/newest.json" "$cards/coder.json" || bad "it stays: $*"
}
empty() { : >"$cards/coder.json"; }
put_back cp "$TMPDIR/old.json" "$cards/coder.json"
put_back mv "$TMPDIR/old.json" "$cards/coder.json"
put_back cp "$cards/guard.json" "$cards/coder.json"
put_back empty
no_conflict || bad "a text of the mirror is kept as a conflict"
# A file NAME.json that is a copy of another agent's card is removed if no agent NAME exists. An
# empty file is not removed.
: >"$cards/none.json"
cp "$cards/guard.json" "$cards/nobody.json"
until_done test ! -e "$cards/nobody.json" || bad "a card of nobody stays"
test -e "$cards/none.json" || bad "an empty file of a person was taken away"
rm "$cards/none.json"

# The card of a removed member is removed too. A text that was saved in place of the removed
# card does not become the card of the next member with this name.
is 0 . cadre member add parrot --team crew
until_done test -e "$cards/parrot.json"
cp "$cards/parrot.json" "$TMPDIR/old.json"
is 0 . cadre member remove parrot --team crew
until_done test ! -e "$cards/parrot.json" || bad "the card of a removed member stays"
sed 's/"description": ""/"description": "late"/' "$TMPDIR/old.json" >"$cards/parrot.json"
said_gone() { cadre logs | grep -q 'cards/parrot.json .*there is no agent parrot'; }
until_done said_gone || bad "a card of nobody is not logged"
until_done test ! -e "$cards/parrot.json" || bad "the card of a removed member stays where a text is in its place"
is 0 . cadre member add parrot --team crew
until_done grep -q late "$cards/parrot.conflict.json" || bad "the card of a removed member becomes the next one's"
until_done grep -q '"generation": 2' "$cards/parrot.json" || bad "the next parrot has no generation of its own"
rm "$cards/parrot.conflict.json"
cp "$TMPDIR/old.json" "$cards/parrot.json"
until_done grep -q '"generation": 2' "$cards/parrot.json" || bad "the card of an earlier generation stays"

# Many cards are saved at the same time, while half of the cards' agents change the cards. Each
# saved text becomes the card, or is kept beside the card.
is 0 . cadre team create shop --roles '[{"name":"w","count":40}]'
until_done test -e "$CADRE_HOME/vault/teams/shop/cards/w-40.json"
/usr/bin/python3 - "$CADRE" "$CADRE_HOME/vault/teams/shop/cards/" <<'PY' || bad "a saved card is lost"
import glob, json, os, subprocess, sys, time
cadre, cards = sys.argv[1:]
texts = []
for i in range(1, 41):
    card = json.load(open("%sw-%d.json" % (cards, i)))
    card["description"] = "saved-%d" % i
    texts.append(json.dumps(card, indent=2) + "\n")
calls = [subprocess.Popen([cadre, "agent", "update", "w-%d" % i, "--team", "shop", "--skills", "fast"],
    stdout=subprocess.DEVNULL) for i in range(1, 41, 2)]
for i, text in enumerate(texts, 1):
    open(cards + ".new", "w").write(text)
    os.rename(cards + ".new", "%sw-%d.json" % (cards, i))
for call in calls:
    call.wait()
def lost():
    all = "".join(open(path).read() for path in glob.glob(cards + "*.json"))
    return [i for i in range(1, 41) if '"saved-%d"' % i not in all]
time.sleep(2)
for _ in range(50):
    if not lost():
        sys.exit(0)
    time.sleep(0.1)
print("lost:", lost())
sys.exit(1)
PY

# If a person saves a file NAME.json and no agent NAME exists, the file is renamed to
# NAME.conflict.json. Only empty files and copies of a card are not renamed.
kept_aside() { # NAME
	until_done test -L "$cards/$1.conflict.json" -o -e "$cards/$1.conflict.json" || bad "a card of nobody stays: $1"
	test ! -L "$cards/$1.json" -a ! -e "$cards/$1.json" || bad "a card of nobody stays beside its copy: $1"
}
echo '{}' >"$cards/nobody.json"
kept_aside nobody
until_is 'cards/nobody.json where=/from error="there is no agent nobody' cadre logs
test "$(cat "$cards/nobody.conflict.json")" = '{}' || bad "a file of a person is lost"
rm "$cards/nobody.conflict.json"
ln -s guard.json "$cards/nobody.json"
kept_aside nobody
rm "$cards/nobody.conflict.json"
echo kept >"$cards/nobody.md"

# A file NAME.json without an agent NAME is also renamed if the file was saved while no host
# ran. A valid card that was saved while no host ran is accepted by the next host.
is 0 . cadre down
echo '{}' >"$cards/nobody.json"
edit "$cards/coder.json" 'card["description"] = "sleeps"'
is 0 . cadre release 001 --team crew --as coder # the mirror immediately shows a changed card, but keeps the saved text
grep -q sleeps "$cards/coder.json" || bad "a card that was saved is put aside before it is read"
is 0 . cadre up
until_done described sleeps || bad "a card that was saved without a host is not taken"
kept_aside nobody
test "$(cat "$cards/nobody.conflict.json" "$cards/nobody.md")" = "{}
kept" || bad "a file of a person is lost"
rm "$cards/nobody.conflict.json"
no_conflict || bad "a card is kept as a conflict"
exit $failed
