#!/bin/sh
# door - two VMs of one team, and one VM of another team. A message, a task and a file reach the
# HTTP door of a teammate's VM over the network between the VMs.
. "$(dirname "$0")/../lib/vm.sh"
[ "$(id -u)" = 0 ] || { echo "skipped: only root makes networks here"; exit 77; }
need_image
PATH=$PATH:/usr/sbin
trap finish EXIT

nc_waits=$((20 * TEST_SCALE))
field() { sed -n "s/.*\"$1\":\"\{0,1\}\([^\",}]*\).*/\1/p"; }
# ask FROM METHOD PATH [BODY]: prints the answer that bob's door gives to a request from the VM
# FROM.
ask() {
	body=${4-}
	in_vm "$1" "printf '%s %s HTTP/1.0\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s' \
		$2 $3 $token ${#body} '$body' | nc -w $nc_waits $at 8080"
}

cadre up >/dev/null || bad "up"
cadre team create red --roles '[{"name":"ann","backend":"qemu"},{"name":"bob","backend":"qemu"}]' \
	>/dev/null || bad "team create"
cadre team create blue --roles '[{"name":"eve","backend":"qemu"}]' >/dev/null || bad "team create"
for who in red/ann red/bob blue/eve; do until_is ':8080"' cadre agent whois "$who" --json; done
url=$(cadre agent whois red/bob --json | field http)
token=$(in_vm red/ann 'cadre agent door bob --json' | field token)
at=$(cadre workspace net red/bob --team red --json | field address)
[ "$url" = "http://$at:8080" ] || bad "bob's card says $url, not $at"

until_is '"status":"ready"' ask red/ann GET /health
until_is '"name":"bob"' ask red/ann GET /card
ask red/ann POST /message '{"content":"over there"}' | grep -q '"accepted"' || bad "a message"
cadre messages --team red --json | grep -q '"from":"ann","to":"bob",.*"content":"over there"' || bad "its row"
ask red/ann POST /task '{"task_id":"t","command":"hostname >who"}' | grep -q '"accepted"' || bad "a task"
until_is 'red-bob' ask red/ann GET /files/who
ask red/ann POST /files/there brought | grep -q '"size":7' || bad "a file"
[ "$(in_vm red/bob 'cat there')" = brought ] || bad "the file is not there"

# A member of another team cannot even connect to the door.
nc_waits=2 # only 2 seconds, since no answer is expected
ask blue/eve GET /health | grep -q ready && bad "eve reaches bob's door"

# A policy closes the door for callers over the network, and also for callers inside the door's
# own VM.
cadre workspace net red/bob --team red --no-allow-inter-vm >/dev/null || bad "net"
ask red/ann GET /health | grep -q ready && bad "ann still reaches bob's door"
in_vm red/ann 'cadre agent door bob' 2>&1 | grep -q '(allow_inter_vm)' || bad "a token for a shut door"
nc_waits=$((20 * TEST_SCALE))
until_is '(allow_inter_vm)' ask red/bob GET /health
exit $failed
