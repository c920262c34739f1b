#!/bin/sh
# life - a VM boots, can be reached, and outlives a killed host. The host notices the death of a
# VM. A VM that starts again still has its disk.
. "$(dirname "$0")/../lib/vm.sh"
need_image
decoy=
trap 'finish; [ -z "$decoy" ] || kill "$decoy"' EXIT
umask 000
export CADRE_WORKSPACE_KEEP_DAYS=0 # disks of removed workspaces are deleted at once

# --- the VM boots, and no call waits for the VM -------------------------------------

cadre up >/dev/null || bad "up"
cadre team create red --roles '[{"name":"p","workspace":true},
	{"name":"v","backend":"qemu","vcpus":2,"memory_mb":300}]' >/dev/null || bad "team create"
waited 0 workspace red/p
until_is '^here$' in_vm red/p 'echo here'
if list red | grep -q 'creating.* v '; then
	said=$(in_vm red/v true 2>&1) || case $said in
	*"VM is still booting"* | *"is creating"*) ;;
	*) bad "while it boots: $said" ;;
	esac
else
	echo "(the VM was faster)"
fi
waited 0 workspace red/v || { cat "$CADRE_HOME"/workspaces/*/*.log; exit 1; }
# Checks that a command really runs in the VM, and not on this machine.
until_is '^Linux red-v-.* /workspace root$' in_vm red/v 'echo $(uname -sn) $(pwd) $(id -un)'
until_is '^2$' in_vm red/v 'nproc'
until_is '^git version' in_vm red/v 'git --version'
until_is '^cadre [0-9]' in_vm red/v 'cadre version'
# Commands in the VM tell the agent its own name. A hook shows the waiting mail to the model of
# the agent's client.
cadre send v 'look here' --team red >/dev/null || bad "send"
until_is '^v of team red' in_vm red/v 'cadre whoami'
until_is '^You are v of team red' in_vm red/v 'cadre prime'
until_is '"cadre"' in_vm red/v 'cadre setup claude --project >/dev/null && cat .mcp.json'
in_vm red/v 'echo "{\"hook_event_name\":\"SessionStart\"}" | cadre hook claude' | grep -q 'look here' ||
	bad "a hook in a VM does not tell of mail"
echo 'a file' | cadre workspace write red/v note.txt - --team red >/dev/null || bad "write"
until_is '^a file$' in_vm red/v 'cat note.txt'

# Paths may be absolute, since the whole VM belongs to the team. A relative path that leads
# above /workspace is refused, and so is an absolute path in a workspace that is a directory.
echo elsewhere | cadre workspace write red/v /opt/a/b - --team red >/dev/null || bad "write /opt"
until_is '^elsewhere$' in_vm red/v 'cat /opt/a/b'
until_is '^elsewhere$' cadre workspace read red/v /opt/../opt/a/b --team red
until_is '^elsewhere$' cadre exec --team red --workdir /opt/a red/v cat b
until_is '^a file$' cadre workspace read red/v /workspace/note.txt --team red
until_is 'denied' cadre workspace read red/v ../etc/passwd --team red
until_is 'denied' cadre workspace read red/p /etc/passwd --team red

# Other users cannot open files that QEMU and qemu-img made.
open=$(find "$CADRE_HOME/disks" "$CADRE_HOME"/workspaces/*/*.log* "$XDG_RUNTIME_DIR" \
	"$CADRE_HOME/workspaces" -path "$CADRE_HOME/workspaces/*/*" -prune -o -perm /077 ! -type l -print)
[ -z "$open" ] || bad "others may look at:" $open

# --- a command for the VM's daemon, and a host killed meanwhile ------------------------

# A foreign VM, which cadre must not touch.
qemu-system-x86_64 -M none -nodefaults -display none -uuid 01234567-89ab-7def-8123-456789abcdef &
decoy=$!
vm=$(pid_of red/v)
cadre task create slow --team red >/dev/null
cadre task assign 001 v --command 'until [ -e go ]; do sleep 0.1; done; wc -c <note.txt' --team red >/dev/null
waited 0 task 001 in_progress --team red
kill -9 "$(cut -d' ' -f1 "$CADRE_HOME/host.lock")"
sleep 0.2
cadre up >/dev/null || bad "up after kill -9"
until_done in_vm red/v 'touch go'
waited 0 task 001 --team red
cadre result 001 --team red | grep -q '^ *7$' || bad "the result is not the command's"
[ "$(pid_of red/v)" = "$vm" ] || bad "the living VM was not found again"

# --- a host that died before it could store the VM's process id -----------------------------

cadre down >/dev/null
serial=$(tr '\0' '\n' <"/proc/$vm/cmdline" |
	sed -n '/control.serial/ { s/.*path=\(.*control.serial\),.*/\1/; s/,,/,/g; p }')
/usr/bin/python3 "$(dirname "$0")/../peers/serial.py" "$serial" || bad "the machine's name and address"
sqlite3 "$CADRE_HOME/state.db" "UPDATE workspace SET pid = NULL, pid_start = NULL,
	machine_boot = NULL WHERE backend = 2"
cadre up >/dev/null || bad "up once more"
until_is "^$vm\$" pid_of red/v
until_is '^a file$' in_vm red/v 'cat note.txt'

# --- the log of the VM's console is limited in size ---------------------------------

log=$(echo "$CADRE_HOME"/workspaces/*/console.log)
head -c 2000000 /dev/zero >>"$log" # no serial port writes so fast
until_is '^0$' stat -c %s "$log"
in_vm red/v 'echo "said then" >/dev/console'
until_is 'said then' cat "$log"
[ "$(stat -c %s "$log")" -lt 1000 ] || bad "what is said now begins where the old ended"

# --- a VM dies, so its agent is offline and its task is free ---------------------------------

cadre task create held --team red >/dev/null
cadre claim 002 --as v --team red >/dev/null || bad "claim"
kill -9 "$vm"
waited 0 workspace red/v failed
cadre events --team red | grep -q 'workspace.failed.*its VM ended' || bad "no reason is given"
cadre agent list --team red | grep -q '^v[[:space:]].*offline' || bad "the agent of a dead VM is not offline"
waited 0 task 002 pending --team red
cadre workspace start red/v --team red >/dev/null || bad "start"
waited 0 workspace red/v
until_is '^a file$' in_vm red/v 'cat note.txt'
[ "$(pid_of red/v)" != "$vm" ] || bad "the VM's process is the old one"

# --- the VM is asked to stop, and loses no data --------------------------------------------

in_vm red/v 'echo last >note.txt'
cadre workspace stop red/v --team red >/dev/null || bad "stop"
until_is '^0$' count_vms
cadre workspace start red/v --team red >/dev/null
until_is '^last$' in_vm red/v 'cat note.txt'

# --- the VM starts again after the host's machine has restarted -------------------------------

vm=$(pid_of red/v)
cadre down >/dev/null
kill -9 "$vm"
sqlite3 "$CADRE_HOME/state.db" "UPDATE workspace SET machine_boot = 'an earlier one' WHERE backend = 2"
cadre up >/dev/null || bad "up on a machine that has started anew"
until_is '^last$' in_vm red/v 'cat note.txt'
[ "$(pid_of red/v)" != "$vm" ] || bad "the VM did not come back with its machine"

cadre team destroy --yes red >/dev/null
until_is '^0$' count_vms
until_is '^0$' sh -c "ls '$CADRE_HOME/disks' | wc -l"
kill -0 "$decoy" || bad "somebody else's VM is gone"
exit $failed
