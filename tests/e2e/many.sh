#!/bin/sh
# many - `cadre task create -` makes one task from each line of its input. A line is a title or
# an object in JSON. The command makes all tasks or no task, and a fault names the line with the
# error.
set -u
. "$(dirname "$0")/../lib/story.sh"
cadre team create red --roles ann >/dev/null
from() { # from LINES COMMAND...: runs the command with these lines on standard input
	printf "$1" >"$TMPDIR/lines"
	shift
	cadre "$@" <"$TMPDIR/lines"
}
is 0 '^created 3 tasks, 001 to 003$' from 'one\n\n  two\r\nthree' task create - --tags x
is 0 'two' cadre task show 002
is 0 '"tags":\["x"\]' cadre task show 003 --json
is 2 'line 3: .titel. is not known' from '{"title":"a"}\n\n{"titel":"b"}\n' task create -
is 2 "line 2: .*near 'plain'" from '{"title":"a"}\nplain\n' task create -
is 2 'line 2: not a JSON object' from '{"title":"a"}\n[1]\n' task create -
is 3 'line 2: there is no task 99' from '{"title":"a"}\n{"title":"b","depends_on":["99"]}\n' task create -
is 2 'no line' from '\n \n' task create -
is 2 'line 1: a JSON list begins here' from '[{"title":"a"},\n{"title":"b"}]\n' task create -
is 2 'line 1: a JSON list begins here' from '[\n{"title":"a"}\n]\n' task create -
is 2 'line 2: a JSON object among titles' from 'a\n{"title":"b"}\n' task create -
# An argument for the whole call, such as the team, must not be in a line of the input. The
# fault for such an argument is the same for any number of lines, with and without --json and
# --key.
cadre team create blue --roles bob >/dev/null 2>&1
either=yes
for more in '' '{"title":"b"}\n'; do
	for how in '' --json '--key c'; do
		is 2 "line 1: 'team' belongs to the whole call, not to one line" from '{"title":"a","team":"red"}\n'"$more" task create - --team blue $how
	done
	is 2 "line 1: 'idempotency_key' belongs to the whole call" from '{"title":"a","idempotency_key":"k"}\n'"$more" task create - --team blue
done
either=
beside 'no tasks' cadre task list --team blue
cadre team destroy --yes blue >/dev/null 2>&1 || bad "no end of a team"
is 2 'line 2: .*must contain more than blanks' from '{"title":"a"}\n{"title":"  "}\n' task create -
is 2 'must contain more than blanks' cadre task create '  '
is 2 'must contain more than blanks' cadre task update 001 --title ' '
is 2 'is not a text' from 'a\0b\n' task create -
is 2 'line 2: not a text in UTF-8' from 'a\n\377\n' task create -
seq 501 >"$TMPDIR/501"
yes | head -c 3000000 >"$TMPDIR/large"
is 2 'line 501: one call takes at most 500 tasks' sh -c '"$CADRE" task create - <"$TMPDIR/501"'
is 2 'more than 2 MiB' sh -c '"$CADRE" task create - <"$TMPDIR/large"'
is 0 '"pending":3' cadre task list --json

# A value in a line has precedence over the value of an option. A call that is repeated under
# the same key makes no further task.
for turn in 1 2; do
	is 0 '"ids":\["004","005"\]' \
		from '{"title":"a","priority":1,"depends_on":["001"]}\n{"title":"b"}\n' \
		task create - --priority 4 --idempotency-key k --json
done
is 0 '"priority":1' cadre task show 004 --json
is 0 '"priority":4' cadre task show 005 --json
is 0 '"pending":5' cadre task list --json

# A byte order mark before the first line, as some editors write, is not part of the line. If
# the input has one line, the command prints the same answer as for a single task.
is 0 '^created task 006$' from '\357\273\277{"title":" marked "}\n' task create -
is 0 '"title":"marked"' cadre task show 006 --json
is 0 '^created task 007$' from '[urgent] look\n' task create -
is 0 '"ids":\["008"\]' from 'eight\n' task create - --json
is 0 'up to 500 tasks' cadre task create --help

# With --key the command uses the same operation for one line as for many lines. A call with the
# same key and other lines is refused.
is 0 '^created 1 tasks' from 'once' task create - --key again
is 4 'this key was used for another call' from 'once\ntwice' task create - --key again
is 0 '"pending":9' cadre task list --json

# A title is the whole line, even if the line begins like an item of a Markdown list. A line may
# also begin with a brace, unless it is the first line.
is 0 '^created 3 tasks, 010 to 012$' from '\055 ten\n\055 [ ] eleven\n{twelve}\n' task create -
is 2 "line 1: .*near" from '{twelve}\n' task create -
is 0 '"title":"- ten"' cadre task show 010 --json
is 0 '"title":"- \[ \] eleven"' cadre task show 011 --json
is 0 '"title":"{twelve}"' cadre task show 012 --json

# `cadre complete` does the same as `cadre done`. `cadre task list --closed` shows only finished
# tasks.
is 0 'task.*done TASK\|done' cadre help complete
cadre --as ann claim 007 >/dev/null || bad "claim"
is 0 '^completed task 007: ' cadre --as ann complete 007 'it works'
is 0 '^007\tcompleted\t' cadre task list --closed
grep -q '^006' "$TMPDIR/out" && bad "--closed shows what is open"
is 2 'text must contain more than blanks\|TEXT must contain more than blanks' cadre --as ann send operator ''
is 2 'text must contain more than blanks\|TEXT must contain more than blanks' cadre --as ann send operator ' 
	'
is 0 '^sent ' cadre --as ann send operator 'six'
is 0 six cadre --as ann messages --before '#99'
exit $failed
