#!/bin/sh
# network - tests which of three VMs in two teams reach each other, while the host is killed and
# policies change.
. "$(dirname "$0")/../lib/vm.sh"
[ "$(id -u)" = 0 ] || { echo "skipped: only root makes networks here"; exit 77; }
need_image
PATH=$PATH:/usr/sbin
trap finish EXIT

address() {
	cadre workspace net "$1" --team "${1%%/*}" --json |
		sed 's/.*"address":"\([^"]*\)".*/\1/'
}
pings() { # FROM TO SECONDS: prints yes if FROM reaches TO, else no
	in_vm "$1" "ping -c 1 -w ${3-$((20 * TEST_SCALE))} $(address "$2") >/dev/null && echo yes || echo no"
}
run() { cadre workspace run "$1" sh -c "$2" --team "${1%%/*}" >/dev/null || bad "run on $1"; }
rules() { nft -j list ruleset | grep -o '{"rule":' | wc -l; }

CADRE_LIMITS_MAX_CONCURRENT_FORKS=2 cadre up >/dev/null || bad "up"
cadre team create red --roles '[{"name":"a","backend":"qemu"},{"name":"b","backend":"qemu"}]' \
	>/dev/null || bad "team create"
cadre team create blue --roles '[{"name":"d","backend":"qemu"}]' >/dev/null || bad "team create"
waited 0 workspace red/a
waited 0 workspace red/b
waited 0 workspace blue/d
# Only two VMs may boot at once. So the last VM began to boot only when another VM was ready.
began=$(stat -c %W "$CADRE_HOME"/workspaces/*/qemu.log | sort -n | tail -1)
ready=$(sqlite3 "$CADRE_HOME/state.db" "SELECT min(unixepoch(at)) FROM v_event
	WHERE event = 'workspace.ready'")
[ "$began" -ge "$ready" ] || bad "three VMs booted at once"

# --- the network of a VM without DHCP, and the VMs in its reach ----------------------------

until_is "inet $(address red/a)/" in_vm red/a 'ip addr show eth0'
until_is '^yes$' pings red/a red/b
until_is '^yes$' pings red/b red/a
until_is '^no$' pings red/a blue/d 1
until_is '^no$' pings blue/d red/b 1
[ "$(rules)" -le 20 ] || bad "$(rules) rules"

# --- a policy changes, and an open connection stays -----------------------------------------

run red/b 'sleep 600 | nc -l -p 80 >heard'
in_vm red/a 'mkfifo say'
run red/a 'sleep 600 >say'
run red/a "until nc $(address red/b) 80 <say; do sleep 1; done"
in_vm red/a 'echo first >say'
until_is '^first$' in_vm red/b 'cat heard'
cadre workspace net red/b --team red --allowed-ports 80 >/dev/null || bad "net"
until_is 'tcp . 80' nft list ruleset
in_vm red/a 'echo second >say'
until_is '^second$' in_vm red/b 'cat heard'
run red/b 'nc -l -p 81 >wrong'
in_vm red/a "echo intruder | nc -w 2 $(address red/b) 81" >/dev/null 2>&1
in_vm red/b 'cat wrong' | grep -q intruder && bad "port 81 is open"

# --- the network without a host, and with the next host ---------------------------------------

kill -9 "$(cut -d' ' -f1 "$CADRE_HOME/host.lock")"
sleep 0.2
[ "$(rules)" -gt 0 ] || bad "the rules went with the host"
nft flush ruleset
cadre up >/dev/null || bad "up after kill -9"
until_is 'tcp . 80' nft list ruleset
until_is '^said$' in_vm red/a 'echo third >say && echo said'
until_is '^third$' in_vm red/b 'cat heard'
until_is '^no$' pings blue/d red/b 1

# --- the end of one team, and of all teams ---------------------------------------------------

cadre down >/dev/null
[ "$(rules)" -gt 0 ] || bad "VMs live on, but not their rules"
sqlite3 "$CADRE_HOME/state.db" "UPDATE host SET network_fault = 'no bridge'"
cadre doctor | grep -q '^warn *network *no bridge' || bad "doctor is silent about the network"
cadre up >/dev/null || bad "up once more"
until_is '^0$' sh -c "$CADRE doctor | grep -c network"
tap=$(cadre workspace net blue/d --team blue --json | sed 's/.*"tap":"\([^"]*\)".*/\1/')
cadre team destroy --yes blue >/dev/null
until_is 'does not exist' ip link show "$tap"
# The network is removed with the last VM, even if no host runs.
cadre down --all >/dev/null || bad "down --all"
left=$(nft list ruleset; ip -o link | grep -v ' lo:')
[ -z "$left" ] || bad "down --all left on the machine: $left"
cadre up >/dev/null || bad "up after down --all"
cadre team destroy --yes red >/dev/null
until_is '^$' sh -c 'echo "$(nft list ruleset; ip -o link | grep -v " lo:")"'

[ $failed = 0 ] && echo "three VMs of two teams are kept apart, whatever the host does"
exit $failed
