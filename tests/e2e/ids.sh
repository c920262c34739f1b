#!/bin/sh
# ids - people read and write a short number such as #2 for a message, instead of the message's
# id of 36 characters. Screens show a message's number, and JSON shows its id. Commands accept a
# message's number, its id, or the beginning of its id.
set -u
. "$(dirname "$0")/../lib/story.sh"

cd "$TMPDIR" || exit 1
tab=$(printf '\t')
cadre team create ids --roles ann,bob >/dev/null
cadre --as ann send bob one >said
grep -q '#1' said || bad "send says: $(cat said)"
sleep 1.1
id=$(cadre --json --as ann send bob two | sed -n 's/.*"message_id":"\([^"]*\)".*/\1/p')
[ ${#id} = 36 ] || bad "the id in JSON is $id"

cadre --as bob inbox >said
grep -q "ann -> bob .*#2\$" said || bad "inbox says: $(cat said)"
grep -q "$id" said && bad "inbox says the whole id: $(cat said)"
cadre --as bob ack '#1' >/dev/null || bad "ack by number"
cadre --as bob reply "$(echo "$id" | cut -c1-13)" yes >/dev/null || bad "reply by the beginning"
cadre thread '#2' >said
grep -q "bob -> ann .*#3\$" said || bad "thread says: $(cat said)"
cadre receipt "$id" | grep -q "^bob${tab}acked" || bad "receipt by the whole id"
capitals=$(echo "$id" | tr a-f A-F)
cadre receipt "$capitals" | grep -q "^bob${tab}acked" || bad "receipt by the id in capitals"
cadre receipt "${capitals%?}" >/dev/null || bad "receipt by most of the id in capitals"
cadre receipt "${id%?}" >/dev/null || bad "receipt by all but the last digit"
cadre receipt "$(echo "$id" | cut -c1-8)" 2>said && bad "receipt by what several begin with"
grep -q 'several messages begin with' said || bad "receipt says: $(cat said)"
cadre events | grep -q 'message.sent.*#2' || bad "events say: $(cadre events)"
cadre search two | grep -q '#2' || bad "search says: $(cadre search two)"
exit $failed
