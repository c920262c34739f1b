#!/bin/sh
# metrics - Prometheus reads a host's metrics, which count the events of a state and the host's
# own work.
set -u
. "$(dirname "$0")/../lib/story.sh"
trap 'cadre down --all >/dev/null 2>&1' EXIT

scrape() { # [TOKEN]: the metrics, in $TMPDIR/metrics
	curl -sS -m 30 -o "$TMPDIR/metrics" -w '%{http_code}' -H "Authorization: Bearer ${1-$observer}" "$url/metrics"
}
says() { # SAMPLE: a line of the last scrape matches this pattern
	grep -qxe "$1" "$TMPDIR/metrics" || bad "no '$1': $(grep "^${1%%[ \{]*}" "$TMPDIR/metrics" | head -n 20)"
}
holds() { # SAMPLE: a new scrape has a line that matches
	scrape >/dev/null
	grep -qxe "$1" "$TMPDIR/metrics"
}

unset CADRE_LIMITS_ENABLED
export CADRE_LIMITS_EXEC_BURST=1 CADRE_LIMITS_DEFAULT_BURST=2 CADRE_LIMITS_DEFAULT_PER_MINUTE=1 CADRE_TASK_LEASE_SECONDS=600
cadre team create shop --roles '[{"name":"coder"},{"name":"tester"}]' --max-tokens 1000 >/dev/null
cadre task create "Before the host" >/dev/null
cadre up >/dev/null || bad "up"
url=$(cat "$CADRE_HOME/endpoint") || bad "no endpoint"
observer=$(cadre token create prometheus --observer)
operator=$(cadre token create --operator)
coder=$(cadre token create --agent shop/coder)

# --- readers of metrics ---------------------------------------------------------------

# Metrics contain the names of teams, so only the operator and observers of all teams may read
# metrics.
[ "$(scrape)" = 200 ] || bad "an observer reads no metrics"
[ "$(scrape "$operator")" = 200 ] || bad "the operator reads no metrics"
[ "$(scrape "$coder")" = 403 ] || bad "an agent reads what other teams have left"
[ "$(scrape nobody)" = 401 ] || bad "a wrong token reads metrics"
[ "$(curl -sS -o /dev/null -w '%{http_code}' "$url/metrics")" = 401 ] || bad "whoever shows no token reads metrics"
[ "$(curl -sS -o /dev/null -w '%{http_code}' -X POST -H "Authorization: Bearer $observer" "$url/metrics")" = 404 ] || bad "metrics are posted"
socket=$(dirname "$(cut -d' ' -f3- "$CADRE_HOME/host.lock")")/http.sock
curl -sS --unix-socket "$socket" http://localhost/metrics | grep -q '^cadre_info' || bad "no metrics at $socket"
curl -sSI -H "Authorization: Bearer $observer" "$url/metrics" | grep -qi '^content-type: text/plain; version=0.0.4' || bad "another type"

# Prometheus can parse the metrics.
scrape >/dev/null
promtool check metrics <"$TMPDIR/metrics" >"$TMPDIR/lint" 2>&1 || bad "promtool: $(cat "$TMPDIR/lint")"
[ ! -s "$TMPDIR/lint" ] || bad "promtool: $(cat "$TMPDIR/lint")"

# --- calls, messages and claims ---------------------------------------------------------------------

# The host does not count events before its start. From its start on, the host also counts the
# events of calls with --direct.
says 'cadre_events_total{event="task.created"} 0'
cadre --direct task create "Past the host" >/dev/null
holds 'cadre_events_total{event="task.created"} 1' || bad "what goes past the host is not seen"
! grep -q 'cadre_calls_total{operation="task.create"' "$TMPDIR/metrics" || bad "a call past the host is counted as one of its own"

# Metrics count the messages that were sent, that wait, that were handed out, and that were
# acknowledged.
cadre send coder one >/dev/null
cadre send coder two >/dev/null
sleep 3
cadre send coder three >/dev/null
scrape >/dev/null
oldest=$(sed -n 's/^cadre_oldest_unfetched_seconds \([0-9]*\).*/\1/p' "$TMPDIR/metrics")
[ "$oldest" -ge 3 ] || bad "the oldest message is said to be of $oldest s"
says 'cadre_calls_total{operation="message.send",fault="none"} 3'
says 'cadre_messages_total 3'
says 'cadre_inbox_deliveries{state="queued"} 3'
says 'cadre_call_seconds_bucket{operation="message.send",le="+Inf"} 3'
says 'cadre_call_seconds_count{operation="message.send"} 3'
says 'cadre_call_seconds_sum{operation="message.send"} [0-9.]*[1-9][0-9]*'
cadre --as coder inbox --limit 2 >/dev/null
scrape >/dev/null
says 'cadre_deliveries_total{state="fetched"} 2'
says 'cadre_inbox_deliveries{state="queued"} 1'
says 'cadre_inbox_deliveries{state="fetched"} 2'
waits=$(sed -n 's/^cadre_oldest_unfetched_seconds \([0-9]*\).*/\1/p' "$TMPDIR/metrics")
[ "$waits" -lt "$oldest" ] || bad "a message that is fetched is said to wait for $waits s"
cadre --as coder inbox >/dev/null # acknowledges the two fetched messages
scrape >/dev/null
says 'cadre_deliveries_total{state="fetched"} 3'
says 'cadre_deliveries_total{state="acked"} 2'
says 'cadre_oldest_unfetched_seconds 0[.]000'
cadre send coder "for good" >/dev/null
curl -sS -o /dev/null -H "Authorization: Bearer $coder" -H 'Content-Type: application/json' \
	-d '{"lease_seconds":0}' "$url/api/inbox/receive"
scrape >/dev/null
says 'cadre_deliveries_total{state="fetched"} 4'

# Metrics count each fault under the fault's name, and each reached limit under the limit's
# name.
is 3 . cadre send nobody-here lost
scrape >/dev/null
says 'cadre_calls_total{operation="message.send",fault="not_found"} 1'
says 'cadre_limits_hit_total{limit="default"} 0'
for n in 1 2 3; do
	status=$(curl -sS -o /dev/null -w '%{http_code}' -H "Authorization: Bearer $coder" -X PUT \
		-H 'Content-Type: application/json' -d '{"description":"codes"}' "$url/api/members/coder")
done
[ "$status" = 429 ] || bad "the third call ended with $status"
scrape >/dev/null
says 'cadre_limits_hit_total{limit="default"} 1'
says 'cadre_calls_total{operation="agent.update",fault="none"} 2'
says 'cadre_calls_total{operation="agent.update",fault="rate_limited"} 1'
curl -sS -o /dev/null -H "Authorization: Bearer $operator" "$url/api/tasks?limit=none"
holds 'cadre_calls_total{operation="task.list",fault="invalid"} 1' || bad "a call that says nonsense is not counted"

# Metrics count a lapsed claim, and a refused late call of the claim's former owner.
cadre --as coder claim 001 >/dev/null
scrape >/dev/null
says 'cadre_claims_total 1'
says 'cadre_claims_held 1'
says 'cadre_lapses_total 0'
says 'cadre_refused_epochs_total 0'
sqlite3 -cmd '.timeout 60000' "$CADRE_HOME/state.db" 'UPDATE task SET lease_until = lease_until - 700000'
until_done holds 'cadre_lapses_total 1'
says 'cadre_claims_held 0'
cadre --as tester claim 001 >/dev/null
is 4 . cadre --as coder done 001 "too late" --epoch 1
scrape >/dev/null
says 'cadre_refused_epochs_total 1'
says 'cadre_claims_total 2'

# Metrics show the budgets of living teams, and the amount that is left of each budget.
cadre team usage --team shop --tokens-in 300 >/dev/null || bad usage
scrape >/dev/null
says 'cadre_budget_limit{team="shop",budget="tokens"} 1000'
says 'cadre_budget_left{team="shop",budget="tokens"} 700'
cadre team create brief --max-messages 5 >/dev/null
holds 'cadre_budget_left{team="brief",budget="messages"} 5' || bad "a new team has no budget"
cadre team destroy brief --yes >/dev/null
holds 'cadre_budget_left{team="brief".*' && bad "a team that ended has a budget"

# Metrics show the number of calls in a commit, the time of the disk's syncs, and the sizes of
# the state's files.
says 'cadre_batch_calls_count [1-9][0-9]*'
says 'cadre_fsync_seconds_count [1-9][0-9]*'
says 'cadre_fsync_seconds_sum [0-9.]*[1-9][0-9]*'
says 'cadre_wal_bytes [1-9][0-9]*'
says 'cadre_state_bytes [1-9][0-9]*'

# A waiting call is counted in the queue `wait`. The waiting time of a call is not counted as
# time that the host spent on the call.
"$CADRE" --as tester inbox --wait-seconds 300 >/dev/null &
until_done holds 'cadre_queue_depth{queue="wait"} 1'
cadre send tester go >/dev/null
wait $!
holds 'cadre_queue_depth{queue="wait"} 0' || bad "a wait that is over waits"
! grep -q 'cadre_call_seconds_count{operation="message.receive"} 4' "$TMPDIR/metrics" || bad "the time of a wait is counted"

# Metrics count guests by state, and count the guests with a link to the host separately.
cadre team create crew --roles '[{"name":"hand","workspace":true}]' --wait >/dev/null 2>&1 || bad "crew"
until_done holds 'cadre_guests_linked 1'
says 'cadre_guests{state="ready"} 1'
says 'cadre_budget_limit{team="crew",budget="vms"} 10'
says 'cadre_budget_left{team="crew",budget="vms"} 9'

# Each follower of the event log reads all events, so that the follower's lag becomes 0.
for follower in waits stream mirror search notify; do
	until_done holds "cadre_follower_lag_events{follower=\"$follower\"} 0"
done

# Many callers read the metrics at the same time. Each caller gets an answer, and no event is
# counted twice.
cadre --team shop send coder once >/dev/null
for n in 1 2 3 4 5 6 7 8; do
	curl -sS -m 120 -H "Authorization: Bearer $observer" "$url/metrics" | grep -q '^cadre_log_lines' || echo "$n" >>"$TMPDIR/unanswered" &
done
wait
[ ! -e "$TMPDIR/unanswered" ] || bad "not all who ask at once are answered"
holds "cadre_messages_total 6" || bad "messages are counted twice"

# The host counts a very large number of events in several steps. No scrape of the metrics waits
# for more than one step.
sqlite3 -cmd '.timeout 60000' "$CADRE_HOME/state.db" "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 120000)
	INSERT INTO event (seq, at, kind, team, actor, via, subject, target)
	SELECT (SELECT max(seq) FROM event) + n, 0, 215, 1, 0, 0, 1, 0 FROM c" || bad "no events"
holds 'cadre_events_total{event="task.ticked"} 120000' && bad "a scrape counts all that there is"
until_done holds 'cadre_events_total{event="task.ticked"} 120000'
sleep 0.2
holds 'cadre_events_total{event="task.ticked"} 120000' || bad "events are counted twice"

exit $failed
