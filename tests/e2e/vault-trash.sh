#!/bin/sh
# vault-trash - notes that are deleted, or removed with their team, are kept in the vault's
# trash for a time. A note in the trash can be restored to its former path. The trash is limited
# by age and size, and the doctor reports its content. A kill at any moment loses no note.
set -u
. "$(dirname "$0")/../lib/story.sh"
trap 'cadre down >/dev/null 2>&1' EXIT
vault=$CADRE_HOME/vault
trash=$vault/.trash
entries() { ls "$trash" 2>/dev/null | wc -l; }
config() { printf '[workspace]\n%s\n' "$1" >"$CADRE_HOME/cadre.toml"; }

cadre team create alpha --roles coder >/dev/null || bad "team"
beside '^no removed workspaces or notes: removed files are kept here for 7 days$' cadre undo
beside '^no notes: There is no deleted note to bring back[.]$' cadre vault removed
is 0 . cadre vault write teams/alpha/plan/a.md "our needle"
is 4 'would be deleted$' cadre vault delete teams/alpha/plan/a.md
is 4 'back for 7 days: cadre vault restore' cadre vault delete teams/alpha/plan/a.md
is 0 'a.md is deleted; it is kept until 20..-..-.. at the latest; to bring it back: cadre undo' cadre vault delete --yes teams/alpha/plan/a.md
[ ! -e "$vault/teams/alpha/plan/a.md" ] || bad "it is still there"
[ "$(entries)" = 1 ] || bad "the trash holds $(ls -R "$trash")"
[ "$(stat -c %a "$trash")" = 700 ] || bad "others may look into the trash"

# Only `undo` and `vault removed` list a deleted note.
is 0 '^teams/alpha/plan/a.md\t20..-..-..T.*Z\t20..-..-..T..:..:..Z\t[0-9]*\tnote$' cadre undo
is 0 '"notes":\[{"path":"teams/alpha/plan/a.md","size":10,"removed_at":"20' cadre undo --json
is 0 'teams/alpha/plan/a.md' cadre --team alpha --as coder vault removed
is 5 'vault removed' cadre --team alpha --as coder undo
is 0 "ok *notes' trash *1 removals of notes, 0 KiB of 4096 MiB, each kept for 7 days" cadre doctor
is 0 '"total_matches":0' cadre vault search needle --json
is 0 '"total_matches":0' cadre vault search 'nee.le' --regex --json
cadre vault list --recursive | grep -q 'a[.]md' && bad "it is listed"
is 5 'begin with a dot' cadre vault read ".trash/$(ls "$trash")/teams/alpha/plan/a.md"

# A deleted note is restored to its former path, but does not replace another note.
is 0 . cadre vault write teams/alpha/plan/a.md "newer"
is 4 'there is a note teams/alpha/plan/a.md' cadre undo teams/alpha/plan/a.md
is 4 'Move it away, or name another path with --to' cadre undo teams/alpha/plan/a.md
is 0 'teams/alpha/b.md' cadre undo teams/alpha/plan/a.md --to teams/alpha/b.md
is 0 '^our needle$' cadre vault read teams/alpha/b.md
is 0 '^newer$' cadre vault read teams/alpha/plan/a.md
[ "$(entries)" = 0 ] || bad "an empty folder is left: $(ls -R "$trash")"
is 3 'the trash holds no note teams/alpha/plan/a.md' cadre workspace restore --trash teams/alpha/plan/a.md
# If a note was already restored, the next `undo` of the same path says so.
is 3 'no note teams/alpha/plan/a.md; there is a note teams/alpha/b.md' cadre undo teams/alpha/plan/a.md --to teams/alpha/b.md
is 3 'The note may be back already' cadre vault restore teams/alpha/plan/a.md --to teams/alpha/b.md
is 3 'no note teams/alpha/none.md (' cadre undo teams/alpha/none.md
is 3 'the trash holds no note below teams/none/' cadre undo teams/none/
is 0 '"total_matches":1' cadre vault search needle --json
is 0 '^our needle$' cadre vault read teams/alpha/b.md
is 0 'vault.restored' cadre events

# A note is deleted while an editor has the note open. Text that the editor writes later is kept
# in the deleted note.
exec 7>>"$vault/teams/alpha/b.md"
is 0 . cadre vault delete --yes teams/alpha/b.md
echo "; typed since" >&7
exec 7>&-
is 0 . cadre --team alpha --as coder vault restore b.md
is 0 '^our needle; typed since$' cadre vault read teams/alpha/b.md

# No path through the trash leads out of the vault, and no symbolic link is followed.
mv "$trash" "$vault/.was"
mkdir "$TMPDIR/outside"
ln -s "$TMPDIR/outside" "$trash"
is 4 'is not a note or folder of the vault' cadre vault delete --yes teams/alpha/b.md
is 4 . cadre vault restore teams/alpha/b.md --to teams/alpha/c.md
is 0 "warn *notes' trash" cadre doctor
is 0 . cadre gc
[ -z "$(ls -A "$TMPDIR/outside")" ] || bad "a link was followed: $(ls "$TMPDIR/outside")"
is 0 '^our needle' cadre vault read teams/alpha/b.md
rm "$trash" && mv "$vault/.was" "$trash"
entry=$trash/20991231-000000.000.5.0-0.0000000000000000
mkdir -p "$entry/teams/alpha"
echo secret >"$TMPDIR/outside/secret.md"
ln -s "$TMPDIR/outside/secret.md" "$entry/teams/alpha/link.md"
ln -s "$TMPDIR/outside" "$entry/teams/alpha/out"
is 4 . cadre undo teams/alpha/link.md
is 4 . cadre undo teams/alpha/out/secret.md
cadre vault removed | grep -q 'link\|secret' && bad "links are listed"
rm -r "$entry"

# The notes of a purged team are kept in the trash, without the pages that show rows. `undo`
# restores all notes of the team's folder.
cadre team create heir --roles h >/dev/null || bad "team"
cadre team create notes --roles n >/dev/null || bad "team"
cadre --team notes task create "Parse" >/dev/null || bad "task"
is 0 . cadre vault write teams/notes/mine.md "my words"
is 0 . cadre vault write teams/notes/deep/er.md "more"
echo hidden >"$vault/teams/notes/deep/.hidden"
until_is '^001-parse.md$' ls "$vault/teams/notes/tasks"
is 4 '2 notes of the vault.s folder teams/notes would be removed (.*notes/mine.md.*)$' cadre team destroy notes --purge
is 4 'back for 7 days: cadre undo' cadre team destroy notes --purge
is 0 'notes is destroyed; the notes are kept until 20..-..-.. at the latest: cadre undo teams/notes/' cadre team destroy notes --purge --yes
until_is '^1$' sh -c "[ -e '$vault/teams/notes' ] || echo 1"
find "$trash" -name TEAM.md -o -name '001-*' -o -name INDEX.md | grep -q . && bad "pages of rows are kept: $(find "$trash")"
# Hidden files are no notes. A purge asks no question about hidden files, and therefore leaves
# these files in place.
cadre team create shy --roles s >/dev/null || bad "team"
until_is '^TEAM.md$' ls "$vault/teams/shy"
mkdir -p "$vault/teams/shy/deep/.git" && echo mine >"$vault/teams/shy/deep/.git/x"
is 0 'team shy is destroyed' cadre team destroy --yes shy --purge
until_is '^deep$' ls -A "$vault/teams/shy"
[ "$(cat "$vault/teams/shy/deep/.git/x")" = mine ] || bad "a hidden file is lost"
rm -r "$vault/teams/shy"
# Neither a new team nor an older team that gets the name of a purged team can see the purged
# team's notes.
is 0 . cadre team update heir --new-name notes
cadre --team notes --as h vault removed | grep -q mine && bad "another team's notes"
is 3 'the trash holds no note' cadre --team notes --as h vault restore mine.md
is 0 . cadre team update notes --new-name heir
cadre team create notes --roles n >/dev/null || bad "team"
cadre --team notes --as n vault removed | grep -q mine && bad "another team's notes"
is 3 'the trash holds no note' cadre --team notes --as n vault restore mine.md
# `undo` does not put notes of the purged team into another team's folder, unless the command
# names a path with --to.
is 4 'mine.md was a note of a former team of that name' cadre undo teams/notes/mine.md
is 4 'with --to' cadre undo teams/notes/
[ ! -e "$vault/teams/notes/mine.md" ] || bad "another team has the note"
is 0 . cadre team update notes --new-name others
is 0 'teams/notes/deep/er.md' cadre undo teams/notes/
is 0 '^my words$' cadre vault read teams/notes/mine.md
is 0 '^more$' cadre vault read teams/notes/deep/er.md
is 0 . cadre team update others --new-name notes

# If a person typed text into pages that show rows, or into other files of a team's folder,
# these files count as notes too. When `team destroy` refuses to remove a team, it counts these
# files as notes. The trash keeps such a file's text under a name beside the file's former path.
# Notes of the teams below are counted and kept, too.
cadre team create typed --roles t >/dev/null && cadre team create below --parent typed --roles t >/dev/null || bad "teams"
cadre --team typed task create "Type" >/dev/null || bad "task"
until_is '^001-type.md$' ls "$vault/teams/typed/tasks"
until_done test -s "$vault/teams/typed/cards/t.json" -a -s "$vault/teams/below/TEAM.md"
for page in typed/TEAM.md typed/tasks/001-type.md typed/tasks/INDEX.md below/TEAM.md; do echo "typed into $page" >>"$vault/teams/$page"; done
echo '{"mine":"typed into a card"}' >"$vault/teams/typed/cards/mine.json"
is 0 . cadre vault write teams/below/own.md "typed below"
is 4 "; 6 notes of the vault.s folders teams/ would be removed (below/.*, …)$" cadre team destroy typed --purge
is 0 . cadre team destroy typed --purge --yes
until_is '^gone$' sh -c "[ -e '$vault/teams/typed' ] || [ -e '$vault/teams/below' ] || echo gone"
for text in "typed into typed/TEAM.md" "typed into typed/tasks/001-type.md" "typed into typed/tasks/INDEX.md" "typed into below/TEAM.md" "typed into a card" "typed below"; do
	grep -rqF "$text" "$trash" || bad "nowhere: $text"
done
is 0 'teams/typed/tasks/001-type.conflict.md' cadre vault removed

# The notes of a destroyed team can be restored immediately after the team's end.
is 0 . cadre team create short --roles s
is 0 . cadre vault write teams/short/a.md "short"
is 0 . cadre team destroy short --purge --yes
is 0 'teams/short/a.md' cadre undo teams/short/
is 0 '^short$' cadre vault read teams/short/a.md

# The owner of a folder has removed the right to list the folder or to enter it. The removal of
# the team does not skip the closed folder, but is refused until the owner opens the folder.
# After the owner opens the folder, its notes are restored with the team's other notes.
cadre team create closed --roles s >/dev/null
is 0 . cadre vault write teams/closed/shut/in.md "in a closed folder"
until_is '^TEAM.md$' ls "$vault/teams/closed"
is 0 '"complete":true' as_others vault search closed --json
folders=$(as_others vault stats --json | grep -o '"folders":[0-9]*')
for mode in 600 400 300 200 100 0; do
	chmod $mode "$vault/teams/closed/shut"
	is 1 'cannot open teams/closed/shut of the vault: Permission denied' as_others team destroy closed --purge
done
is 1 'cannot open teams/closed/shut of the vault: Permission denied' as_others team destroy closed --purge --yes
is 1 'Permission denied' as_others vault read teams/closed/shut/in.md
# If a folder is closed, a search says that it is incomplete, and `vault stats` still counts the
# folder. If a folder is closed, an export is refused, because the export would leave notes out.
is 0 '"complete":false' as_others vault search closed --json
is 0 '"complete":false' as_others vault search 'clos.d' --regex --json
is 0 "$folders," as_others vault stats --json
is 1 'cannot open teams/closed/shut of the vault: Permission denied' as_others export "$TMPDIR/closed.cadre"
[ ! -e "$TMPDIR/closed.cadre" ] || bad "an export without the closed folder's notes"
is 0 'teams/closed/shut$' as_others vault list teams/closed
chmod 0 "$vault/teams/closed"
is 1 'cannot open teams/closed in the vault: Permission denied' as_others team destroy closed --purge
chmod 700 "$vault/teams/closed" "$vault/teams/closed/shut"
is 0 . as_others team destroy closed --purge --yes
is 0 'teams/closed/shut/in.md' as_others vault removed
is 0 'teams/closed/shut/in.md' as_others undo teams/closed/
is 0 '^in a closed folder$' as_others vault read teams/closed/shut/in.md

# `undo` refuses an option that has no meaning for the named entry.
is 2 " --to needs a single note" cadre undo teams/short/ --to other.md
is 2 " --agent needs a workspace" cadre undo teams/short/a.md --agent s
is 2 " --to needs a single note" cadre undo short-s --to other.md

# To restore a note that was deleted before its team was renamed, the operator has to name a
# path with --to.
is 0 . cadre team create before --roles b
is 0 . cadre vault write teams/before/a.md "deleted before"
is 0 . cadre vault delete teams/before/a.md --yes
is 0 . cadre team update before --new-name after
is 4 'now called after' cadre undo teams/before/a.md
is 0 . cadre team create before --roles z
is 3 'the trash holds no note' cadre --team before --as z vault restore a.md
is 4 'now called after' cadre undo teams/before/a.md
is 4 'with --to' cadre undo teams/before/a.md
is 0 'teams/after/a.md' cadre undo teams/before/a.md --to teams/after/a.md
is 0 '^deleted before$' cadre --team after --as b vault read a.md

# A kill at any moment loses no note, and leaves no second copy of a note.
cadre up >/dev/null || bad "up"
most=$([ "$FULL" ] && echo 30 || echo 12)
for i in $(seq $most); do cadre vault write "kill/$i.md" "note $i" >/dev/null || bad "write"; done
for i in $(seq $most); do
	"$CADRE" vault delete --yes "kill/$i.md" >/dev/null 2>&1 &
	[ "$i" != 9 ] || kill -9 "$(cadre status --json | sed 's/.*"pid":\([0-9]*\).*/\1/')"
done
wait
for i in $(seq $most); do
	timeout -s KILL "0.$(printf %03d $((20 + i * 4)))" "$CADRE" --direct --key "d$i" vault delete --yes "kill/$i.md" >/dev/null 2>&1
done
cadre vault list kill >/dev/null # completes the moves that killed commands have decided
n=$(find "$vault/kill" "$trash" -path '*/kill/[0-9]*.md' | wc -l)
[ "$n" = $most ] || bad "$n notes of $most"
for i in $(seq $most); do
	timeout -s KILL "0.$(printf %03d $((20 + i * 4)))" "$CADRE" --direct --key "r$i" vault restore "kill/$i.md" >/dev/null 2>&1
done
cadre vault list kill >/dev/null
n=$(find "$vault/kill" "$trash" -path '*/kill/[0-9]*.md' | wc -l)
[ "$n" = $most ] || bad "$n notes of $most after they came back"
[ -e "$vault/kill/9.md" ] || is 0 . cadre undo kill/9.md
is 0 '^note 9$' cadre vault read kill/9.md

# A note that the trash has kept for its full time is removed by `cadre gc` or at a host's
# start. If the trash has not enough room for all notes, the oldest note is removed. If a note
# is larger than the whole trash, `vault delete` says beforehand that the note will not be kept.
rm -rf "$trash"
for name in old older; do
	is 0 . cadre vault write $name.md x
	is 0 . cadre vault delete --yes $name.md
	mv "$trash"/20* "$trash/20200101-000000.000.1.0-0.000000000000$name"
	is 0 $name.md cadre vault removed
	if [ $name = old ]; then cadre gc >/dev/null; else cadre up >/dev/null; fi
	until_is '^0$' entries
done

# `cadre gc` fails if it cannot read which notes the state still needs.
chmod 0 "$CADRE_HOME/state.db"
is 7 'the state file cannot be opened' as_others gc
chmod 600 "$CADRE_HOME/state.db"

# A restore that a command has begun is completed later, even if the command ended before moving
# the note. The restore is completed even if the note's time in the trash is over.
cadre down >/dev/null
mkdir "$vault/shut"
is 0 . cadre vault write late.md "late"
is 0 . cadre vault delete --yes late.md
mv "$trash"/20* "$trash/20200101-000000.000.4.0-0.000000000000late"
chmod 500 "$vault/shut"
is 7 'write shut/late.md in the vault' as_others undo late.md --to shut/late.md
is 0 . cadre gc
chmod 700 "$vault/shut"
is 0 '^late$' cadre vault read shut/late.md
[ "$(entries)" = 0 ] || bad "an empty folder is left: $(ls -R "$trash")"
is 0 . cadre gc

# If the folder for a restored note stays closed, the note can be restored to another path.
is 0 . cadre vault delete --yes shut/late.md
chmod 500 "$vault/shut"
is 7 'write shut/in/late.md in the vault' as_others undo shut/late.md --to shut/in/late.md
is 0 'late.md' as_others undo shut/late.md --to late.md
is 0 '^late$' as_others vault read late.md
chmod 700 "$vault/shut"
is 3 'no note' cadre vault read shut/in/late.md
is 0 . cadre vault delete --yes late.md
rm -r "$trash"
cadre up >/dev/null

# A note whose time in the trash is over is restored completely or not at all, even if another
# process removes the note at the same time.
for i in $(seq $((most / 2))); do
	is 0 . cadre vault write race.md "whole"
	is 0 . cadre vault delete --yes race.md
	mv "$trash"/20* "$trash/20200101-000000.000.5.0-0.00000000000race$i"
	"$CADRE" gc >/dev/null 2>&1 &
	if cadre --direct undo race.md >/dev/null 2>"$TMPDIR/undo"; then
		is 0 '^whole$' cadre vault read race.md
	else
		grep -q 'holds no note race.md' "$TMPDIR/undo" || bad "undo: $(cat "$TMPDIR/undo")"
	fi
	wait $!
	rm -rf "$trash"/20200101-*
	cadre vault delete --yes race.md >/dev/null 2>&1
	rm -rf "$trash"
done
cadre down >/dev/null
config 'trash_mb = 1'
head -c 700000 /dev/urandom | base64 -w 80 | head -c 700000 >"$TMPDIR/large"
for name in one two; do
	is 0 . cadre vault write $name.md "@$TMPDIR/large"
	is 0 'kept until' cadre vault delete --yes $name.md
done
is 0 '^two.md' cadre undo
[ "$(entries)" = 1 ] || bad "the trash holds $(ls "$trash")"
cat "$TMPDIR/large" "$TMPDIR/large" | cadre vault write three.md - >/dev/null || bad "write"
is 4 'three.md, 1400000 bytes, would be deleted for good' cadre vault delete three.md
is 0 'three.md is deleted$' cadre vault delete --yes three.md
is 0 '^two.md' cadre undo
config 'keep_days = 0'
is 0 . cadre gc
[ "$(entries)" = 0 ] || bad "kept for no days: $(ls "$trash")"
is 0 . cadre vault write four.md x
is 4 'for good' cadre vault delete four.md
is 4 'removed for good' cadre team destroy notes --purge
is 0 'notes is destroyed$' cadre team destroy notes --purge --yes
[ "$(entries)" = 0 ] || bad "kept for no days: $(ls "$trash")"
exit $failed
