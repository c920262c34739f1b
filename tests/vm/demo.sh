#!/bin/sh
# demo - the demo succeeds with VMs too, and leaves no VM running.
. "$(dirname "$0")/../lib/vm.sh"
here=$(cd "$(dirname "$0")/../.." && pwd)
git -C "$here" rev-parse --git-dir >/dev/null 2>&1 || { echo "skipped: no git repository here"; exit 77; }
need_image
BACKEND=qemu timeout $((200 * TEST_SCALE)) "$here/tools/demo" >"$TMPDIR/out" 2>&1 || { tail -30 "$TMPDIR/out"; exit 1; }
grep -q '^yes$' "$TMPDIR/out" || bad "no yes"
grep -q 'kill -9' "$TMPDIR/out" || bad "the host was not killed"
left=$(ls -d "$TMPDIR"/cadre-demo.* 2>/dev/null)
[ -z "$left" ] || bad "left: $left"
for p in /proc/[0-9]*/cmdline; do
	tr '\0' ' ' <"$p" 2>/dev/null | grep -q "$TMPDIR/cadre-demo\." && bad "still runs: $p"
done
exit $failed
