#!/bin/sh
# call-off - the commands of a task end when the task is cancelled or released, or when the
# task's claim lapses. The command ends even if no host ran when the task was cancelled.
set -u
. "$(dirname "$0")/../lib/story.sh"
finish() {
	cadre team destroy --yes red >/dev/null 2>&1
	until_is '^0$' count_guests
	cadre down >/dev/null 2>&1
}
trap finish EXIT

# runs FILE: prints `yes` if a command's process is alive, and `no` otherwise. The command wrote
# the pid of the process to FILE in its workspace.
runs() { kill -0 "$(cat "$CADRE_HOME"/workspaces/*/"$1" 2>/dev/null)" 2>/dev/null && echo yes || echo no; }
begin() {
	cadre task create "$1" --team red >/dev/null || bad "create $1"
	cadre task assign "$2" w --team red \
		--command "sleep 999 & echo \$! >pid$2; wait" >/dev/null || bad "assign $2"
	waited 0 task "$2" in_progress --team red
	until_is yes runs "pid$2"
}

cadre up >/dev/null || bad "up"
cadre team create red --roles '[{"name":"w","workspace":true}]' --wait >/dev/null || bad "team"
cadre team status red | grep -q '^state *working' && bad "it works before there is work"

begin cancelled 001
waited 0 team red working
cadre task cancel 001 --team red >/dev/null || bad "cancel"
until_is no runs pid001
until_is 'called off' cadre result 001 --team red # polls, since `cadre wait` would return before this result
cadre task show 001 --team red | grep -q cancelled || bad "its end changed the task"
cadre team status red | grep -q '^state *working' && bad "it works after the end of all work"

begin released 002
cadre release 002 --as w --team red >/dev/null || bad "release"
until_is no runs pid002
waited 0 task 002 pending --team red

# If no host ran when a task was cancelled, the next host tells the guest to end the command.
begin elsewhere 003
cadre down >/dev/null || bad "down"
[ "$(runs pid003)" = yes ] || bad "it went with the host"
cadre task cancel 003 --team red >/dev/null || bad "cancel without a host"
[ "$(runs pid003)" = yes ] || bad "somebody told the guest"
cadre up >/dev/null || bad "up again"
until_is no runs pid003
until_is 'called off' cadre result 003 --team red # polls, since `cadre wait` would return before this result

# A task's command first completes the task itself. The command is not ended by that, and runs
# to its end.
for id in 004 005 006 007 008 009 010 011; do
	cadre task create "from within" --team red >/dev/null
	cadre task assign "$id" w --team red \
		--command "$CADRE done $id fine; echo goodbye" >/dev/null || bad "assign $id"
	waited 0 result "$id" --team red
	is 0 goodbye cadre result "$id" --team red
	cadre task show "$id" --team red | grep -q fine || bad "its worker did not complete $id"
done
exit $failed
