# vault - no text of a note is lost or written twice, even if several processes write at the
# same time, or are killed. No path leads out of the vault, and no agent's path leads to another
# team's folder.
set -eu
. "$(dirname "$0")/../lib/story.sh"
vault=$CADRE_HOME/vault
cadre init >/dev/null
cadre team create alpha --roles coder >/dev/null
cadre team create beta --roles coder >/dev/null
refused() { # STATUS ARGUMENT...: the command `cadre ARGUMENT...` fails with this exit status
	want=$1 status=0
	shift
	cadre "$@" >"$TMPDIR/out" 2>&1 || status=$?
	[ $status = "$want" ] || bad "cadre $*: exit $status, not $want: $(cat "$TMPDIR/out")"
}
all_there() { # NOTE N: the note has each of N lines once
	[ "$(sort -u "$vault/$1" | grep -c '^line')" = "$2" ] && [ "$(wc -l <"$vault/$1")" -le "$2" ] ||
		bad "$1 has $(sort "$vault/$1" | uniq -c | sort -rn | head -3), $(wc -l <"$vault/$1") lines"
}
nothing_staged() {
	[ -z "$(ls "$vault/.cadre-notes")" ] || bad "left in the stage: $(ls "$vault/.cadre-notes")"
}

# `vault read` prints the text of notes that were written from an argument, a file or standard
# input.
cadre vault write guide.md "# Guide" >/dev/null
printf 'more\nand more' | cadre vault append guide.md - >/dev/null
[ "$(cadre vault read guide.md)" = "$(printf '# Guide\nmore\nand more')" ] || bad "guide.md differs"
head -c 7864320 /dev/urandom | base64 -w 80 | head -c 10485760 >"$TMPDIR/big"
cadre vault write big.txt "@$TMPDIR/big" >/dev/null
cadre vault read big.txt | cmp - "$TMPDIR/big"
[ "$(cadre vault read big.txt --offset 5000000 --length 100)" = "$(tail -c +5000001 "$TMPDIR/big" | head -c 100)" ]
refused 6 vault append big.txt "one byte too many"
echo >>"$TMPDIR/big"
refused 2 vault write big.txt "@$TMPDIR/big"
rm "$vault/big.txt" # the searches below read every file
# A write keeps the mode that a person has set on a note.
chmod 600 "$vault/guide.md"
cadre vault prepend guide.md "Read this first." >/dev/null
[ "$(stat -c %a "$vault/guide.md")" = 600 ] || bad "guide.md is for others now"

# `vault set` and `vault tag` change only the named keys of the frontmatter. Comments, other
# keys and the body of the note stay unchanged.
printf -- '---\n# mine\ntitle: Old\nid: 007\n---\nBody\r\n\377\n' >"$vault/meta.md"
cadre vault set meta.md '{"title":"New: it is","status":"done"}' >/dev/null
cadre vault tag meta.md '#red' blue >/dev/null
printf -- '---\n# mine\ntitle: "New: it is"\nid: 007\nstatus: done\ntags: [red, blue]\n---\nBody\r\n\377\n' |
	cmp - "$vault/meta.md"
cadre vault frontmatter meta.md --json | grep -qF '"tags":["red","blue"]'
# A note whose frontmatter is over 64 KiB can be written and read as text, but `vault
# frontmatter` is refused. `vault set` is refused if it would make the frontmatter longer than
# 64 KiB.
long=$(head -c 40000 /dev/zero | tr '\0' x)
printf -- '---\na: %s\nb: %s\n---\n' "$long" "$long" | cadre vault write long.md - >/dev/null
refused 4 vault frontmatter long.md
grep -q 'the frontmatter is over 64 KiB' "$TMPDIR/out" || bad "a long frontmatter: $(head -c 200 "$TMPDIR/out")"
printf -- '---\na: %s\n---\n' "$long" | cadre vault write long.md - >/dev/null
refused 4 vault set long.md "{\"b\":\"$long\"}"
grep -q 'the frontmatter is over 64 KiB' "$TMPDIR/out" || bad "it grows: $(head -c 200 "$TMPDIR/out")"

# No path leads out of the vault, and no symbolic link is followed.
echo secret >"$TMPDIR/secret.md"
ln -s "$TMPDIR/secret.md" "$vault/link.md"
ln -s "$TMPDIR" "$vault/out"
ln -s guide.md "$vault/inside.md"
mkfifo "$vault/pipe.md"
mkdir "$vault/folder.md"
refused 5 vault read ../secret.md
refused 5 vault read "notes/../../secret.md"
refused 3 vault read "$TMPDIR/secret.md"
for path in link.md out/secret.md inside.md pipe.md folder.md guide.md/x.md; do
	refused 4 vault read "$path"
	refused 4 vault write "$path" x
	refused 4 vault delete "$path"
	refused 4 vault move "$path" elsewhere.md
	refused 4 vault move guide.md "$path"
done
refused 4 vault list out
refused 2 vault read "$(printf 'a%0300d.md' 1)"
refused 2 vault read guide.sh
refused 2 vault write "$(printf 'new\nline.md')" x
[ "$(cat "$TMPDIR/secret.md")" = secret ] || bad "a link was followed"
! cadre vault list --recursive | grep -q 'link\|inside\|pipe\|secret' || bad "links are listed"
rm -r "$vault/link.md" "$vault/out" "$vault/inside.md" "$vault/pipe.md" "$vault/folder.md"

# An agent cannot reach the notes of other teams.
as() { cadre --team alpha --as coder "$@"; }
as vault write plan.md "ours" >/dev/null
[ "$(cat "$vault/teams/alpha/plan.md")" = ours ]
cadre vault write teams/beta/plan.md "theirs" >/dev/null
mkdir -p "$vault/teams/.archive/old"
echo gone >"$vault/teams/.archive/old/plan.md"
for path in teams/beta/plan.md /teams/beta/plan.md ../beta/plan.md teams/alpha/../beta/plan.md \
	teams/.archive/old/plan.md //teams//./beta/plan.md; do
	refused 5 --team alpha --as coder vault read "$path"
	refused 5 --team alpha --as coder vault write "$path" x
	refused 5 --team alpha --as coder vault move plan.md "$path"
done
refused 5 --team alpha --as coder vault write /guide.md x
refused 5 --team alpha --as coder vault list teams/beta
[ "$(as vault read /guide.md | head -1)" = "Read this first." ]
! as vault list / --recursive | grep -q 'beta\|archive' || bad "other teams' notes are listed"
cadre vault list --recursive | grep -q 'teams/.archive/old/plan.md' || bad "the archive is the operator's"
# Pages that show rows cannot be written as notes. The refusal to write a page names the right
# command.
cadre --team alpha task create "Write the parser" >/dev/null
refused 4 --team alpha --as coder vault append tasks/001-write-the-parser.md "my note"
grep -q 'task update' "$TMPDIR/out" || bad "no hint: $(cat "$TMPDIR/out")"

# A search finds notes that a person has just typed, if the search has enough time. A search
# follows no symbolic link out of the vault.
echo "a needle in the hay" >"$vault/typed.md"
mkdir -p "$vault/deep/er" && echo "the other needle" >"$vault/deep/er/note.txt"
echo "needle" >"$TMPDIR/secret.md" && ln -s "$TMPDIR/secret.md" "$vault/link.md"
until_is '"total_matches":2,"complete":true' cadre vault search needle --json
until_is 'deep/er/note.txt\t1' cadre vault search '^the .* needle$' --regex
until_is '\[needle\] in the hay' cadre --team alpha search needle --scope vault --json
echo "nothing" >"$vault/typed.md"
until_is '"total_matches":1,"complete":true' cadre vault search needle --json
until_is '^1\tred$' cadre vault tags
rm "$vault/link.md" "$CADRE_HOME/search.db"
until_is '"total_matches":1,' cadre --direct vault search needle --json
# A search by a regular expression needs no index.
rm "$CADRE_HOME"/search.db* && mkdir "$CADRE_HOME/search.db"
refused 7 --direct vault search needle
cadre --direct vault search '^the .* needle$' --regex >/dev/null || bad "an expression needs the index"
until_is 'deep/er/note.txt\t1' cadre --direct vault search '^the .* needle$' --regex
tagged() { cadre --direct vault search '^Body|other needle' --regex --tag red --json; }
until_is '"total_matches":[1-9]' tagged
tagged | grep -qF '"total_matches":1,' || bad "found without the tag"
rmdir "$CADRE_HOME/search.db"
# A search by a regular expression has small limits of time and memory.
head -c 3000000 /dev/zero | tr '\0' a >"$vault/deep/long.txt"
cadre vault search '(a|b)*a(a|b){30}c' --regex 2>&1 | grep -q 'time ran out' || bad "it does not say that it did not finish"
refused 2 vault search '(a|b)*a(a|b){300}c' --regex
rm "$vault/deep/long.txt"

# A model can use the operations on notes through the one tool `vault`.
call() { printf '{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"vault","arguments":%s}}\n' "$1" "$2"; }
{
	echo '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}'
	echo '{"jsonrpc":"2.0","method":"notifications/initialized"}'
	call 2 '{"action":"append","path":"model.md","content":"seen by a model"}'
	call 3 '{"action":"read","path":"model.md"}'
	call 4 '{"action":"read","path":"../beta/plan.md"}'
} | cadre --team alpha --as coder mcp >"$TMPDIR/mcp"
grep '"id":3' "$TMPDIR/mcp" | tr -d '\\' | grep -q '"path":"teams/alpha/model.md","content":"seen by a model"' ||
	bad "the model reads: $(cat "$TMPDIR/mcp")"
grep '"id":4' "$TMPDIR/mcp" | tr -d '\\' | grep -q '"code":"denied"' || bad "the model reads what it may not"

# Many processes append to one note at once, without a host, through a host, or in both ways at
# the same time.
append() { # NOTE N [--direct]
	for i in $(seq "$2"); do
		case $3 in mixed) [ $((i % 2)) = 0 ] && way=--direct || way= ;; *) way=$3 ;; esac
		"$CADRE" $way vault append "$1" "line $i" >/dev/null &
	done
	wait
	all_there "$1" "$2"
}
append direct.md 40 --direct
nothing_staged
cadre up >/dev/null
append host.md 40 ""
append mixed.md 100 mixed
nothing_staged
cadre vault write big2.txt "@$TMPDIR/big" 2>/dev/null && bad "more than 10 MiB"
truncate -s -1 "$TMPDIR/big"
cadre vault write big2.txt "@$TMPDIR/big" >/dev/null
cadre vault read big2.txt | cmp - "$TMPDIR/big"
rm "$vault/big2.txt"

# A reader that gets the event of a write can read the note.
"$CADRE" events --json --kind vault.written --wait-seconds $((20 * TEST_SCALE)) --after \
	"$(cadre events --json | sed 's/.*"next":\([0-9]*\).*/\1/')" >"$TMPDIR/told" &
sleep 0.3
as vault write told.md "the news" >/dev/null
wait $!
grep -q '"subject":"teams/alpha/told.md"' "$TMPDIR/told" || bad "nobody was told: $(cat "$TMPDIR/told")"

# The host is killed while many processes append to a note. A process that gets no answer
# repeats its call with the same key, and the note contains each line once.
host=$(cadre status --json | sed 's/.*"pid":\([0-9]*\).*/\1/')
for i in $(seq 60); do cadre vault append killed.md "line $i" >/dev/null & done
sleep 0.2
kill -9 "$host"
wait
all_there killed.md 60

# Processes are killed while they append to a note. A repeated call with the same key completes
# the write.
for i in $(seq 40); do
	timeout -s KILL "0.$(printf %03d $((20 + i * 4)))" \
		cadre --direct --key "key $i" vault append slain.md "line $i" >/dev/null 2>&1 || true
done
for i in $(seq 40); do cadre --direct --key "key $i" vault append slain.md "line $i" >/dev/null; done
all_there slain.md 40
nothing_staged

# A reader of a note sees its old text or its new text, never a part of a text.
head -c 3000000 "$TMPDIR/big" >"$TMPDIR/one"
tail -c 3000000 "$TMPDIR/big" >"$TMPDIR/two"
cadre --direct vault write whole.txt "@$TMPDIR/one" >/dev/null
for i in $(seq 20); do
	timeout -s KILL "0.$(printf %03d $((40 + i * 8)))" \
		cadre --direct vault write whole.txt "@$TMPDIR/$([ $((i % 2)) = 0 ] && echo one || echo two)" \
		>/dev/null 2>&1 || true
	cmp -s "$vault/whole.txt" "$TMPDIR/one" || cmp -s "$vault/whole.txt" "$TMPDIR/two" ||
		bad "whole.txt is a part"
done
cadre --direct vault append slain.md "line 41" >/dev/null
nothing_staged
exit $failed
