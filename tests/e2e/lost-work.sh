#!/bin/sh
# lost-work - a workspace whose folder is missing is listed as failed, with a hint how to get
# the files back. The host does not make an empty folder in place of the missing folder.
set -u
. "$(dirname "$0")/../lib/story.sh"
trap 'cadre team destroy --yes t >/dev/null 2>&1; until_is "^0$" count_guests; cadre down >/dev/null 2>&1' EXIT
mkdir "$TMPDIR/source" && echo first >"$TMPDIR/source/file"

cadre up >/dev/null || bad "up"
is 0 . cadre team create t --roles '["a","b"]'
is 0 . cadre workspace create --team t --agent a --source "$TMPDIR/source" --wait
is 0 . cadre workspace create --team t --agent b --wait
is 0 '^work$' cadre exec --team t t/a 'echo work | tee file'

# A person removes a workspace's folder while the guest runs. Once a folder exists at the same
# path, commands work again.
folder=$(echo "$CADRE_HOME"/workspaces/t-b-*)
rm -r "$folder"
is 3 "the workspace's folder is gone: $folder" cadre exec --team t t/b true
is 3 "the workspace's folder is gone: $folder" cadre workspace write --team t t/b file text
mkdir "$folder"
is 0 . cadre workspace write --team t t/b file text
is 0 '^text$' cadre exec --team t t/b 'cat file'

# A person moves a workspace's folder away while no host runs.
cadre down --all >/dev/null
until_is '^0$' count_guests
folder=$(echo "$CADRE_HOME"/workspaces/t-b-*)
name=${folder##*/}
mv "$folder" "$TMPDIR/away"
cadre up >/dev/null
waited 0 workspace t/b failed
waited 0 workspace t/a
[ ! -e "$folder" ] || bad "the folder was made anew"
is 0 "its folder is gone: the workspace goes on when that is put back" cadre logs
is 0 "$name.*failed: its folder is gone" cadre status
# The next host also looks for the missing folder, and uses the workspace once the folder is
# back.
cadre restart >/dev/null
mv "$TMPDIR/away" "$folder"
until_is '^text$' cadre exec --team t t/b 'cat file'
is 0 '^0$' sqlite3 -readonly "$CADRE_HOME/state.db" 'SELECT sum(again) FROM workspace'

# A workspace was removed after a backup. When the backup is restored, the folder of the
# workspace is missing.
cadre backup "$TMPDIR/before.db" >/dev/null || bad "backup"
folder=$(echo "$CADRE_HOME"/workspaces/t-a-*)
name=${folder##*/}
is 0 . cadre workspace destroy --yes t/a --team t --wait
is 0 . sh -c "ls -d '$CADRE_HOME'/trash/*.$name"
is 0 . cadre workspace create --team t --wait
is 0 '^later$' cadre exec --team t "$(basename "$CADRE_HOME"/workspaces/t-free-*)" 'echo later | tee file'
later=$(basename "$CADRE_HOME"/workspaces/t-free-*)
cadre down --all >/dev/null
until_is '^0$' count_guests
is 0 . cadre restore "$TMPDIR/before.db" --yes
cadre up >/dev/null
waited 0 workspace t/a failed
[ ! -e "$folder" ] || bad "the folder was made anew of its source"
is 0 "its folder is gone; the trash holds the former files: cadre undo $name" cadre logs
is 0 . cadre workspace destroy t/a --team t --yes
is 0 "^brought back $name as t-a-" cadre undo "$name" --agent a --team t
until_is '^work$' cadre exec --team t t/a 'cat file'

# If the restored state lacks a workspace of the former state, the workspace's folder stays in
# place while the former state is kept. `undo` says that the folders of such workspaces stay in
# place.
beside 'Folders that only the state before a restore knows stay where they are' cadre undo
is 7 "$later is not in the trash yet" cadre undo "$later"
grep -q "When the state is in order, remove replaced/ in the state's folder, then cadre restart" "$TMPDIR/err" || bad "undo does not say when"
rm -r "$CADRE_HOME/replaced"
is 0 . cadre restart
is 0 "^brought back $later as t-free-" cadre undo t/free

# A host ended while it removed a workspace. The workspace's folder still has to be moved into
# the trash.
cadre down >/dev/null
mkdir "$CADRE_HOME/workspaces/t-c-1a2b.gone" && echo kept >"$CADRE_HOME/workspaces/t-c-1a2b.gone/file"
is 7 't-c-1a2b is not in the trash yet' cadre undo t-c-1a2b
grep -q 'A host moves it there: cadre up[.]$' "$TMPDIR/err" || bad "undo does not say who moves it"
beside 'a host moves removed workspaces there: cadre up[.]$' cadre undo
cadre up >/dev/null
is 0 '^brought back t-c-1a2b as ' cadre undo t-c-1a2b
exit $failed
