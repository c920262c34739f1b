#!/bin/sh
# bound - a worktree or a variable binds the caller to an agent. A bound caller can act neither
# as another agent nor as the operator. Only a caller that a worktree binds may do so, by
# --operator. A bound caller may start a host.
set -u
. "$(dirname "$0")/../lib/story.sh"
cadre team create alpha --roles coder >/dev/null 2>&1
cadre team create beta --roles bob >/dev/null 2>&1
cadre --team alpha task create "Dig" >/dev/null
cadre --team alpha send coder "dig deeper" >/dev/null
mkdir "$TMPDIR/bob" && cd "$TMPDIR/bob" || exit 1
is 0 '^you are bob of team beta' cadre agent env beta/bob --here

# Both the operator's commands and the operator's operations are refused to a bound caller.
note='^note: you are bob of team beta in this directory: cadre whoami --help'
for verb in backup "backup $TMPDIR/b.db" down "down --all" restart logs "restore $TMPDIR/b.db --yes" "init --anew" "image build --name a/b"; do
	is 5 "${verb%% *}.* is for the operator" cadre $verb
	grep -q "$note" "$TMPDIR/err" || bad "$verb says not how"
done
is 5 'gc is for the operator' cadre gc
# Under other faults, and where the operator is refused as well, there is no note.
for asked in "2 release x y z" "3 task show 009" "3 send nobody hi" "5 vault read teams/../x"; do
	is "${asked%% *}" hint: cadre ${asked#* }
	grep -q '^note:' "$TMPDIR/err" && bad "$asked: a note"
done
# The hint names the callers whom the operation allows. Some operations are refused even to the
# lead.
for asked in gc "workspace create" "workspace fork bob" "workspace destroy w --yes" "send alpha/coder hi"; do
	is 5 '^hint: Ask the operator\.$' cadre $asked
done
for asked in "team create gamma" "task assign 001 bob" "task create x --assignee lead" "workspace stop w" "inbox --agent lead"; do
	is 5 "^hint: Ask the team's lead or the operator\\.$" cadre $asked
done
is 5 '^hint: Ask the operator\.$' cadre team destroy beta --yes
is 5 'only the operator may see the trash' cadre undo
is 5 'only the operator may see the trash' cadre undo no-such-one
[ ! -e "$TMPDIR/b.db" ] && [ ! -e "$TMPDIR/b.db.secret" ] && [ ! -d "$CADRE_HOME/backups" ] || bad "a backup was made"
cadre backup --json | grep -q '"code":"denied"' || bad "no fault in JSON"
is 0 verified cadre --operator backup "$TMPDIR/b.db"
for verb in status doctor config whoami version "image list"; do is 0 . cadre $verb; done
is 2 name cadre --operator image build --name a/b
is 0 '^up: process' cadre up
is 5 'restart is for the operator' cadre restart
is 0 '^up already' cadre up
is 0 "the host serves" cadre --operator logs
is 0 '^down: process' cadre --operator down
is 5 '^hint: Name the agent.s team with' cadre --operator --team beta send alpha/coder hi
is 5 '^hint: Use another path' cadre vault read teams/../x

# A bound caller needs --operator to act as another agent, even of the same team. With
# --operator, the event of a change names the agent of --as, and says that the operator acted.
is 5 'names team alpha, but this directory is kept for bob' cadre --team alpha --as coder claim
is 5 'cannot act as another' cadre --as lead inbox
grep -q -e '--operator' "$TMPDIR/err" || bad "it says not how"
is 5 'cannot act as another' cadre --as coder claim
is 0 ready cadre --operator --team alpha task show 001
is 0 'dig deeper' cadre --operator --team alpha --as coder inbox --take
is 0 claimed cadre --operator --team alpha --as coder claim
is 0 'task.claimed\t.*\tas coder\t001\t' cadre --operator events --kind task
is 0 'task.claimed".*"by":"coder","as_operator":true' cadre --operator events --kind task --json

# The option --as with the bound agent's own name changes nothing.
is 0 '^bob of team beta, the agent of' cadre --as bob whoami
is 0 '^bob of team beta, the agent of' cadre --team beta --as bob whoami
is 5 'names team alpha' cadre --team alpha --as bob whoami
is 0 'created task 001' cadre --as bob task create "Fill"
is 0 'task.created\t.*\tbob\t001\t' cadre events --kind task.created
cadre --operator --team beta send bob "for you" >/dev/null || bad "no mail"
script -qec "'$CADRE' --as bob inbox" /dev/null </dev/null | grep -q 'for you' || bad "at a terminal --as takes it for another"

# The note also follows a hint that names another way than to ask.
cadre --operator --team beta task create "Not of bob" >/dev/null
sent=$(cadre --operator --team beta --as lead send operator "not of bob" --json | sed 's/.*"seq":\([0-9]*\).*/\1/')
for asked in "receipt $sent" "task update 002 --title x"; do
	is 5 'the lead or the operator may' cadre $asked
	grep -q "$note" "$TMPDIR/err" || bad "$asked: no note"
done

# The variable CADRE_AGENT also binds a caller, even with --operator. A bound caller stays bound
# even if the state has lost its database.
cd "$TMPDIR" || exit 1
eval "$(cadre --team alpha agent env coder)"
is 5 'backup is for the operator' cadre backup
is 5 'cannot act as another' cadre --operator backup
is 5 'cannot act as another' cadre --as lead whoami
is 5 'cannot act as another' cadre --team beta --as coder whoami
is 0 '^coder of team alpha, as CADRE_AGENT says' cadre --as coder whoami
mv "$CADRE_HOME/state.db" "$TMPDIR/away" || exit 1
is 5 'restore is for the operator' cadre restore "$TMPDIR/b.db" --yes
is 5 'init --anew is for the operator' cadre init --anew
unset CADRE_TEAM CADRE_AGENT CADRE_TOKEN
is 0 . cadre restore "$TMPDIR/b.db" --yes
is 5 'backup is for the operator' cadre --team alpha --as coder backup
exit $failed
