# story - what stories of one state folder share; `. "$(dirname "$0")/../lib/story.sh"`.
# The command, a state folder of its own, and a `failed` to end with.
. "$(dirname "$0")/../lib/patience.sh"
: "${CADRE:=$(command -v cadre)}"
here=$(cd "$(dirname "$0")/.." && pwd)
export CADRE_HOME="$TMPDIR/s" NO_COLOR=1 PYTHONDONTWRITEBYTECODE=1
failed=0

cadre() { "$CADRE" "$@"; }
bad() { echo "FAILED: $*"; failed=1; }
count_guests() { pgrep -f -c "guest --workspace .* --state $CADRE_HOME/"; }
