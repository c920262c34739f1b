#!/bin/sh
# restore_nothing - if a backup cannot be restored, `cadre restore` makes no new state. With
# --any-secret, a backup without its secret is restored with a new secret.
set -u
. "$(dirname "$0")/../lib/story.sh"
story=$TMPDIR

CADRE_HOME="$story/a" cadre init >/dev/null
CADRE_HOME="$story/a" cadre team create t --roles a >/dev/null
CADRE_HOME="$story/a" cadre agent register c --team t >/dev/null
CADRE_HOME="$story/a" cadre backup "$story/good.db" >/dev/null
CADRE_HOME="$story/b" cadre init >/dev/null

mkdir "$story/w"
cd "$story/w" || exit 1
unset CADRE_HOME
head -c 20000 "$story/good.db" >"$story/half.db"
cp "$story/good.db.secret" "$story/half.db.secret"
cp "$story/good.db" "$story/wrong.db"
cp "$story/b/secret" "$story/wrong.db.secret"
for file in half wrong; do
	cadre restore --home "$story/w/.cadre" --create "$story/$file.db" --yes >"$story/out" 2>&1 && bad "$file: restored"
	[ -z "$(ls -A)" ] || bad "$file: left $(find .): $(cat "$story/out")"
done
[ -z "$(find "$TMPDIR" -name 'cadre-restore-*')" ] || bad "a temporary folder is left"

mkdir "$story/alone"
cp "$story/good.db" "$story/alone/good.db"
cadre restore --home "$story/w/.cadre" --create "$story/alone/good.db" --yes >"$story/out" 2>&1 && bad "restored without a secret"
grep -q -e --any-secret "$story/out" || bad "the way out is not named: $(cat "$story/out")"
[ -z "$(ls -A)" ] || bad "without a secret: left $(find .)"
cadre restore --home "$story/w/.cadre" --create "$story/alone/good.db" --yes --any-secret >"$story/out" 2>&1 || bad "$(cat "$story/out")"
[ "$(wc -c <.cadre/secret)" = 32 ] || bad "no secret was made"
cmp -s .cadre/secret "$story/good.db.secret" && bad "the secret is the former one"
cadre agent register c --team t --replace >"$story/out" 2>&1 || bad "$(cat "$story/out")"
exit $failed
