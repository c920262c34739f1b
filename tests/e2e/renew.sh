# An agent that only looks keeps its claim: any call of an owner renews a lease of
# which under half is left.
set -eu
export CADRE_HOME="$TMPDIR/home"
cadre init >/dev/null
cadre team create alpha --roles coder >/dev/null
cadre task create "Think for long" >/dev/null
until_ms() { sqlite3 -readonly "$CADRE_HOME/state.db" 'SELECT lease_until FROM task'; }

looks() {
	cadre --team alpha --as coder claim 001 --lease-seconds 5 >/dev/null
	granted=$(until_ms)
	cadre --team alpha --as coder task list >/dev/null
	[ "$(until_ms)" = "$granted" ] || { echo "renewed too early"; exit 1; }
	sleep 3
	cadre --team alpha --as coder task list >/dev/null
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		[ "$(until_ms)" -gt "$granted" ] && break
		sleep 0.1
	done
	[ "$(until_ms)" -gt "$granted" ] || { echo "not renewed $1"; exit 1; }
	cadre --team alpha --as coder release 001 >/dev/null
}
looks "without a host"
cadre up >/dev/null
trap 'cadre down >/dev/null' EXIT
looks "by the host"
