#!/bin/sh
# orphan - a VM runs for a workspace that has no row in the state. The doctor names the VM. The
# next host ends the VM and keeps its files. If a host cannot record that the files must be
# kept, the host does not end the VM, and logs the cause.
set -u
. "$(dirname "$0")/../lib/story.sh"
story=$TMPDIR
id=0198c0de-0000-7000-8000-000000000001
vm=
finish() {
	cadre down >/dev/null 2>&1
	[ -z "$vm" ] || kill "$vm" 2>/dev/null
}
trap finish EXIT

runs() { [ -n "$(tr -d '\0' </proc/$1/cmdline)" ]; } 2>/dev/null
kept() { # WHEN
	for file in workspaces/w/file "disks/$id/file"; do
		[ -e "$CADRE_HOME/$file" ] || bad "$1: $file is gone"
	done
}

cadre init >/dev/null
mkdir -p -m 700 "$CADRE_HOME/workspaces/w" "$CADRE_HOME/disks/$id"
echo work | tee "$CADRE_HOME/workspaces/w/file" >"$CADRE_HOME/disks/$id/file"
# Starts a process with the command line of a VM of this state.
/usr/bin/python3 -c 'import os, sys
os.execv(sys.executable, ["qemu-system-x86_64", "-c", "import time; time.sleep(600)"] + sys.argv[1:])' \
	-uuid "$id" -drive "file=$CADRE_HOME/disks/$id/1.qcow2" &
vm=$!
words() { tr '\0' ' ' <"/proc/$vm/cmdline"; }
until_is '^qemu-system' words

cadre doctor >"$story/out"
grep -q "process $vm runs in $CADRE_HOME/disks/$id, a workspace that the state does not know" "$story/out" ||
	bad "doctor does not name the VM: $(cat "$story/out")"

ASAN_OPTIONS=detect_leaks=0 strace -f -qq -o /dev/null -P "$CADRE_HOME/replaced" \
	-e trace=mkdir,mkdirat -e inject=mkdir,mkdirat:error=ENOSPC \
	"$CADRE" serve >"$story/serve" 2>&1 &
tracer=$!
until_is "still runs\" workspace=$id pid=$vm" cadre logs -n 50
cadre logs -n 50 | grep -q 'guests that the state does not know cannot be ended" error="cannot make .*/replaced: No space left' || bad "the log does not say why: $(cadre logs -n 50)"
cadre down >/dev/null
wait "$tracer"
runs "$vm" || bad "the VM was ended though nothing says that its files stay"
kept "replaced/ cannot be made"

cadre up >/dev/null
until_is "was ended; its files stay\" workspace=$id pid=$vm" cadre logs -n 50
runs "$vm" && bad "the VM runs on"
[ -d "$CADRE_HOME/replaced" ] || bad "nothing says that files stay"
kept "the first start"
cadre down >/dev/null
cadre up >/dev/null
until_is 'the state does not know are kept' cadre logs -n 3
kept "the second start"

# Without the folder replaced/, a host removes the files that belong to no workspace.
cadre down >/dev/null
rmdir "$CADRE_HOME/replaced"
mkdir "$CADRE_HOME/workspaces/half.gone"
cadre up >/dev/null
left() { find "$CADRE_HOME/workspaces" "$CADRE_HOME/disks" -mindepth 1 | wc -l; }
until_is '^0$' left
exit $failed
