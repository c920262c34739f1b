# patience - stories wait by these functions: never for a fixed time, but until something is so.
#
# `patience` is in tenths of a second on a fast machine; a slower one, as $TEST_SCALE
# tells, waits as much longer.  PATIENCE is what a run allows that has less time for a story.
# The caller defines bad().
: "${TEST_SCALE:=1}"
patience=${PATIENCE:-600}

# The seconds that a wait may take, at most 300: --wait-seconds takes no more.  After the first failure
# the other waits are short.
bound() {
	seconds_left=$((patience * TEST_SCALE / 10))
	[ "${failed:-0}" = 0 ] || seconds_left=$((5 * TEST_SCALE))
	echo $((seconds_left < 300 ? seconds_left : 300))
}

# Seconds by a clock that nobody sets: each try takes time, too, in a VM a lot.
uptime_s() {
	read -r up _ </proc/uptime
	echo "${up%%.*}"
}

# until_done COMMAND...: it succeeds before patience ends.
until_done() {
	most=$(bound)
	since=$(uptime_s)
	while ! "$@" >/dev/null 2>&1; do
		[ $(($(uptime_s) - since)) -le "$most" ] || { bad "in vain for $most s: $*"; return 1; }
		sleep 0.1
	done
}

# until_is PATTERN COMMAND...: its output holds the pattern before patience ends.
until_is() {
	pattern=$1 most=$(bound)
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

# waited STATUS NOUN NAME...: `cadre wait` ends with that status before patience does.
waited() {
	want=$1
	shift
	said=$(cadre wait "$@" --timeout "$(bound)" 2>&1 </dev/null)
	got=$?
	[ $got = "$want" ] || { bad "wait $* ended with $got, not $want: $said"; return 1; }
}

# waits SECONDS: that long, and longer on a slow machine: for what takes time itself.
waits() { sleep "$(echo "$1 $TEST_SCALE" | awk '{ print $1 * $2 }')"; }

# sleeps PROCESS: is the process asleep in a wait?
sleeps() { [ "$(cat "/proc/$1/wchan" 2>/dev/null)" = do_epoll_wait ] || grep -q '^State:.S' "/proc/$1/status"; }
