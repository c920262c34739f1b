# vm - functions that the stories of VMs share: an image, a host, and longer waits.
#
# The stories source this file. The image is built from Debian's packages. The image is built
# again only if the guest's program or the image's sources have changed. The image stays in
# build/.
set -u
: "${CADRE:=$(command -v cadre)}"
build=$(cd "$(dirname "$CADRE")/.." && pwd)
case $build in */build) ;; *) build=$(dirname "$CADRE") ;; esac
export CADRE_HOME="$TMPDIR/s,t" NO_COLOR=1 # QEMU needs commas in paths to be doubled
export CADRE_IMAGES="$build/vm/images" XDG_CACHE_HOME="$build/vm/cache"
cadre() { "$CADRE" "$@"; }
cadre init >/dev/null
failed=0

command -v qemu-system-x86_64 >/dev/null && command -v qemu-img >/dev/null || {
	echo "skipped: no qemu here"
	exit 77
}

bad() { # prints the failure, and the host's last lines of log
	echo "FAILED: $*"
	cadre logs -n 10 2>/dev/null
	failed=1
}

. "$(dirname "$0")/../lib/patience.sh"
patience=1200

# Builds an image if needed. If root runs the story, restarts the story in its own network
# namespace, without bridges and rules of other VMs.
need_image() {
	inputs=$(cat "$build/cadre-guest" "$(dirname "$0")"/../../tools/cadre/image/* | sha256sum)
	[ "$inputs" = "$(cat "$build/vm/inputs" 2>/dev/null)" ] || {
		cadre image build >/dev/null || { bad "image build"; exit 1; }
		echo "$inputs" >"$build/vm/inputs"
	}
	[ -z "${ALONE-}" ] && [ "$(id -u)" = 0 ] || return 0
	ALONE=1 exec unshare -n sh "$0"
}
[ -z "${ALONE-}" ] || PATH=$PATH:/usr/sbin ip link set lo up

# Prints the process ids of this story's VMs, and of no other VMs.
vms() {
	for pid in $(pgrep -x qemu-system-x86); do
		tr '\0' '\n' <"/proc/$pid/cmdline" | grep -qF "file=$TMPDIR/s,,t/disks/" &&
			echo "$pid"
	done 2>/dev/null
}
count_vms() { vms | wc -l; }

finish() { # destroys every team and its workspaces, so that no VM stays
	for team in $(cadre team list --json | grep -o '"name":"[^"]*"' | cut -d'"' -f4); do
		cadre team destroy --yes "$team"
	done >/dev/null 2>&1
	until_is '^0$' count_vms || kill -9 $(vms)
	cadre down >/dev/null 2>&1
}
# If SIGTERM or SIGINT ends the story, the story kills its VMs at once.
trap 'kill -9 $(vms) 2>/dev/null; exit 1' TERM INT

list() { cadre workspace list --team "$1"; }
in_vm() { # TEAM/AGENT COMMAND
	cadre exec --team "${1%%/*}" "$1" sh -c "$2"
}
pid_of() {
	cadre workspace info "$1" --team "${1%%/*}" --json | grep -o '"pid":[0-9]*' | cut -d: -f2
}
