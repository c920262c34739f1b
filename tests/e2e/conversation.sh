#!/bin/sh
# conversation - if two runners answer each message immediately, the exchange soon stops. The
# reason is that cadre limits the pace of each pair of agents. Fifty agents get mail at the same
# time. At most eight of these agents have a turn at the same time, and each agent has one turn.
set -u
export CADRE_LIMITS_ENABLED=true CADRE_LIMITS_MAX_TURNS=8 CADRE_LIMITS_MAX_VMS_PER_TEAM=60 CADRE_TEAM_MAX_VMS=60
. "$(dirname "$0")/../lib/story.sh"
trap 'cadre down --all >/dev/null 2>&1' EXIT
sql() { sqlite3 -readonly "$CADRE_HOME/state.db" "$1"; }
quiet() { [ "$(sql 'SELECT count(*) FROM turn WHERE ended_at IS NULL')" = 0 ]; }
mkdir "$TMPDIR/bin" && ln -s "$CADRE" "$TMPDIR/bin/cadre"
export PATH="$TMPDIR/bin:$PATH"
cadre up >/dev/null || bad "up"

# This runner answers each message with a message to the other agent.
cat >"$TMPDIR/answer" <<'END'
#!/bin/sh
cat
case $CADRE_AGENT in ping) to=pong ;; *) to=ping ;; esac
cadre send $to "your turn" || echo "not now: $?"
END
chmod +x "$TMPDIR/answer"
is 0 . cadre team create game --roles "[{\"name\":\"ping\",\"runner\":\"$TMPDIR/answer\",\"workspace\":true},{\"name\":\"pong\",\"runner\":\"$TMPDIR/answer\",\"workspace\":true}]" --wait
is 0 . cadre agent say ping 'begin'
refused() { cadre history ping --limit 100 | grep -q 'not now: 6' || cadre history pong --limit 100 | grep -q 'not now: 6'; }
until_done refused
until_done quiet
n=$(sql "SELECT count(*) FROM message WHERE content = 'your turn'")
sleep 2
[ "$n" -ge 2 ] && [ "$n" -le 12 ] || bad "$n messages until they came to rest"
[ "$(sql "SELECT count(*) FROM message WHERE content = 'your turn'")" = "$n" ] || bad "they did not come to rest"
is 0 '\[From agent "ping"\]:' cadre history pong
is 0 . cadre team destroy game --yes

# Only a few of the fifty agents have a turn at the same time. Each agent gets one turn, and no
# agent waits for ever.
cat >"$TMPDIR/work" <<'END'
#!/bin/sh
cat; sleep 0.1; echo "worked as $CADRE_AGENT"
END
chmod +x "$TMPDIR/work"
is 0 . cadre team create crowd --roles "[{\"name\":\"w\",\"count\":50,\"runner\":\"$TMPDIR/work\",\"workspace\":true}]" --wait=60
is 0 . cadre --team crowd send '*' 'all of you'
finished() { [ "$(sql "SELECT count(*) FROM v_turn WHERE team = 'crowd' AND state = 'done'")" = 50 ]; }
until_done finished
[ "$(sql "SELECT count(DISTINCT agent) FROM v_turn WHERE team = 'crowd' AND text LIKE '%worked as%'")" = 50 ] || bad "not each had its turn"
most=$(sql "SELECT max(n) FROM (SELECT (SELECT count(*) FROM turn o WHERE o.started_at <= u.started_at AND o.ended_at > u.started_at) AS n FROM turn u)")
[ "$most" -ge 2 ] && [ "$most" -le 8 ] || bad "$most turns at once"
exit $failed
