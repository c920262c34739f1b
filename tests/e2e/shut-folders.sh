#!/bin/sh
# shut-folders - folders that their owner may not enter, as the umask of an older version left
# some, or not list: doctor tells of them, and the mirror, a note's writer and a host open those
# of ours.
. "$(dirname "$0")/../lib/story.sh"
vault=$CADRE_HOME/vault
shut() { # FOLDER MODE: doctor tells of it, and changes nothing
	chmod "$2" "$1"
	either=yes is 1 "^bad *folders *its owner cannot look into $1" cadre doctor
	[ "$(stat -c %a "$1")" = "$2" ] || bad "doctor has changed $1"
}
opened() { [ -z "$(find "$CADRE_HOME" -type d ! -perm 0700)" ] || bad "still shut: $(find "$CADRE_HOME" -type d ! -perm 0700)"; }

is 0 . cadre team create red --roles a
is 0 . cadre vault write notes/mine.md hello
[ -d "$vault/teams/red/tasks" ] || is 0 . cadre doctor --fix # a busy machine's mirror is late
for folder in "$vault/teams/red/tasks" "$vault/teams/red" "$vault/teams"; do
	shut "$folder" 600
	is 0 . as_others --team red task create "Below ${folder##*/}"
	opened
done
for mode in 300 100 0; do
	shut "$vault/teams/red/tasks" $mode
	is 0 . as_others --team red task create "Below, $mode"
	opened
done
is 0 '^6$' sh -c "ls '$vault/teams/red/tasks' | grep -c below"
chmod 600 "$vault/teams/red"
is 0 . as_others --as a --team red vault write plan.md mine
opened
chmod 600 "$vault/notes"
is 0 . as_others vault write notes/mine.md "hello again"
opened
for mode in 600 300 0; do
	shut "$vault" $mode
	is 0 . as_others vault write notes/mine.md "and again"
	opened
done

# A host opens what is shut when it starts, and makes its socket private.
chmod 600 "$vault/notes"
chmod 300 "$vault/teams/red/cards"
is 0 . as_others up
until_done sh -c "[ -z \"\$(find '$CADRE_HOME' -type d ! -perm 0700)\" ]"
for socket in $(find "$XDG_RUNTIME_DIR" -type s); do
	[ "$(stat -c %a "$socket")" = 600 ] || bad "$socket is open to others"
done
find "$XDG_RUNTIME_DIR" -type s | grep -q . || bad "no socket was looked at"
until_is '^ok *vault *whole' cadre doctor
cadre down >/dev/null || bad "down"
exit $failed
