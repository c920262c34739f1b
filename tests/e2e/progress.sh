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
import fcntl, os, pty, re, struct, sys, termios
columns = int(sys.argv[1])
pid, fd = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    os.execv(sys.argv[2], sys.argv[2:])
said, told = b"", False
while True:
    try:
        data = os.read(fd, 4096)
    except OSError:
        break
    if not data:
        break
    said += data
    if not told and re.search(rb"\d s", said):
        told = True
        open(os.environ["GO"], "w").close()
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
drawn = [line for line in re.findall(rb"\r\x1b\[K([^\r\n]*)", said) if line]
print("drawn", len(drawn) > 1, drawn[0].decode(), max(map(len, drawn[:-1])))
last = said.rsplit(b"\r\x1b[K", 1)[1].decode().replace("\r\n", "\n")
print("status", status, "left", last, end="")
PY

watch() { python3 "$TMPDIR/watch" "$@"; }

either=yes
is 0 'drawn True finding the packages of the image' watch 80 "$CADRE" image build
is 0 'status 1 left cadre: io: apt-cache' watch 80 "$CADRE" image build
is 0 'drawn True finding the packages of 23' watch 24 "$CADRE" image build
: >"$GO" &
is 1 'apt-cache' sh -c '"$CADRE" image build'
grep -q 'finding' "$TMPDIR/out" "$TMPDIR/err" && bad "a pipe sees the line"
wait
exit $failed
