#!/bin/sh
# turns-stopped - a guest is stopped by a signal during a turn. One minute after the turn's time
# is over, the host ends the guest and starts it again. The lead gets a message, and a new turn
# handles the mail. A host that starts beside a stopped guest also ends the guest.
set -u
export CADRE_LIMITS_ENABLED=false CADRE_RUNNER_TIMEOUT_SECONDS=1 CADRE_RUNNER_RETRY_MS=100
. "$(dirname "$0")/../lib/story.sh"
patience=1000
first=$CADRE_HOME second=$TMPDIR/second
trap 'for s in "$first" "$second"; do CADRE_HOME=$s cadre down --all >/dev/null 2>&1; done' EXIT
done_with() { [ "$(sqlite3 -readonly "$1/state.db" "SELECT count(*) FROM turn_message m JOIN v_turn u ON u.turn = m.turn JOIN message g ON g.id = m.message WHERE u.state = 'done' AND g.content = '$2'")" = 1 ]; }
start() { # RUNNER
	cadre up >/dev/null || bad "up"
	is 0 . cadre team create crew --wait=60 --roles "[{\"name\":\"ann\",\"workspace\":true,\"runner\":\"$1\"},{\"name\":\"lead\"}]"
}
# In the state in the folder $first, the guest is stopped in the middle of a turn.
start 'grep -q stop && [ ! -e stopped ] && touch stopped && kill -STOP $PPID; echo went'
is 0 . cadre --team crew send ann stop
until_done sh -c "[ -e '$first'/workspaces/*/stopped ]"
is 0 . cadre --team crew send ann behind

# In the state in the folder $second, the guest is stopped, its host is killed, and a new host
# starts beside the stopped guest.
export CADRE_HOME=$second
cadre init >/dev/null
start cat
guest=$(pgrep -f "guest --workspace .* --state $second/")
kill -STOP "$guest"
kill -9 "$(cut -d' ' -f1 "$second/host.lock")"
cadre up >/dev/null || bad "up beside a guest that stands still"
is 0 . cadre --team crew send ann beside
until_done done_with "$second" beside
kill -0 "$guest" 2>/dev/null && bad "the guest that stood still is there"
is 0 'a guest stands still and is ended' cadre logs

export CADRE_HOME=$first
until_done done_with "$first" stop
until_done done_with "$first" behind
is 0 'turn 1 of ann and the guest of its workspace were ended' cadre --team crew --as lead inbox
[ "$(sqlite3 -readonly "$first/state.db" "SELECT state FROM v_turn WHERE turn = 1")" = interrupted ] || bad "turn 1"
exit $failed
