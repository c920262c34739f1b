#!/bin/sh
# killed-team - a host is killed when one VM of a team is ready, or when one VM of the team is
# destroyed. Under the next host the team has all its VMs, or no VM.
. "$(dirname "$0")/../lib/vm.sh"
need_image
. "$(dirname "$0")/../lib/kill_at.sh"
trap finish EXIT

cadre up >/dev/null || bad "up"
cadre team create red --max-vms 2 --roles '[{"name":"a","backend":"qemu","memory_mb":200},
	{"name":"b","backend":"qemu","memory_mb":200}]' >/dev/null || bad "team create"
echo "killed when $(kill_at red 1 ready) were up"
cadre up >/dev/null || bad "up again"
for member in a b; do
	waited 0 workspace "red/$member"
	until_is '^here$' in_vm "red/$member" 'echo here'
done
[ "$(count_vms)" = 2 ] || bad "$(count_vms) VMs"

cadre team destroy red --yes >/dev/null 2>&1 &
echo "killed when $(kill_at red 1 destroyed) had ended"
wait $!
cadre up >/dev/null || bad "up once more"
until_is '^0$' count_vms
until_is '^0$' sqlite3 "$CADRE_HOME/state.db" "SELECT count(*) FROM v_workspace WHERE state <> 'destroyed'"
exit $failed
