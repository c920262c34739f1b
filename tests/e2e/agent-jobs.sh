#!/bin/sh
# agent-jobs - a program that `cadre agent run` starts is a job of the shell, like a program
# that the shell starts. At a terminal (tmux) the program stops and continues. In the background
# the program gets or ignores the same signals as a program that the shell starts.
set -u
. "$(dirname "$0")/../lib/story.sh"
tmux() { command tmux -S "$TMPDIR/tmux" -f /dev/null "$@"; }
ended() { tmux kill-server 2>/dev/null; }
trap ended EXIT
cadre team create crew --roles lead,ann >/dev/null
seen() { tmux capture-pane -p; }
types() { tmux send-keys "$@"; }
tmux new-session -d -x 100 -y 30 "env PS1='ready> ' bash --norc --noprofile" || bad "no tmux"
until_is '^ready>' seen

# A program is stopped by its own SIGSTOP, by its own SIGTSTP, or by Ctrl-Z. `fg` continues the
# program.
for way in 'kill -STOP $$' 'kill -TSTP $$' 'sleep 1000'; do
	types "clear; $CADRE agent run ann -- sh -c '$way; echo it went on'" Enter
	case $way in
	sleep*) until_done pgrep -t "$(tmux display -p '#{pane_tty}' | cut -d/ -f3-)" sleep && types C-z ;;
	esac
	until_is '^\[1\]+  Stopped' seen
	types 'fg' Enter
	case $way in sleep*) types C-c && until_is '^\^C' seen ;; *) until_is '^it went on$' seen ;; esac
	types 'clear; echo $((1 + 1)) jobs: $(jobs | wc -l)' Enter
	until_is '^2 jobs: 0' seen
done
# Words that a person types reach the program. Ctrl-C ends the program with the exit status of
# SIGINT.
types "clear; $CADRE agent run ann -- cat" Enter
until_done pgrep -t "$(tmux display -p '#{pane_tty}' | cut -d/ -f3-)" cat
types 'a word' Enter
until_done sh -c "tmux -S '$TMPDIR/tmux' capture-pane -p | grep -c '^a word' | grep -q 2"
types C-c
types 'echo ended $?' Enter
until_is '^ended 130' seen

# begin WORDS...: runs a script in a session of its own. The script runs one command in the
# background. The command consists of WORDS and of a call of `cadre agent run`, which starts the
# program.
begin() {
	rm -f "$TMPDIR/pid"
	setsid sh -c 'echo $$ >"$1"; shift; "$@" & wait' sh "$TMPDIR/script" "$@" "$CADRE" agent run ann -- \
		sh -c 'echo $$ >'"$TMPDIR"'/pid; exec sleep 1000' >/dev/null 2>&1 &
	until_done test -s "$TMPDIR/pid"
	pid=$(cat "$TMPDIR/pid")
}
lives() { kill -0 "$pid" 2>/dev/null; }
gone() { ! lives; }
# Under `nohup` the program keeps running when the terminal closes. Ctrl-C does not end a
# program that a script has started in the background.
begin nohup
kill -HUP -"$(cat "$TMPDIR/script")"
waits 0.3
lives || bad "nohup was undone"
kill -TERM "$pid"
until_done gone
begin env
kill -INT -"$(cat "$TMPDIR/script")"
waits 0.3
lives || bad "a program in the background is ended by Ctrl-C"
kill -TERM "$pid"
until_done gone

# A signal that is sent to the command's process, and not to its process group, reaches the
# program. The command then returns the program's status.
for signal in INT:130 QUIT:131 TERM:143 HUP:129 USR1:138; do
	/usr/bin/python3 -c 'import signal, subprocess, sys, time
command, number, status = sys.argv[1], getattr(signal, "SIG" + sys.argv[2]), int(sys.argv[3])
p = subprocess.Popen([command, "agent", "run", "ann", "--", "sh", "-c", "echo begun; exec sleep 1000"], stdout=subprocess.PIPE)
p.stdout.readline()
p.send_signal(number)
sys.exit(p.wait() != 128 - status)' "$CADRE" "${signal%:*}" "${signal#*:}" || bad "$signal"
done
exit $failed
