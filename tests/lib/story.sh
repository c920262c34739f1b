# story - what stories of one state folder share; `. "$(dirname "$0")/../lib/story.sh"`.
# The command, a state folder of its own, and a `failed` to end with.  `patience` is in
# tenths of a second.
: "${CADRE:=$(command -v cadre)}"
here=$(cd "$(dirname "$0")/.." && pwd)
export CADRE_HOME="$TMPDIR/s" NO_COLOR=1 PYTHONDONTWRITEBYTECODE=1
failed=0 patience=100

cadre() { "$CADRE" "$@"; }
bad() { echo "FAILED: $*"; failed=1; }
# until_is PATTERN COMMAND...: its output holds the pattern before patience ends.
until_is() {
	pattern=$1 n=0
	shift
	while ! "$@" 2>&1 | grep -q -e "$pattern"; do
		n=$((n + 1))
		[ $n -lt $patience ] || { bad "$*: no '$pattern' in"; "$@" 2>&1 | head -5; return; }
		sleep 0.1
	done
}
count_guests() { pgrep -f -c "guest --workspace .* --state $CADRE_HOME/"; }
