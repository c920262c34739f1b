# patience - functions with which stories wait until a condition is true, instead of for a fixed
# time.
#
# `patience` is the limit of each wait on a fast machine, in tenths of a second. On a slower
# machine the limit is $TEST_SCALE times as long. A run sets $PATIENCE to give stories less
# time. The story that sources this file defines bad().
: "${TEST_SCALE:=1}"
patience=${PATIENCE:-600}

# Prints the limit of a wait in seconds. The limit is at most 300, since --wait-seconds accepts
# no greater number. If a check of the story has failed before, the limit is only 5 *
# $TEST_SCALE seconds.
bound() {
	seconds_left=$((patience * TEST_SCALE / 10))
	[ "${failed:-0}" = 0 ] || seconds_left=$((5 * TEST_SCALE))
	echo $((seconds_left < 300 ? seconds_left : 300))
}

# Prints the seconds since the boot, by a clock that nobody can set. Counting tries would not
# measure time, because the duration of a try is unknown. In a VM a try takes long.
uptime_s() {
	read -r up _ </proc/uptime
	echo "${up%%.*}"
}

# until_done COMMAND...: repeats COMMAND until COMMAND succeeds. The function fails if COMMAND
# does not succeed within the limit of a wait.
until_done() {
	most=$(bound)
	since=$(uptime_s)
	while ! "$@" >/dev/null 2>&1; do
		[ $(($(uptime_s) - since)) -le "$most" ] || { bad "in vain for $most s: $*"; return 1; }
		sleep 0.1
	done
}

# tabbed PATTERN: sets $pattern to PATTERN, with a tab for each `\t`.
tabbed() {
	pattern=$1
	case $pattern in *'\t'*) pattern=$(printf %s "$1" | sed 's/\\t/\t/g') ;; esac
}

# until_is PATTERN COMMAND...: repeats COMMAND until the output matches PATTERN. The function
# fails if no output matches within the limit of a wait.
until_is() {
	tabbed "$1"
	most=$(bound)
	since=$(uptime_s)
	shift
	while ! "$@" 2>&1 | grep -q -e "$pattern"; do
		[ $(($(uptime_s) - since)) -le "$most" ] || {
			bad "$*: for $most s no '$pattern' in"
			"$@" 2>&1 | head -5
			return 1
		}
		sleep 0.1
	done
}

# waited STATUS NOUN NAME...: checks that `cadre wait` ends with STATUS within the limit of a
# wait.
waited() {
	want=$1
	shift
	said=$(cadre wait "$@" --timeout "$(bound)" 2>&1 </dev/null)
	got=$?
	[ $got = "$want" ] || { bad "wait $* ended with $got, not $want: $said"; return 1; }
}

# waits SECONDS: sleeps for SECONDS * $TEST_SCALE seconds. Use this function only if the time
# itself matters.
waits() { sleep "$(echo "$1 $TEST_SCALE" | awk '{ print $1 * $2 }')"; }

# sleeps PROCESS: whether the process is asleep in the kernel.
sleeps() { [ "$(cat "/proc/$1/wchan" 2>/dev/null)" = do_epoll_wait ] || grep -q '^State:.S' "/proc/$1/status"; }
