#!/bin/sh
# snapshot - a snapshot of a workspace's directory is restored and forked. A snapshot contains
# none of the guest's own files. At most limits.max_concurrent_forks forks are made at the same
# time.
set -u
. "$(dirname "$0")/../lib/story.sh"
trap 'cadre team destroy --yes red >/dev/null 2>&1; until_is "^0$" count_guests; cadre down >/dev/null 2>&1' EXIT
in_place() { cadre exec --team red "$1" sh -c "$2"; }

CADRE_LIMITS_MAX_CONCURRENT_FORKS=1 cadre up >/dev/null || bad "up"
cadre team create red --roles '[{"name":"a","workspace":true},{"name":"b"},{"name":"c"}]' \
	>/dev/null || bad "team create"
waited 0 workspace red/a
in_place red/a 'echo first >f; mkdir d; echo sub >d/g; mkfifo d/pipe'
cadre task create one --team red >/dev/null
cadre task assign 001 a --command 'cat f' --team red >/dev/null
waited 0 task 001 --team red

cadre workspace snapshot red/a keep --team red --json | grep -q '"left_out":1}' ||
	bad "a snapshot does not say that it lacks a pipe"
in_place red/a 'echo second >f; rm -r d; echo new >h'
cadre workspace restore --yes red/a keep --team red >/dev/null || bad "restore"
until_is '^first$' in_place red/a 'cat f'
until_is '^sub$' in_place red/a 'cat d/g'
until_is '^no$' in_place red/a 'test -e h || echo no'
until_is '^0$' in_place red/a 'ls -A | grep -c cadre'
cadre workspace snapshots red/a --team red | grep -q 'keep[[:space:]]ready' || bad "snapshots"

# A fork is complete when the answer to `workspace fork` arrives. The two forks are made one
# after the other, since limits.max_concurrent_forks is 1.
in_place red/a 'echo third >f; mkfifo pipe d/pipe'
"$CADRE" workspace fork red/a --agent b --snapshot keep --team red >"$TMPDIR/b" &
cadre workspace fork red/a --agent c --team red >"$TMPDIR/c" || bad "fork"
in_place red/a 'echo fourth >f'
grep -q "^workspace red-c-[^ ]* is [a-z]*; special files left out: 2\$" "$TMPDIR/c" || bad "a fork does not say that it lacks two pipes"
wait
until_is '^first$' in_place red/b 'cat f'
until_is '^third$' in_place red/c 'cat f'

cadre workspace forget --yes red/a keep --team red >/dev/null || bad "forget"
cadre workspace restore red/a keep --team red 2>/dev/null && bad "a removed snapshot is put back"
until_is '^first$' in_place red/b 'cat f'
cadre workspace snapshot red/a keep --team red >/dev/null || bad "the name is not free again"
cadre workspace destroy --yes red/a --team red >/dev/null
until_is '^0$' sh -c "ls '$CADRE_HOME/snapshots' | wc -l"
exit $failed
