#!/bin/sh
# logs - people and programs can read a host's log, and can choose its level of detail. The log
# holds no secret and no text of a message.
set -u
. "$(dirname "$0")/../lib/story.sh"
trap 'cadre down --all >/dev/null 2>&1' EXIT
log=$CADRE_HOME/log/host.log
config=$CADRE_HOME/cadre.toml

unset CADRE_LIMITS_ENABLED
cadre up >/dev/null || bad "up"
cadre team create shop --roles '[{"name":"coder","workspace":true},{"name":"tester"}]' --wait >/dev/null || bad "team"
url=$(cat "$CADRE_HOME/endpoint")

# --- the level ----------------------------------------------------------------------

# Calls are logged as soon as the configuration file sets log.level to debug. The host needs no
# restart for this change.
cadre send tester quiet >/dev/null
grep -q 'msg=call' "$log" && bad "calls are logged unasked"
echo 'log.level = "debug"' >"$config"
until_done grep -q "level=info msg=\"the log's level has changed\" to=debug" "$log"
cadre send tester loud >/dev/null
until_done grep -Eq ' level=debug msg=call operation=message.send fault=none team=shop agent=operator us=[0-9]+$' "$log"
is 3 . cadre send nobody-here lost
until_done grep -q ' msg=call operation=message.send fault=not_found ' "$log"
echo 'log.level = "noisy"' >"$config"
until_done grep -q 'level=warn msg="the configuration cannot be read again" error=".*noisy.* is none of error, warn, info, debug' "$log"
echo 'log.level = "debug"' >"$config"

# --- secrets and bodies ------------------------------------------------------------------

body=body-$$-of-a-message secret=secret-$$-of-an-environment note=note-$$-of-the-vault
coder=$(cadre token create --agent shop/coder)
cadre send tester "$body" --metadata "{\"m\":\"$body\"}" >/dev/null
cadre task create "$body" --description "$body" >/dev/null
cadre --as tester claim 001 >/dev/null
cadre --as tester note 001 "$body" >/dev/null
cadre --as tester fail 001 "$body" >/dev/null
cadre --as tester inbox >/dev/null
cadre vault write n.md "$note" >/dev/null
cadre search "$body" >/dev/null
cadre task create Run >/dev/null
cadre task assign 002 coder --command "echo $body; echo $secret >&2; exit 3" --env "{\"KEY\":\"$secret\"}" --wait >/dev/null 2>&1
cadre exec coder "echo $body; exit 4" >/dev/null 2>&1
for path in messages messages tasks agents inbox/receive nothing; do
	curl -sS -o /dev/null -H "Authorization: Bearer $coder" -H 'Content-Type: application/json' \
		-d "{\"to\":\"tester\",\"content\":\"$body\",\"title\":\"$body\",\"$body\":1}" "$url/api/$path?x=$body"
	curl -sS -o /dev/null -H "Authorization: Bearer ${coder}$$" "$url/api/$path"
done
CADRE_TEAM=shop CADRE_AGENT=tester CADRE_TOKEN=$secret cadre send coder "$body" >/dev/null 2>&1
printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}' \
	"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"team_message\",\"arguments\":{\"to\":\"coder\",\"content\":\"$body\"}}}" |
	cadre mcp --operator >/dev/null 2>&1
# A person can change an agent's card by a file in the vault. The test writes a file that is no
# valid card.
until_done test -e "$CADRE_HOME/vault/teams/shop/cards/tester.json"
echo "{\"$body\":\"$secret\"" >"$CADRE_HOME/vault/teams/shop/cards/tester.json"
until_done grep -q 'msg="a card is not taken from its file"' "$log"
until_done grep -q 'operation=message.send fault=denied' "$log"
for word in "$body" "$secret" "$note" "$coder" "${coder#cadre_*_}"; do
	! grep -qF -e "$word" "$log" || bad "the log holds $word: $(grep -F -e "$word" "$log" | head -3)"
done
# Calls are logged without their arguments.
for op in message.send task.create task.claim task.note task.fail vault.write search.find workspace.exec; do
	grep -q " msg=call operation=$op " "$log" || bad "no call of $op is logged"
done

# --- readers ---------------------------------------------------------------------------

# Each line of the log has the form logfmt, so a program can split the whole line into fields.
cat >"$TMPDIR/logfmt.py" <<'PY'
import re, sys
pair = re.compile(r'([a-z_]+)=("(?:[^"\\]|\\.)*"|[^ "=]*)')
for line in open(sys.argv[1], encoding="utf-8"):
    line = line.rstrip("\n")
    at, keys = 0, []
    while at < len(line):
        m = pair.match(line, at)
        assert m and (m.end() == len(line) or line[m.end()] == " "), line
        keys.append(m.group(1))
        at = m.end() + 1
    assert keys[:3] == ["time", "level", "msg"] and len(set(keys)) == len(keys), line
PY
/usr/bin/python3 "$TMPDIR/logfmt.py" "$log" || bad "a line is no logfmt"

# `cadre logs` leaves out lines below the level that --level names.
is 0 'level=debug' cadre logs
is 0 'level=warn' cadre logs --level warn
! grep -Ev 'level=(warn|error) ' "$TMPDIR/out" || bad "lines below the level are shown"
is 2 'error|warn|info|debug' cadre logs --level note
is 0 . cadre logs -n 1 --level debug
[ "$(wc -l <"$TMPDIR/out")" = 1 ] || bad "more than a line"
# On a terminal a line is about the agent that a field names, not about a word in a quoted text. No
# other field is left out, whatever its value is.
cp "$log" "$TMPDIR/log.was"
printf 'time=2026-01-01T00:00:00.000Z level=warn msg=odd text="x agent=mallory y" team=shop peer=coder agent=coder\n' >"$log"
tty="import sys, terminal; print(terminal.run(sys.argv[1:], 120)[0].decode())"
is 0 ' coder .*odd  text="x agent=mallory y" team=shop peer=coder' env PYTHONPATH="$here/lib" /usr/bin/python3 -c "$tty" "$CADRE" logs
! grep -q 'agent=coder' "$TMPDIR/out" || bad "the agent is shown twice"
cat "$TMPDIR/log.was" >"$log"
"$CADRE" logs -n 0 -f >"$TMPDIR/followed" &
follower=$!
follows() { cadre send tester again >/dev/null; grep -q 'operation=message.send' "$TMPDIR/followed"; }
until_done follows
kill $follower
wait $follower 2>/dev/null

# Metrics count the lines of the log.
observer=$(cadre token create watcher --observer)
curl -sS -H "Authorization: Bearer $observer" "$url/metrics" >"$TMPDIR/metrics"
grep -q '^cadre_log_lines_total{level="warn"} [1-9]' "$TMPDIR/metrics" || bad "warnings are not counted"

# If a person sets log.level to `error`, the metrics do not count the change as an error.
echo 'log.level = "error"' >"$config"
until_done grep -q "level=info msg=\"the log's level has changed\" to=error" "$log"
curl -sS -H "Authorization: Bearer $observer" "$url/metrics" >"$TMPDIR/metrics"
grep -q '^cadre_log_lines_total{level="error"} 0' "$TMPDIR/metrics" || bad "a change of the level is an error: $(grep level=error "$log")"

# The variable CADRE_LOG_LEVEL has precedence over the configuration file, so a change of the
# file has no effect.
cadre down >/dev/null
CADRE_LOG_LEVEL=error cadre up >/dev/null || bad "up"
lines=$(wc -l <"$log")
rm "$config"
cadre send tester quiet >/dev/null
sleep 2
[ "$(wc -l <"$log")" = "$lines" ] || bad "lines below the level are written: $(tail -2 "$log")"

exit $failed
