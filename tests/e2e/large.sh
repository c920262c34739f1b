#!/bin/sh
# large - stored texts can always be read, whatever their size. The texts are two output streams
# of 2 MiB each, a note of 10 MiB, and a hundred messages of 256 KiB from a guest. tests/link.c
# tests large messages to a guest.
set -u
. "$(dirname "$0")/../lib/story.sh"
trap 'cadre down --all >/dev/null 2>&1' EXIT
in_place() { cadre exec --team red red/w sh -c "$1"; }

cadre up >/dev/null || bad "up"
cadre team create red --roles '[{"name":"lead"},{"name":"w","workspace":true}]' >/dev/null ||
	bad "team create"
waited 0 workspace red/w

# --- two output streams of a command, 2 MiB each ---------------------------------------------

# Each line is different, so that the test notices a missing or repeated part.
lines() { seq -f "$1 %06.0f is a line of this stream" 1 100000 | head -c 2097152; }
lines out >"$TMPDIR/out"
lines err >"$TMPDIR/err"
cadre workspace write red/w out @"$TMPDIR/out" --team red >/dev/null || bad "write"
cadre workspace write red/w err @"$TMPDIR/err" --team red >/dev/null || bad "write"
cadre task create both --team red >/dev/null
cadre task assign 001 w --command 'cat err >&2 & cat out; wait' --team red >/dev/null
waited 0 task 001 --team red
for stream in stdout stderr; do
	: >"$TMPDIR/got"
	while [ "$(stat -c %s "$TMPDIR/got")" -lt 2097152 ]; do
		cadre result 001 --team red --stream $stream --json \
			--offset "$(stat -c %s "$TMPDIR/got")" >"$TMPDIR/part" || break
		/usr/bin/python3 -c 'import json, sys
part = json.load(open(sys.argv[1]))[sys.argv[2]]
sys.exit(not part or not sys.stdout.write(part))' "$TMPDIR/part" $stream >>"$TMPDIR/got" || break
	done
	cmp "$TMPDIR/got" "$TMPDIR/${stream#std}" || bad "$stream is not whole"
done

# --- a note of 10 MiB is read and written in a guest --------------------------------------

seq -f 'line %09.0f of the note' 1 500000 | head -c 10485760 >"$TMPDIR/note"
cadre vault write teams/red/big.md @"$TMPDIR/note" >/dev/null || bad "vault write"
# In a guest, `cadre vault read` reads a large note in several frames, but each write of a note
# must fit into one frame.
in_place 'cadre vault read big.md >read && split -C 3000000 read part. &&
	for part in part.*; do cadre vault append again.md @$part || exit 1; done' >/dev/null ||
	bad "a note in a guest"
cadre workspace read red/w read --team red | cmp - "$TMPDIR/note" || bad "the note is not whole inside"
cadre vault read teams/red/again.md | cmp - "$TMPDIR/note" || bad "the note is not whole outside"

# --- a hundred messages of 256 KiB from a guest -------------

in_place 'i=100
while [ $i -lt 200 ]; do
	{ printf "%d" $i; head -c 262141 /dev/zero | tr "\0" x; } >message
	cadre send lead @message >/dev/null || exit 1
	i=$((i + 1))
done' || bad "a hundred messages"
receive() { # AS: prints the beginning and size of each message, and whether the message is whole
	while :; do
		cadre --team red --as "$1" inbox --take --limit 100 --json >"$TMPDIR/page" || return
		/usr/bin/python3 -c 'import json, sys
page = json.load(open(sys.argv[1]))["messages"]
for m in page:
    text = m["content"]
    print(text[:3], len(text), text[3:] == "x" * 262141)
sys.exit(not page)' "$TMPDIR/page" || return
	done
}
receive lead >"$TMPDIR/got"
seq -f '%.0f 262144 True' 100 199 | cmp - "$TMPDIR/got" || bad "the messages are not whole"

cadre team destroy --yes red >/dev/null
exit $failed
