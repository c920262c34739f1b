# story - functions for every story. A story sources this file by its path, $(dirname
# "$0")/../lib/story.sh. The file defines the function `cadre`, checks, and $failed, the story's
# exit status. The file also makes a new state, unless $stateless is set.
. "$(dirname "$0")/../lib/patience.sh"
: "${CADRE:=$(command -v cadre)}"
here=$(cd "$(dirname "$0")/.." && pwd)
export CADRE_HOME="$TMPDIR/s" NO_COLOR=1 PYTHONDONTWRITEBYTECODE=1
failed=0 judged= either=

: "${FULL=}" "${TURN:=0}"
# in_turn N OF: whether this run does part N of OF parts. $TURN chooses one part for each run,
# but at full size ($FULL) a run does all parts.
in_turn() { [ "$FULL" ] || [ $((TURN % $2)) = "$1" ]; }

cadre() { "$CADRE" "$@"; }
[ -n "${stateless-}" ] || cadre init >/dev/null
bad() { # prints the failure, and the output of the last checked command
	echo "FAILED: $*"
	[ -z "$judged" ] || head -n 12 "$TMPDIR/out" "$TMPDIR/err" | cat -v | sed 's/^/    /'
	failed=1
}
skip() { echo "skipped: $*"; exit 77; }

# packages NAME PACKAGE [OPTION-OF-NPM]: fetches the packages of tests/NAME/package.json, unless
# build/ has them already. PACKAGE is one of these packages, whose folder shows that the fetch
# has succeeded before. Sets $place to the folder of the packages.
packages() {
	option=${3:-} root=$(cd "$(dirname "$0")/../.." && pwd)
	place=$root/build/npm/$1
	command -v node >/dev/null && command -v npm >/dev/null || skip "node and npm are not installed"
	mkdir -p "$place"
	cmp -s "$root/tests/$1/package.json" "$place/package.json" && [ -d "$place/node_modules/$2" ] && return
	cp "$root/tests/$1/package.json" "$place"
	(cd "$place" && npm install $option --no-audit --no-fund --loglevel=error >&2) ||
		{ rm -f "$place/package.json"; skip "npm cannot install what tests/$1 needs"; }
}

# is STATUS PATTERN COMMAND...: COMMAND must end with STATUS, and its stdout (its stderr if
# STATUS is not 0) must match PATTERN. With $either=yes, stdout or stderr may match.
is() {
	want=$1 judged=yes
	tabbed "$2"
	shift 2
	"$@" >"$TMPDIR/out" 2>"$TMPDIR/err" </dev/null
	got=$?
	[ $got = "$want" ] || { bad "$* in $PWD ended with $got, not $want"; return; }
	file=$TMPDIR/out
	[ "$want" = 0 ] || file=$TMPDIR/err
	[ -z "$either" ] || file="$TMPDIR/out $TMPDIR/err"
	cat $file | grep -q -e "$pattern" || bad "$*: no '$pattern'"
}
# beside PATTERN COMMAND...: COMMAND must succeed, and its stdout or stderr must match PATTERN.
beside() {
	usual=$either either=yes
	is 0 "$@"
	either=$usual
}
# as_others COMMAND...: runs cadre with these words, but without root's right to ignore file
# permissions.
drop=-dac_override,-dac_read_search
if [ "$(id -u)" != 0 ]; then
	as_others() { cadre "$@"; }
elif ! command -v setpriv >/dev/null; then
	as_others() { skip "no setpriv"; }
else
	as_others() { setpriv --bounding-set=$drop --inh-caps=$drop "$CADRE" "$@"; }
fi
count_guests() { pgrep -f -c "guest --workspace .* --state $CADRE_HOME/"; }

# free_port: prints a free port below the kernel's range of ephemeral ports. The next port is
# free too, since a guest that listens on TCP needs two ports.
free_port() {
	/usr/bin/python3 - <<-'END'
		import random, socket
		while True:
		    a, b = socket.socket(), socket.socket()
		    port = random.randrange(15000, 32000)
		    try:
		        a.bind(("127.0.0.1", port))
		        b.bind(("127.0.0.1", port + 1))
		        break
		    except OSError:
		        continue
		print(port)
	END
}
