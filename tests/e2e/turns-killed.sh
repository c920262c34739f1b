#!/bin/sh
# turns-killed - hosts and guests are killed at random moments while ten runners handle mail.
# Each message is handled by a turn that ended well, and is never in two turns at the same time.
set -u
export CADRE_LIMITS_ENABLED=false CADRE_RUNNER_RETRY_MS=100 CADRE_RUNNER_MAX_FAILURES=1000
. "$(dirname "$0")/../lib/story.sh"
trap 'cadre down --all >/dev/null 2>&1' EXIT
: "${KILLS:=20}" "${MESSAGES:=200}" "${STARTS:=12}"
sql() { sqlite3 -readonly "$CADRE_HOME/state.db" "$1"; }
cat >"$TMPDIR/work" <<END
#!/bin/sh
exec 9>"$TMPDIR/\$CADRE_AGENT.lock"
flock -n 9 || echo "\$CADRE_AGENT \$CADRE_TURN" >>"$TMPDIR/overlaps"
cat
sleep 0.2
END
chmod +x "$TMPDIR/work"
cadre up >/dev/null || bad "up"
is 0 . cadre team create crew --max-vms 20 --roles "[{\"name\":\"w\",\"count\":10,\"runner\":\"$TMPDIR/work\",\"workspace\":true}]" --wait=60
host() { cut -d' ' -f1 "$CADRE_HOME/host.lock"; }
guest() { pgrep -f "guest --workspace .* --state $CADRE_HOME/" | shuf -n 1; }

sends() {
	i=0
	while [ $i -lt "$MESSAGES" ]; do
		i=$((i + 1))
		cadre --team crew send "w-$((i % 10 + 1))" "message $i" >/dev/null || echo "$i" >>"$TMPDIR/unsent"
	done
}
sends &
sender=$!
i=0
while [ $i -lt "$KILLS" ]; do
	i=$((i + 1))
	sleep "0.$(shuf -i 10-70 -n 1)"
	if [ $((i % 3)) = 0 ]; then
		kill -9 "$(host)"
		cadre up >/dev/null || bad "up behind kill $i"
	else
		pid=$(guest)
		[ -z "$pid" ] || kill -9 "$pid"
	fi
done
wait $sender
[ ! -e "$TMPDIR/unsent" ] || bad "messages were not sent: $(cat "$TMPDIR/unsent")"
finished() {
	[ "$(sql "SELECT count(DISTINCT m.message) FROM turn_message m JOIN v_turn u ON u.turn = m.turn WHERE u.state = 'done'")" = "$MESSAGES" ]
}
until_done finished
[ -z "$(sql "SELECT m.message FROM turn_message m JOIN turn u ON u.id = m.turn JOIN turn_message n ON n.message = m.message AND n.turn > m.turn JOIN turn o ON o.id = n.turn WHERE o.started_at < coalesce(u.ended_at, 1 << 60)")" ] ||
	bad "a message is in two turns at once"
[ ! -e "$TMPDIR/overlaps" ] || bad "turns of an agent ran at once: $(cat "$TMPDIR/overlaps")"
[ "$(sql "SELECT count(*) > 0 FROM v_turn WHERE state = 'interrupted'")" = 1 ] || bad "no kill has interrupted a turn"

# After a start or a restart of the host, one message is enough to start a turn and to wake
# waiting callers.
answered() { [ "$(sql "SELECT count(*) FROM turn_message m JOIN v_turn u ON u.turn = m.turn JOIN message g ON g.id = m.message WHERE u.state = 'done' AND g.content = 'alone $i'")" = 1 ]; }
i=0
while [ $i -lt "$STARTS" ]; do
	i=$((i + 1))
	if [ $((i % 2)) = 0 ]; then
		kill -9 "$(host)"
		cadre up >/dev/null || bad "up $i"
	else
		cadre restart >/dev/null || bad "restart $i"
	fi
	"$CADRE" --team crew inbox --as lead --wait-seconds $((20 * TEST_SCALE)) >"$TMPDIR/waiter" 2>&1 &
	waiter=$!
	cadre --team crew send w-1,lead "alone $i" >/dev/null
	until_done answered
	wait $waiter && grep -q "alone $i" "$TMPDIR/waiter" || bad "nobody woke who waited behind start $i: $(cat "$TMPDIR/waiter")"
done
[ -z "$(sql "SELECT agent FROM v_agent WHERE agent LIKE 'w-%' AND status NOT IN ('ready', 'idle')")" ] || bad "a runner is not at rest"
exit $failed
