#!/bin/sh
# filesystem - a state on a file system without working locks is refused by every command. A
# state on a file system in memory is accepted.
set -u
. "$(dirname "$0")/../lib/story.sh"
if [ "${1-}" != inside ]; then
	command -v bindfs >/dev/null && [ -c /dev/fuse ] || skip "no bindfs or no /dev/fuse"
	unshare -m true 2>/dev/null || skip "no mounts of one's own here"
	exec unshare -m --propagation private sh "$0" inside
fi

mkdir "$TMPDIR/real" "$TMPDIR/mirrored" "$TMPDIR/memory"
mount -t tmpfs -o size=32m,mode=700 none "$TMPDIR/memory" || skip "no tmpfs here"
CADRE_HOME=$TMPDIR/real/state cadre init >/dev/null || bad "init"
bindfs "$TMPDIR/real" "$TMPDIR/mirrored" || skip "bindfs does not work here"
# umount is repeated, since a process that has just ended may still use the mounted folder for a
# moment.
finish() {
	for place in mirrored memory; do
		until_done umount "$TMPDIR/$place"
	done
}
trap finish EXIT

# refuses WORDS...: the command ends with status 7 and names the file system.
refuses() {
	said=$("$CADRE" "$@" 2>&1)
	status=$?
	[ $status = 7 ] || bad "$*: status $status: $said"
	case $said in *"is on fuse"*CADRE_HOME*) ;; *) bad "$*: $said" ;; esac
}
export CADRE_HOME="$TMPDIR/mirrored/state"
refuses status
refuses team create red
refuses up
refuses backup "$TMPDIR/copy"
cadre doctor | grep -q '^bad *file system .* is on fuse' || bad "doctor"
export CADRE_HOME="$TMPDIR/mirrored/other"
refuses init
[ -z "$(ls "$TMPDIR/real/other" | grep -v gitignore)" ] || bad "init left $(ls -A "$TMPDIR/real/other")"

export CADRE_HOME="$TMPDIR/memory/state"
cadre init >/dev/null && cadre team create red >/dev/null || bad "a state in memory"
cadre doctor | grep -q '^ok *file system .* on tmpfs' || bad "doctor in memory"

# If a limit lets no file grow, the command fails with a fault instead of a signal. No
# acknowledged message is lost.
cadre agent register a --team red >/dev/null
cadre --team red --as a send a first >/dev/null
words=$(head -c 100000 /dev/zero | tr '\0' x)
(ulimit -f 64 && exec "$CADRE" --direct --team red --as a send a "$words") >"$TMPDIR/said" 2>&1
status=$?
case $status in [1-9]) ;; *) bad "a file that may not grow: status $status: $(cat "$TMPDIR/said")" ;; esac
cadre --team red --as a send a last >/dev/null || bad "a send behind it"
[ "$(cadre --team red --as a inbox peek --json | grep -o '"content":"[a-z]*"' | tr -d '\n')" = \
	'"content":"first""content":"last"' ] || bad "not both: $(cadre --team red --as a inbox peek --json)"
exit $failed
