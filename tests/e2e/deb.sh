#!/bin/sh
# deb - the Debian packages hold the same files as `make install` installs, and lintian finds no
# fault in the packages. tests/deb/run installs and upgrades the packages.
set -u
stateless=yes
. "$(dirname "$0")/../lib/story.sh"
root=$(cd "$here/.." && pwd)
cd "$TMPDIR" || exit 1
for tool in dh lintian; do
	command -v $tool >/dev/null || skip "$tool is not installed"
done
make -C "$root" --no-print-directory deb BUILT=yes >made 2>&1 || { bad "make deb: $(tail -30 made)"; exit 1; }
lintian --allow-root --fail-on error,warning "$root"/build/deb/*.changes >found 2>&1 || bad "lintian: $(cat found)"
[ ! -s found ] || bad "lintian: $(cat found)"

make -C "$root" --no-print-directory install DESTDIR="$PWD/to" PREFIX=/usr >made 2>&1 || bad "make install: $(tail -5 made)"
(cd to && find . -type f) | sed 's,share/systemd,lib/systemd,; s,zsh/site-functions,zsh/vendor-completions,
	s,man1/cadre.*\.1$,&.gz,; /LICENSE$/d' | sort >installed
for deb in "$root"/build/deb/*.deb; do
	dpkg-deb -c "$deb" | awk '!/^d/ { print $6 }'
done | sed '/\/changelog.gz$/d; /\/copyright$/d; /\/lintian\//d' | sort >packed
cmp installed packed || bad "not the same: $(diff installed packed)"
dpkg-deb -c "$root"/build/deb/cadre-image-tools_*.deb | grep -q 'lib/cadre/cadre-guest' || bad "no guest for images"
exit $failed
