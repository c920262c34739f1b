#!/bin/sh
# attach - guests that already run elsewhere are attached over TCP with a token, and over a Unix
# socket. Attached guests are killed, started again, and detached. The host notices a guest that
# hangs.
set -u
. "$(dirname "$0")/../lib/story.sh"
far='' near=''
finish() {
	cadre down >/dev/null 2>&1
	for pid in $far $near; do kill -CONT "$pid"; kill -9 "$pid"; wait "$pid"; done 2>/dev/null
}
trap finish EXIT

in_place() { cadre exec --team red "$1" sh -c "$2"; }

mkdir -p "$TMPDIR/far" "$TMPDIR/near"
echo far >"$TMPDIR/far/where"
echo near >"$TMPDIR/near/where"
port=$(free_port) || bad "no free port"
echo "a secret of $$" >"$TMPDIR/token"
echo "another secret" >"$TMPDIR/wrong"

# No command line ever holds a token.
cadre guest --dir "$TMPDIR/far" --state "$TMPDIR/g" --listen "tcp:127.0.0.1:$port" >"$TMPDIR/out" 2>&1
[ $? = 1 ] && grep -q 'needs a token' "$TMPDIR/out" || bad "a guest at TCP without a token"
far_state=$TMPDIR/g
start_far() {
	env -u CADRE_HOME "$CADRE" guest --dir "$TMPDIR/far" --state "$far_state" \
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
grep -q 'other users can see' "$TMPDIR/out" || bad "why no token as a word"
attach --agent ann --address "tcp:127.0.0.1:$port" --token @"$TMPDIR/token" >/dev/null || bad "attach over tcp"
attach --agent bob --address "unix:$TMPDIR/n/sockets" >/dev/null || bad "attach at a socket"
until_is '^far$' in_place red/ann 'cat where'
until_is '^near$' in_place red/bob 'cat where'
in_place red/ann env | grep -q "secret of $$" && bad "commands see the token"

# Programs in the workspace reach the host through the guest, as the agent that owns the
# workspace.
until_is '^red ann$' in_place red/ann 'echo $CADRE_TEAM $CADRE_AGENT'
in_place red/ann 'cadre send bob "from afar"' >/dev/null || bad "send from inside"
cadre --team red --as bob inbox | grep -q '^ann -> bob' || bad "the sender is not the channel's agent"
cadre --team red --as bob send ann "come home" >/dev/null
in_place red/ann 'cadre inbox' | grep -q 'come home' || bad "inbox from inside"
cadre task create "far work" --team red >/dev/null
in_place red/ann 'cadre claim 001 && cadre done 001 "it is"' >/dev/null || bad "claim and done from inside"
cadre task show 001 --team red | grep -q '^  it is' || bad "the task is not done"
in_place red/ann 'cadre task show 099'
[ $? = 3 ] || bad "a fault from inside"
in_place red/ann 'cadre mcp </dev/null' || bad "mcp from inside"
in_place red/ann 'printf "%s\n" "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},\"clientInfo\":{\"name\":\"t\",\"version\":\"0\"}}}" "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"agents\",\"arguments\":{\"action\":\"list\"}}}" | cadre mcp' | grep -q '"id":2.*bob' || bad "a tool of mcp from inside"
# A program in a workspace always acts as the agent of that workspace, whatever agent the
# program names.
for who in bob lead operator; do
	in_place red/ann "CADRE_AGENT=$who cadre inbox" >"$TMPDIR/out" 2>&1 && bad "$who from ann's workspace"
	grep -q 'denied' "$TMPDIR/out" || bad "why it is not $who"
done
in_place red/ann 'cadre --as bob inbox' >/dev/null 2>&1 && bad "--as from inside"
in_place red/ann 'cadre team create blue' >/dev/null 2>&1 && bad "the operator's from inside"
# The guest's door makes calls only as the agent of the workspace. No token is stored in the
# workspace, and no answer names the folder of the state.
in_place red/ann 'cadre --json status' | grep -q '"home"' && bad "the state's folder is told inside"
in_place red/ann 'cadre agent register ann --here' >"$TMPDIR/out" 2>&1
[ $? = 7 ] && grep -q 'this is a workspace' "$TMPDIR/out" || bad "--here inside: $(cat "$TMPDIR/out")"
in_place red/ann 'cadre agent env bob' >"$TMPDIR/out" 2>&1
[ $? = 5 ] && ! grep -q export "$TMPDIR/out" || bad "another's token inside: $(cat "$TMPDIR/out")"
# If a client gives up its wait for a message, a message that arrives later stays in the inbox.
in_place red/ann 'timeout 1 cadre inbox --wait' >/dev/null 2>&1
cadre --team red --as bob send ann "after the wait" >/dev/null
in_place red/ann 'cadre inbox' | grep -q 'after the wait' || bad "a wait that was given up took a message"

# A guest accepts neither a second workspace nor a wrong token.
CADRE_LINK_TOKEN="another secret" attach --agent cid --address "tcp:127.0.0.1:$port" >/dev/null || bad "attach with a wrong token"
until_is 'not the token of this guest' cadre logs
cadre workspace destroy --yes red/cid --team red >/dev/null
attach --agent cid --address "unix:$TMPDIR/n/sockets" >/dev/null
until_is 'this is the guest of workspace.*with a new state folder' cadre logs
in_place red/cid true 2>&1 | grep -q 'creating' || bad "cid's commands have a guest"
cadre workspace list --team red | grep -q 'creating.*cid' || bad "cid has bob's guest"

# The host reaches a dead guest again when somebody restarts the guest.
kill -9 $far
wait $far 2>/dev/null
start_far
until_is '^far$' in_place red/ann 'cat where'

# The host notices a guest that hangs, though the guest's socket stays open.
cadre task create count --team red >/dev/null
kill -STOP $far
until_is 'unavailable' in_place red/ann 'cat where'
kill -CONT $far
until_is '^far$' in_place red/ann 'cat where'

# The host stops and starts again. The destruction of a workspace leaves the workspace's guest
# running.
cadre down >/dev/null && cadre up >/dev/null || bad "down and up"
until_is '^far$' in_place red/ann 'cat where'
cadre workspace destroy --yes red/ann --team red >/dev/null || bad "destroy"
kill -0 $far || bad "destroying the workspace ended its guest"
[ "$(cat "$TMPDIR/far/where")" = far ] || bad "destroying the workspace removed its files"

# The destruction of a team leaves an attached guest running. The host then closes all
# connections to the guest.
kill $far && wait $far
far_state=$TMPDIR/g2
start_far
linked() { # prints the number of the guest's open connections
	awk -v port="$(printf ':%04X' "$port")" '$4 == "01" && index($2, port) { n++ } END { print n + 0 }' /proc/net/tcp
}
attach --agent ann --address "tcp:127.0.0.1:$port" --token @"$TMPDIR/token" >/dev/null || bad "attach once more"
until_is '^far$' in_place red/ann 'cat where'
[ "$(linked)" != 0 ] || bad "no connection is counted"
tokens() { sqlite3 "$CADRE_HOME/state.db" 'SELECT count(link_token) FROM workspace'; }
[ "$(tokens)" = 1 ] || bad "$(tokens) tokens of one guest"
cadre team destroy --yes red >/dev/null || bad "team destroy"
[ "$(tokens)" = 0 ] || bad "a token is left of a team that is gone"
until_is '^0$' linked
kill -0 $far && kill -0 $near || bad "destroying the team ended a guest"
[ "$(cat "$TMPDIR/far/where")" = far ] || bad "destroying the team removed a guest's files"
! grep -q "a secret of" "$CADRE_HOME"/log/* || bad "the token is in the log"
exit $failed
