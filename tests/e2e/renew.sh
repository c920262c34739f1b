# An agent or the operator keeps a claim by calls that only read. Any call of a task's owner
# renews the lease if less than half of the lease is left. An agent that makes no calls keeps
# its claim only as long as its process `cadre mcp` runs.
set -eu
. "$(dirname "$0")/../lib/story.sh"
cadre init >/dev/null
token=$(cadre --json team create alpha --roles coder | grep -o '"token":"[^"]*"' |
	head -n 1 | cut -d'"' -f4)
cadre task create "Think for long" >/dev/null
until_ms() { sqlite3 -readonly "$CADRE_HOME/state.db" 'SELECT lease_until FROM task'; }

is_renewed() { [ "$(until_ms)" -gt "$1" ]; }
looks() { # HOW ARGUMENT...: the arguments name the caller
	how=$1
	shift
	cadre --team alpha "$@" claim 001 --lease-seconds 600 >/dev/null
	granted=$(until_ms)
	cadre --team alpha "$@" task list >/dev/null
	[ "$(until_ms)" = "$granted" ] || bad "renewed too early $how"
	sqlite3 -cmd '.timeout 60000' "$CADRE_HOME/state.db" 'UPDATE task SET lease_until = lease_until - 400000'
	cadre --team alpha "$@" task list >/dev/null
	until_done is_renewed "$granted"
	cadre --team alpha "$@" release 001 >/dev/null
}

# thinks: an agent claims a task through `cadre mcp` and makes no further call. The claim is
# kept longer than the lease, until the test kills `cadre mcp`.
thinks() {
	rm -f "$TMPDIR/in"
	mkfifo "$TMPDIR/in"
	CADRE_TEAM=alpha CADRE_AGENT=coder CADRE_TOKEN=$token "$CADRE" mcp <"$TMPDIR/in" >"$TMPDIR/said" &
	mcp=$!
	exec 9>"$TMPDIR/in"
	cat >&9 <<-END
		{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}
		{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"task","arguments":{"action":"claim","task":"001","lease_seconds":$((10 * TEST_SCALE))}}}
	END
	waits 12
	grep -q 'epoch\\":' "$TMPDIR/said" || bad "not claimed $1: $(cat "$TMPDIR/said")"
	[ "$(until_ms)" -gt "$(date +%s%3N)" ] || bad "not kept $1"
	cadre --team alpha task show 001 | grep -q 'owner coder' || bad "lost $1"
	kill -9 $mcp
	exec 9>&-
	waited 0 task 001 pending --team alpha # a dead process does not renew the lease
}
looks "without a host" --as coder
looks "by the operator"
cadre up >/dev/null
trap 'cadre down >/dev/null' EXIT
looks "by the host" --as coder
looks "by the operator, by the host"
thinks "by the host"
exit $failed
