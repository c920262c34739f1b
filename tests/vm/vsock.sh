#!/bin/sh
# Tests real AF_VSOCK in a VM, whose kernel has modules that this machine's kernel may lack.
# There the program tests/link lets a host and a guest talk over vsock_loopback.
set -eu
. "$(dirname "$0")/outer"

outer_begin
outer_add_program "$root/build/cadre" /bin/cadre
outer_add_program "$root/build/tests/link" /bin/test-link
outer_add_modules net/vmw_vsock/vsock net/vmw_vsock/vmw_vsock_virtio_transport_common \
	net/vmw_vsock/vsock_loopback
outer_run 120 <<'INIT'
cd /tmp
CADRE=/bin/cadre test-link vsock
INIT
grep -q 'test_push_beside_an_exec' "$outer/console" || {
	echo "the test of links did not run"
	exit 1
}
echo "host and guest spoke over vsock"
