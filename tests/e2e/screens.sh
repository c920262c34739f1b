#!/bin/sh
# screens - about thirty screens are equal to the files in tests/screens. The test takes the
# screens in terminals (tmux) of 40, 80, 120 and 200 columns, and from a pipe. The screens contain
# a question to the user and a command that waits. The file for 200 columns has only the screens
# that differ from those at 120 columns. Colours do not change the texts. RENEW=1 writes the present
# screens into the files in tests/screens.
#
# The test sets the clock of cadre, which does not run by itself. All work gets times in the
# first minutes after noon, and the screens are taken at ten minutes after noon.
set -u
stateless=yes
. "$(dirname "$0")/../lib/story.sh"
. "$(dirname "$0")/../lib/preload.sh"
kept=$here/screens
folder=$(mktemp -d /tmp/cr.XXXXXX) # as long as /home/ann/crew, so that lines break at the same place
tmux() { command tmux -u -S "$TMPDIR/tmux" -f /dev/null "$@"; }
ended() {
	tmux kill-server 2>/dev/null
	rm -rf "$folder"
}
trap ended EXIT
noon=1795608000
export CADRE_HOME="$folder/.cadre" CADRE_PAGER= TZ=UTC LC_ALL=C.UTF-8 CADRE
cd "$TMPDIR" || exit 1

preload clock <<'C'
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t which, struct timespec *t)
{
	if (which != CLOCK_REALTIME)
		return (int)syscall(SYS_clock_gettime, which, t);
	*t = (struct timespec){ .tv_sec = atol(getenv("STOPPED_AT")) };
	return 0;
}
C
at() { # SECONDS: sets the clock to this time after noon
	STOPPED_AT=$((noon + $1))
	export STOPPED_AT
}
cadre() { with clock "$CADRE" "$@"; }

# The same commands run at each width. The last two commands wait for the person at the
# terminal.
cat >play <<PLAY
$(cat "$here/lib/preload.sh")
PLAY
cat >>play <<'PLAY'
cadre() { with clock "$CADRE" "$@"; }
show() {
	echo "\$ cadre $*"
	cadre "$@"
	echo
}
CADRE_HOME=${CADRE_HOME%/*}/calmed show status
show task list
show task show 001
show ready
show agent list
show team list
show --as tester inbox peek
show messages
show receipt '#3'
show agent whois coder
show search 'parser OR ready'
show events --limit 6
show task history 001
show results
show image list
show task list --status failed
show status
show team status
show inbox overdue
show --as lead inbox
show assignments
show workspace list
show search nowhere
show messages --before 1
show logs -n 2
show undo
show gc
[ ! -t 1 ] || show
show team destroy crew --purge 2>&1
[ ! -t 1 ] || show wait task 001
echo "the end"
[ ! -t 1 ] || sleep 600
PLAY

at 0
CADRE_HOME=$folder/calmed cadre init >/dev/null
CADRE_HOME=$folder/calmed cadre team create calm --roles coder >/dev/null 2>&1
cadre init >/dev/null
cadre team create crew --roles coder,tester >/dev/null 2>&1
cadre task create "Write the parser of the whole language, with errors that people understand" \
	--description "Take the grammar in docs/grammar.md. Every production gets a function; an error says the line, the column and what was expected instead of what was found." \
	--acceptance-criteria "all of tests/parse pass" --acceptance-criteria "no leak" \
	--tags parser,core >/dev/null
cadre task create "Test it ⭐ ✅ 👨‍👩‍👧 🇩🇪 ☕ 日本語" --depends-on 001 --priority 1 >/dev/null
cadre task create "Say how to build it" >/dev/null
at 60
cadre --as coder claim 001 >/dev/null
cadre --as coder note 001 "halfway there" >/dev/null
cadre task tick 001 1 >/dev/null
at 120
cadre --as tester send coder "is it ready?" >/dev/null
cadre --as coder send tester "Soon; the errors are left to be written, then you can have a look at all of it" >/dev/null
cadre --inbox.ack_seconds 1 send coder "Merge nothing before noon" --ack-required >/dev/null
cadre --as coder send operator "Which of the two grammars?" >/dev/null
at 180
cadre --as tester claim 003 >/dev/null
cadre --as tester block 003 "no compiler here" >/dev/null
cadre vault write teams/crew/design.md "One pass." >/dev/null
cadre vault write teams/crew/plan.md "Dig first." >/dev/null
mkdir -p "$CADRE_HOME/log"
cat >"$CADRE_HOME/log/host.log" <<'LOG'
time=2026-11-25T12:03:00.000Z level=info msg="the host serves"
time=2026-11-25T12:04:00.000Z level=warn msg="a guest cannot be stopped; its commands are still running" workspace=crew-coder-f388 pid=10689
LOG
at 600

all() { tmux capture-pane -t "w$1" -p -S - | sed 's/ *$//'; }
types() { tmux send-keys -t "w$1" "$2" Enter; }
play() { # COLUMNS: prints the screen of a terminal of this width, at the end and while a command waits
	tmux new-session -d -s "w$1" -x "$1" -y 24 "sh play" || { bad "no tmux"; return; }
	until_is 'Go on?' all "$1"
	types "$1" n
	until_is '1 s  task' all "$1"
	all "$1" | sed 's/^[0-9]* s  task/N s  task/' >"$1"
	tmux capture-pane -t "w$1" -p -J -S - | sed 's/ *$//; s/^[0-9]* s  task/N s  task/' >joined
	cmp -s joined "$1" || bad "a line is wider than $1: $(diff "$1" joined | head -5)"
}

others() { # FILE BASE: prints the screens of FILE that differ from those of BASE
	awk 'FNR == 1 { n = 0; file++ } /^\$ cadre/ { n++ } { text[file, n] = text[file, n] $0 "\n" }
		END { for (i = 0; i <= n; i++) if (text[1, i] != text[2, i]) printf "%s", text[2, i] }' "$2" "$1"
}

for columns in 40 80 120 200 pipe; do
	if [ $columns = pipe ]; then
		sh play </dev/null >pipe
	else
		play $columns
	fi
	sed -i "s|$folder|/home/ann/crew|" $columns
	if [ $columns = 200 ]; then
		others 200 120 >wide
		mv wide 200
	fi
	if [ -n "${RENEW-}" ]; then
		cp $columns "$kept/$columns"
	else
		diff -u "$kept/$columns" $columns || bad "the screens at $columns are others: RENEW=1 keeps these"
	fi
done
# The story sets NO_COLOR. Without the variable, the screens have the same texts in colours.
escape=$(printf '\033')
tmux capture-pane -t w80 -p -e -S - | grep "$escape" && bad "NO_COLOR leaves colours"
tmux kill-session -t w80
tmux set-environment -g -u NO_COLOR
play 80
tmux capture-pane -t w80 -p -e -S - | grep -q "$escape\[.*Needs you" || bad "a terminal has no colours"
sed -i "s|$folder|/home/ann/crew|" 80
diff -u "$kept/80" 80 || bad "colours change the text of a screen"
# The lines of `cadre doctor` differ from machine to machine, but each long line is broken
# between words.
tmux new-session -d -s w41 -x 41 -y 24 "'$CADRE' doctor; echo over; sleep 600"
until_is '^over' all 41
all 41 >broken
tmux capture-pane -t w41 -p -J -S - | sed 's/ *$//' | cmp -s - broken || bad "a line of the doctor is too wide: $(cat broken)"
exit $failed
