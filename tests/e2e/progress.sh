#!/bin/sh
# progress - long work says on a terminal what it is doing, in one line that is gone at the end;
# pipes and programs see nothing of it.
set -u
. "$(dirname "$0")/../lib/story.sh"
mkdir "$TMPDIR/bin"
mkfifo "$TMPDIR/go"
cat >"$TMPDIR/bin/apt-cache" <<PROGRAM
#!/bin/sh
cat "$TMPDIR/go" >/dev/null
echo "there is no archive" >&2
exit 1
PROGRAM
chmod +x "$TMPDIR/bin/apt-cache"
export CADRE_IMAGES="$TMPDIR/images" TERM=xterm GO="$TMPDIR/go"
PATH=$TMPDIR/bin:$PATH

# A build whose first program waits until the line has been seen with its seconds; what the
# terminal shows in the end.
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

watch() { PYTHONPATH=$here/lib python3 "$TMPDIR/watch" "$@"; }

either=yes
is 0 'drawn True finding the packages of the image' watch 80 "$CADRE" image build
is 0 'status 1 left cadre: io: apt-cache' watch 80 "$CADRE" image build
is 0 'drawn True finding the packages of 23' watch 24 "$CADRE" image build
: >"$GO" &
is 1 'apt-cache' sh -c '"$CADRE" image build'
grep -q 'finding' "$TMPDIR/out" "$TMPDIR/err" && bad "a pipe sees the line"
wait
exit $failed
