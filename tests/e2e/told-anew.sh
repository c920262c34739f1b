#!/bin/sh
# told-anew - a guest does not store plain messages on its disk. After a guest is killed, the
# host tells the next guest of the unread messages again, but not of messages that the agent has
# acknowledged.
set -u
. "$(dirname "$0")/../lib/story.sh"
guest='' between=''
finish() {
	cadre down >/dev/null 2>&1
	for pid in $guest $between; do kill -9 "$pid"; wait "$pid"; done 2>/dev/null
}
trap finish EXIT

mkdir "$TMPDIR/dir" "$TMPDIR/front"
start_guest() {
	env -u CADRE_HOME "$CADRE" guest --dir "$TMPDIR/dir" --state "$TMPDIR/state" \
		--listen "unix:$TMPDIR/sockets" 2>>"$TMPDIR/guest.log" &
	guest=$!
}
spool() { sqlite3 "$TMPDIR/state/spool.db" "SELECT count(*) FROM had"; }
told() { grep -c " $1\$" "$TMPDIR/told"; }
state_of() { cadre receipt "$1" --team red --json; }
send() { sent=$(cadre send ann "$1" --team red --as lead --json | grep -o '"message_id":"[^"]*"' | cut -d'"' -f4); }

start_guest
/usr/bin/python3 "$here/peers/overheard.py" "$TMPDIR/front" "$TMPDIR/sockets" >"$TMPDIR/told" &
between=$!
cadre up >/dev/null || bad "up"
cadre team create red --roles '[{"name":"lead"},{"name":"ann"}]' >/dev/null || bad "team create"
cadre workspace create --team red --agent ann --backend attach --address "unix:$TMPDIR/front" >/dev/null || bad "attach"
until_is '^here$' cadre exec --team red red/ann 'echo here'

send done-with
until_is '"state":"notified"' state_of "$sent"
is 0 done-with cadre --team red --as ann inbox
is 0 . cadre --team red --as ann ack "$sent"
for text in one two three; do
	send $text
	until_is '"state":"notified"' state_of "$sent"
done
cadre task create once --team red >/dev/null
cadre --team red --as lead task assign 001 ann --command 'echo ran >>runs' >/dev/null || bad "assign"
waited 0 task 001 --team red
[ "$(spool)" = 1 ] || bad "of one command and four messages the spool knows $(spool)"
[ "$(awk '$4 == "three" { print $3 }' "$TMPDIR/told")" = 2 ] || bad "two are unread before the third: $(cat "$TMPDIR/told")"

# A new guest is told of all unread messages again.
kill -9 "$guest" && wait "$guest" 2>/dev/null
start_guest
for text in one two three; do until_is '^2$' told $text; done
until_is '^here$' cadre exec --team red red/ann 'echo here'
[ "$(told done-with)" = 1 ] || bad "what was done with is told again"

# After a restart of the host, the same guest is not told of the messages again.
cadre down >/dev/null && cadre up >/dev/null || bad "down and up"
send four
until_is '"state":"notified"' state_of "$sent"
for text in one two three; do [ "$(told $text)" = 2 ] || bad "$text was told $(told $text) times"; done
[ "$(wc -l <"$TMPDIR/dir/runs")" = 1 ] || bad "the command ran again"
cadre --team red --as ann inbox >"$TMPDIR/inbox"
for text in one two three four; do
	[ "$(grep -c "$text" "$TMPDIR/inbox")" = 1 ] || bad "$text in the inbox: $(cat "$TMPDIR/inbox")"
done

# The state is restored from a backup. The guest still runs, and accepts new messages with
# numbers that it has seen before.
cadre backup "$TMPDIR/before.db" >/dev/null || bad "backup"
for text in five six; do
	send $text
	until_is '"state":"notified"' state_of "$sent"
done
cadre down >/dev/null
cadre restore "$TMPDIR/before.db" --yes >/dev/null || bad "restore"
cadre up >/dev/null || bad "up after the restore"
for text in seven eight; do
	send $text
	until_is '"state":"notified"' state_of "$sent"
	[ "$(told $text)" = 1 ] || bad "$text was told $(told $text) times after a restore"
done
exit $failed
