#!/bin/sh
# restore-notes - a team that is made after a restore reads nothing of a team that the backup
# does not know, though it has that one's number; the notes are in the archive.
set -u
. "$(dirname "$0")/../lib/story.sh"
export CADRE_TEAM=later

is 0 . cadre init
is 0 . cadre --team early team create early
is 0 . cadre backup "$TMPDIR/before.db"
is 0 . cadre team create later
is 0 . cadre --as lead vault write secret.md "of the former one"
is 0 . cadre restore "$TMPDIR/before.db" --yes
is 0 . cadre team create later
is 3 'no note' cadre --as lead vault read secret.md
is 0 . cadre --as lead vault write secret.md "of the new one"
is 0 'of the new one' cadre --as lead vault read secret.md
is 0 'of the former one' cat "$CADRE_HOME"/vault/teams/.archive/later-*/secret.md
exit $failed
