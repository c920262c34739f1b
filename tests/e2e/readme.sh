#!/bin/sh
# readme - types every command of README.md, docs/start.md and docs/teams.md at a terminal, from
# the top to the bottom, in one folder. What a command prints has the lines that the page shows
# below the command, in their order.
set -u
stateless=yes
. "$(dirname "$0")/../lib/story.sh"
unset CADRE_HOME XDG_CONFIG_HOME XDG_STATE_HOME CLAUDE_CONFIG_DIR
export CADRE_PAGER=cat
export HOME="$TMPDIR/home" PATH="$TMPDIR/bin:$PATH"
mkdir -p "$HOME/shop" "$TMPDIR/bin"
ln -s "$CADRE" "$TMPDIR/bin/cadre"
# README starts a client. This one says what cadre gave it.
cat >"$TMPDIR/bin/claude" <<'END'
#!/bin/sh
echo "$@" | grep -q 'cadre hook claude' && echo "claude is $CADRE_AGENT"
END
chmod +x "$TMPDIR/bin/claude"
cd "$HOME/shop" || exit 1
trap 'cd "$HOME/shop" && cadre down --all >/dev/null 2>&1' EXIT
git init -q . && git commit -q --allow-empty -m one
/usr/bin/python3 - "$HOME/shop" "$here/../README.md" "$here/../docs/start.md" "$here/../docs/teams.md" <<'END' || failed=1
import os, pty, re, subprocess, sys
shop, pages = sys.argv[1], [open(path).read() for path in sys.argv[2:]]
bad = False
# pattern LINE: matches the line wherever it is broken, with other numbers and folders.
def pattern(line):
    line = re.escape(line.replace("/home/ann", os.path.dirname(shop)))
    line = re.sub(r"/run/user/\S+", r"\\S+", line)
    return re.sub(r"(\\ )+", r"\\s+", re.sub(r"\d+", r"\\d+", line))

# typed_in COMMAND: runs the command at a terminal; its status and the lines of its output.
def typed_in(command, place):
    ours, theirs = pty.openpty()
    run = subprocess.Popen(command + "\nstatus=$?; pwd >$TMPDIR/where; exit $status", shell=True, cwd=place, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    said = b""
    while True:
        try:
            said += os.read(ours, 65536)
        except OSError: # the last writer has closed the terminal
            break
    os.close(ours)
    return run.wait(), said.decode().replace("\r", "").split("\n")

typed = 0
for block in re.findall(r"```console\n(.*?)```", "".join(pages), re.S):
    place = shop
    for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
        command, *shown = part.rstrip("\n").split("\n")
        run, said = typed_in(command, place)
        place = open(os.environ["TMPDIR"] + "/where").read().strip()
        typed += 1
        if run and not any(line.startswith("cadre: ") for line in shown):
            bad = print(f"FAILED: {command} ended with {run}: {said}") or True
        at = 0
        for line in shown:
            found = re.compile(pattern(line.strip())).search("\n".join(said), at)
            if not found:
                bad = print(f"FAILED: {command} does not print {line!r}, but {said}") or True
                break
            at = found.end()
if typed < 40:
    bad = print(f"FAILED: the pages show {typed} commands") or True
if len(pages[0].split()) > 900:
    bad = print(f"FAILED: README has {len(pages[0].split())} words, more than 900") or True
sys.exit(bad)
END
exit $failed
