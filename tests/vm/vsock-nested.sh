#!/bin/sh
# vsock-nested - a host in a VM, with its guests in microVMs inside the VM. The host reaches its
# microVMs by CID over a real vhost-vsock device. The CID also tells the host which microVM
# dials.
set -eu
. "$(dirname "$0")/outer"

outer_begin

# --- images for the inner VMs: a shell, and a program that sends any line to the host --

make_image() {
	inner=$outer/inner
	mkdir -p "$inner/bin" "$inner/etc"
	tree=$inner outer_add_program "$root/build/tests/link" /bin/speaker
	cp "$(command -v busybox)" "$inner/bin/busybox"
	for word in sh cat md5sum echo head printf sync uname; do
		ln -s busybox "$inner/bin/$word"
	done
	CADRE_IMAGES=$tree/build/vm/images XDG_CACHE_HOME=$root/build/vm/cache \
		"$root/build/cadre" image build --rootfs "$inner" >/dev/null
}
make_image

# --- the outer VM ------------------------------------------------------------------

outer_add_program "$root/build/cadre" /build/cadre
outer_add_program "$root/build/tests/link" /bin/speaker
outer_add_file "$root/tests/lib/vm.sh" /lib/vm.sh
outer_add_file "$root/tests/lib/patience.sh" /lib/patience.sh
outer_add_qemu
outer_add_modules net/vmw_vsock/vsock net/vmw_vsock/vmw_vsock_virtio_transport_common \
	net/vmw_vsock/vsock_loopback drivers/vhost/vhost_iotlb drivers/vhost/vhost \
	drivers/vhost/vhost_vsock
outer_run 480 2048 <<'INIT'
export TMPDIR=/tmp CADRE=/build/cadre CADRE_ACCEL=tcg
. /lib/vm.sh
patience=600 # at most 300 s, so that a failed wait is reported before outer_run ends after 480 s
step() { echo "$(cut -d' ' -f1 /proc/uptime) s: $*"; }
# Sends two lines from the VM red/v to CID 2, and prints the answers.
dials() { in_vm red/v "printf '%s\n' '$1' '$2' | speaker speak vsock:2 5000"; }
state_of() { cadre receipt "$1" --team red --json; }
is_ready() { cadre workspace list --team red | grep -q 'ready[[:space:]].*[[:space:]]v[[:space:]]'; }
hello='{"type":"Hello","id":1,"version":"0","role":"guest","boot_id":"x"'

# --- the VM boots, and the host reaches it over vsock ---------------------------------

cadre up >/dev/null || bad "up"
cadre team create red --roles '[{"name":"ann"},{"name":"v","backend":"qemu","memory_mb":128}]' \
	>/dev/null || bad "team create"
waited 0 workspace red/v ready,failed # a failed VM will never be ready
is_ready || {
	cadre workspace list --team red
	cadre logs
	cat "$CADRE_HOME"/workspaces/*/*.log
	ps | grep '[q]emu-system'
	exit 1
}
vm=$(pid_of red/v)
cid=$(tr '\0' '\n' <"/proc/$vm/cmdline" | sed -n 's/^vhost-vsock-device,guest-cid=//p')
step "ready, CID $cid"
[ "${cid:-0}" -gt 2 ] || bad "the VM's channel is not vsock"
ls "$CADRE_HOME"/workspaces/*/*.serial 2>/dev/null && bad "it has serial ports as well"

# --- commands and files ------------------------------------------------------------------

until_is '^Linux red-v-' in_vm red/v 'uname -sn'
head -c 700000 /dev/urandom >/tmp/there
cadre workspace write red/v data - --team red </tmp/there >/dev/null || bad "write"
cadre workspace read red/v data --team red >/tmp/back || bad "read"
cmp /tmp/there /tmp/back || bad "what came back is another file"
until_is "^$(md5sum </tmp/there)\$" in_vm red/v 'md5sum <data'
step "commands and files"

# --- messages in both directions --------------------------------------------------------------

id=$(cadre send v 'to the inside' --team red --json | grep -o '"message_id":"[^"]*"' | cut -d'"' -f4)
until_is '"state":"notified"' state_of "$id"
cadre task create count --team red >/dev/null
cadre task assign 001 v --command 'head -c 4000 data; md5sum <data >&2' --team red >/dev/null
waited 0 task 001 --team red
in_vm red/v 'cadre send ann "by the line"' >/dev/null || bad "send from the inside"
in_vm red/v 'cadre inbox --wait-seconds 60' | grep -q 'to the inside' || bad "v has not got it"
dials "$hello}" '{"type":"TeamMessage","id":2,"to":"ann","content":"by CID 2"}' >/tmp/said
grep -q '"id":2,.*"type":"TeamMessageDelivered"' /tmp/said || bad "a call to CID 2: $(cat /tmp/said)"
cadre --team red --as ann inbox >/tmp/inbox
grep -q 'by the line' /tmp/inbox && grep -q 'by CID 2' /tmp/inbox || bad "ann has not got both"
[ "$(grep -c '^v -> ann' /tmp/inbox)" = 2 ] || bad "they are not from v: $(cat /tmp/inbox)"
step "messages"

# --- a guest's address identifies the guest, not the name in Hello -----------------------

denied() { # HELLO LINE: the host must refuse LINE after HELLO
	dials "$1" "$2" >/tmp/said
	grep -q '"code":"PermissionDenied"' /tmp/said || bad "not refused: $1 $2: $(cat /tmp/said)"
}
peek='{"type":"Call","id":2,"op":"message.peek","args":'
denied "$hello,\"agent\":\"ann\"}" "$peek{}}"
denied "$hello,\"agent\":\"v\",\"as\":true}" "$peek{}}"
denied "$hello,\"team\":\"blue\"}" "$peek{}}"
denied "$hello}" "$peek{\"agent\":\"ann\"}}"
denied "$hello}" '{"type":"TeamMessage","id":2,"to":"lead","from":"ann","content":"x"}'
denied "$hello}" '{"type":"Call","id":2,"op":"team.destroy","args":{"team":"red"}}'
# The host refuses a CID that belongs to no guest.
printf '%s\n' "$hello,\"agent\":\"v\"}" | speaker speak vsock:1 5000 >/tmp/said
grep -q '^closed$' /tmp/said || bad "a stranger was heard: $(cat /tmp/said)"
step "lies"

# --- the host is killed, but not the VM ------------------------------------------------------

kill -9 "$(cut -d' ' -f1 "$CADRE_HOME/host.lock")"
cadre task create late --team red >/dev/null
cadre task assign 002 v --command 'echo after' --team red >/dev/null
cadre up >/dev/null || bad "up after kill -9"
waited 0 task 002 --team red
[ "$(pid_of red/v)" = "$vm" ] || bad "it is another VM"
dials "$hello}" '{"type":"TeamMessage","id":2,"to":"ann","content":"once more"}' >/tmp/said
grep -q '"type":"TeamMessageDelivered"' /tmp/said || bad "CID 2 after kill -9: $(cat /tmp/said)"
step "linked again"

cadre team destroy --yes red >/dev/null || bad "destroy"
until_is '^gone$' sh -c "[ -d /proc/$vm ] || echo gone"
step "destroyed"
cadre down >/dev/null || bad "down"
[ $failed = 0 ] && echo "a guest was served over vhost-vsock"
exit $failed
INIT
grep -q '^a guest was served over vhost-vsock' "$outer/console"
