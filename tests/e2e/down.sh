#!/bin/sh
# down - `down` ends the host and prints the number of guests that keep running. `down --all`
# also ends the guests. `restart` replaces the host by a new host.
set -u
. "$(dirname "$0")/../lib/story.sh"
trap 'cadre down --all >/dev/null 2>&1' EXIT
cd "$TMPDIR" || exit 1

mkdir golden
is 0 'no host runs' cadre down
# A host that ends removes the folder of its sockets, unless guests have sockets in the same
# folder.
mkdir -m 700 rt && export XDG_RUNTIME_DIR="$TMPDIR/rt"
folders() { find rt/cadre -mindepth 1 -maxdepth 1; }
is 0 '^up: process' cadre up
[ -S "$(folders)/host.sock" ] || bad "the socket is elsewhere"
is 0 '^down: process' cadre down
[ -z "$(folders)" ] || bad "down left $(folders)"
is 0 '^up: process' cadre up
cadre team create crew --golden ./golden \
	--roles '[{"name":"w","count":2,"workspace":true}]' >/dev/null || bad "team create"
until_is '^2$' count_guests
is 0 '^2 guests go on; .cadre down --all. ends them$' cadre down
[ "$(count_guests)" = 2 ] || bad "down ended guests"
[ -n "$(folders)" ] || bad "down took the folder in which guests have their sockets"

# A new host finds the running guests, and after a restart the next host finds the same guests.
cadre up >/dev/null || bad "up"
first=$(cadre up --json | sed -n 's/.*"pid":\([0-9]*\).*/\1/p')
is 0 '^up: process' cadre restart
second=$(cadre up --json | sed -n 's/.*"pid":\([0-9]*\).*/\1/p')
[ -n "$second" ] && [ "$first" != "$second" ] || bad "restart left process $first"
[ "$(count_guests)" = 2 ] || bad "restart ended guests"

is 0 '^down: process' cadre down --all
grep -q 'go on' "$TMPDIR/out" && bad "down --all tells of guests"
[ "$(count_guests)" = 0 ] || bad "down --all left guests"
[ -z "$(folders)" ] || bad "down --all left the sockets of guests: $(find rt/cadre)"
is 2 'takes --timeout' cadre down --alle

# After the host was killed, `down --all` still ends the host's guests, and prints their number.
cadre up >/dev/null || bad "up"
until_is '^2$' count_guests
pid=$(cadre up --json | sed -n 's/.*"pid":\([0-9]*\).*/\1/p')
kill -9 "$pid"
until_is '^gone$' sh -c "kill -0 $pid 2>/dev/null || echo gone"
is 0 '^2 guests ended$' cadre down --all
grep -q '^no host runs$' "$TMPDIR/out" || bad "down --all tells of a host"
[ "$(count_guests)" = 0 ] || bad "down --all left guests of a dead host"
exit $failed
