# said - what stories share that judge commands by their status and their words;
# `. "$(dirname "$0")/../lib/said.sh"`.  Whoever sources it has no state folder yet.
: "${CADRE:=$(command -v cadre)}"
export NO_COLOR=1 GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
failed=0

bad() {
	echo "FAILED: $*"
	head -n 5 "$TMPDIR/out" "$TMPDIR/err" | cat -v | sed 's/^/    /' # no name drives a terminal
	failed=1
}

# is STATUS PATTERN COMMAND...: the exit status, and what it prints on either.
is() {
	want=$1 pattern=$2
	shift 2
	"$@" >"$TMPDIR/out" 2>"$TMPDIR/err" </dev/null
	got=$?
	[ $got = "$want" ] || bad "$* in $PWD ended with $got, not $want"
	cat "$TMPDIR/out" "$TMPDIR/err" | grep -q -e "$pattern" || bad "$*: no '$pattern'"
}
git() { command git -c user.name=m -c user.email=m@x -c protocol.file.allow=always "$@" >/dev/null 2>&1; }
