#!/bin/sh
# chaos - guests and whole VMs are killed at random while they have work. Each assigned command
# is done once, is interrupted, or is called off with its VM. No message is handed out twice as
# if it were new.
#	N=30 tests/vm/chaos.sh     makes 30 kills
. "$(dirname "$0")/../lib/vm.sh"
need_image
feeder=
trap '[ -z "$feeder" ] || kill "$feeder" 2>/dev/null; finish' EXIT
kills=${N:-4} guests=0 machines=0

ask() { sqlite3 -readonly "$CADRE_HOME/state.db" "$1"; }
below() { echo $(($(od -An -N2 -tu2 /dev/urandom) % $1)); }
state() { cadre workspace info "red/$1" --team red --json | sed 's/.*"state":"\([a-z]*\)".*/\1/'; }

# A command syncs its effects to the disk of its VM before it continues. NUMBER identifies the
# command, which acknowledges only some of the messages that it receives.
work() { # NUMBER
	echo "echo $1 >>/ran; sync; cadre inbox --keep --limit 3 --json >>/got; echo >>/got; sync;
		sleep 0.$(below 10); echo did $1"
}
feed() {
	n=0
	while :; do
		n=$((n + 1))
		[ "$(ask 'SELECT count(*) FROM v_assignment WHERE state IN ("queued", "running")')" -lt 6 ] ||
			{ sleep 0.2; n=$((n - 1)); continue; }
		vm=v$(($(below 2) + 1))
		id=$(cadre task create "work $n" --team red --json | sed 's/.*"id":"\([0-9]*\)".*/\1/')
		cadre send "$vm" "note $n" --team red >/dev/null
		cadre task assign "$id" "$vm" --command "$(work $n)" --team red >/dev/null
	done
}

start() { # restarts the workspace if it has failed
	[ "$(state "$1")" != failed ] || cadre workspace start "red/$1" --team red >/dev/null
}
kill_guest() {
	pid=$(in_vm "red/$1" "ps -o pid,ppid,comm | awk '\$2 == 1 && \$3 == \"init\" { print \$1 }'" 2>/dev/null)
	[ -n "$pid" ] && in_vm "red/$1" "kill -9 $(echo $pid)" >/dev/null 2>&1
	[ -n "$pid" ]
}
kill_machine() {
	pid=$(pid_of "red/$1")
	[ -n "$pid" ] && kill -9 "$pid" && waited 0 workspace "red/$1" failed
}

cadre up >/dev/null || bad "up"
cadre team create red --inbox-capacity 0 --roles '[{"name":"v1","backend":"qemu"},
	{"name":"v2","backend":"qemu"}]' --wait >/dev/null || bad "team create"
feed &
feeder=$!

# --- kills, also of guests and VMs that are only starting ----------------------------------

while [ $((guests + machines)) -lt "$kills" ] && [ $failed = 0 ]; do
	sleep 0.$(below 10)
	vm=v$(($(below 2) + 1))
	start $vm
	# The first kill hits a guest, and the second kill hits a VM.
	case $((guests + machines)) in 0) luck=0 ;; 1) luck=9 ;; *) luck=$(below 10) ;; esac
	if [ "$luck" -ge 6 ]; then
		kill_machine $vm && machines=$((machines + 1))
	else
		[ "$(state $vm)" = ready ] && kill_guest $vm && guests=$((guests + 1))
	fi
done
kill $feeder
wait $feeder 2>/dev/null
feeder=

# --- in the end every command has ended --------------------------------------------------

settled() {
	start v1
	start v2
	ask "SELECT count(*) FROM v_assignment WHERE state NOT IN ('done', 'cancelled')"
}
until_is '^0$' settled || {
	ask "SELECT seq, agent, state FROM v_assignment WHERE state NOT IN ('done', 'cancelled')"
	list red
}
waited 0 workspace red/v1
waited 0 workspace red/v2
for vm in v1 v2; do
	# If a VM is killed while a command appends a line, the file may keep its new length
	# without the line's bytes. ext4 then reads the missing bytes as NUL.
	in_vm red/$vm "tr -d '\\000' </ran" >>"$TMPDIR/ran"
	in_vm red/$vm 'cat /got' >"$TMPDIR/got"
	# No message is handed out twice with the same attempt number.
	grep -o '"message_id":"[^"]*"\|"attempt":[0-9]*' "$TMPDIR/got" | paste -d ' ' - - |
		tee -a "$TMPDIR/handed" | sort | uniq -d >"$TMPDIR/twice"
	[ ! -s "$TMPDIR/twice" ] || { bad "handed out twice to $vm:"; cat "$TMPDIR/twice"; }
done
sort -n "$TMPDIR/ran" | uniq -d >"$TMPDIR/twice"
[ ! -s "$TMPDIR/twice" ] || { bad "ran twice:"; cat "$TMPDIR/twice"; }

assigned=$(ask 'SELECT count(*) FROM v_assignment')
off_n=$(ask "SELECT count(*) FROM v_assignment WHERE state = 'cancelled'")
# A VM may still report the end of a command that was called off.
ends() {
	ask "SELECT count(*) FROM v_result r JOIN v_assignment a USING (team, seq)
		WHERE a.state = 'done' AND $1"
}
done_n=$(ends r.success)
cut_n=$(ends "NOT r.success AND r.stderr LIKE '%interrupted%'")
[ $((done_n + cut_n + off_n)) = "$assigned" ] || bad "not one end for each"
[ -z "$(ask 'SELECT seq FROM v_result GROUP BY team, seq HAVING count(*) > 1')" ] ||
	bad "two results for one command"
[ "$(ask "SELECT count(*) FROM v_event WHERE event = 'assignment.cancelled'")" = "$off_n" ] ||
	bad "called off, but not once"
# A command that succeeded has really run, and the result names the number of the command.
ask "SELECT substr(stdout, 5) FROM v_result WHERE success" | grep . | sort -n >"$TMPDIR/did"
[ "$(sort -u "$TMPDIR/did" | wc -l)" = "$(ask 'SELECT count(*) FROM v_result WHERE success')" ] ||
	bad "results of others"
while read -r n; do
	grep -qx "$n" "$TMPDIR/ran" || bad "$n succeeded, and did not run"
done <"$TMPDIR/did"

echo "$guests guests and $machines VMs killed; $assigned commands: $done_n done, $cut_n interrupted," \
	"$off_n called off," \
	"$(sort -u "$TMPDIR/handed" | wc -l) messages handed out"
[ "$done_n" -gt 0 ] || bad "nothing was done"
exit $failed
