#!/bin/sh
# export - a state with rows of every kind is exported as lines of JSON. An import into an empty
# state makes an equal state. If the name of an imported team is taken, the import gives the
# imported team a new name. No secret is exported. A file that was cut, changed or made up is
# refused, and the fault names the line. A killed import leaves no rows.
set -u
. "$(dirname "$0")/../lib/story.sh"
export CADRE_LIMITS_ENABLED=false
A=$CADRE_HOME B=$TMPDIR/b
cd "$TMPDIR" || exit 1
finish() {
	cadre workspace destroy --yes shop/tester --team shop >/dev/null 2>&1
	until_is '^0$' count_guests
	cadre down >/dev/null 2>&1
}
trap finish EXIT
ask() { sqlite3 -readonly "$1/state.db" "$2"; }
rows() { sed '1d;$d' "$1"; }
team() { cadre --team shop "$@" >/dev/null || bad "$*"; }

# --- a state with rows of every kind ----------------------------------------------------

cadre up >/dev/null
cadre team create store --roles '{"name":"dev","skills":["c","sql"],"nests":true}' --roles tester \
	--allowed-ports 22,80 --max-tokens 1000 >/dev/null 2>&1
is 0 . cadre team update store --new-name shop
team agent update dev --input-schema '{"type":"object"}' --protocols mcp --project /srv/p
cadre --team shop --as dev team create cellar --parent shop --roles hand --max-tokens 10 >/dev/null 2>&1 || bad "a team below"
cadre team create old --roles x >/dev/null 2>&1
cadre team destroy old --purge --yes >/dev/null # without --purge the team's folder would stay in the vault as notes
cadre team create idle --roles y >/dev/null 2>&1
is 0 . cadre agent update y --new-name z --team idle
is 0 . cadre agent register captain --role lead --team idle
is 0 . cadre member remove lead --team idle
is 4 "captain is the team's only lead" cadre agent register captain --role hand --replace --team idle
cadre estop --team idle >/dev/null || bad "estop"

for n in 1 2 3 4 5 6; do team --as dev send tester "message $n, \"quoted\" ü" --ack-required; done
team --as dev send tester "for a second" --ttl-seconds 1
team --as dev send tester "a conversation" --thread talk --metadata '{"k":[1,2]}'
team --as dev send tester "urgent" --priority urgent
cadre --team shop --as tester inbox --limit 3 --json >in
seq() { /usr/bin/python3 -c "import json;print(json.load(open('in'))['messages'][$1]['seq'])"; }
team --as tester ack "#$(seq 0)"
team --as tester reply "#$(seq 1)" "an answer"
cadre --team shop message redact "#$(seq 2)" >/dev/null || bad "redact"
team --as tester send '*' "to all"
cadre --team cellar --as lead send shop/dev "from below" >/dev/null || bad "abroad"
cadre --team cellar --inbox.capacity=1 team update cellar --inbox-capacity 1 >/dev/null
cadre --team cellar --as lead send hand "dropped" >/dev/null
cadre --team cellar --as lead send hand "instead" >/dev/null
sleep 1.2
cadre --team shop --as tester inbox --peek >/dev/null 2>&1

team task create "One" --description "Do it." --tags a,b --acceptance-criteria "it holds" --priority 1
team task create "Two — über" --depends-on 001
team task create "Three"
team task create "Four"
team --as dev claim 001
team --as dev note 001 "half way"
team --as dev done 001 --result "done" --branch main --commit 0a1b2c3 --anyway
team --as dev claim 003
team --as tester claim 004
team --as tester fail 004 "no"
cadre workspace create --agent tester --team shop --wait >/dev/null || bad "a workspace"
cadre agent update tester --team shop --runner 'cat; echo answered' >/dev/null || bad "a runner"
cadre --team shop send tester "a turn, please" >/dev/null || bad "a message for a turn"
until_is '^yes$' ask "$A" "SELECT CASE WHEN sum(text LIKE '%a turn, please%' AND state = 'done') = 1 AND count(*) = count(ended_at) THEN 'yes' ELSE 'no' END FROM v_turn"
cadre agent update tester --team shop --runner '' >/dev/null || bad "no runner"
cadre workspace snapshot shop/tester kept --team shop >/dev/null || bad "a snapshot"
team task create "Five"
cadre --team shop --as lead task assign 005 tester --command 'echo out; echo err >&2' >/dev/null || bad "assign"
until_is '^1$' ask "$A" 'SELECT count(*) FROM result'
cadre vault write notes/hello.md 'hi "there"' >/dev/null
cadre vault write teams/shop/notes/plan.md "* plan" >/dev/null
printf 'caf\351\n' >"$A/vault/notes/latin.md"
cadre token create phone --observer >"$TMPDIR/token" 2>&1 || bad "a token: $(cat "$TMPDIR/token")"

token=$(cadre agent env tester --team shop | sed -n "s/^export CADRE_TOKEN='\(.*\)'/\1/p")

# An export works while a host runs, and writes to a file or a pipe.
is 0 'rows and 3 notes' cadre export a.jsonl
is 4 'is there already' cadre export a.jsonl
cadre export >piped.jsonl || bad "export to a pipe"
[ "$(stat -c %a a.jsonl)" = 600 ] || bad "others may read the export"
cadre down --all >/dev/null
sqlite3 "$A/state.db" "INSERT INTO workspace_port SELECT id, 80 FROM workspace"
for n in 1 2 3 4; do
	CADRE_LIMITS_ENABLED=true CADRE_LIMITS_PAIR=all CADRE_TEAM=shop CADRE_AGENT=tester CADRE_TOKEN=$token \
		"$CADRE" send dev "quick $n" --on-limit delay >/dev/null 2>&1 || bad "a delayed message"
done
cadre export a2.jsonl >/dev/null
/usr/bin/python3 - <<'END' || bad "a noun is missing in the export"
import json, sys
lines = [json.loads(l) for l in open("a2.jsonl")]
head = lines[0]
missing = [n for n, k in head["counts"].items() if not k]
count = {}
for l in lines[1:-1]:
    count[l["row"]] = count.get(l["row"], 0) + 1
if missing: print("none of:", *missing)
if count != head["counts"]: print(count, head["counts"])
states = {l["state"] for l in lines if l.get("row") == "delivery"}
if not {0, 2, 3, 4} <= states: print("deliveries are only", states)
sys.exit(bool(missing or count != head["counts"] or not {0, 2, 3, 4} <= states))
END
# The export holds no secrets.
for secret in $(ask "$A" "SELECT lower(hex(token)) FROM agent WHERE token IS NOT NULL
	UNION ALL SELECT lower(hex(hash)) FROM token UNION ALL SELECT hex(token) FROM agent WHERE token IS NOT NULL") \
	$(od -An -tx1 "$A/secret" | tr -d ' \n'); do
	grep -q "$secret" a2.jsonl && bad "a hash or the secret is in the export"
done
grep -q '"\(token\|env\|hash\|link_token\|path\):"/' a2.jsonl && bad "a secret or place is in the export"

# --- into an empty state -------------------------------------------------------------------

b() { "$CADRE" --home "$B" "$@"; }
b init >/dev/null
is 0 'rows and 3 notes were imported' b import a2.jsonl
b export b.jsonl >/dev/null
rows a2.jsonl >a.rows && rows b.jsonl >b.rows
cmp a.rows b.rows || bad "the imported state is another one: $(diff a.rows b.rows | head -n 6)"
# An import computes the counts that are not in the export. The new counts are equal to the old
# counts.
for sql in 'SELECT agent, queued, leased, assignments FROM agent_inbox ORDER BY agent' \
	'SELECT team, waiting, claimed, in_progress, blocked, completed, failed, cancelled, assignments, members, reserved
	FROM board ORDER BY team' 'SELECT id, open_deps FROM task ORDER BY id' \
	'SELECT id, depth, limits, next_task FROM team ORDER BY id' \
	'SELECT id_a, id_b, id_c, created_at FROM state' \
	'SELECT id, token IS NULL FROM agent WHERE gone = 0 ORDER BY id'; do
	[ "$(ask "$A" "$sql")" = "$(ask "$B" "$sql")" ] || bad "$sql: $(ask "$A" "$sql") is $(ask "$B" "$sql")"
done
[ "$(ask "$A" 'SELECT incarnation FROM state')" != "$(ask "$B" 'SELECT incarnation FROM state')" ] || bad "one incarnation"
cmp "$A/vault/notes/latin.md" "$B/vault/notes/latin.md" || bad "a note that is no UTF-8"
cmp "$A/vault/teams/shop/notes/plan.md" "$B/vault/teams/shop/notes/plan.md" || bad "a team's note"
[ -e "$B/vault/teams/shop/tasks/001-one.md" ] || bad "the vault does not show the tasks"
for read in 'task list --team shop' 'task show 001 --team shop' 'team list' 'messages --team shop' 'agent whois dev --team shop'; do
	cadre $read --json >1 && b $read --json >2 || bad "no $read"
	sed -i 's/"workspace":"w",\?//' 1 2
	cmp -s 1 2 || bad "$read: $(diff 1 2 | head -c 600)"
done
is 0 'quoted' b search quoted --team shop
# Agents get tokens of the new state. Tokens of the old state are not valid in the new state.
token=$(b agent env dev --team shop | sed -n "s/^export CADRE_TOKEN='\(.*\)'/\1/p")
is 0 . env CADRE_TEAM=shop CADRE_AGENT=dev CADRE_TOKEN="$token" "$CADRE" --home "$B" inbox
is 5 . env CADRE_TEAM=shop CADRE_AGENT=dev CADRE_TOKEN="$(cadre agent env dev --team shop |
	sed -n "s/^export CADRE_TOKEN='\(.*\)'/\1/p")" "$CADRE" --home "$B" inbox
is 0 . b doctor
is 5 'for the operator' env CADRE_TEAM=shop CADRE_AGENT=dev CADRE_TOKEN="$token" "$CADRE" --home "$B" export
is 5 'for the operator' env CADRE_TEAM=shop CADRE_AGENT=dev CADRE_TOKEN="$token" "$CADRE" --home "$B" import a2.jsonl

# --- into a state that has teams ----------------------------------------------------------------

ask "$B" 'SELECT * FROM task; SELECT * FROM message; SELECT * FROM delivery; SELECT id, name FROM team' >before
is 0 'team shop is called shop-2 here' b import a2.jsonl
grep -q 'team cellar is called cellar-2 here' "$TMPDIR/out" || bad "cellar: $(cat "$TMPDIR/out")"
ask "$B" "SELECT * FROM task WHERE id <= (SELECT count(*) / 2 FROM task);
	SELECT * FROM message WHERE id <= (SELECT max(id) FROM message) - $(ask "$A" 'SELECT max(id) FROM message');
	SELECT * FROM delivery WHERE message <= (SELECT max(id) FROM message) - $(ask "$A" 'SELECT max(id) FROM message');
	SELECT id, name FROM team WHERE id <= $(ask "$A" 'SELECT max(id) FROM team')" >after
cmp before after || bad "rows that were there changed: $(diff before after | head -n 5)"
for read in 'task list' 'task show 001' 'task show 002'; do
	b $read --team shop --json | sed 's/"team":"[^"]*"//' >1
	b $read --team shop-2 --json | sed 's/"team":"[^"]*"//' >2
	cmp -s 1 2 || bad "$read of shop-2: $(diff 1 2 | head -c 400)"
done
[ "$(b team list --json | grep -o '"name":"cellar-2"[^}]*"parent":"shop-2"' | wc -l)" = 1 ] ||
	b team status cellar-2 --json | grep -q '"parent":"shop-2"' || bad "cellar-2 is not below shop-2"
is 0 'plan' b vault read teams/shop-2/notes/plan.md
[ -e "$B/vault/teams/shop-2/tasks/001-one.md" ] || bad "the vault does not show shop-2"
is 0 . b --team shop-2 --as dev send tester "goes on"
# If an imported note's path is taken, the note gets a free path in the same folder, even if
# more than a thousand similar paths are taken too.
python3 -c '
import sys
for n in ["", ".imported"] + [".imported-%d" % n for n in range(2, 1201)]:
    open("%s/vault/notes/hello%s.md" % (sys.argv[1], n), "w").write("other")' "$B"
is 0 . b import a2.jsonl
cmp "$A/vault/notes/hello.md" "$B/vault/notes/hello.imported-1201.md" || bad "a note is lost"
is 0 . b doctor
[ "$(sqlite3 "$B/state.db" 'PRAGMA foreign_key_check; PRAGMA integrity_check')" = ok ] || bad "not sound"
for state in "$A" "$B"; do
	wrong=$(sqlite3 -readonly "$state/state.db" <"$here/lib/counts.sql")
	[ -z "$wrong" ] || bad "$state: $wrong"
done

# --- a single team -------------------------------------------------------------------------------------

cadre export shop.jsonl --team shop >/dev/null
grep '"row":"team"' shop.jsonl | grep -o '"name":"[^"]*"' | tr '\n' ' ' | grep -q '^"name":"shop" "name":"cellar" $' ||
	bad "export of a team: $(grep '"row":"team"' shop.jsonl)"
grep -q '"row":"note","path":"notes/' shop.jsonl && bad "a team's export has notes of others"
is 3 'there is no team nobody' cadre export x.jsonl --team nobody
is 4 'there is a team shop already' b import shop.jsonl --as shop
is 2 'is not a valid name' b import shop.jsonl --as ../up
is 2 'operator is a reserved name' b import shop.jsonl --as operator
is 0 'team shop is called depot here' b import shop.jsonl --as depot
is 2 'holds 2 teams without a team above' b import a2.jsonl --as both
is 0 'Three' b task list --team depot
cadre export cellar.jsonl --team cellar >/dev/null
is 0 'team cellar is called cave here' b import cellar.jsonl --as cave
is 0 '"whole":false,.*"teams":\[{"was":"cellar","is":"cave-2"}\]' b import cellar.jsonl --as cave-2 --json
is 2 'make the folder, or name another path' b export none/x.jsonl
is 0 . b doctor
# --- waiting commands: no variable is exported, no command runs twice ----------------------------------

cadre --team shop --as lead task create "Six" >/dev/null
cadre --team shop --as lead task assign 006 dev --command 'echo hello; sleep 1' >/dev/null || bad "assign 006"
sqlite3 "$A/state.db" "UPDATE assignment SET env = '{\"KEY\":\"hush-hush\"}'"
cadre export a3.jsonl >/dev/null
grep -q hush a3.jsonl && bad "the variables of a command are in the export"
D=$TMPDIR/d
"$CADRE" --home "$D" init >/dev/null
is 0 '1 commands that waited or ran are interrupted' "$CADRE" --home "$D" import a3.jsonl
[ "$(ask "$D" 'SELECT sum(assignments) FROM agent_inbox; SELECT count(*) FROM assignment WHERE state < 2')" = "0
0" ] || bad "a command is open after the import"
is 0 'this command may still run elsewhere' "$CADRE" --home "$D" results --team shop --json
is 0 . "$CADRE" --home "$D" doctor

b up >/dev/null
is 4 'a host runs already' b import shop.jsonl
b down >/dev/null

# --- lines that were cut, changed or made up ---------------------------------------------------------------

E=$TMPDIR/e
"$CADRE" --home "$E" init >/dev/null
"$CADRE" --home "$E" team create here --roles a >/dev/null 2>&1
state() { sqlite3 "$E/state.db" .dump | cksum; }
was=$(state)
# mangle CODE [CODE...]: each CODE changes `lines`, the parsed lines of a2.jsonl. The changed
# lines are written with a correct checksum. The file bad.N.jsonl has the lines of the N-th
# CODE, and bad.jsonl has the lines of the last CODE.
mangle() {
	/usr/bin/python3 - "$@" <<-'END'
		import hashlib, json, sys
		def first(row, **also):
		    return next(l for l in lines if l.get("row") == row and all(l.get(k) == v for k, v in also.items()))
		for which, code in enumerate(sys.argv[1:], 1):
		    lines = [json.loads(l) for l in open("a2.jsonl")][:-1]
		    counts = json.dumps(lines[0]["counts"])
		    exec(code)
		    if json.dumps(lines[0]["counts"]) == counts:
		        lines[0]["counts"] = {k: sum(isinstance(l, dict) and l.get("row") == k for l in lines) for k in lines[0]["counts"]}
		    text = "".join((l if isinstance(l, str) else json.dumps(l)) + "\n" for l in lines)
		    end = {"end": len(lines), "sum": hashlib.sha256(text.encode()).hexdigest()}
		    for name in "bad.%d.jsonl" % which, "bad.jsonl":
		        open(name, "w").write(text + json.dumps(end) + "\n")
	END
}
# refused PATTERN [CODE]: the import fails with a text that matches PATTERN, and changes
# nothing. The import of each CODE runs later, in judge_codes.
codes= n_codes=0
refused() {
	[ -n "${2-}" ] || { judge "$1" bad.jsonl; return; }
	n_codes=$((n_codes + 1))
	eval "code_$n_codes=\$2"
	codes="$codes \"\$code_$n_codes\""
	printf '%s\n' "$1" >>patterns
}
judge() { # PATTERN FILE
	"$CADRE" --home "$E" import "$2" >out 2>&1 && bad "not refused: $1"
	grep -q -e "$1" out || bad "no '$1' in $(cat out)"
	[ -z "$(ls "$E/vault/.cadre-notes" 2>/dev/null)" ] || bad "a refused import left a staged note: $1"
}
judge_codes() {
	eval "mangle $codes"
	n=0
	while IFS= read -r pattern; do
		n=$((n + 1))
		judge "$pattern" "bad.$n.jsonl"
		rm "bad.$n.jsonl"
	done <patterns
	[ $n = $n_codes ] || bad "judged $n of $n_codes"
	[ "$(state)" = "$was" ] || bad "a refused import changed the state"
}
lines=$(wc -l <a2.jsonl)
head -n 20 a2.jsonl >bad.jsonl; refused 'line 21: the file is cut: its end is missing'
head -c 3000 a2.jsonl >bad.jsonl; refused 'the file is cut: this line has no end'
head -c 0 a2.jsonl >bad.jsonl; refused 'line 1: the file is cut'
(sed '10d' a2.jsonl) >bad.jsonl; refused "line $((lines - 1)): lines are missing"
sed '9s/"at":1/"at":2/;9,$s/"created_at":1/"created_at":2/' a2.jsonl >bad.jsonl; refused "line $lines: the file was changed"
(cat a2.jsonl; echo '{}') >bad.jsonl; refused "line $((lines + 1)): more text comes after the end"
head -c 100000 /dev/urandom >bad.jsonl; refused 'line 1: '
refused 'line 1: the file does not begin like an export' 'lines[0]["format"] = "x"'
refused 'line 1: the export is of version 2, this program knows version 1' 'lines[0]["version"] = 2'
refused 'line 1: ids has to be' 'lines[0]["ids"] = [1, 2, 1 << 50]'
refused 'line 1: there is no field more' 'lines[0]["more"] = 1'
refused 'line 2: it is not JSON' 'lines[1] = "{"'
refused 'line 2: it is not a JSON object' 'lines[1] = "[]"'
refused 'line 2: it is not JSON: duplicate' 'lines[1] = "{\"row\":\"team\",\"row\":\"team\"}"'
refused 'line 2: row has to be' 'lines[1] = {"id": 1}'
refused 'line 2: there are no rows of token' 'lines[1] = {"row": "token", "id": 1}'
refused 'line 2: a row of team has the unknown field depth' 'lines[1]["depth"] = 3'
refused 'line 2: name is missing' 'del lines[1]["name"]'
refused 'line 2: name has to be a text' 'lines[1]["name"] = 7'
refused 'line 2: id has to be a whole number' 'lines[1]["id"] = "1"'
refused 'line 2: id is 0' 'lines[1]["id"] = 0'
refused 'line 2: id is 4611686018427387904' 'lines[1]["id"] = 1 << 62'
refused 'line 2: name is not a valid name' 'lines[1]["name"] = "../../etc"'
refused 'line 2: name has 300 bytes' 'lines[1]["name"] = "x" * 300'
refused 'line 2: state is 99' 'lines[1]["state"] = 99'
refused 'line 2: allow_internet is 2' 'lines[1]["allow_internet"] = 2'
refused 'slug may have only small letters' 'first("task")["slug"] = "../x"'
refused 'metadata has to be a JSON object' 'next(l for l in lines if "metadata" in l)["metadata"] = "[1]"'
refused 'there is no event 4711' 'first("event")["kind"] = 4711'
refused 'content has 17000000 bytes' 'first("message")["content"] = "x" * 17000000'
refused 'state is 0, but must be 4 to 4' 'first("workspace")["state"] = 0'
refused 'a row of workspace has the unknown field path' 'first("workspace")["path"] = "/etc"'
refused 'a row of agent comes after the rows of event' 'lines.insert(len(lines) - 3, first("agent"))'
refused 'a row comes after the notes' 'lines.append(first("event"))'
refused 'line [0-9]*: UNIQUE constraint' 'lines.insert(3, dict(lines[2]))'
refused 'line [0-9]*: FOREIGN KEY constraint' 'first("task")["team"] = 777'
refused 'line [0-9]*: sender 777 is not the number of a row' 'first("message")["sender"] = 777'
refused 'line [0-9]*: agent 777 is not the number of a row' 'first("delivery")["agent"] = 777'
# An import refuses a file with a team that nobody could act in, or with rows that no operation
# makes.
op='next(l for l in lines if l.get("row") == "agent" and l["team"] == lines[1]["id"] and l["kind"] == 1)'
alone='breaks a rule: only the operator is named `operator`'
refused 'line [0-9]*: operator is a reserved name' "$op"'["kind"] = 0'
refused "line [0-9]*: id [0-9]* $alone" "$op"'["name"] = "nobody"'
refused "line [0-9]*: id [0-9]* $alone" "$op"'["gone"] = 1'
refused "line [0-9]*: id [0-9]* $alone" 'first("agent", name="tester")["kind"] = 1'
refused "line [0-9]*: id [0-9]* $alone" 'old = first("team", name="old")["id"]; first("agent", team=old, kind=0)["gone"] = 0'
refused 'line [0-9]*: self is a reserved name, which no member has' 'first("agent", name="tester")["name"] = "self"'
refused 'line 2: id [0-9]* is a team that does not have exactly one operator' "$op"'.update(gone=1, team=first("team", name="old")["id"])'
refused 'line [0-9]*: id [0-9]* is a living team without a living lead' 'first("agent", name="lead", team=lines[1]["id"])["gone"] = 1'
refused 'line 2: operator is a reserved name' 'lines[1]["name"] = "operator"'
refused 'line [0-9]*: id [0-9]* is a task whose owner, assignee or notes are of another team' 'next(l for l in lines if "owner" in l)["owner"] = first("agent", name="hand")["id"]'
refused 'line [0-9]*: message [0-9]* is for an agent, or a task, of another team' 'first("assignment")["agent"] = first("agent", name="hand")["id"]'
refused 'line [0-9]*: message [0-9]* is for an agent, or a task, of another team' 'first("assignment")["sender"] = first("agent", name="hand")["id"]'
refused 'line [0-9]*: id [0-9]* is a task whose owner, assignee or notes are of another team' 'first("task_note")["agent"] = first("agent", name="hand")["id"]'
refused 'line [0-9]*: id [0-9]* is a turn of an agent of another team' 'first("turn")["agent"] = first("agent", name="hand")["id"]'
far='x = first("agent", team=first("team", name="old")["id"])["id"]; '
refused 'line [0-9]*: id [0-9]* is a message from or to an agent of a team neither above nor below' "$far"'first("message")["sender"] = x'
refused 'line [0-9]*: id [0-9]* is a message from or to an agent of a team neither above nor below' "$far"'first("delivery")["agent"] = x'
refused 'line [0-9]*: id [0-9]* is a message from or to an agent of a team neither above nor below' "$far"'first("delayed")["agent"] = x'
refused 'line 2: id [0-9]* is a team that was stopped by an agent of neither this team nor a team above' 'lines[1].update(stopped_at=1, stopped_by=first("agent", name="hand")["id"])'
refused 'line [0-9]*: id [0-9]* is a task with a longer lease than a claim may have' 'first("task")["lease_ms"] = 86400001'
refused 'line [0-9]*: id [0-9]* is a task with more attempts than a task may have' 'first("task")["attempts"] = 1001'
refused 'line [0-9]*: id [0-9]* is a message with a longer content than a message may have' 'first("message")["content"] = "x" * 262145'
refused 'line [0-9]*: result has 262145 bytes' 'first("task")["result"] = "x" * 262145'
refused 'line [0-9]*: command has 262145 bytes' 'first("assignment")["command"] = "x" * 262145'
refused 'line [0-9]*: workdir has 4097 bytes' 'first("assignment")["workdir"] = "x" * 4097'
refused 'line [0-9]*: project has 4097 bytes' 'first("agent")["project"] = "x" * 4097'
refused 'line 2: id [0-9]* is a team with a lower max_vms than the teams below it together' 'first("team", name="cellar")["max_vms"] = lines[1]["max_vms"] + 1'
limit='shop, cellar = lines[1]["id"], first("team", name="cellar")["id"]; first("budget", team=shop, kind=1)["most"] = 10; '
refused 'line 2: id [0-9]* is a team with a lower limit than the teams below it together' "$limit"'first("budget", team=cellar, kind=1)["most"] = 11'
refused 'line [0-9]*: id [0-9]* is a team without a limit, below a team with a limit' "$limit"'first("budget", team=cellar, kind=1)["most"] = 0'
refused 'line [0-9]*: id [0-9]* is a team without a limit, below a team with a limit' "$limit"'lines.remove(first("budget", team=cellar, kind=1))'
refused 'line 1: counts: the file holds [0-9]* rows of task' 'lines[0]["counts"]["task"] += 1'
refused 'line 1: there are no rows of nothing' 'lines[0]["counts"]["nothing"] = 0'
refused 'line 1: schema has to be a number' 'lines[0]["schema"] = 0'
refused 'line 1: schema has to be a number' 'lines[0]["schema"] = 99'
for count in 'first("task")["epoch"]' 'first("agent")["generation"]' 'first("task")["lease_ms"]' 'first("budget")["used"]'; do
	refused 'is -1, but must be 0 to' "$count = -1"
	refused 'is 9007199254740991, but must be 0 to' "$count = (1 << 53) - 1"
done
refused 'seq is [0-9]*, but must be 1 to' 'last = [l for l in lines if l["row" if "row" in l else "format"] == "event"][-1]; last["seq"] = 1 << 48'
refused 'line 2: parent is not the number of an earlier row' 'lines[1]["parent"] = lines[1]["id"]'
refused 'line [0-9]*: number 9 is not the next number' 'first("task", number=2)["number"] = 9'
refused 'line [0-9]*: CHECK constraint' 'first("task", state=0)["owner"] = 1'
refused 'a path may not have' 'first("note")["path"] = "../../x.md"'
refused 'hidden' 'first("note")["path"] = ".trash/x.md"'
refused 'line [0-9]*: .*shows a part of the state' 'first("note")["path"] = "teams/here/tasks/001-x.md"'
refused 'a note needs a text or base64, not both' 'first("note")["base64"] = "AA=="'
refused 'line [0-9]*: path notes/bin.md: an earlier note has the same path' 'n = first("note"); lines += [dict(n, path="notes/bin.md"), dict(n, path="notes/bin.md")]'
refused 'line [0-9]*: path notes/bin.md/x.md: a folder of this path is an earlier note' 'n = first("note"); lines += [dict(n, path="notes/bin.md"), dict(n, path="notes/bin.md/x.md")]'
refused 'line [0-9]*: path notes/bin.md: an earlier note is below this path' 'n = first("note"); lines += [dict(n, path="notes/bin.md/x.md"), dict(n, path="notes/bin.md")]'
refused 'base64 is not valid' 'n = first("note"); n.pop("text", None); n["base64"] = "~~~~"'
judge_codes
is 3 'cannot read' "$CADRE" --home "$E" import nothing.jsonl
is 2 'is not a file' "$CADRE" --home "$E" import /dev/null

# A row's number in the file always refers to a row of the file, never to a row that was in the
# state before.
mangle 'first("message")["sender"] = 1'
is 0 . "$CADRE" --home "$E" import bad.jsonl
[ "$(ask "$E" "SELECT count(*) FROM message m JOIN agent a ON a.id = m.sender JOIN team t ON t.id = a.team WHERE t.name = 'here'")" = 0 ] ||
	bad "an imported message is by an agent of a team that was here"

# A budget of seconds has a clock. If the file gives no start of this clock, or a start decades
# in the future, the clock starts at the import.
mangle 'for b in lines:
    if b.get("row") == "budget" and b["kind"] == 3: b["most"] = 3600
cellar = first("team", name="cellar")["id"]
first("budget", team=cellar, kind=3)["most"] = 60
first("budget", team=cellar, kind=3).pop("since", None)
first("budget", team=lines[1]["id"], kind=3)["since"] = 2 * lines[0]["created_at"]'
"$CADRE" --home "$TMPDIR/c" init >/dev/null
is 0 . "$CADRE" --home "$TMPDIR/c" import bad.jsonl
[ "$(ask "$TMPDIR/c" "SELECT count(b.since) || ' ' || (max(b.since) < 1000 * (1 + strftime('%s', 'now')))
	FROM budget b JOIN team t ON t.id = b.team WHERE t.name IN ('shop', 'cellar')")" = '2 1' ] ||
	bad "clocks: $(ask "$TMPDIR/c" 'SELECT * FROM budget WHERE kind = 3')"
is 0 . "$CADRE" --home "$TMPDIR/c" doctor

# An import shortens leases that end decades in the future. If a message is due decades in the
# future, the import sets a due time at most one day ahead.
mangle 'far = 2 * lines[0]["created_at"]
next(l for l in lines if "lease_until" in l)["lease_until"] = far
first("delivery", state=2)["due_at"] = far
first("delayed")["due_at"] = far'
"$CADRE" --home "$TMPDIR/f" init >/dev/null
is 0 . "$CADRE" --home "$TMPDIR/f" import bad.jsonl
[ "$(ask "$TMPDIR/f" "SELECT max(at) < 1000 * (86460 + strftime('%s', 'now')) FROM (SELECT lease_until AS at FROM task
	UNION ALL SELECT due_at FROM delivery UNION ALL SELECT due_at FROM delayed)")" = 1 ] || bad "a lease of 30 years"

# The leases of a stopped team do not run in the exported state. After an import, the leases of
# a stopped team run only after a thaw.
S=$TMPDIR/still
"$CADRE" --home "$S" init >/dev/null
for words in 'team create still --roles x' 'task create held' '--as x claim' 'send x hello' '--as x inbox' estop 'export s.jsonl'; do
	"$CADRE" --home "$S" $words >/dev/null 2>&1 || bad "$words"
done
"$CADRE" --home "$TMPDIR/u" init >/dev/null
is 0 . "$CADRE" --home "$TMPDIR/u" import s.jsonl
"$CADRE" --home "$TMPDIR/u" export t.jsonl >/dev/null || bad "export of a stopped team"
rows s.jsonl >s.rows && rows t.jsonl >t.rows
cmp s.rows t.rows || bad "a stopped team came in as another: $(diff s.rows t.rows | head -n 6)"
is 0 . "$CADRE" --home "$TMPDIR/u" thaw
[ "$(ask "$TMPDIR/u" "SELECT lease_until BETWEEN 1000 * strftime('%s', 'now') AND 1000 * (901 + strftime('%s', 'now')) FROM task")" = 1 ] ||
	bad "a lease behind the thaw: $(ask "$TMPDIR/u" 'SELECT lease_until FROM task')"

# Numbers in this file are at the limit of what an import accepts. After more writes, the state
# can still be exported and imported again.
mangle 'import time
last = int(time.time() * 1000) * 100 - 1000
[l for l in lines if l.get("row") == "event"][-1]["seq"] = last
first("task", state=0)["epoch"] = (1 << 52) + last'
for home in g h; do
	"$CADRE" --home "$TMPDIR/$home" init >/dev/null
	is 0 . "$CADRE" --home "$TMPDIR/$home" import bad.jsonl
	is 0 . "$CADRE" --home "$TMPDIR/$home" task create one-more --team shop
	"$CADRE" --home "$TMPDIR/$home" export - >bad.jsonl || bad "export from the edge"
done

# --- killed ------------------------------------------------------------------------------------------

/usr/bin/python3 - <<'END'
import json, hashlib
lines = [json.loads(l) for l in open("a2.jsonl")][:-1]
last = max(l["id"] for l in lines if l.get("row") == "message")
model = next(l for l in lines if l.get("row") == "message")
at = next(i for i, l in enumerate(lines) if l.get("row") == "delivery")
lines[at:at] = [dict(model, id=last + 1 + i) for i in range(60000)]
lines[0]["counts"]["message"] += 60000
text = "".join(json.dumps(l) + "\n" for l in lines)
open("large.jsonl", "w").write(text + json.dumps({"end": len(lines), "sum": hashlib.sha256(text.encode()).hexdigest()}) + "\n")
END
K=$TMPDIR/k
"$CADRE" --home "$K" init >/dev/null
"$CADRE" --home "$K" team create here --roles a >/dev/null 2>&1
kept() { sqlite3 "$K/state.db" 'SELECT count(*) FROM team; SELECT count(*) FROM message; SELECT incarnation FROM state; SELECT count(*) FROM vault_move'; }
was=$(kept) cut=0
for ms in 50 150 250 350 450 600 800 1000 1300; do
	"$CADRE" --home "$K" import large.jsonl >/dev/null 2>&1 &
	pid=$!
	sleep "$(printf '%d.%03d' $((ms / 1000)) $((ms % 1000)))"
	kill -9 $pid 2>/dev/null && cut=$((cut + 1))
	wait $pid 2>/dev/null
	[ "$(kept)" = "$was" ] || break
done
if [ "$(kept)" != "$was" ]; then
	[ "$(sqlite3 "$K/state.db" 'SELECT count(*) > 60000 FROM message')" = 1 ] || bad "a killed import left a part: $(kept)"
fi
[ $cut -gt 1 ] || bad "no import was killed under way"
is 0 . "$CADRE" --home "$K" import large.jsonl
is 0 . "$CADRE" --home "$K" doctor
[ -z "$(find "$K/vault/.cadre-notes" -type f 2>/dev/null)" ] || bad "staged notes are left"
# A turn that is running in the exported state is an interrupted turn in the new state.
sqlite3 "$A/state.db" "INSERT INTO turn (id, team, agent, generation, host, state, request, queued_at, started_at)
	SELECT max(id) + 1, team, agent, generation, host, (SELECT n FROM word WHERE list = 'turn_state' AND word = 'streaming'), 7, 1, 1 FROM turn"
cadre export running.jsonl >/dev/null || bad "export of a turn that runs"
"$CADRE" --home "$TMPDIR/r" init >/dev/null
is 0 'were imported' "$CADRE" --home "$TMPDIR/r" import running.jsonl
[ "$(ask "$TMPDIR/r" "SELECT group_concat(DISTINCT state) FROM v_turn")" = "done,interrupted" ] || bad "turns came in as $(ask "$TMPDIR/r" "SELECT state FROM v_turn")"
exit $failed
