#!/bin/sh
# trash - the folder of a removed workspace is kept in the trash for a time, and can be restored
# whole. The trash is limited by age and size, and the doctor reports its content.
set -u
. "$(dirname "$0")/../lib/story.sh"
. "$here/lib/preload.sh"
trap 'cadre workspace destroy --yes back/b --team back >/dev/null 2>&1
	cadre team destroy --yes old >/dev/null 2>&1; cadre team destroy --yes back >/dev/null 2>&1
	until_is "^0$" count_guests; cadre down >/dev/null 2>&1' EXIT
entries() { ls "$CADRE_HOME/trash" 2>/dev/null | wc -l; }
makes() { # TEAM AGENT: makes a workspace with a file
	cadre team create "$1" --roles "[{\"name\":\"$2\",\"workspace\":true}]" >/dev/null || bad "team $1"
	until_is '^precious$' cadre exec --team "$1" "$1/$2" 'echo precious | tee work.txt'
}

cadre up >/dev/null || bad "up"
beside 'no removed workspaces or notes' cadre undo
makes old a
cadre exec --team old old/a 'mkdir -p deep/er; ln -s ../work.txt deep/link; chmod 640 work.txt' >/dev/null
cadre exec --team old old/a 'printf "#!/bin/sh\n" >run; chmod 755 run' >/dev/null
# When a team is destroyed, its workspace is removed too. The workspace's folder is kept in the
# trash, without the files of the guest.
is 0 . cadre team destroy --yes old
until_is '^1$' entries
until_is '^0$' count_guests
entry=$(echo "$CADRE_HOME"/trash/*)
[ "$(cat "$entry/work.txt")" = precious ] || bad "the trash lacks the file: $(ls -la "$entry")"
[ ! -e "$entry/.cadre" ] || bad "the guest's own files are kept, its secrets among them"
[ "$(stat -c %a "$CADRE_HOME/trash")" = 700 ] || bad "others may look into the trash"
is 0 '^name\tremoved\tkept_until\tsize\twas$' cadre undo
is 0 '^old-a-.*\t20..-..-..T.*\t20..-..-..T..:..:..Z\t[0-9]*\tfolder$' cadre undo
is 0 '"removed":\[{"name":"old-a-' cadre undo --json
is 0 'ok *trash  *1 removed workspace, ' cadre doctor

# A folder in the trash is restored whole, in another team, for the agent that the command
# names. After the restore the entry in the trash is still there.
is 0 . cadre team create back --roles b
is 3 'the trash holds no workspace nothing' cadre undo nothing --team back
# `undo` refuses an empty name, which an unset variable would give. The list of `undo` contains
# the removed workspaces of all teams, so only the operator may read the list.
is 2 'must name a removed workspace or note' cadre undo "" --team back
is 5 'only the operator may see the trash' cadre undo --team back --as b
is 0 '^old-a-' cadre workspace restore --trash
is 3 'the trash holds no workspace nothing' cadre workspace restore --trash nothing --team back
is 0 'workspace restore --trash' cadre help undo
is 0 '^old-a-' cadre complete -- undo old
is 0 '^brought back old-a-.* as back-b-.* of team back, for b, in /' cadre workspace restore --trash old-a --agent b --team back
until_is '^precious$' cadre exec --team back back/b 'cat deep/link'
[ "$(cadre exec --team back back/b 'stat -c %a work.txt run')" = "640
755" ] || bad "modes are not as they were"
[ "$(entries)" = 1 ] || bad "the entry is gone"

# An empty workspace gets no entry in the trash.
is 0 . cadre team create empty --roles '[{"name":"e","workspace":true}]'
until_is '^there$' cadre exec --team empty empty/e 'echo there'
is 0 . cadre team destroy --yes empty
until_is '^0$' sh -c "ls '$CADRE_HOME/workspaces' | grep -c empty-e"
[ "$(entries)" = 1 ] || bad "an empty folder is in the trash: $(ls "$CADRE_HOME/trash")"

# A symbolic link with the name of an entry does not count as an entry in the trash. A symbolic
# link in place of the folder `trash` is not followed.
mkdir "$TMPDIR/elsewhere" && echo secret >"$TMPDIR/elsewhere/file"
ln -s "$TMPDIR/elsewhere" "$CADRE_HOME/trash/20261121-080000.7.planted-a-1a2b"
is 3 'the trash holds no workspace planted' cadre undo planted --team back
! cadre undo | grep -q planted || bad "a link is listed"
rm "$CADRE_HOME/trash/20261121-080000.7.planted-a-1a2b"
makes link l
guest=$(pgrep -f "guest --workspace .*link-l-.* --state $CADRE_HOME/")
kill -STOP $guest # the guest ends after the link is made; with a link, commands fail
is 0 . cadre team destroy --yes link
mv "$CADRE_HOME/trash" "$TMPDIR/moved"
ln -s "$TMPDIR/elsewhere" "$CADRE_HOME/trash"
kill -CONT $guest
until_done grep -rq 'cannot move .*link-l-.* into the trash' "$CADRE_HOME/log"
[ "$(ls "$TMPDIR/elsewhere")" = file ] || bad "the host followed a link: $(ls "$TMPDIR/elsewhere")"
[ "$(cat "$CADRE_HOME"/workspaces/link-l-*/work.txt)" = precious ] || bad "the work is gone"
rm "$CADRE_HOME/trash" && mv "$TMPDIR/moved" "$CADRE_HOME/trash"
rm -rf "$CADRE_HOME"/workspaces/link-l-*

# If the name of a removed workspace fits several teams, `undo` does not guess the team.
is 0 . cadre team create x --roles y-z
is 0 . cadre team create x-y --roles '[{"name":"z","workspace":true}]'
until_is '^precious$' cadre exec --team x-y x-y/z 'echo precious | tee work.txt'
lost=$(basename "$CADRE_HOME"/workspaces/x-y-z-*)
is 0 . cadre workspace destroy --yes x-y/z --team x-y
is 2 'say which team' cadre undo "$lost"
is 2 "$lost may belong to another team: x-y" cadre undo x/y-z
is 2 "$lost may belong to another team: x" cadre undo x-y/z
is 0 "^brought back $lost as x-y-.* of team x-y, in /" cadre undo "$lost" --team x-y
for team in x x-y; do is 0 . cadre team destroy --yes $team; done
until_is "^3$" entries
rm -r "$CADRE_HOME"/trash/*.x-y-*

# The argument TEAM/AGENT finds only entries of exactly this agent. `undo` refuses the beginning
# of a name if entries of several agents match.
now=$(date -u +%Y%m%d-%H%M)
mkdir "$CADRE_HOME/trash/${now}00.4096.alpha-coder-two-9f00"
is 3 'the trash holds no workspace alpha/coder' cadre undo alpha/coder
mkdir "$CADRE_HOME/trash/${now}01.4096.alpha-coder-1a2b"
is 2 'several removed workspaces have names that begin with alp' cadre undo alp
is 3 'there is no team alpha' cadre undo alpha/coder
grep -q -- '--team TEAM' "$TMPDIR/err" || bad "undo does not say how to name the team"
# The entries of a workspace and of its snapshot belong to the same agent. `undo` with the
# beginning of their names restores the newest entry, here the snapshot.
mkdir "$CADRE_HOME/trash/${now}02.4096.alpha-coder-1a2b-snapshot-0123abcd"
is 0 '^brought back alpha-coder-1a2b-snapshot-0123abcd as back-' cadre undo alpha-coder-1 --team back
made=$(sed -n 's/.* as \(back-[^ ]*\) of .*/\1/p' "$TMPDIR/out")
is 0 . cadre workspace destroy --yes "$made" --team back --wait
chmod 0 "$CADRE_HOME"/trash/*.alpha-coder-two-9f00
is 1 'cannot open .*alpha-coder-two-9f00: Permission denied' as_others undo alpha-coder-two --team back
chmod 700 "$CADRE_HOME"/trash/*.alpha-coder-two-9f00
rm -r "$CADRE_HOME"/trash/*.alpha-*

# An entry that was kept for its full time is removed at the next start of a host.
cadre down >/dev/null
mv "$entry" "$CADRE_HOME/trash/20200101-000000.4096.old-a-0000"
cadre up >/dev/null
until_is '^0$' entries

# If a host is killed while it removes an entry, the rest of the entry cannot be restored. The
# next host completes the removal of the entry.
cadre down >/dev/null
mkdir "$CADRE_HOME/trash/20200101-000000.4096.old-a-0000"
seq 300 | (cd "$CADRE_HOME/trash/20200101-000000.4096.old-a-0000" && xargs touch)
preload slow <<'END'
#include <sys/syscall.h>
#include <unistd.h>
int unlinkat(int dir, const char *name, int flags)
{
	usleep(50000);
	return (int)syscall(SYS_unlinkat, dir, name, flags);
}
END
with slow "$CADRE" up >/dev/null
until_done sh -c "ls -d '$CADRE_HOME'/trash/.removing-* >/dev/null 2>&1 && ! ls -d '$CADRE_HOME'/trash/2*"
kill -9 "$(cut -d' ' -f1 "$CADRE_HOME/host.lock")"
[ -d "$CADRE_HOME/trash/.removing-20200101-000000.4096.old-a-0000" ] || bad "it was removed before the kill"
! cadre undo | grep -q old-a || bad "half of an entry is listed"
is 3 'the trash holds no workspace old-a' cadre undo old-a --team back
cadre up >/dev/null
until_is '^0$' sh -c "ls -A '$CADRE_HOME/trash' | wc -l"

# If there is not room for all entries, the oldest entry is removed. A folder that is larger
# than the size limit of the trash is not kept.
cadre down >/dev/null
printf '[workspace]\ntrash_mb = 3\n' >"$CADRE_HOME/cadre.toml"
cadre up >/dev/null
for team in one two; do
	makes $team a
	cadre exec --team $team $team/a 'head -c 2000000 /dev/urandom >big' >/dev/null
	is 0 . cadre team destroy --yes $team
	until_is "[.]$team-a-" ls "$CADRE_HOME/trash"
done
until_is '^1$' entries
is 0 '^two-a-' cadre undo
makes three a
cadre exec --team three three/a 'head -c 4000000 /dev/urandom >big' >/dev/null
is 0 . cadre team destroy --yes three
until_is "^1$" count_guests
until_is '^0$' sh -c "ls '$CADRE_HOME/workspaces' | grep -c three-a"
is 0 '^two-a-' cadre undo
is 0 'removed for good.* workspace=three-a-' cadre logs

# The snapshots of a removed workspace are separate entries in the trash. `undo` with the
# workspace's name restores the files that the workspace had at its removal.
makes four a
is 0 . cadre workspace snapshot --team four four/a before
cadre exec --team four four/a 'echo better | tee work.txt' >/dev/null
name=$(cadre workspace list --team four --json | sed -n 's/.*"name":"\(four-a-[^"]*\)".*/\1/p')
is 0 . cadre workspace destroy --yes four/a --team four
until_is "[.]$name\$" ls "$CADRE_HOME/trash"
[ "$(cat "$CADRE_HOME"/trash/*."$name"/work.txt)" = better ] || bad "the work is not what is kept"
[ "$(cat "$CADRE_HOME"/trash/*."$name"-snapshot-*/work.txt)" = precious ] || bad "the snapshot is lost"
is 0 . cadre undo "$name" --team four --agent a
until_is '^better$' cadre exec --team four four/a 'cat work.txt'
is 0 . cadre team destroy --yes four

# `undo` restores the newest workspace of an agent, even if a host still has to move this
# workspace into the trash.
makes five a
is 0 . cadre workspace destroy --yes five/a --team five
until_is '[.]five-a-' ls "$CADRE_HOME/trash"
is 0 . cadre workspace create --team five --agent a --wait
cadre exec --team five five/a 'echo newer | tee work.txt' >/dev/null
is 0 . cadre workspace destroy --yes five/a --team five
is 0 'brought back five-a-.* as five-a-' cadre undo five/a --team five --agent a
until_is '^newer$' cadre exec --team five five/a 'cat work.txt'
is 0 . cadre team destroy --yes five

# If a workspace's folder cannot be moved into the trash, the folder and its snapshots stay in
# place. The next host moves the folder and its snapshots into the trash.
makes six a
is 0 . cadre workspace snapshot --team six six/a before
rm -rf "$CADRE_HOME/trash"
touch "$CADRE_HOME/trash"
is 0 . cadre workspace destroy --yes six/a --team six
until_is 'files cannot be removed.* workspace=six-a-' cadre logs -n 20
rm "$CADRE_HOME/trash"
cadre restart >/dev/null
until_is '[.]six-a-' ls "$CADRE_HOME/trash"
[ "$(cat "$CADRE_HOME"/trash/*.six-a-*/work.txt)" = precious ] || bad "the work is lost"
until_done sh -c "cat '$CADRE_HOME'/trash/*-snapshot-*/work.txt | grep -q precious"
is 0 . cadre team destroy --yes six

# `undo` reports a failed copy, for example a copy that stops at a file that the host may not
# read. The entry keeps its modes, and no part of the copy is left.
cadre down >/dev/null
rm -rf "$CADRE_HOME/trash"
as_others up >/dev/null || bad "up"
makes seven a
cadre exec --team seven seven/a 'mkdir -p shut/in half; echo x >shut/in/file; echo y >half/none; chmod 0 half/none shut; chmod 500 half' >/dev/null
is 0 . cadre team destroy --yes seven
until_is '[.]seven-a-' ls "$CADRE_HOME/trash"
entry=$(echo "$CADRE_HOME"/trash/*.seven-a-*)
modes() { (cd "$1" && stat -c '%a %n' half half/none shut shut/in/file); }
was=$(modes "$entry")
fails() { # CAUSE: the cause that the log names
	is 1 'seven-a-.* could not be brought back; it is still in the trash' as_others undo seven-a --team back
	grep -q "$1" "$CADRE_HOME/log/host.log" || bad "not said: $1"
	[ "$(cadre workspace list --team back | grep -c failed)" = 0 ] || bad "a failed workspace is left"
	! ls "$CADRE_HOME/workspaces" | grep -q half || bad "half a copy is left"
	[ "$(modes "$entry")" = "$was" ] || bad "the entry is changed: $(modes "$entry")"
}
fails 'cannot read \(shut\|none\): Permission denied, in .*/trash/.*seven-a-'
chmod 700 "$entry/shut" && chmod 600 "$entry/half/none"
was=$(modes "$entry")
if [ "$(id -u)" = 0 ]; then
	chown 12345 "$entry/shut/in" && chmod 700 "$entry/shut/in"
	fails 'cannot read in: Permission denied'
	chown 0 "$entry/shut/in"
fi
is 0 '^brought back seven-a-' as_others undo seven-a --team back
made=$(sed -n 's/.*, in //p' "$TMPDIR/out")
[ "$(modes "$made")" = "$was" ] || bad "modes are $(modes "$made"), not $was"
[ "$(cat "$made/shut/in/file" "$made/half/none")" = "x
y" ] || bad "a file is lost"

# If an agent has removed all rights from its workspace's folder, `team destroy` still asks for
# consent, and the folder can be restored.
makes closed a
cadre exec --team closed closed/a 'chmod 0 .' >/dev/null
is 4 'The kept files can be brought back' as_others team destroy closed
is 0 . as_others team destroy --yes closed
until_is '[.]closed-a-' ls "$CADRE_HOME/trash"
is 0 '^brought back closed-a-' as_others undo closed-a --team back
is 0 '^precious$' cat "$(sed -n 's/.*, in //p' "$TMPDIR/out")/work.txt"
# `undo` finds a team's entries even if the team's name looks like the name of another team's
# snapshot.
makes nine-snapshot-a a
is 0 . cadre agent register b --team nine-snapshot-a
is 0 . cadre workspace create --team nine-snapshot-a --agent b --wait
cadre exec --team nine-snapshot-a nine-snapshot-a/b 'echo other | tee work.txt' >/dev/null
for agent in a b; do
	is 0 . cadre workspace destroy --yes nine-snapshot-a/$agent --team nine-snapshot-a
	until_is "[.]nine-snapshot-a-$agent-" ls "$CADRE_HOME/trash"
done
is 2 'several removed workspaces have names that begin with nine' cadre undo nine --team back
is 0 'brought back nine-snapshot-a-a-' cadre undo nine-snapshot-a-a --team back

# The answer with --json contains the restored workspace's present state, not its former state.
is 0 '"state":"ready"' cadre undo nine-snapshot-a-b --team back --json

# Even if the trash lacks room, an entry stays in the trash while the entry is being restored.
# The host continues the copy of the entry after the command `undo` was killed.
is_held() { ! flock -n -x "$1" true; }
copying() { ls -d "$CADRE_HOME"/workspaces/*.half "$CADRE_HOME"/guests/*.half 2>/dev/null | grep -q .; }
makes nine a
cadre exec --team nine nine/a 'mkdir many; cd many; seq 6000 | xargs touch; head -c 2000000 /dev/urandom >big' >/dev/null
is 0 . cadre team destroy --yes nine
until_is '[.]nine-a-' ls "$CADRE_HOME/trash"
entry=$(echo "$CADRE_HOME"/trash/*.nine-a-*)
host=$(cut -d' ' -f1 "$CADRE_HOME/host.lock")
makes ten a
cadre exec --team ten ten/a 'head -c 2000000 /dev/urandom >big' >/dev/null
"$CADRE" undo nine-a --team back >/dev/null 2>&1 &
undo=$!
until copying || ! kill -0 $undo; do :; done
kill -STOP $host
copying || bad "the copy has ended before the host was stopped"
! is_held "$CADRE_HOME/trash/.." || bad "a folder that nobody holds is held"
is_held "$entry" || bad "nothing holds what is brought back"
kill -9 $undo
wait $undo 2>/dev/null
is_held "$entry" || bad "the host does not hold what it copies"
# An entry that another program has locked stays, however full the trash is.
exec 9<"$entry"
flock -s 9
kill -CONT $host
waited 0 team back
until_is '^6001$' sh -c "find '$CADRE_HOME'/workspaces/back-*/many -type f | wc -l"
is 0 . cadre team destroy --yes ten
until_is '[.]ten-a-' ls "$CADRE_HOME/trash"
makes eleven a
cadre exec --team eleven eleven/a 'head -c 2000000 /dev/urandom >big' >/dev/null
is 0 . cadre team destroy --yes eleven
until_done sh -c "! ls '$CADRE_HOME/trash' | grep -q '[.]ten-a-'"
[ -d "$entry/many" ] || bad "what is held is removed"
exec 9<&-
makes twelve a
cadre exec --team twelve twelve/a 'head -c 2000000 /dev/urandom >big' >/dev/null
is 0 . cadre team destroy --yes twelve
until_done sh -c "! ls '$CADRE_HOME/trash' | grep -q '[.]nine-a-'"
exit $failed
