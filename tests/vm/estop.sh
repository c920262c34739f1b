#!/bin/sh
# estop - when a team is stopped, the commands in its VMs stop, and stay stopped under the next
# host. When the team is thawed, the commands continue. A VM that hangs during a turn is killed,
# and starts again for the agent's mail. A VM whose sockets were removed starts again too, if
# the host cannot reach the VM in another way. VMS=10 makes 10 VMs.
. "$(dirname "$0")/../lib/vm.sh"
need_image
trap finish EXIT
export CADRE_RUNNER_TIMEOUT_SECONDS=10
vms=${VMS:-1}
halted() { sqlite3 "$CADRE_HOME/state.db" 'SELECT coalesce(sum(halted), 0) FROM workspace'; }
ticks() { cadre workspace read "red/$1" ticks --team red | wc -l; }
grows() { # MEMBER: prints `grows` if a command of MEMBER still writes
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

# Each guest reports that all commands in the guest are stopped.
cadre estop red >/dev/null || bad "estop"
until_is "^$vms\$" halted
for member in $members; do
	! grows "$member" || bad "$member runs on"
done

# After a host is killed, the next host finds the commands still stopped.
kill -9 "$(cut -d' ' -f1 "$CADRE_HOME/host.lock")"
cadre up >/dev/null || bad "up after kill -9"
waited 0 workspace red/v1
! grows v1 || bad "v1 runs on under a new host"
cadre thaw red >/dev/null || bad "thaw"
for member in $members; do
	until_is grows grows "$member"
done
[ "$(halted)" = 0 ] || bad "a VM is told as standing"

vm=$(pid_of red/v1)
cadre agent update v1 --team red --runner 'echo began; [ -e went ] && exit; echo >went; sync; sleep 600' >/dev/null ||
	bad "a runner in a VM"
cadre --team red send v1 go >/dev/null
until_is '"state":"streaming".*"size":6' cadre --team red turns --json
kill -STOP "$vm"
until_is '"state":"done"' cadre --team red turns --json
until_is '"reason":"its guest has not answered for' cadre --team red turns --json
cadre --team red inbox peek | grep -q 'and the guest of its workspace.*Its mail comes again' || bad "nobody is told"
! kill -0 "$vm" 2>/dev/null || bad "the VM that stood still is there"

# The sockets are removed, but an open link still works. The next host starts the VM again,
# unless it reaches the VM over vsock.
vm=$(pid_of red/v1)
rm -r "${XDG_RUNTIME_DIR:?}"/*
until_done in_vm red/v1 'echo >/kept; sync'
cadre restart >/dev/null || bad "restart without sockets"
until_done in_vm red/v1 'cat /kept'
[ -e /dev/vhost-vsock ] || [ "$(pid_of red/v1)" != "$vm" ] || bad "a VM without sockets is reached"
exit $failed
