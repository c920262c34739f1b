#!/bin/sh
# reply - several processes of one agent wait for one reply. One process gets the reply as new,
# and the other processes show the reply as already fetched.
set -u
. "$(dirname "$0")/../lib/story.sh"
cadre() { "$CADRE" --team red "$@"; }
trap '"$CADRE" down >/dev/null 2>&1' EXIT
"$CADRE" init >/dev/null
"$CADRE" team create red --roles coder --roles tester >/dev/null

# answers TEXT: the tester waits for a question and replies TEXT.
answers() {
	question=$(cadre --as tester --json inbox --wait-seconds $((10 * TEST_SCALE)) --limit 1 |
		grep -o '"message_id":"[^"]*"' | head -n 1 | cut -d'"' -f4)
	cadre --as tester reply "$question" "$1" >/dev/null || bad "$1: no reply"
}

# Two processes send the same question under the same key and wait for the reply. Only one
# process fetches the reply.
both_ask() {
	cadre --as coder --key "$1" --json send tester "$1?" --wait >"$TMPDIR/a" 2>&1 &
	a=$!
	cadre --as coder --key "$1" --json send tester "$1?" --wait >"$TMPDIR/b" 2>&1 &
	b=$!
	answers "$1!"
	wait $a || bad "$1: $(cat "$TMPDIR/a")"
	wait $b || bad "$1: $(cat "$TMPDIR/b")"
	[ "$(cat "$TMPDIR/a" "$TMPDIR/b" | grep -c "\"content\":\"$1!\"")" = 2 ] || bad "$1: not both saw it"
	[ "$(cat "$TMPDIR/a" "$TMPDIR/b" | grep -c '"already_fetched":true')" = 1 ] ||
		bad "$1: fetched by both, or by none: $(cat "$TMPDIR/a" "$TMPDIR/b")"
}

# One process of an agent asks and waits, and another process of the agent waits for new
# messages. Only one of the two processes fetches the reply.
one_receives() {
	cadre --as coder --json send tester "$1?" --wait >"$TMPDIR/a" 2>&1 &
	a=$!
	cadre --as coder --json inbox --wait-seconds $((30 * TEST_SCALE)) >"$TMPDIR/b" 2>&1 &
	b=$!
	sleep 0.5 # until both processes wait: an earlier reply could be handed out twice
	answers "$1!"
	wait $a || bad "$1: $(cat "$TMPDIR/a")"
	cadre send coder "that was it" >/dev/null # ends the wait of the inbox
	wait $b || bad "$1: $(cat "$TMPDIR/b")"
	grep -q "\"content\":\"$1!\"" "$TMPDIR/a" || bad "$1: the asker did not see it"
	in_inbox=$(grep -c "\"content\":\"$1!\"" "$TMPDIR/b")
	[ "$(grep -c '"already_fetched":true' "$TMPDIR/a")" = "$in_inbox" ] ||
		bad "$1: fetched by both, or by none: $(cat "$TMPDIR/a" "$TMPDIR/b")"
	cadre --as coder inbox --take >/dev/null
}
# Without --json, `send --wait-for-reply` prints the reply and the thread's number. If no reply
# arrives in time, the command says so and ends with exit status 7.
a_person_sees_it() {
	"$CADRE" --team red --as coder send tester "$1?" --wait-for-reply --timeout-seconds 60 >"$TMPDIR/a" 2>&1 &
	a=$!
	answers "$1!"
	wait $a || bad "$1: ended with $?: $(cat "$TMPDIR/a")"
	number=$(sed -n 's/^sent \(#[0-9]*\) to tester (acked)$/\1/p' "$TMPDIR/a")
	grep -q "^tester -> coder  response  thread $number " "$TMPDIR/a" && grep -q "^    $1!$" "$TMPDIR/a" ||
		bad "$1: the answer is not shown: $(cat "$TMPDIR/a")"
	is 0 '^no messages' cadre --as coder inbox
	is 7 'no reply came in that time' cadre --as coder send tester "$1 again?" --wait-for-reply --timeout-seconds 1
	grep -q 'cadre wait' "$TMPDIR/err" || bad "no way on: $(cat "$TMPDIR/err")"
	is 7 'no reply came' cadre --json --as coder send tester "$1 again?" --wait-for-reply --timeout-seconds 1
	grep -q '"state":"queued"' "$TMPDIR/out" || bad "no answer in JSON: $(cat "$TMPDIR/out")"
	cadre --as tester inbox --take >/dev/null
}
rounds() {
	a_person_sees_it "$1"
	for i in 1 2 3 4; do
		both_ask "$1-$i"
		one_receives "$1-inbox-$i"
	done
}
rounds alone
"$CADRE" up >/dev/null || bad up
rounds hosted
exit $failed
