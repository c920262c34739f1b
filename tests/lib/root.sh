# root.sh - a new Debian system in a folder, for tests of installed programs. A test sources
# this file and runs as root.

# new_root FOLDER: installs the system from this machine's Debian mirror, with this machine's
# proxy settings.
new_root() {
	mirror=$(sed -n 's/^URIs: *//p; s/^deb \(\[[^]]*\] \)\{0,1\}\([^ ]*\).*/\2/p' /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | head -1)
	debootstrap --variant=minbase bookworm "$1" "${mirror:-http://deb.debian.org/debian}" >"$1.log" 2>&1 || { tail "$1.log"; return 1; }
	cp /etc/resolv.conf "$1/etc/" 2>/dev/null || :
	cp /etc/apt/apt.conf.d/*proxy* "$1/etc/apt/apt.conf.d/" 2>/dev/null || :
}

# inside FOLDER COMMAND...: runs COMMAND in the system. When COMMAND ends, all processes of the
# system end.
inside() {
	unshare --mount --pid --fork sh -c 'mount -t proc proc "$1/proc" && exec chroot "$@"' sh "$@"
}
