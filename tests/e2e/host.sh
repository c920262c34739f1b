#!/bin/sh
# host - a state is served by at most one host, and guests outlive their host. The host makes,
# starts and stops each workspace until it is in the state that its row names, even if the guest
# or the host is killed by SIGKILL.
set -u
. "$(dirname "$0")/../lib/story.sh"
finish() {
	for w in $(cadre workspace list --team red --json | grep -o '"name":"[^"]*"' | cut -d'"' -f4); do
		cadre workspace destroy --yes "$w" --team red
	done >/dev/null 2>&1
	until_is '^0$' count_guests
	cadre down >/dev/null 2>&1
}
trap finish EXIT

in_place() { cadre exec --team red "$1" sh -c "$2"; }
pid_of() {
	cadre workspace info "red/$1" --team red --json | grep -o '"pid":[0-9]*' | cut -d: -f2
}

# --- a second host is refused -----------------------------------------------------

cadre up >/dev/null || bad "up"
holder=$(cut -d' ' -f1 "$CADRE_HOME/host.lock")
cadre serve >"$TMPDIR/out" 2>&1
[ $? = 4 ] || bad "a second host does not end with conflict"
grep -q "$holder" "$TMPDIR/out" || bad "a second host does not name the first"

# --- workspaces ----------------------------------------------------------------------

mkdir -p "$TMPDIR/gold/sub" "$TMPDIR/gold/.cadre"
echo text >"$TMPDIR/gold/sub/file"
ln -s sub/file "$TMPDIR/gold/link"
chmod 750 "$TMPDIR/gold/sub"
echo no >"$TMPDIR/gold/.cadre/private"
cadre team create red --golden "$TMPDIR/gold" \
	--roles '[{"name":"w","workspace":true,"count":2}]' --wait >/dev/null || bad "team create"
is 0 '^text$' in_place red/w-1 'cat link'
is 0 '^750$' in_place red/w-1 'stat -c %a sub'
is 0 '^none$' in_place red/w-1 '[ -e .cadre/private ] || echo none'
is 0 '^w-1$' in_place red/w-1 'echo $CADRE_AGENT'

cadre workspace stop red/w-2 --team red --wait >/dev/null || bad "stop"
is 0 '\tw-2\t\t' cadre workspace list --team red
cadre workspace start red/w-2 --team red --wait >/dev/null || bad "start"
is 0 'ready\t.*\tw-2\t[0-9]' cadre workspace list --team red
is 0 text in_place red/w-2 'cat sub/file'

# --- a guest that the host ends for a new generation does not count as dead ----------------

for g in 2 3 4 5 6 7 8 9 10; do
	was=$(pid_of w-2)
	is 0 . cadre agent register w-2 --team red --replace
	another() { now=$(pid_of w-2) && [ -n "$now" ] && [ "$now" != "$was" ]; }
	until_done another || bad "no guest of generation $g"
done

# --- files larger than a message ---------------------------------------------------------

head -c 10000000 /dev/urandom >"$TMPDIR/big"
cadre workspace write red/w-1 --team red deep/big @"$TMPDIR/big" >/dev/null || bad "a large file there"
cadre workspace read red/w-1 --team red deep/big | cmp - "$TMPDIR/big" || bad "a large file back"
is 0 '^big$' in_place red/w-1 'ls -A deep | xargs'

# --- a pipe or a socket in place of a file stops no command -------------------------------

in_place red/w-1 "mkfifo pipe && mkdir folder && mknod null c 1 3 &&
	/usr/bin/python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"socket\")'" || bad "mkfifo"
for name in pipe folder null socket; do
	is 2 "invalid: $name.*(PATH)" cadre workspace read red/w-1 --team red $name
	is 2 "invalid: $name is not a file (PATH)" cadre workspace write red/w-1 --team red $name x
done

# --- an assignment, and a guest that is killed ----------------------------------------

cadre task create "count" --team red >/dev/null
cadre task assign 001 w-1 --command 'wc -l <sub/file' --team red >/dev/null
waited 0 task 001 --team red

guest=$(pid_of w-1)
kill -9 "$guest"
is 0 workspace.restarted cadre events --team red --kind workspace.restarted --wait-seconds "$(bound)"
until_is text in_place red/w-1 'cat sub/file'
[ "$(pid_of w-1)" != "$guest" ] || bad "the guest's process is the old one"

# --- a host that is killed -------------------------------------------------------------

guest=$(pid_of w-1)
cadre task create "slow" --team red >/dev/null
cadre task assign 002 w-1 --command "until [ -e '$TMPDIR/go' ]; do sleep 0.1; done; echo done" --team red >/dev/null
waited 0 task 002 in_progress --team red
kill -9 "$(cut -d' ' -f1 "$CADRE_HOME/host.lock")"
sleep 0.2
cadre up >/dev/null || bad "up after kill -9"
: >"$TMPDIR/go"
waited 0 task 002 --team red
[ "$(pid_of w-1)" = "$guest" ] || bad "the living guest was not found again"
[ "$(cadre results --team red --json | grep -o '"message_id"' | wc -l)" = 2 ] ||
	bad "not two results"

# --- a message for a guest while no host runs ------------------------------------------------

cadre down >/dev/null || bad "down"
kill -0 "$guest" || bad "the guest went with its host"
cadre send w-1 "later" --team red >/dev/null || bad "send without a host"
cadre up >/dev/null || bad "up again"
is 0 'message.notified.*w-1' cadre events --team red --kind message.notified --wait-seconds "$(bound)"

# --- a workspace is destroyed -----------------------------------------------------------------

cadre workspace destroy --yes red/w-2 --team red >/dev/null
until_is '^1$' sh -c "ls '$CADRE_HOME/workspaces' | wc -l"
exit $failed
