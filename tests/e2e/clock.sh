#!/bin/sh
# clock - the machine's clock is set by a day while a host runs, and while none does: what
# is left of a lease is time that passes, so it neither ends by that nor lasts a day longer.
set -u
. "$(dirname "$0")/../lib/story.sh"
. "$(dirname "$0")/../lib/preload.sh"
host=
trap '[ -z "$host" ] || kill "$host" 2>/dev/null' EXIT
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

cadre team create red --roles ann --roles bob >/dev/null
cadre task create 'Long work' --team red >/dev/null
hosted() { cadre status | grep -q 'host  *yes'; }
# with_clock COMMAND...: one that has this clock.
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
# left_is BY: of the lease, by a clock that is set by so many seconds, 10 minutes are left.
left_is() {
	until=$(date -d "$(lease)" +%s) || return 1
	left=$((until - $(date +%s) - $1))
	[ "$left" -gt 300 ] && [ "$left" -le 603 ]
}
for by in 86400 0 -86400 0; do
	set_clock $by
	until_done left_is $by || bad "set by $by: the lease ends $(lease)"
	cadre --team red task show 001 | grep -q ann || bad "set by $by: ann has lost the task"
	cadre --team red --as bob claim 001 >/dev/null 2>&1 && bad "set by $by: bob has it"
done
# A wait lasts as long as it was asked for, whatever is set meanwhile: one that ends lets
# the host look at all that wait.
"$CADRE" --team red --as ann inbox --wait >"$TMPDIR/long" 2>&1 &
long=$!
cadre --team red --as bob inbox --wait-seconds 1 >/dev/null 2>&1 # by then the long one waits
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
until_done ended || { bad "set back: a wait of 5 s has not ended"; kill "$short"; }

# `up` waits for a host that is silent as long as it was told to.
kill -STOP "$host"
(export SET_BACK=1; with_clock timeout $((60 * TEST_SCALE)) "$CADRE" up --timeout 1) >"$TMPDIR/up" 2>&1
[ $? = 7 ] || bad "up, while the clock is put back: $(cat "$TMPDIR/up")"
kill -CONT "$host"

# The clock is set while no host runs, as on a machine that finds its time only later.
for by in -86400 86400 0; do
	end_host
	set_clock $by
	serve
	until_done left_is $by || bad "set by $by without a host: the lease ends $(lease)"
	cadre --team red task show 001 | grep -q ann || bad "set by $by without a host: ann has lost the task"
done
end_host
exit $failed
