# A backup is a whole state: put into a new folder with its secret, it answers, and
# the agents' tokens still prove them.
set -eu
. "$(dirname "$0")/../lib/story.sh"
cadre init >/dev/null
token=$(cadre team create alpha --roles coder --json |
	sed 's/.*"name":"coder"[^}]*"token":"\([0-9a-f]*\)".*/\1/')
cadre task create "Keep me" >/dev/null
cadre backup "$TMPDIR/copy.db" | grep -q verified
cadre task create "Made after the backup" >/dev/null

mkdir -m 700 "$TMPDIR/again"
cp "$TMPDIR/copy.db" "$TMPDIR/again/state.db"
cp "$TMPDIR/copy.db.secret" "$TMPDIR/again/secret"
export CADRE_HOME="$TMPDIR/again"
[ "$(sqlite3 -readonly "$CADRE_HOME/state.db" 'SELECT count(*) FROM v_board')" = 1 ]
CADRE_TEAM=alpha CADRE_AGENT=coder CADRE_TOKEN=$token cadre claim --json |
	grep -q '"title":"Keep me"'
cadre backup "$TMPDIR/copy.db" 2>"$TMPDIR/err" && bad "overwrote a backup"
grep -q '^cadre: ' "$TMPDIR/err"
cadre backup "$TMPDIR/nowhere/x.db" 2>"$TMPDIR/err" && bad "a backup into no folder"
grep -q "the folder $TMPDIR/nowhere: No such file" "$TMPDIR/err" &&
	grep -q 'make the folder' "$TMPDIR/err" || bad "told: $(cat "$TMPDIR/err")"
exit $failed
