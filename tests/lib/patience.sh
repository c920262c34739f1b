# patience - what stories wait by: never for a fixed time, but until something is so.
#
# `patience` is in tenths of a second on a fast machine; a slower one, as $TEST_SCALE
# tells, waits as much longer.  PATIENCE is what a run allows that has less time for a story.
# Who sources it has a bad().
: "${TEST_SCALE:=1}"
patience=${PATIENCE:-600}

# After the first failure the rest is only looked at.
tries() { [ "${failed:-0}" = 0 ] && echo $((patience * TEST_SCALE)) || echo $((50 * TEST_SCALE)); }

# until_done COMMAND...: it succeeds before patience ends.
until_done() {
	n=0 most=$(tries)
	while ! "$@" >/dev/null 2>&1; do
		n=$((n + 1))
		[ $n -lt $most ] || { bad "in vain: $*"; return 1; }
		sleep 0.1
	done
}

# until_is PATTERN COMMAND...: its output holds the pattern before patience ends.
until_is() {
	pattern=$1 n=0 most=$(tries)
	shift
	while ! "$@" 2>&1 | grep -q -e "$pattern"; do
		n=$((n + 1))
		[ $n -lt $most ] || {
			bad "$*: no '$pattern' in"
			"$@" 2>&1 | head -5
			return 1
		}
		sleep 0.1
	done
}

# waits SECONDS: that long, and longer on a slow machine: for what takes time itself.
waits() { sleep "$(echo "$1 $TEST_SCALE" | awk '{ print $1 * $2 }')"; }
