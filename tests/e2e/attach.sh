#!/bin/sh
# attach - guests that run already, elsewhere: over TCP with a token, over a Unix
# socket; they go and come again, are let go of, and one that hangs is noticed.
set -u
: "${CADRE:=$(command -v cadre)}"
export CADRE_HOME="$TMPDIR/s" NO_COLOR=1
cadre() { "$CADRE" "$@"; }
failed=0 far='' near=''
finish() {
	cadre down >/dev/null 2>&1
	for pid in $far $near; do kill -CONT "$pid"; kill -9 "$pid"; wait "$pid"; done 2>/dev/null
}
trap finish EXIT

bad() { echo "FAILED: $*"; failed=1; }
until_is() { # PATTERN COMMAND...: within half a minute its output holds the pattern
	pattern=$1 n=0
	shift
	while ! "$@" 2>&1 | grep -q -e "$pattern"; do
		n=$((n + 1))
		[ $n -lt 300 ] || { bad "$*: no '$pattern' in"; "$@" 2>&1 | head -5; return; }
		sleep 0.1
	done
}
in_place() { cadre exec --team red "$1" sh -c "$2"; }

mkdir -p "$TMPDIR/far" "$TMPDIR/near"
echo far >"$TMPDIR/far/where"
echo near >"$TMPDIR/near/where"
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
echo "a secret of $$" >"$TMPDIR/token"
echo "another secret" >"$TMPDIR/wrong"

# No token is ever a word of a command.
cadre guest --dir "$TMPDIR/far" --state "$TMPDIR/g" --listen "tcp:127.0.0.1:$port" >"$TMPDIR/out" 2>&1
[ $? = 1 ] && grep -q 'needs a token' "$TMPDIR/out" || bad "a guest at TCP without a token"
start_far() {
	"$CADRE" guest --dir "$TMPDIR/far" --state "$TMPDIR/g" \
		--listen "tcp:127.0.0.1:$port" --token-file "$TMPDIR/token" &
	far=$!
}
start_far
"$CADRE" guest --dir "$TMPDIR/near" --state "$TMPDIR/n" --listen "unix:$TMPDIR/n/sockets" &
near=$!

cadre up >/dev/null || bad "up"
cadre team create red --roles '[{"name":"ann"},{"name":"bob"},{"name":"cid"}]' >/dev/null || bad "team create"
attach() { cadre workspace create --team red --backend attach "$@"; }
attach --agent ann --address "tcp:127.0.0.1:$port" --token "a secret" >"$TMPDIR/out" 2>&1 && bad "a token as a word"
grep -q 'others see' "$TMPDIR/out" || bad "why no token as a word"
attach --agent ann --address "tcp:127.0.0.1:$port" --token @"$TMPDIR/token" >/dev/null || bad "attach over tcp"
attach --agent bob --address "unix:$TMPDIR/n/sockets" >/dev/null || bad "attach at a socket"
until_is '^far$' in_place red/ann 'cat where'
until_is '^near$' in_place red/bob 'cat where'
in_place red/ann 'env' | grep -q 'secret' && bad "commands see the token"

# A second workspace for one guest, or a wrong token, comes to nothing.
CADRE_LINK_TOKEN="another secret" attach --agent cid --address "tcp:127.0.0.1:$port" >/dev/null || bad "attach with a wrong token"
until_is 'not the token of this guest' cadre logs
cadre workspace destroy red/cid --team red >/dev/null
attach --agent cid --address "unix:$TMPDIR/n/sockets" >/dev/null
until_is 'this is the guest of workspace' cadre logs
cadre workspace list --team red | grep -q 'creating.*cid' || bad "cid has bob's guest"

# It dies, and is reached again when somebody starts it.
kill -9 $far
wait $far 2>/dev/null
start_far
until_is '^far$' in_place red/ann 'cat where'

# One that hangs is noticed, though its socket stays open.
cadre task create count --team red >/dev/null
kill -STOP $far
until_is 'unavailable' in_place red/ann 'cat where'
kill -CONT $far
until_is '^far$' in_place red/ann 'cat where'

# The host goes and comes; the workspace is let go of, its guest lives on.
cadre down >/dev/null && cadre up >/dev/null || bad "down and up"
until_is '^far$' in_place red/ann 'cat where'
cadre workspace destroy red/ann --team red >/dev/null || bad "destroy"
kill -0 $far || bad "destroying the workspace ended its guest"
[ "$(cat "$TMPDIR/far/where")" = far ] || bad "destroying the workspace removed its files"
! grep -q "a secret of" "$CADRE_HOME"/log/* || bad "the token is in the log"
exit $failed
