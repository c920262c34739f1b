#!/bin/sh
# redact - after a message is redacted, no file of the state contains its former text. The test
# redacts short and long messages, with a host and without. The test searches the files of the
# database, of the search index and of the mirror's log.
set -u
. "$(dirname "$0")/../lib/story.sh"

secret=xyzzyhunter2
log=$CADRE_HOME/vault/teams/alpha/messages
long=$(yes "some words and $secret again" | head -n 400)
gone() { # WHERE: no file of the state has the secret
	found=$(find "$CADRE_HOME" -type f -exec grep -ali "$secret" {} +)
	[ -z "$found" ] || bad "$1: the secret is in $found"
}
cat >>"$CADRE_HOME/cadre.toml" <<END
[vault]
messages = true
END
cadre team create alpha --roles coder,tester >/dev/null || bad "no team"

for way in without with; do
	[ $way = without ] || is 0 . cadre up
	is 0 . cadre --team alpha --as coder send tester "the word is $secret" --metadata "{\"key\":\"$secret\"}"
	short=$(sed -n 's/^sent #\([0-9]*\).*/\1/p' "$TMPDIR/out")
	echo "$long" >"$TMPDIR/long"
	is 0 . cadre --team alpha --as coder send tester --text "@$TMPDIR/long"
	is 0 . cadre --team alpha --as coder send lead "nothing to hide"
	is 0 "$secret" cadre --team alpha search "$secret"
	find "$CADRE_HOME" -type f -exec grep -ali "$secret" {} + | grep -q search || bad "the index does not hold it"
	[ $way = without ] || until_done sh -c "cat $log/*.md | grep -c $secret | grep -q 401"
	is 0 "^redacted #$short" cadre --team alpha --as coder message redact "#$short"
	is 0 "^redacted #$((short + 1))" cadre --team alpha message redact "#$((short + 1))"
	beside 'no hits' cadre --team alpha search "$secret"
	is 0 'hide' cadre --team alpha search hide
	is 0 'redacted by coder' cadre --team alpha messages
	is 0 'redacted by operator' cadre --team alpha message part "#$((short + 1))" content
	[ $way = without ] || until_done sh -c "! grep -q $secret $log/*.md"
	[ $way = without ] || is 0 . cadre down
	is 0 . cadre gc
	gone "$way a host"
	[ $way = without ] || grep -q '^> \[redacted by operator\]-*$' $log/*.md || bad "the log does not say who"
	[ $way = without ] || grep -q '^> nothing to hide$' $log/*.md || bad "the log lacks another message"
	is 0 'redacted by coder' cadre --team alpha --as tester inbox --take
	is 0 . cadre --team alpha --as tester inbox --take
done

# A message with a command can be redacted after the command has ended or was called off. After
# the redaction the running guest keeps no text of the command.
is 0 . cadre up
mkdir "$TMPDIR/gold" && is 0 . cadre team create beta --golden "$TMPDIR/gold" --roles '[{"name":"ann","workspace":true}]' --wait
export CADRE_TEAM=beta
assign() { # TITLE COMMAND [OPTION...]: assigns COMMAND, and sets $task and $seq
	task=$(cadre --json task create "$1" | sed -n 's/.*"id":"\([0-9]*\)".*/\1/p') what=$2
	shift 2
	cadre task assign "$task" ann --command "$what" "$@" >"$TMPDIR/out" 2>&1
	seq=$(cadre assignments --json | grep -o "\"seq\":[0-9]*,\"task\":\"$task\"" | grep -o '[0-9]*' | head -1)
}
assign ends ": $secret; exit 3" --wait
is 0 "^redacted #$seq" cadre message redact "#$seq"
until_done sh -c "! grep -aq $secret $CADRE_HOME/guests/*/spool.db*"
# A guest runs four commands at once, so the fifth command waits.
for n in 1 2 3; do assign "runs beside $n" 'sleep 1000'; done
assign runs ": $secret; touch $TMPDIR/runs; sleep 1000"
until_done test -f "$TMPDIR/runs"
is 4 'the message.s command has not ended' cadre message redact "#$seq"
running=$task
assign waits ": $secret"
until_done sh -c "grep -aq 'waits\|$secret' $CADRE_HOME/guests/*/spool.db*"
is 0 . cadre task cancel "$task"
is 0 "^redacted #$seq" cadre message redact "#$seq"
is 0 . cadre task cancel "$running"
running=$(cadre assignments --json | grep -o "\"seq\":[0-9]*,\"task\":\"$running\"" | grep -o '[0-9]*' | head -1)
until_is "^redacted #$running" cadre message redact "#$running"
until_done sh -c "! grep -aq $secret $CADRE_HOME/guests/*/spool.db*"
found=$(find "$CADRE_HOME/guests" -type f -exec grep -ali "$secret" {} +)
[ -z "$found" ] || bad "a guest that runs has the secret: $found"
pgrep -f "guest --workspace.*$CADRE_HOME" >/dev/null || bad "no guest runs"
is 0 . cadre down --all
exit $failed
