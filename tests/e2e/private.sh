#!/bin/sh
# private - under any umask, no other user can read a file in a state's folder or vault, by
# whatever door the file was made. In a person's own vault, new files are private, and files
# keep the modes that the person has set.
set -u
. "$(dirname "$0")/../lib/story.sh"
umask 000
trap 'cadre team destroy --yes red >/dev/null 2>&1; until_is "^0$" count_guests; cadre down >/dev/null 2>&1' EXIT
vault=$CADRE_HOME/vault

# Files that commands make in workspaces keep the modes that the commands set. The workspaces
# themselves are private.
open_to_others() {
	find "$CADRE_HOME" "$@" \( -path "$CADRE_HOME/workspaces/*/*" -o -path "$CADRE_HOME/trash/*/*" \) -prune -o \
		-path "$CADRE_HOME/snapshots/*/*/*" -prune -o -perm /077 ! -type l -print
}
nothing_open() { # WHEN ALSO...
	when=$1
	shift
	open=$(open_to_others "$@")
	[ -z "$open" ] || bad "$when, others may look at:" $open
}
do_all() { # HOW: runs every command that writes, directly or through a host
	cadre vault write "$1/deep/er/note.md" "# Note" >/dev/null || bad "write"
	cadre vault append "$1/deep/er/note.md" "more" >/dev/null || bad "append"
	cadre vault append "$1/appended.md" "new" >/dev/null || bad "append to none"
	cadre vault move "$1/deep/er/note.md" "$1/moved/there.md" >/dev/null || bad "move"
	cadre vault set "$1/moved/there.md" '{"title":"There"}' >/dev/null || bad "set"
	cadre vault search more >/dev/null || bad "search"
	cadre --team red --as coder vault write "$1.md" "ours" >/dev/null || bad "an agent's note"
	cadre --team red task create "Task $1" >/dev/null || bad "task create"
	cadre --team red --as coder send lead "hello" --thread "$1" >/dev/null || bad "send"
	cadre --team red --as lead inbox >/dev/null || bad "inbox"
	cadre backup >/dev/null || bad "backup"
	cadre backup "$TMPDIR/$1.db" >/dev/null || bad "backup to a file"
}

cadre init >/dev/null || bad "init"
cadre team create red --roles '[{"name":"coder"},{"name":"w"},{"name":"x"}]' >/dev/null || bad "team create"
do_all direct
nothing_open "without a host" "$TMPDIR/direct.db" "$TMPDIR/direct.db.secret"

CADRE_VAULT_MESSAGES=true cadre up >/dev/null || bad "up"
cadre workspace create --agent w --team red >/dev/null || bad "workspace create"
waited 0 workspace red/w
do_all host
cadre exec red/w 'umask; echo x >f' >/dev/null || bad "exec"
cadre exec red/w '"$CADRE" send lead "from inside" || cadre send lead "from inside"' >/dev/null 2>&1
cadre --team red task assign 001 w --command 'echo done; head -c 1000000 /dev/zero' >/dev/null || bad "assign"
waited 0 task 001 --team red
cadre workspace snapshot red/w keep --team red >/dev/null || bad "snapshot"
cadre workspace fork red/w --agent x --team red >/dev/null || bad "fork"
waited 0 workspace red/x
until_is '^ok *vault *whole' cadre doctor
nothing_open "with a host" "$TMPDIR/host.db" "$TMPDIR/host.db.secret" "$XDG_RUNTIME_DIR"
cadre workspace restore --yes red/w keep --team red >/dev/null || bad "restore"
cadre team destroy --yes red >/dev/null || bad "destroy"
until_is '^0$' count_guests
cadre down >/dev/null || bad "down"
nothing_open "after the host"

# In a vault that belongs to a person, new files are private, and existing files keep their
# modes.
export CADRE_VAULT_ROOT="$TMPDIR/mine.d/notes"
mkdir -m 755 "$TMPDIR/mine.d" "$TMPDIR/mine.d/notes"
echo old >"$CADRE_VAULT_ROOT/old.md"
chmod 664 "$CADRE_VAULT_ROOT/old.md"
cadre up >/dev/null || bad "up with another vault"
cadre vault append old.md more >/dev/null || bad "append to a person's"
cadre vault write new/note.md x >/dev/null || bad "write beside a person's"
modes=$(cd "$CADRE_VAULT_ROOT" && stat -c %a . old.md new new/note.md | tr '\n' ' ')
[ "$modes" = '755 664 700 600 ' ] || bad "a person's vault has the modes $modes"
cadre down >/dev/null
exit $failed
