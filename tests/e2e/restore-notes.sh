#!/bin/sh
# restore-notes - notes stay with their team when a backup is restored. The backup may have an
# older name of the team, or the team may have ended since. After a restore a new team may get
# the number of a team that the backup lacks. The new team cannot read the other team's notes.
# The restore moves those notes to the archive and names their folder.
set -u
. "$(dirname "$0")/../lib/story.sh"
export CADRE_TEAM=later

is 0 . cadre init
is 0 . cadre --team early team create early
is 0 . cadre backup "$TMPDIR/before.db"
is 0 . cadre team create later
is 0 . cadre --as lead vault write secret.md "of the former one"
is 0 '^a folder of the vault that is no living team.s is now .*/vault/teams/.archive/later-20..-..-..$' cadre restore "$TMPDIR/before.db" --yes
is 0 . cadre team create later
is 3 'no note' cadre --as lead vault read secret.md
is 0 . cadre --as lead vault write secret.md "of the new one"
is 0 'of the new one' cadre --as lead vault read secret.md
is 0 'of the former one' cat "$CADRE_HOME"/vault/teams/.archive/later-*/secret.md

# A team was renamed after the backup. Its folder gets the former name again, with the notes
# that were written since. So do the folders of two teams that swapped their names.
unset CADRE_TEAM
vault=$CADRE_HOME/vault/teams
for team in one two ended gone; do
	is 0 . cadre team create $team --roles a
	is 0 . cadre vault write teams/$team/who.md "of $team"
done
is 0 . cadre backup "$TMPDIR/named.db"
rename() { is 0 . cadre team update "$1" --new-name "$2"; }
rename early late
is 0 . cadre vault write teams/late/since.md "written since"
rename one three
rename two one
rename three two
is 0 'of two' cadre vault read teams/one/who.md
is 0 . cadre team destroy ended
is 0 . cadre team destroy gone --purge --yes
is 0 . cadre team create ended
is 0 . cadre vault write teams/ended/who.md "of the next one"
is 0 '"archived":\["teams/.archive/ended-20..-..-..-*2*"\],"conflicts":0' cadre restore "$TMPDIR/named.db" --yes --json
is 0 'written since' cadre --team early --as lead vault read since.md
[ ! -e "$vault/late" ] || bad "a folder has a name that no team has"
for team in one two ended; do
	is 0 "^of $team$" cadre --team $team --as a vault read who.md
done
is 0 'of the next one' cat "$vault"/.archive/ended-*/who.md
is 0 'teams/gone/who.md' cadre undo teams/gone/
is 0 '^of gone$' cadre --team gone --as a vault read who.md

# The team's own folder gets the former name, and a person's copy of this folder does not. The
# command names the copy. Files that people made under the former name are put into the folder.
rename early late
cadre vault list teams/late >/dev/null
cp -r "$vault/late" "$vault/alate"
echo "of the copy" >"$vault/alate/since.md"
mkdir "$vault/early"
echo "a person's" >"$vault/early/since.md"
is 0 '/vault/teams/.archive/alate-20' cadre restore "$TMPDIR/named.db" --yes
grep -q 'that were in the way: 1;' "$TMPDIR/out" || bad "what was in the way is not told"
is 0 'written since' cadre --team early --as lead vault read since.md
is 0 "a person's" cadre --team early --as lead vault read since.conflict.md

# A folder of another state is not taken for the folder of a team with the same number. Notes in
# the trash of another state are not taken either.
mkdir -p "$TMPDIR/other"
CADRE_HOME=$TMPDIR/other/s
is 0 . cadre init
sleep 0.01
is 0 . cadre team create stranger --roles a
is 0 . cadre backup "$TMPDIR/other.db"
CADRE_HOME=$TMPDIR/s
is 0 . cadre vault write teams/early/old.md "deleted in the former state"
is 0 . cadre vault delete teams/early/old.md --yes
is 0 'teams/early/old.md' cadre --team early --as lead vault removed
is 0 '/vault/teams/.archive/early-20' cadre restore "$TMPDIR/other.db" --yes --any-secret
is 3 'no note' cadre --team stranger --as a vault read since.md
is 0 'No deleted note' cadre --team stranger --as a vault removed
is 3 'the trash holds no note' cadre --team stranger --as a vault restore old.md
is 0 'teams/early/old.md' cadre undo teams/early/old.md
exit $failed
