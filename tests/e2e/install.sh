#!/bin/sh
# install - `make install` copies the program's files to a system's usual folders, and also
# copies the documents to which README links. `make uninstall` removes the installed files.
set -u
stateless=yes
. "$(dirname "$0")/../lib/story.sh"
root=$(cd "$here/.." && pwd)
cd "$TMPDIR" || exit 1
to=$TMPDIR/to

for verb in install uninstall; do
	make -C "$root" --no-print-directory "$verb" DESTDIR="$to" PREFIX=/usr >made 2>&1 ||
		bad "make $verb: $(tail -5 made)"
	[ "$verb" = install ] || break
	is 0 '^cadre [0-9]' "$to/usr/bin/cadre" --version
	readelf -S "$to/usr/bin/cadre" | grep -q '\.symtab' && bad "the program has its symbols"
	doc=$to/usr/share/doc/cadre
	for link in $(sed -n 's/.*/&/; s/\](\([a-z][a-z/.-]*\)[)#]/\n@\1\n/gp' "$doc/README.md" |
		sed -n 's/^@//p' | sort -u); do
		[ -e "$doc/$link" ] || bad "the README links to $link, which is not installed"
	done
	[ -e "$doc/docs/state.md" ] || bad "no documents"
	for unit in cadre.service cadre@.service; do
		grep -q '^ExecStart=/usr/bin/cadre ' "$to/usr/share/systemd/user/$unit" ||
			bad "$unit starts something else"
	done
	[ -x "$to/usr/lib/cadre/cadre-guest" ] || bad "no guest for VMs"
done
find "$to" -type f >left
[ ! -s left ] || bad "make uninstall leaves $(cat left)"
exit $failed
