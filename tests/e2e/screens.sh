#!/bin/sh
# screens - thirteen screens, in terminals of 40, 80 and 120 columns and in a pipe, are as they are
# kept in tests/screens; RENEW=1 keeps what is seen now.
set -u
. "$(dirname "$0")/../lib/story.sh"
kept=$here/screens
cd "$TMPDIR" || exit 1

seen() { # COLUMNS WORD...: a command's screen, with times by other names
	COLUMNS=$1
	export COLUMNS
	shift
	echo "\$ cadre $*"
	python3 - "$CADRE" "$@" <<'PY'
import fcntl, os, pty, re, struct, subprocess, sys, termios
columns = int(os.environ.pop("COLUMNS"))
if columns:
    pid, fd = pty.fork()
    if pid == 0:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        os.execv(sys.argv[1], sys.argv[1:])
    said = b""
    while True:
        try:
            data = os.read(fd, 65536)
        except OSError:
            break
        if not data:
            break
        said += data
    os.waitpid(pid, 0)
else:
    said = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE).stdout
said = said.decode().replace("\r\n", "\n")
for line in said.splitlines():
    if columns and re.search(r"[^\x00-\x7f]", line) is None and len(line) > columns:
        print("WIDER THAN THE TERMINAL:")
said = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "<time>", said)
said = re.sub(r"\d\d:\d\d:\d\d", "HH:MM:SS", said)
said = re.sub(r"in 1[45] min", "in 15 min", said)
said = re.sub(r"(\d+ s ago|\bnow\b) *", lambda m: "now" + " " * max(0, len(m[0]) - 3), said)
said = re.sub(r" +$", "", said, flags=re.M)
said = said.replace(os.environ["CADRE_HOME"], "/home/ann/crew/.cadre")
print(said)
PY
}

screens() { # COLUMNS
	seen "$1" task list
	seen "$1" task show 001
	seen "$1" ready
	seen "$1" agent list
	seen "$1" team list
	seen "$1" --as tester inbox peek
	seen "$1" messages
	seen "$1" search parser
	seen "$1" events --limit 6
	seen "$1" task list --status failed
	seen "$1" status
	seen "$1" team status
	seen "$1" inbox overdue
}

cadre team create crew --roles coder,tester >/dev/null
cadre task create "Write the parser of the whole language, with errors that people understand" \
	--description "Take the grammar in docs/grammar.md. Every production gets a function; an error says the line, the column and what was expected instead of what was found." \
	--acceptance-criteria "all of tests/parse pass" --acceptance-criteria "no leak" \
	--tags parser,core >/dev/null
cadre task create "Test it ⭐ ✅ 👨‍👩‍👧 🇩🇪 ☕ 日本語" --depends-on 001 --priority 1 >/dev/null
cadre task create "Say how to build it" >/dev/null
cadre --as coder claim 001 >/dev/null
cadre --as coder note 001 "halfway there" >/dev/null
cadre task tick 001 1 >/dev/null
cadre --as tester send coder "is it ready?" >/dev/null
cadre --as coder send tester "Soon; the errors are left to be written, then you can have a look at all of it" >/dev/null
cadre --inbox.ack_seconds 1 send coder "Merge nothing before noon" --ack-required >/dev/null
cadre --as coder send operator "Which of the two grammars?" >/dev/null
cadre --as tester claim 003 >/dev/null
cadre --as tester block 003 "no compiler here" >/dev/null
sleep 10.1 # from now on all is tens of seconds ago

for columns in 40 80 120 0; do
	name=$columns
	[ $columns != 0 ] || name=pipe
	screens $columns >"$name"
	grep -q 'WIDER THAN' "$name" && bad "a line of $name is too wide: $(grep -A1 'WIDER THAN' "$name")"
	if [ -n "${RENEW-}" ]; then
		cp "$name" "$kept/$name"
	else
		diff -u "$kept/$name" "$name" || bad "the screens at $name are others: RENEW=1 keeps these"
	fi
done
exit $failed
