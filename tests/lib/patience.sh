# patience - functions with which stories wait until a condition is true, never for a fixed
# time.
#
# `patience` is the longest wait in tenths of a second on a fast machine. A slower machine waits
# longer, by the factor $TEST_SCALE. A run with less time for a story sets PATIENCE. The caller
# defines bad().
: "${TEST_SCALE:=1}"
patience=${PATIENCE:-600}

# Prints the seconds that a wait may take: at most 300, the most that --wait-seconds accepts.
# After a failure all further waits are short.
bound() {
	seconds_left=$((patience * TEST_SCALE / 10))
	[ "${failed:-0}" = 0 ] || seconds_left=$((5 * TEST_SCALE))
	echo $((seconds_left < 300 ? seconds_left : 300))
}

# Seconds by a clock that nobody can set. Counting tries is no measure of time, because each try
# takes time too, and in a VM much time.
uptime_s() {
	read -r up _ </proc/uptime
	echo "${up%%.*}"
}

# until_done COMMAND...: repeats COMMAND until COMMAND succeeds. The function fails when
# patience ends.
until_done() {
	most=$(bound)
	since=$(uptime_s)
	while ! "$@" >/dev/null 2>&1; do
		[ $(($(uptime_s) - since)) -le "$most" ] || { bad "in vain for $most s: $*"; return 1; }
		sleep 0.1
	done
}

# until_is PATTERN COMMAND...: repeats COMMAND until the output matches PATTERN. The function
# fails when patience ends.
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

# waited STATUS NOUN NAME...: `cadre wait` ends with STATUS before patience ends.
waited() {
	want=$1
	shift
	said=$(cadre wait "$@" --timeout "$(bound)" 2>&1 </dev/null)
	got=$?
	[ $got = "$want" ] || { bad "wait $* ended with $got, not $want: $said"; return 1; }
}

# waits SECONDS: sleeps for SECONDS, longer on a slow machine. Use it only if the time itself
# matters.
waits() { sleep "$(echo "$1 $TEST_SCALE" | awk '{ print $1 * $2 }')"; }

# sleeps PROCESS: whether the process is asleep in a wait.
sleeps() { [ "$(cat "/proc/$1/wchan" 2>/dev/null)" = do_epoll_wait ] || grep -q '^State:.S' "/proc/$1/status"; }
