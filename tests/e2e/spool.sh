#!/bin/sh
# spool - commands in a workspace cannot reach the guest's own files. No command runs twice,
# even if the guest's files are removed or replaced.
set -u
. "$(dirname "$0")/../lib/story.sh"
patience=300
export GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@l GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@l
finish() {
	cadre up >/dev/null 2>&1
	cadre team destroy --yes red >/dev/null 2>&1
	until_is '^0$' count_guests
	cadre down >/dev/null 2>&1
}
trap finish EXIT

in_place() { cadre exec --team red "$1" sh -c "$2"; }
field() { cadre workspace info "red/$1" --team red --json | sed -n "s/.*\"$2\":\"\{0,1\}\([^\",}]*\).*/\1/p"; }
state_of() { echo "$CADRE_HOME/guests/$(field "$1" id)"; }
task=0
assign() { # AGENT COMMAND [OPTION...]: assigns COMMAND, and sets $task
	who=$1 what=$2
	shift 2
	task=$(cadre task create work --team red --json | grep -o '"id":"[0-9]*"' | cut -d'"' -f4)
	cadre --team red --as lead task assign "$task" "$who" --command "$what" "$@" >/dev/null ||
		bad "assign $task"
}
message_of() { cadre assignments --team red --json | grep -o "\"message_id\":\"[^\"]*\",\"seq\":[0-9]*,\"task\":\"$1\"" | cut -d'"' -f4; }
ended() { waited 0 task "$task" completed,failed --team red; }
runs() { grep -c "^$1\$" "$TMPDIR/runs" 2>/dev/null; }
once() { [ "$(runs "$1")" = 1 ] || bad "$1 ran $(runs "$1") times"; }
kill_guest() { kill -9 "$(field "$1" pid)"; }

mkdir "$TMPDIR/gold"
(cd "$TMPDIR/gold" && git init -q && echo one >f && git add f && git commit -qm one &&
	echo two >f && git commit -qam two) || bad "a repository"

cadre up >/dev/null || bad "up"
cadre team create red --golden "$TMPDIR/gold" --roles '[{"name":"ann","workspace":true},
	{"name":"bob","workspace":true},{"name":"cid"}]' --wait >/dev/null || bad "team create"
work=$(field ann path) state=$(state_of ann)
[ -f "$state/spool.db" ] || bad "no spool in $state"
[ "$(stat -c %a "$state" "$CADRE_HOME/guests" | sort -u)" = 700 ] || bad "others may look into $state"
[ "$(ls -A "$work" | tr '\n' ' ')" = ".git f " ] || bad "in the workspace: $(ls -A "$work")"

# Ordinary git commands do not remove the guest's files. No commit contains a file of the guest,
# or the environment of a command.
k=0
for first in 'git clean -fdq' 'git clean -fdxq' 'echo more >>f; git stash -u -q' \
	'echo more >new; git add -A; git commit -qm work; git checkout -q HEAD~1' \
	'git worktree add -q ../beside; cd ../beside; echo more >other; git add -A; git commit -qm beside'; do
	k=$((k + 1))
	assign ann "$first" --env KEY=a-secret-key
	ended
	cadre task show "$task" --team red | grep -q 'status *completed' || bad "$first"
	[ -z "$(git -C "$work" status --porcelain)" ] || bad "after $first: $(git -C "$work" status --short)"
	assign ann "echo git-$k >>$TMPDIR/runs; sleep 1000"
	until_is '^1$' runs git-$k
	kill_guest ann
	waited 9 result "$task" --team red
	is 0 interrupted cadre result "$task" --team red
	once git-$k
done
git -C "$work" log --all --name-only --format= | grep cadre && bad "of the guest's, in a commit"
for commit in $(git -C "$work" rev-list --all); do
	git -C "$work" grep -q a-secret-key "$commit" && bad "the key of a command, in a commit"
done
until_is '^here$' in_place red/ann 'echo here'
for path in "$state/spool.db" "../../guests/$(field ann id)/spool.db"; do
	cadre workspace read red/ann "$path" --team red >/dev/null 2>&1 && bad "read $path"
done

# The guest's folder is removed while a command runs. The guest writes nothing into a removed
# file, and the guest's commands end. The next guest runs the commands that the host had not
# sent to the first guest.
assign ann "echo lost >>$TMPDIR/runs; sleep 1000"
until_is '^1$' runs lost
lost=$task guest=$(field ann pid)
rm -r "$state"
assign ann "echo after >>$TMPDIR/runs"
ended
kill -0 "$guest" 2>/dev/null && bad "a guest without a spool lives on"
once after
cadre result "$lost" --team red | grep -q "spool was lost" || bad "what became of the lost one"
once lost
until_is 'the spool is gone from its folder' cat "$CADRE_HOME/log/guests.log"

# An older copy of the guest's folder is put back while no guest runs. The copy replaces the
# folder, or the copy's files are written over the present files. Commands that began after the
# copy was made do not run again.
host_pid() { cadre status --json | sed -n 's/.*"pid":\([0-9]*\).*/\1/p'; }
put_back() { # HOW
	case $1 in
	folder | alone) rm -r "$state" && cp -a "$TMPDIR/older" "$state" ;;
	files) rm -f "$state"/spool.db-* && cp "$TMPDIR/older/"* "$state/" ;;
	esac
}
for how in folder files alone; do
	until_is '^here$' in_place red/ann 'echo here'
	for k in 1 2 3 4; do assign ann "echo $how-$k >>$TMPDIR/runs; while [ ! -e $TMPDIR/go-$how ]; do sleep 0.1; done"; done
	for k in 1 2 3 4; do until_is '^1$' runs $how-$k; done
	assign ann "echo waited-$how >>$TMPDIR/runs; sleep 1000"
	waited=$task
	until_is '"state":"notified"' cadre receipt "$(message_of "$task")" --team red --json
	rm -rf "$TMPDIR/older" && cp -a "$state" "$TMPDIR/older"
	guest=$(field ann pid)
	# Without its host, a guest still runs the commands that the host has sent.
	[ $how != alone ] || kill -9 "$(host_pid)"
	touch "$TMPDIR/go-$how"
	until_is '^1$' runs waited-$how
	if [ $how != alone ]; then
		assign ann "echo later-$how >>$TMPDIR/runs; sleep 1000"
		until_is '^1$' runs later-$how
		kill -9 "$(host_pid)"
	fi
	kill -9 "$guest"
	put_back $how
	cadre up >/dev/null || bad "up after $how"
	for of in "$waited" "$task"; do
		waited 9 result "$of" --team red
		is 0 interrupted cadre result "$of" --team red
	done
	assign ann "echo end-$how >>$TMPDIR/runs"
	ended
	for k in 1 2 3 4; do once $how-$k; done
	for what in waited end; do once $what-$how; done
	[ $how = alone ] || once later-$how
	[ ! -e "$work/.cadre" ] || bad "$how: .cadre is still in the workspace"
done

# An older copy of the spool is written into the files of a running guest. When the guest gets
# its next command, the guest detects the older copy and ends. Commands that began after the
# copy was made do not begin again.
for k in 1 2 3 4; do assign ann "echo under-$k >>$TMPDIR/runs; while [ ! -e $TMPDIR/go-under ]; do sleep 0.1; done"; done
for k in 1 2 3 4; do until_is '^1$' runs under-$k; done
assign ann "echo waited-under >>$TMPDIR/runs"
until_is '"state":"notified"' cadre receipt "$(message_of "$task")" --team red --json
sqlite3 "$state/spool.db" "VACUUM INTO '$TMPDIR/under.db'"
touch "$TMPDIR/go-under"
ended
once waited-under
sqlite3 "$state/spool.db" ".restore $TMPDIR/under.db"
assign ann "echo after-under >>$TMPDIR/runs"
ended
until_is '^here$' in_place red/ann 'echo here'
once waited-under

# A backup replaces the state while a guest still runs. The guest's commands of the former state
# are called off or forgotten. A command that waited in the former state runs only if it is
# assigned again.
for k in 1 2 3 4; do assign ann "echo back-$k >>$TMPDIR/runs; sleep 1000"; done
for k in 1 2 3 4; do until_is '^1$' runs back-$k; done
assign ann "echo waited-back >>$TMPDIR/runs"
until_is '"state":"notified"' cadre receipt "$(message_of "$task")" --team red --json
cadre backup "$TMPDIR/back.db" >/dev/null || bad "backup"
cadre down >/dev/null && cadre restore "$TMPDIR/back.db" --yes >/dev/null || bad "restore the state"
cadre up >/dev/null || bad "up after restore"
waited 9 result "$task" --team red
is 0 backup cadre result "$task" --team red
waited=$task
assign ann "echo since-back >>$TMPDIR/runs"
ended
[ "$(runs waited-back)" = 0 ] || bad "what waited before the restore ran $(runs waited-back) times"
task=$waited
cadre --team red --as lead task retry "$task" >/dev/null || bad "retry"
cadre --team red --as lead task assign "$task" ann --command "echo waited-back >>$TMPDIR/runs" >/dev/null || bad "assign again"
waited 0 task "$task" --team red
for what in back-1 back-2 back-3 back-4 since-back waited-back; do once $what; done
rm -r "$CADRE_HOME/replaced" # while it exists, no host removes files without a row

# A symbolic link in place of a guest's folder is not used.
pid=$(field ann pid)
mv "$state" "$TMPDIR/elsewhere" && ln -s "$TMPDIR/elsewhere" "$state"
kill -9 "$pid"
until_is 'is a link' cat "$CADRE_HOME/log/host.log"
rm "$state"
cadre workspace start red/ann --team red --wait >/dev/null || bad "start without the link"
is 0 '^here$' in_place red/ann 'echo here'

# The host, the guest and the command are killed at the same time, and the guest's folder is
# removed. The command does not run again.
assign ann "echo \$\$ >$TMPDIR/pid; echo all >>$TMPDIR/runs; sleep 1000"
until_is '^1$' runs all
kill -9 "$(cadre status --json | sed -n 's/.*"pid":\([0-9]*\).*/\1/p')" "$(field ann pid)" "$(cat "$TMPDIR/pid")"
rm -r "$state"
cadre up >/dev/null || bad "up again"
waited 9 result "$task" --team red
is 0 'spool was lost' cadre result "$task" --team red
once all

# When a snapshot of a workspace is restored, running commands end, waiting commands do not
# begin, and the workspace's variables stay. Commands that have ended do not run again.
until_is '^here$' in_place red/ann 'echo here'
cadre workspace env red/ann --vars KEPT=yes --team red >/dev/null || bad "env"
assign ann "echo before >>$TMPDIR/runs"
ended
cadre workspace snapshot red/ann then --team red >/dev/null || bad "snapshot"
for k in 1 2 3 4; do assign ann "echo busy-$k >>$TMPDIR/runs; sleep 1000"; done
for k in 1 2 3 4; do until_is '^1$' runs busy-$k; done
assign ann "echo waits >>$TMPDIR/runs"
until_is '"state":"notified"' cadre receipt "$(message_of "$task")" --team red --json
cadre workspace restore --yes red/ann then --team red >/dev/null || bad "restore"
waited 9 result "$task" --team red
is 0 'put back to a snapshot' cadre result "$task" --team red
until_is '^yes$' in_place red/ann 'echo $KEPT'
assign ann "echo since >>$TMPDIR/runs"
ended
for k in before busy-1 busy-2 busy-3 busy-4 since; do once $k; done
[ "$(runs waits)" = 0 ] || bad "what waited ran $(runs waits) times"

# A forked workspace has no commands and no variables of the original workspace.
cadre workspace fork red/ann --agent cid --team red --wait >/dev/null || bad "fork"
is 0 '^-$' in_place red/cid 'echo ${KEPT:--}'
[ "$(ls -A "$(field cid path)" | grep -c cadre)" = 0 ] || bad "of the guest's, in a fork"

# A folder `.cadre` in a workspace belongs to the user, so the guest does not change it.
state=$(state_of bob)
in_place red/bob 'mkdir .cadre; echo mine >.cadre/spool.db'
kill_guest bob
until_is '^mine$' in_place red/bob 'cat .cadre/spool.db'

# When a workspace is removed, the folder of its guest is removed too.
cadre doctor | grep -q 'guests .*belong' && bad "doctor: $(cadre doctor)"
mkdir "$CADRE_HOME/guests/01234567-89ab-7def-8123-456789abcdef"
cadre doctor | grep -q '1 folder.*belong' || bad "doctor misses a folder of nobody"
cadre workspace destroy --yes red/bob --team red --wait >/dev/null || bad "destroy"
[ ! -e "$state" ] || bad "its guest's folder stays"
cadre team destroy --yes red --wait >/dev/null || bad "team destroy"
is 0 '^1$' sh -c "ls '$CADRE_HOME/guests' | wc -l"
cadre down >/dev/null && cadre up >/dev/null
until_is '^0$' sh -c "ls '$CADRE_HOME/guests' | wc -l"
exit $failed
