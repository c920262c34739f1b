#!/bin/sh
# progress - a long command shows its present step on a terminal, in one line that is removed at
# the end. A command prints no line of progress to a pipe or a program.
set -u
. "$(dirname "$0")/../lib/story.sh"
mkdir "$TMPDIR/bin"
mkfifo "$TMPDIR/go"
cat >"$TMPDIR/bin/apt-cache" <<PROGRAM
#!/bin/sh
: >"$TMPDIR/asked"
cat "$TMPDIR/go" >/dev/null
[ -z "\${PACKAGE-}" ] || { echo "  Depends: \$PACKAGE"; exit; }
echo "there is no archive" >&2
exit 1
PROGRAM
chmod +x "$TMPDIR/bin/apt-cache"
export CADRE_IMAGES="$TMPDIR/images" TERM=xterm GO="$TMPDIR/go"
PATH=$TMPDIR/bin:$PATH

# Runs a command in a terminal. The first program that an image build runs waits until the line
# of progress shows a number of seconds. The script prints the terminal's last screen.
cat >"$TMPDIR/watch" <<'PY'
import os, re, sys
import terminal
told = False
def heard(said):
    global told
    if not told and re.search(rb"\d s", said):
        told = True
        open(os.environ["GO"], "w").close()
said, status = terminal.run(sys.argv[2:], int(sys.argv[1]), heard)
drawn = terminal.drawn(said)
print("drawn", len(drawn) > 1, drawn[0], max(map(len, drawn[:-1])))
print("status", status, "left", terminal.left(said), end="")
PY

watch() { PYTHONPATH=$here/lib /usr/bin/python3 "$TMPDIR/watch" "$@"; }

either=yes
is 0 'drawn True finding the packages of the image' watch 80 "$CADRE" image build
is 0 'status 1 left cadre: io: apt-cache' watch 80 "$CADRE" image build
is 0 'drawn True finding the packages o… 23' watch 24 "$CADRE" image build
: >"$GO" &
is 1 'apt-cache' sh -c '"$CADRE" image build'
grep -q 'finding' "$TMPDIR/out" "$TMPDIR/err" && bad "a pipe sees the line"
wait

# An image build that ends early leaves no file and no process. A signal may end the build, or
# the reader of the build's output may close the pipe.
export PACKAGE=linux-image-of-no-archive
left() {
	[ "$(cat "$TMPDIR/status")" = "$1" ] || bad "$2 ends it with $(cat "$TMPDIR/status")"
	[ -z "$(ls -A "$CADRE_IMAGES")" ] || bad "$2 leaves $(ls -A "$CADRE_IMAGES")"
}
{ "$CADRE" image build 2>&1; echo $? >"$TMPDIR/status"; } | { exec <&-; : >"$GO"; }
left 141 "a closed pipe"
rm "$TMPDIR/asked"
"$CADRE" image build 2>/dev/null &
pid=$!
until [ -e "$TMPDIR/asked" ]; do sleep 0.05; done
kill "$pid"
: >"$GO"
wait "$pid"
echo $? >"$TMPDIR/status"
left 143 "SIGTERM"
exit $failed
