#!/bin/sh
# trash - the disk of a removed VM is kept for a time, up to a limit on the size of the trash.
# The disk can be brought back as a VM with all files, also while other VMs use the disk's
# layers, and after the host was killed.
. "$(dirname "$0")/../lib/vm.sh"
need_image
trap finish EXIT
layers() { find "$CADRE_HOME/disks" -name '*.qcow2' | wc -l; }
is() { # STATUS PATTERN COMMAND...: checks the command's exit status and output
	want=$1 pattern=$2
	shift 2
	said=$("$@" 2>&1)
	got=$?
	[ $got = "$want" ] || bad "$* ended with $got, not $want: $said"
	echo "$said" | grep -q -- "$pattern" || bad "$*: no $pattern in: $said"
}
entries() { ls "$CADRE_HOME/trash" 2>/dev/null | wc -l; }

cadre up >/dev/null || bad "up"
cadre team create red --roles '[{"name":"a","backend":"qemu","memory_mb":300,"vcpus":2},{"name":"b"},{"name":"c"}]' \
	>/dev/null || bad "team create"
waited 0 workspace red/a || { cat "$CADRE_HOME"/workspaces/*/*.log; exit 1; }
in_vm red/a 'echo precious >f; mkdir -p deep/er; cp /bin/busybox deep/er/' || bad "write"
cadre workspace fork red/a --agent b --team red >/dev/null || bad "fork"
until_is '^precious$' in_vm red/b 'cat f'
in_vm red/a 'echo last >>f; sync' || bad "write"

# Without --yes the call is refused, and the refusal names the VM whose disk would be removed.
# With --yes the answer says how to bring the disk back. The disk's layers stay.
is 4 '1 workspace would go, 1 with .*: red/a (a VM)$' cadre workspace destroy red/a --team red
is 0 'the files of 1 workspace are kept until .*: cadre undo' cadre workspace destroy --yes red/a --team red
until_is '^1$' count_vms
until_is '^1$' entries
is 0 '^red-a-.*\tVM$' cadre undo
is 0 '"vm":true' cadre undo --json
is 0 'ok *trash  *1 removed ' cadre doctor
[ "$(stat -c %a "$CADRE_HOME"/trash/*)" = 700 ] || bad "others may look into the entry"

# The disk is brought back in a VM of the same size, with the newest changes.
is 0 . cadre undo red-a --agent c --team red
waited 0 workspace red/c || cat "$CADRE_HOME"/workspaces/*/*.log
until_is '^precious last $' in_vm red/c 'tr "\n" " " <f; echo'
until_is '^0$' in_vm red/c 'cmp /bin/busybox deep/er/busybox; echo $?'
cadre workspace info red/c --team red --json | grep -q '"vcpus":2,"memory_mb":300' || bad "another kind of VM"
[ "$(cat "$CADRE_HOME"/trash/*/vm.json)" ] || bad "the entry is gone"

# A host that is killed during a removal loses no disk, and keeps no disk twice.
cadre workspace destroy --yes red/c --team red >/dev/null || bad "destroy"
cadre workspace destroy --yes red/b --team red >/dev/null || bad "destroy"
kill -9 "$(cut -d' ' -f1 "$CADRE_HOME/host.lock")" || bad "no host to kill"
cadre up >/dev/null || bad "up after a kill"
until_is '^0$' count_vms
until_is '^3$' entries
cadre down >/dev/null
cadre up >/dev/null || bad "up"
[ "$(entries)" = 3 ] || bad "entries: $(ls "$CADRE_HOME/trash")"
cadre undo red-c --team red >/dev/null || bad "undo of what was undone"
until_is '^1$' count_vms
free=$(cadre workspace list --team red --json | grep -o '"name":"red-free[^"]*"' | cut -d'"' -f4)
until_is '^precious last $' cadre exec --team red "$free" sh -c 'tr "\n" " " <f; echo'
cadre workspace destroy --yes "$free" --team red >/dev/null || bad "destroy"
until_is '^0$' count_vms
until_is '^4$' entries

# After its days in the trash, the disk is deleted with its layers.
cadre down >/dev/null
for entry in "$CADRE_HOME"/trash/*; do
	name=${entry##*/}
	mv "$entry" "$CADRE_HOME/trash/20200101-000000.${name#*.}"
done
cadre up >/dev/null || bad "up"
until_is '^0$' entries
until_is '^0$' layers
until_is '^0$' sh -c "ls '$CADRE_HOME/disks' | wc -l"

# A link that an agent has made in its own workspace, a directory, does not give access to
# another VM's disk.
cadre team create blue --roles '[{"name":"p","workspace":true},{"name":"v","backend":"qemu"}]' >/dev/null || bad "team"
waited 0 workspace blue/v || cat "$CADRE_HOME"/workspaces/*/*.log
id=$(ls "$CADRE_HOME/disks")
cadre exec --team blue blue/p "ln -s ../../disks/$id/0.qcow2 disk; echo '{}' >vm.json" >/dev/null
cadre workspace destroy --yes blue/p --team blue >/dev/null || bad "destroy"
until_is '^1$' entries
is 2 'a VM begins with an image' cadre workspace create --team blue --backend qemu --source /tmp
cadre workspace create --team blue --backend qemu --source "$(echo "$CADRE_HOME"/trash/*)" >/dev/null 2>&1 &&
	bad "a planted link was taken for a disk"

# A disk larger than the limit of the trash is deleted at once, and the log reports this.
cadre down >/dev/null
printf '[workspace]\ntrash_mb = 1\n' >"$CADRE_HOME/cadre.toml"
cadre up >/dev/null || bad "up"
waited 0 workspace blue/v
until_is '^3000000$' in_vm blue/v 'head -c 3000000 /dev/urandom >big; sync; wc -c <big'
is 0 . cadre workspace destroy --yes blue/v --team blue
until_is '^0$' layers
is 0 'removed for good.* workspace=blue-v-' cadre logs
exit $failed
