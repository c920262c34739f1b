#!/bin/sh
# tables - in a pipe a table is for programs. Its columns, and the names in --json, are a promise:
# tests/tables/kept has the names for every command. RENEW=1 writes the present names into the
# file. A name may be added to the file, but a name in the file must not change.
set -u
. "$(dirname "$0")/../lib/story.sh"
kept=$here/tables/kept reference=$here/../docs/reference.md
cd "$TMPDIR" || exit 1

# The columns of a table are asked of the command itself, which names them in a fault. The command
# does nothing else then. The members of an answer are in the reference, which is generated.
names() { # KIND OPTION WORD...: prints the names after `KIND: `
	kind=$1
	shift
	cadre "$@" 2>&1 | sed -n "s/^\($kind\): /  \1: /p"
}
awk '/^- Command: `cadre / { gsub(/`/, ""); sub(/^- Command: cadre /, ""); print "\n" $0; answer = "" }
	/^### / { print answer; answer = "" }
	/^\| result / { rows = 1; answer = "  answer:"; next }
	rows && /^\| `/ { split($0, part, "`"); answer = answer " " part[2]; next }
	rows && !/^\| ---/ { rows = 0 }
	END { print answer }' "$reference" | awk '/^  answer/ && command { print command; print; command = "" }
	/^[a-z]/ { command = $0 } /^$/ { next }' >commands
while IFS= read -r line; do
	echo "$line"
	case $line in "  answer:"*) continue ;; esac
	# shellcheck disable=SC2086 # words
	names 'without --columns' --columns='?' ${line%%...*}
	# shellcheck disable=SC2086 # words
	names members --json='?' ${line%%...*}
done <commands >now
[ "$(wc -l <now)" -gt 300 ] || bad "few names: $(head now)"
if [ -n "${RENEW-}" ]; then
	cp now "$kept"
else
	diff -u "$kept" now || bad "names of columns or members are others: RENEW=1 keeps these"
fi

# The columns do not depend on the rows, and empty fields are empty.
usual='^id\tstatus\towner\ttitle\tblocked_by\tpriority\tended_by\tupdated_at\tstuck$'
cadre team create crew --roles coder >/dev/null 2>&1
is 0 "$usual" cadre task list
[ "$(cadre task list 2>/dev/null | wc -l)" = 1 ] || bad "a table without rows has more than its heading"
cadre task list 2>&1 >/dev/null | grep -q '^no tasks' || bad "nothing says that there are no tasks"
cadre task create "$(printf 'a\tb\\c')" >/dev/null
cadre send coder "$(printf 'one\ntwo')" >/dev/null
is 0 "$usual" cadre task list
time='20[0-9-]*T[0-9:]\{8\}Z'
is 0 '^001\tready\t\ta[\]tb[\][\]c\t\t3\t\t'$time'\t$' cadre task list
is 0 '^#1\toperator\tcoder\ttext\tqueued\t'$time'\tone\\ntwo$' cadre messages
is 0 '^'$time'\tmessage\toperator\tcoder\t#1\t\t\tqueued\t\tone\\ntwo$' cadre history coder
is 0 '^001\tready\t\ta' env COLUMNS=20 "$CADRE" task list
cadre task create two >/dev/null
[ "$(cadre task list --limit 1 2>/dev/null | wc -l)" = 2 ] || bad "a sentence is among the rows"
cadre task list --limit 1 2>&1 >/dev/null | grep -q '^there is more: --after 001' || bad "nothing says that there is more"

# Chosen columns and members.
is 0 '^title\tid$' cadre ready --columns title,id
is 0 '^two\t002$' cadre ready --columns title,id
is 0 '^seq\tcontent$' cadre --as coder inbox peek --columns seq,content
is 0 '^key\tfrom$' cadre config --columns key,from
is 0 '^size\tname$' cadre undo --columns=size,name
is 0 '^title$' cadre status --columns title
is 0 '^{"tasks":\[{"id":"001","title":"a[\]tb[\][\]c"},{"id":"002","title":"two"}\],' cadre ready --json=id,title
is 0 '"tasks":\[{"id":"001"},{"id":"002"}\]' cadre task list --json id
is 0 '^{"overdue":\[' cadre inbox --json overdue
is 0 '^{"messages":\[' cadre --as coder inbox --json peek
is 0 '^{"tasks":\[{"id":"001",.*"title"' cadre task --json list
is 0 '^{"task":{"id":"002"}' cadre task show 002 --json=id
is 0 '^{"task":{"id":"002",.*"title"' cadre task show --json 002
# A message whose text is not among the names was not seen, so it waits again.
for names in --json=seq --columns=seq,from; do
	is 0 . cadre --as coder inbox $names
	cadre --as coder inbox $names 2>&1 >/dev/null | grep -q 'these messages wait again' || bad "$names takes a message that nobody saw"
done
is 0 '^{"messages":\[{"content":"one[\]ntwo"}\]' cadre --as coder inbox --take --json=content
cadre --as coder inbox --json | grep -q '"messages":\[\]' || bad "a printed message was not taken"
is 0 '"priority":3' cadre task show 002 --json
is 2 'there is no column `nix`' cadre task list --columns id,nix
is 2 '^columns: id, title, status' cadre task list --columns id,nix
is 2 'there is no column `nix`' cadre config --columns nix
is 2 'prints no table' cadre task show 001 --columns id
is 2 'prints no table' cadre whoami --columns id
is 2 '^members: id, title' cadre task create three --json=nix
cadre config --json=key | grep -q 'prints no rows' || bad "config chooses members"
[ "$(cadre ready 2>/dev/null | wc -l)" = 3 ] || bad "a refused command made a task"

# The form of a terminal, in a pipe.
is 0 '^ID   STATUS  TITLE  *PRIORITY  UPDATED$' cadre task list --table
is 0 '^001  ready   a b.c  *3  *[0-9a-z ]*$' cadre task list --table
is 0 '^ID   STATUS  TITLE  PRIORITY$' env COLUMNS=30 "$CADRE" task list --table
is 0 '^ID   STATUS  TITLE  PRIORITY$' env COLUMNS=30 CLICOLOR_FORCE=1 "$CADRE" task list
is 0 "^$(printf '\033')\[1mID" env -u NO_COLOR CLICOLOR_FORCE=1 "$CADRE" task list
is 0 "$usual" env CLICOLOR_FORCE=0 "$CADRE" task list

# Both kinds of pending tasks can be chosen. For a person, a task's page ends with the next command,
# a text asks for a reply, and a notice in the operator's name is from cadre.
is 0 '^001  ready ' cadre task list --status ready --table
cadre task list --status waiting 2>&1 | grep -q '^no tasks with --status waiting' || bad "a ready task waits"
next() { # WORD...: what the page of task 001 says
	cadre task show 001 --table "$@" 2>&1 | sed -n 's/^next: //p'
}
[ "$(next)" = "cadre claim 001" ] || bad "a ready task: $(next)"
[ "$(next --as coder)" = "cadre --as coder claim 001" ] || bad "as coder: $(next --as coder)"
cadre --as coder claim 001 >/dev/null
cadre --as coder block 001 stone >/dev/null
[ "$(next)" = "cadre --as coder task unblock 001" ] || bad "a blocked task: $(next)"
[ "$(cadre task show 001 --table | grep -c stone)" = 1 ] || bad "the reason is told twice"
cadre --as coder task unblock 001 >/dev/null
cadre --as coder fail 001 stone >/dev/null
[ "$(next)" = "cadre task retry 001" ] || bad "a failed task: $(next)"
cadre --as coder send operator 'which?' >/dev/null
is 0 '^coder -> operator ' cadre inbox peek --table
is 0 '^  -> cadre reply [0-9]* TEXT' cadre inbox peek --table
cadre send operator --message-type news 'as said' >/dev/null
is 0 '^cadre -> operator  news ' cadre inbox peek --table
cadre task retry 001 >/dev/null

# A small number is a criterion, 001 is a task. A tick and its removal tell the state after them.
cadre task create ticks --criteria a --criteria b --criteria c >/dev/null
cadre --as coder claim 003 >/dev/null
is 0 '^task 003: ticked 1, 2; left: 3 c$' cadre --as coder tick 1 2
is 0 '^task 003: ticked 1; left: 2 b, 3 c$' cadre --as coder tick 2 --no-done
is 0 '^task 003; left: 1 a, 2 b, 3 c$' cadre --as coder tick 003 1 --no-done
is 0 '^task 003: ticked 2; left: 1 a, 3 c$' cadre --as coder tick '#3' 2
is 3 'task 003 has no criterion 3[0-9]' cadre --as coder tick 33
exit $failed
