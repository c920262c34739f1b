#!/bin/sh
# recording - the session of README's picture (tools/record) runs, and shows the same as the
# picture: a claimed task is refused, and after the death of the host all data is there.
set -u
stateless=yes
. "$(dirname "$0")/../lib/story.sh"
export PAUSE=0
is 0 '^001\tcompleted\t\tWrite the parser\t\t3\tcoder\t20[0-9TZ:-]*\t$' "$here/../tools/record" --play
for line in '^002  Write the lexer' 'Tokens are in lexer.h$' 'completed task 001: '; do
	grep -q "$line" "$TMPDIR/out" || bad "the session does not show $line: $(cat "$TMPDIR/out")"
done
grep -q 'conflict: task 001 is held by coder' "$TMPDIR/err" || bad "a second claim: $(cat "$TMPDIR/err")"
for text in Tokens conflict: lexer kill completed; do
	grep -q ">$text<" "$here/../docs/cadre.svg" || bad "the picture lacks $text: record it anew"
done
exit $failed
