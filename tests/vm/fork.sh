#!/bin/sh
# fork - copies of a running VM and of a snapshot, and copies whose original was destroyed.
. "$(dirname "$0")/../lib/vm.sh"
need_image
trap finish EXIT
export CADRE_WORKSPACE_KEEP_DAYS=0 # disks of removed workspaces are deleted at once
layers() { find "$CADRE_HOME/disks" -name '*.qcow2' | wc -l; }

cadre up >/dev/null || bad "up"
cadre team create red --roles '[{"name":"a","backend":"qemu"},{"name":"b"},{"name":"c"}]' \
	>/dev/null || bad "team create"
waited 0 workspace red/a || { cat "$CADRE_HOME"/workspaces/*/*.log; exit 1; }

# --- a fork of a running VM has the newest changes ---------------------------------------

in_vm red/a 'echo first >f; mkdir -p deep/er; cp /bin/busybox deep/er/' || bad "write"
cadre task create one --team red >/dev/null
cadre task assign 001 a --command 'cat f' --team red >/dev/null
waited 0 task 001 --team red
vm=$(pid_of red/a)
cadre workspace fork red/a --agent b --team red >/dev/null || bad "fork"
in_vm red/a 'echo second >f' # the copy was complete when `fork` answered
waited 0 workspace red/b
until_is '^first$' in_vm red/b 'cat f'
until_is '^0$' in_vm red/b 'cmp /bin/busybox deep/er/busybox; echo $?'
until_is '^second$' in_vm red/a 'cat f'
[ "$(pid_of red/a)" = "$vm" ] || bad "the parent was restarted"
# The fork is a separate machine with a spool of its own. The fork's copy of the parent's spool
# is set aside.
until_is '^red-b-' in_vm red/b 'hostname'
until_is 'spool.db.........-' in_vm red/b 'ls /var/lib/cadre'
cadre task create two --team red >/dev/null
cadre task assign 002 b --command 'cat f' --team red >/dev/null
waited 0 task 002 --team red

# --- a snapshot is restored, and forked ---------------------------------------------------

cadre workspace snapshot red/a keep --team red >/dev/null || bad "snapshot"
cadre workspace snapshots red/a --team red | grep -q 'keep[[:space:]]ready' || bad "snapshots"
in_vm red/a 'echo third >f; rm -r deep; sync'
cadre workspace restore --yes red/a keep --team red >/dev/null || bad "restore"
until_is '^second$' in_vm red/a 'cat f'
until_is '^er$' in_vm red/a 'ls deep'
in_vm red/a 'echo fourth >f'
cadre workspace fork red/a --snapshot keep --agent c --team red >/dev/null || bad "fork of a snapshot"
until_is '^second$' in_vm red/c 'cat f'
until_is '^fourth$' in_vm red/a 'cat f'
cadre workspace forget --yes red/a keep --team red >/dev/null || bad "forget"
cadre workspace restore --yes red/a keep --team red 2>/dev/null && bad "a removed snapshot is put back"
until_is '^second$' in_vm red/c 'cat f'

# --- the parent is destroyed, and its disk's layers stay for the forks --------------

cadre workspace destroy --yes red/a --team red >/dev/null || bad "destroy"
until_is '^2$' count_vms
cadre workspace stop red/b --team red >/dev/null
until_is '^1$' count_vms
cadre workspace start red/b --team red >/dev/null
until_is '^first$' in_vm red/b 'cat f'
until_is '^second$' in_vm red/c 'cat f; echo c >f'
[ "$(layers)" -ge 3 ] || bad "layers that forks are made from are gone"
cadre workspace destroy --yes red/c --team red >/dev/null
cadre workspace destroy --yes red/b --team red >/dev/null
until_is '^0$' count_vms
until_is '^0$' layers
until_is '^0$' sh -c "ls '$CADRE_HOME/disks' | wc -l"
exit $failed
