#!/bin/sh
# fan - one command runs in many workspaces: --all means all that are ready, and a glob chooses
# some by name. Each line of output follows the workspace's name, and the exit status is the
# highest. A signal reaches the commands. The list of workspaces says what runs.
set -u
. "$(dirname "$0")/../lib/story.sh"
trap 'cadre down --all >/dev/null 2>&1' EXIT

cadre up >/dev/null || bad "up"
cadre team create shop --roles '[{"name":"w","workspace":true,"count":11},{"name":"x","workspace":true}]' --max-vms 20 --wait >/dev/null ||
	bad "team create"

is 0 '^w-3: [0-9]' cadre exec 'w-*' -- sh -c 'pwd | wc -c'
[ "$(grep -c '^w-[0-9]*: ' "$TMPDIR/out")" = 11 ] || bad "not in eleven: $(cat "$TMPDIR/out")"
grep -q '^x: ' "$TMPDIR/out" && bad "x does not match"
is 0 '^x: a' cadre exec --all -- printf 'a\nb'
[ "$(grep -c ': b$' "$TMPDIR/out")" = 12 ] || bad "not in all: $(cat "$TMPDIR/out")"
is 0 '^x: --json$' cadre exec --all echo --json
is 0 '^w-1: -c' cadre exec --all --timeout-secs 60 -- echo -c --all
# The output for errors stays apart, and the worst status counts.
is 7 '^x: oops$' cadre exec --all '[ $CADRE_AGENT != x ] || { echo oops >&2; exit 7; }; exit 2'
[ -s "$TMPDIR/out" ] && bad "errors on stdout: $(cat "$TMPDIR/out")"
is 0 '"exit_code":0,.*"workspace":"w-10"' cadre exec 'w-1?' --json -- true
is 3 'no workspace with a name like y\* is ready' cadre exec 'y*' -- true

# A workspace that is stopped is passed over, and the user is told.
is 0 '^workspace shop-x-.* is stopped$' cadre workspace stop shop/x --wait
either=yes
is 0 'x is stopped, so nothing runs there' cadre exec --all -- true
either=
[ "$(wc -l <"$TMPDIR/out")" = 0 ] || bad "output of true: $(cat "$TMPDIR/out")"

# A signal reaches all commands.
"$CADRE" exec 'w-[12]' -- 'trap "echo got; exit 3" TERM; echo up; while :; do sleep 0.1; done' >"$TMPDIR/long" 2>&1 &
fan=$!
until_is 2 grep -c ': up$' "$TMPDIR/long"
kill -TERM $fan
wait $fan
got=$?
[ $got = 3 ] || bad "ended with $got, not 3: $(cat "$TMPDIR/long")"
[ "$(grep -c '^w-[12]: got$' "$TMPDIR/long")" = 2 ] || bad "no signal: $(cat "$TMPDIR/long")"

# The list says how much a guest and its commands used. A stopped guest uses nothing.
is 0 spent cadre exec shop/w-3 '(ulimit -t 3; while :; do :; done) 2>/dev/null; echo spent'
used() { # AGENT: prints the seconds and the memory of the agent's workspace
	cadre workspace list --team shop --columns agent,cpu_secs,used_mb | sed -n "s/^$1\t//p"
}
used w-3 | grep -q '^[2-9][[:space:]][1-9]' || bad "w-3 used: $(used w-3)"
[ "$(used x)" = "$(printf '\t')" ] || bad "x used: $(used x)"

# The list says what runs, and has w-2 before w-10 on a terminal.
is 0 . cadre task create Sleep
is 0 . cadre task assign 001 w-2 --command 'sleep 60'
until_is '\tw-2\t[0-9]*\tsleep 60\t20[0-9TZ:-]*\t' cadre workspace list --team shop # polls: no wait is for what a workspace runs
script -qec "stty cols 200; '$CADRE' workspace list --team shop" /dev/null >"$TMPDIR/out" </dev/null
grep -q 'w-2 .*sleep 60  *\([0-9]* s ago\|now\) ' "$TMPDIR/out" || bad "what runs is not told: $(cat "$TMPDIR/out")"
[ "$(grep -o ' w-[0-9]* ' "$TMPDIR/out" | tr -d '\n ')" = w-1w-2w-3w-4w-5w-6w-7w-8w-9w-10w-11 ] ||
	bad "not in natural order: $(cat "$TMPDIR/out")"

# A directory whose name is given without ./ is no workspace, and the hint says so.
mkdir "$TMPDIR/gold" && cd "$TMPDIR"
is 3 'write a path: \./gold' cadre team create gilded --golden gold --roles '[{"name":"w","workspace":true}]'
exit $failed
