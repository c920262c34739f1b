#!/bin/sh
# restore - a VM that is restored to a snapshot gets the disk of the snapshot, with all records
# of the VM's guest. Commands that ran after the snapshot, and commands that still run, are not
# run again.
. "$(dirname "$0")/../lib/vm.sh"
need_image
trap finish EXIT

cadre up >/dev/null || bad "up"
cadre team create red --roles '[{"name":"v","backend":"qemu","memory_mb":300}]' >/dev/null || bad "team create"
waited 0 workspace red/v || { cat "$CADRE_HOME"/workspaces/*/*.log; exit 1; }
cadre workspace env red/v --vars KEPT=yes --team red >/dev/null || bad "env"
assign() { # COMMAND: assigns COMMAND as the next task of the board
	n=$(cadre task create "a task" --team red --json | grep -o '"id":"[0-9]*"' | cut -d'"' -f4)
	cadre --team red --as lead task assign "$n" v --command "$1" >/dev/null || bad "assign $n"
}
heard() { cadre messages --team red --limit 100 --json | grep -o "\"content\":\"ran-$1\"" | wc -l; }

# At the time of the snapshot, one command waits behind four running commands.
for n in 1 2 3 4; do assign 'while [ ! -e /tmp/go ]; do sleep 0.1; done'; done
for n in 1 2 3 4; do waited 0 task 00$n in_progress --team red; done
assign 'cadre send lead ran-5'
cadre workspace snapshot red/v one --team red >/dev/null || bad "snapshot"
in_vm red/v 'touch /tmp/go' >/dev/null
waited 0 task 005 --team red
[ "$(heard 5)" = 1 ] || bad "the fifth ran $(heard 5) times before"
assign 'cadre send lead ran-6; sleep 1000'
until_is '^1$' heard 6

cadre workspace restore --yes red/v one --team red >/dev/null || bad "restore"
waited 0 task 006 failed --team red
cadre result 006 --team red | grep -q 'put back to a snapshot' || bad "its result does not say why"
waited 0 workspace red/v || cat "$CADRE_HOME"/workspaces/*/*.log
# A command that is sent now runs, and no other command runs.
assign 'cadre send lead ran-7'
waited 0 task 007 --team red
for n in 5 6 7; do
	[ "$(heard $n)" = 1 ] || bad "the command of task $n ran $(heard $n) times"
done
until_is '^yes$' in_vm red/v 'echo $KEPT'
# Calls that read or write files of the workspace cannot reach the guest's own files.
for path in /var/lib/cadre/spool.db /var/lib/../lib/cadre/spool.db-wal /var/lib/cadre; do
	cadre workspace read red/v $path --team red >/dev/null 2>&1 && bad "read $path"
	echo x | cadre workspace write red/v "$path/x" - --team red >/dev/null 2>&1 && bad "write $path/x"
done
cadre workspace ls red/v /var/lib/cadre --team red 2>&1 | grep -q "guest's own" || bad "ls /var/lib/cadre"
exit $failed
