#!/bin/sh
# clock - the machine's clock is set forward and back by a day or an hour. The clock is set
# while a host runs, before the host starts, and without a host. Leases, times to live of
# messages, retries and turns count the time that passes. Therefore setting the clock neither
# ends a lease nor makes a lease a day longer.
set -u
. "$(dirname "$0")/../lib/story.sh"
. "$(dirname "$0")/../lib/preload.sh"
host=
trap '[ -z "$host" ] || kill "$host" 2>/dev/null; cadre down --all >/dev/null 2>&1' EXIT
preload clock <<'C'
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t which, struct timespec *t)
{
	static long looks;
	int rc = (int)syscall(SYS_clock_gettime, which, t);
	const char *path = getenv("SET_CLOCK");
	long by = 0;
	FILE *f;

	if (which == CLOCK_REALTIME && getenv("SET_BACK")) /* by an hour at each look */
		t->tv_sec -= 3600 * ++looks;
	if (which != CLOCK_REALTIME || !path || !(f = fopen(path, "r")))
		return rc;
	if (fscanf(f, "%ld", &by) == 1)
		t->tv_sec += by;
	fclose(f);
	return rc;
}
C
export SET_CLOCK="$TMPDIR/by"
set_clock() { echo "$1" >"$SET_CLOCK.new" && mv "$SET_CLOCK.new" "$SET_CLOCK"; }
set_clock 0
export CADRE_RUNNER_RETRY_MS=3000 CADRE_RUNNER_INTERRUPT_MS=300

cadre team create red --roles ann --roles bob >/dev/null
cadre task create 'Long work' --team red >/dev/null
hosted() { with_clock "$CADRE" status | grep -q 'host  *yes'; }
# with_clock COMMAND...: runs COMMAND with the clock of this story.
with_clock() { with clock exec "$@"; }
serve() {
	with_clock "$CADRE" serve >"$TMPDIR/serve" 2>&1 &
	host=$!
	until_done hosted || bad "no host: $(cat "$TMPDIR/serve")"
}
end_host() {
	kill "$host"
	wait "$host" || bad "the host: $(cat "$TMPDIR/serve")"
	host=
}
serve
cadre --team red --as ann claim --lease-seconds 600 >/dev/null || bad "no claim"
lease() {
	cadre --team red task show 001 --json | sed -n 's/.*"lease_until": *"\([^"]*\)".*/\1/p'
}
# left_is BY: whether 5 to 10 minutes of the lease are left. The clock of this story is BY
# seconds ahead.
left_is() {
	until=$(date -d "$(lease)" +%s) || return 1
	left=$((until - $(date +%s) - $1))
	[ "$left" -gt 300 ] && [ "$left" -le 603 ]
}
cadre --team red send bob 'for ten minutes' --ttl-seconds 600 >/dev/null || bad "no message"
for by in 86400 0 -86400 0; do
	set_clock $by
	until_done left_is $by || bad "set by $by: the lease ends $(lease)"
	is 0 'for ten minutes' cadre --team red --as bob inbox peek
	cadre --team red task show 001 | grep -q ann || bad "set by $by: ann has lost the task"
	cadre --team red --as bob claim 001 >/dev/null 2>&1 && bad "set by $by: bob has it"
done
# Setting the clock does not change the length of a wait. When a wait ends, the host checks all
# other waits. Therefore a short wait ends during a long wait in this test.
"$CADRE" --team red --as ann inbox --wait >"$TMPDIR/long" 2>&1 &
long=$!
cadre --team red --as bob inbox --wait-seconds 1 >/dev/null 2>&1 # when the short wait ends, the long wait has begun
set_clock 86400
cadre --team red --as bob inbox --wait-seconds 1 >/dev/null 2>&1
kill -0 "$long" 2>/dev/null || bad "set ahead: a long wait has ended: $(cat "$TMPDIR/long")"
cadre --team red send ann 'still there' >/dev/null
wait "$long"
grep -q 'still there' "$TMPDIR/long" || bad "the wait of 600 s got nothing: $(cat "$TMPDIR/long")"
"$CADRE" --team red --as bob inbox --wait-seconds 5 >/dev/null 2>&1 &
short=$!
cadre --team red --as ann inbox --wait-seconds 1 >/dev/null 2>&1
set_clock 0
ended() { ! kill -0 "$short" 2>/dev/null; }
ended_long() { ! kill -0 "$long" 2>/dev/null; }
until_done ended || { bad "set back: a wait of 5 s has not ended"; kill "$short"; }
# A wait sees a change that comes after the clock was put back.
"$CADRE" --team red --as lead wait 001 --timeout $((60 * TEST_SCALE)) >"$TMPDIR/change" 2>&1 </dev/null &
change=$!
until_done sleeps $change
sleep "$TEST_SCALE"
set_clock -3600
cadre --team red --as ann task block 001 "no key" >/dev/null && wait $change || bad "set back: the wait for a change ended with $?"
grep -q 'ann blocked 001: no key' "$TMPDIR/change" || bad "set back: the wait for a change says: $(cat "$TMPDIR/change")"
set_clock 0
cadre --team red --as ann task unblock 001 >/dev/null || bad "unblock"

# `up` waits for a stopped host only for the time that --timeout gives.
kill -STOP "$host"
(export SET_BACK=1; with_clock timeout $((60 * TEST_SCALE)) "$CADRE" up --timeout 1) >"$TMPDIR/up" 2>&1
[ $? = 7 ] || bad "up, while the clock is put back: $(cat "$TMPDIR/up")"
kill -CONT "$host"

# The clock is set while no host runs, as on a machine that learns the time only later.
for by in -86400 86400 0; do
	end_host
	set_clock $by
	serve
	until_done left_is $by || bad "set by $by without a host: the lease ends $(lease)"
	cadre --team red task show 001 | grep -q ann || bad "set by $by without a host: ann has lost the task"
done

# An urgent message stops a turn that began before the clock was put back.
mkdir "$TMPDIR/work" "$TMPDIR/other"
turn_is() { [ "$(sqlite3 -readonly "$CADRE_HOME/state.db" "SELECT count(*) FROM v_turn WHERE agent = '$1' AND state = '$2'")" -ge "${3:-1}" ]; }
is 0 . cadre --team red agent update ann --project "$TMPDIR/work" --runner 'grep -q go && exit; exec sleep 9999'
is 0 . cadre --team red send ann long
until_done turn_is ann streaming
set_clock -3600
is 0 . cadre --team red send ann 'go' --priority urgent
until_done turn_is ann interrupted
until_done turn_is ann done

# A retry does not wait an hour if the clock is put back by an hour during the wait. A retry
# does not wait an hour either if the clock is put back before the host starts.
set_clock 0
printf '#!/bin/sh\ncat >/dev/null; [ -e good ]\n' >"$TMPDIR/flaky" && chmod +x "$TMPDIR/flaky"
is 0 . cadre --team red agent update bob --project "$TMPDIR/other" --runner "$TMPDIR/flaky"
is 0 . cadre --team red send bob once
until_done turn_is bob failed
set_clock -3600
: >"$TMPDIR/other/good"
until_done turn_is bob done
set_clock 0
rm "$TMPDIR/other/good"
is 0 . cadre --team red send bob again
until_done turn_is bob failed "$(($(sqlite3 -readonly "$CADRE_HOME/state.db" "SELECT count(*) FROM v_turn WHERE agent = 'bob' AND state = 'failed'") + 1))"
end_host
set_clock -3600
: >"$TMPDIR/other/good"
serve
until_done turn_is bob done 2
end_host

# If the clock is put back, the start of a claim or a reservation may lie in the future. Without
# a host, each call ends such claims and reservations. A call that already waits for a task also
# ends such claims.
set_clock 0
cadre team create blue --roles ann --roles bob >/dev/null
as() { (who=$1; shift; with_clock "$CADRE" --team blue --as "$who" "$@"); }
parked() { ! kill -0 "$1" 2>/dev/null || ls -l "/proc/$1/fd" | grep -q inotify; } # whether the caller waits, or has ended
as ann task create one >/dev/null && as ann task create two >/dev/null || bad "no tasks"
as ann claim 001 --lease-seconds 5 >/dev/null && as ann claim 002 --lease-seconds 5 >/dev/null || bad "no claims"
as ann reserve src --ttl 5 >/dev/null || bad "no reservation"
with_clock "$CADRE" --team blue --as bob claim --wait=300 >"$TMPDIR/long" 2>&1 &
long=$!
until_done parked $long
set_clock -3600
until_done ended_long || bad "without a host: who waits for a claim gets none"
grep -q one "$TMPDIR/long" || bad "without a host: who waits for a claim got: $(cat "$TMPDIR/long")"
until_done as bob reserve src --ttl 600
until_done as bob claim 002
# If the clock is set ahead while no host runs, a reservation ends, since no process knows how
# much time has passed.
set_clock 0
as ann reserve src >/dev/null || bad "set ahead without a host: a reservation is held on"
exit $failed
