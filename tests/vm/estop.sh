#!/bin/sh
# estop - commands in VMs stand still when their team is stopped, also under another host, and go
# on when it is thawed.  VMS=10 makes so many.
. "$(dirname "$0")/../lib/vm.sh"
need_image
trap finish EXIT
vms=${VMS:-1}
halted() { sqlite3 "$CADRE_HOME/state.db" 'SELECT coalesce(sum(halted), 0) FROM workspace'; }
ticks() { cadre workspace read "red/$1" ticks --team red | wc -l; }
grows() { # MEMBER: whether a command there writes on
	before=$(ticks "$1") && sleep 1.5 && [ "$(ticks "$1")" -gt "$before" ] && echo grows
}

cadre up >/dev/null || bad "up"
roles= members=
for i in $(seq "$vms"); do
	roles="$roles${roles:+,}{\"name\":\"v$i\",\"backend\":\"qemu\",\"memory_mb\":200}"
	members="$members v$i"
done
cadre team create red --max-vms "$vms" --roles "[$roles]" >/dev/null || bad "team create"
for member in $members; do
	waited 0 workspace "red/$member" || exit 1
	cadre workspace run --team red "red/$member" \
		'while :; do echo tick >>ticks; sleep 0.2; done' >/dev/null || bad "run in $member"
done
for member in $members; do
	until_is grows grows "$member"
done

# Each guest says that its commands stand.
cadre estop red >/dev/null || bad "estop"
until_is "^$vms\$" halted
for member in $members; do
	! grows "$member" || bad "$member runs on"
done

# A host that is killed finds them as they stand.
kill -9 "$(cut -d' ' -f1 "$CADRE_HOME/host.lock")"
cadre up >/dev/null || bad "up after kill -9"
waited 0 workspace red/v1
! grows v1 || bad "v1 runs on under a new host"
cadre thaw red >/dev/null || bad "thaw"
for member in $members; do
	until_is grows grows "$member"
done
[ "$(halted)" = 0 ] || bad "a VM is told as standing"
exit $failed
