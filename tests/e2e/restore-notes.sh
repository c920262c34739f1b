#!/bin/sh
# restore-notes - notes stay with their team when a backup is restored, even if the team was
# renamed or ended after the backup. A team that is made after the restore may get the row
# number of a team that the backup lacks. The new team cannot read the notes of the missing
# team. If the backup lacks a team, the restore moves the team's notes to the archive, and names
# the folder of the notes.
set -u
. "$(dirname "$0")/../lib/story.sh"
export CADRE_TEAM=later

is 0 . cadre init
is 0 . cadre --team early team create early
is 0 . cadre backup "$TMPDIR/before.db"
is 0 . cadre team create later
is 0 . cadre --as lead vault write secret.md "of the former one"
is 0 '^a folder in the vault belonged to no living team, and is now .*/vault/teams/.archive/later-20..-..-..$' cadre restore "$TMPDIR/before.db" --yes
is 0 . cadre team create later
is 3 'no note' cadre --as lead vault read secret.md
is 0 . cadre --as lead vault write secret.md "of the new one"
is 0 'of the new one' cadre --as lead vault read secret.md
is 0 'of the former one' cat "$CADRE_HOME"/vault/teams/.archive/later-*/secret.md

# A team was renamed after the backup. The restore gives the team's folder its former name
# again, and keeps the notes that were written after the backup. The folders of two teams that
# swapped their names also get their former names again.
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
is 0 . cadre team destroy --yes ended
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

# The restore gives the team's own folder its former name. If a person has copied the folder,
# the restore moves the copy to the archive, and prints the copy's new path. If people made
# files in a folder with the former name, the restore puts these files into the team's folder.
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

# After a restore from another state's backup, a restored team may have the row number of a team
# of the former state. The restored team cannot read the former team's notes, and cannot restore
# the former team's deleted notes.
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
beside 'no deleted note' cadre --team stranger --as a vault removed
is 3 'the trash holds no note' cadre --team stranger --as a vault restore old.md
is 0 'teams/early/old.md' cadre undo teams/early/old.md
exit $failed
