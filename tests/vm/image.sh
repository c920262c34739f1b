#!/bin/sh
# image - a VM boots from a root file system that the user made, in a directory or on a disk. A
# failed build leaves no files.
. "$(dirname "$0")/../lib/vm.sh"
need_image
trap finish EXIT

[ "$(stat -c %s "$build/cadre-guest")" -le 4194304 ] || bad "cadre-guest is over 4 MiB"
cadre image list | grep -q '^default[[:space:]]' || bad "list"
cadre image build --rootfs "$TMPDIR/nothing" >"$TMPDIR/out" 2>&1 && bad "a root from nothing"
grep -q "nothing: No such file" "$TMPDIR/out" || bad "why not is not said"
ls -A "$CADRE_IMAGES" | grep -q '^\.' && bad "a failed build leaves something"

# --- root file systems of the user, in a directory and on a disk ----------------------

root=$TMPDIR/root
mkdir -p "$root/bin" "$root/etc"
busybox=$(find "$CADRE_IMAGES/.." -name 'busybox-static_*.deb' | tail -n 1)
dpkg -x "$busybox" "$TMPDIR/deb"
cp "$TMPDIR/deb/bin/busybox" "$root/bin/busybox"
for word in sh cat uname sync; do ln -s busybox "$root/bin/$word"; done
echo mine >"$root/etc/mine"
cadre image build --name mine --rootfs "$root" >/dev/null || bad "build from a directory"

# Makes a disk with the root file system of $root in its first partition, which begins at sector
# 2048.
echo parted >"$root/etc/mine"
truncate -s 49M "$TMPDIR/disk.raw"
PATH=$PATH:/usr/sbin mkfs.ext4 -q -F -b 4096 -d "$root" -E offset=1048576 "$TMPDIR/disk.raw" 48M \
	>/dev/null 2>&1 || bad "mkfs"
put() { dd of="$TMPDIR/disk.raw" bs=1 seek="$1" conv=notrunc 2>/dev/null; }
printf '\000\000\000\000\203\000\000\000\000\010\000\000\000\200\001\000' | put 446
printf '\125\252' | put 510
qemu-img convert -O qcow2 "$TMPDIR/disk.raw" "$TMPDIR/disk.qcow2"
cadre image build --name parted --rootfs "$TMPDIR/disk.qcow2" >/dev/null ||
	bad "build from a disk"

cadre up >/dev/null || bad "up"
cadre team create red --roles '[{"name":"a","backend":"qemu","image":"mine"},
	{"name":"b","backend":"qemu","image":"absent"},
	{"name":"c","backend":"qemu","image":"parted"}]' >/dev/null || bad "team create"
until_is '^mine$' in_vm red/a 'cat /etc/mine'
until_is '^parted$' in_vm red/c 'cat /etc/mine'
waited 0 workspace red/b failed
cadre events --team red | grep -q 'there is no image absent' || bad "no reason is given"
exit $failed
