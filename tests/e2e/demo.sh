# The demo succeeds, and leaves behind neither a process nor a folder.
set -eu
here=$(cd "$(dirname "$0")/../.." && pwd)
git -C "$here" rev-parse --git-dir >/dev/null 2>&1 || { echo "skipped: no git repository here"; exit 77; }
"$here/tools/demo" >"$TMPDIR/out" 2>&1 || { tail -30 "$TMPDIR/out"; exit 1; }
grep -q '^yes$' "$TMPDIR/out"
grep -q 'kill -9' "$TMPDIR/out"
left=$(ls -d "$TMPDIR"/cadre-demo.* 2>/dev/null || true)
[ -z "$left" ] || { echo "left: $left"; exit 1; }
for p in /proc/[0-9]*/cmdline; do
	if tr '\0' ' ' <"$p" 2>/dev/null | grep -q "$TMPDIR/cadre-demo\."; then
		echo "still runs: $(tr '\0' ' ' <"$p")"
		exit 1
	fi
done
