#!/bin/sh
# readme - types every command of README.md at a terminal, from the top to the bottom, in one
# folder. What a command prints has the lines that README shows below the command, in their
# order.
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
/usr/bin/python3 - "$here/../README.md" "$HOME/shop" <<'END' || failed=1
import os, pty, re, subprocess, sys
page, shop = open(sys.argv[1]).read(), sys.argv[2]
bad = False
# pattern LINE: the line, in which numbers, and the folders of a person named ann, may differ.
def pattern(line):
    line = line.replace("/home/ann/shop", shop)
    line = re.escape(line)
    line = re.sub(r"/run/user/\d+/cadre/[0-9a-f]+\\-[0-9a-f]+", r"\\S+", line)
    return re.sub(r"\d+ min", r"\\d+ \\w+", re.sub(r"process\\ \d+", r"process\\ \\d+", line))
# typed_in COMMAND: runs the command at a terminal; its status and the lines of its output.
def typed_in(command):
    ours, theirs = pty.openpty()
    run = subprocess.Popen(command, shell=True, cwd=shop, stdin=theirs, stdout=theirs, stderr=theirs)
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
for block in re.findall(r"```console\n(.*?)```", page, re.S):
    for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
        command, *shown = part.rstrip("\n").split("\n")
        run, said = typed_in(command)
        typed += 1
        if run and not any(line.startswith("cadre: ") for line in shown):
            bad = print(f"FAILED: {command} ended with {run}: {said}") or True
        lines = iter(said)
        for line in shown:
            if line and not any(re.match(pattern(line.rstrip()) + r"\s*$", got) for got in lines):
                bad = print(f"FAILED: {command} does not print {line!r}, but {said}") or True
                break
if typed < 15:
    bad = print(f"FAILED: README shows {typed} commands") or True
if len(page.split()) > 900:
    bad = print(f"FAILED: README has {len(page.split())} words, more than 900") or True
sys.exit(bad)
END
exit $failed
