#!/bin/sh
# editor - a person writes texts and edits tasks in an editor, on a terminal. The command sends
# the text exactly as written, and no typed text is lost.
set -u
. "$(dirname "$0")/../lib/story.sh"

mkdir -m 700 "$TMPDIR/rt" || exit 1
export XDG_RUNTIME_DIR="$TMPDIR/rt"
unset VISUAL EDITOR
"$CADRE" team create shop --roles coder,tester >/dev/null || bad "no team"

# This editor runs the commands in the file `do`. The variable $1 names the edited page.
cat >"$TMPDIR/editor" <<EOF
#!/bin/sh
for page; do :; done
[ "\$(stat -c %a "\$page")" = 600 ] || echo "\$page is readable" >>"$TMPDIR/wrong"
cp "\$page" "$TMPDIR/page"
. "$TMPDIR/do"
EOF
chmod 755 "$TMPDIR/editor"
export EDITOR="$TMPDIR/editor"

# typed STATUS PATTERN WORDS: runs the command on a terminal. The command must end with STATUS,
# and the screen must match PATTERN.
typed() {
	want=$1 pattern=$2
	shift 2
	script -qec "stty cols 200; exec '$CADRE' $*" /dev/null >"$TMPDIR/out" 2>&1 </dev/null
	got=$?
	[ $got = "$want" ] || bad "$* ended with $got, not $want: $(cat "$TMPDIR/out")"
	grep -q -e "$pattern" "$TMPDIR/out" || bad "$*: no '$pattern': $(cat "$TMPDIR/out")"
}
does() { cat >"$TMPDIR/do"; }
drafts() { find "$TMPDIR/rt" "$CADRE_HOME" -name 'cadre-*.md' 2>/dev/null; }
none_left() { [ -z "$(drafts)" ] || { bad "$1 left $(drafts)"; rm -f $(drafts); }; }
# kept PATTERN WHAT: checks that the command kept and named one file that holds PATTERN. The
# kept file is then removed.
kept() {
	file=$(sed -n 's/^your text is kept: \([^\r]*\).*/\1/p' "$TMPDIR/out")
	[ -n "$file" ] && [ "$file" = "$(drafts)" ] && grep -q -e "$1" "$file" || bad "$2: the text is lost"
	rm -f "$file"
}

story() {
	# A message is sent exactly as written.
	does <<'EOF'
printf '# Hello\n\n@you -\n\n\n' >"$1"
EOF
	typed 0 '^sent ' send coder
	none_left send
	is 0 '^ *@you -$' "$CADRE" --team shop --as coder inbox --take
	grep -q '^ *# Hello$' "$TMPDIR/out" || bad "the text is not as it was written"
	typed 0 '^sent ' send coder,tester --priority urgent
	"$CADRE" --team shop --as coder inbox --take >/dev/null

	# An empty text is not sent.
	does <<'EOF'
echo >"$1"
EOF
	typed 2 'the text is empty: nothing was changed' send coder
	none_left "an empty text"
	is 0 '' "$CADRE" --team shop --as coder inbox peek
	grep -q Hello "$TMPDIR/out" && bad "it was sent all the same"

	# A text that cannot be sent is kept. A wrong argument is reported before the editor
	# opens.
	does <<'EOF'
echo typed >>"$1"
EOF
	typed 3 'no agent nobody' send nobody
	kept '^typed$' "no such receiver"
	rm -f "$TMPDIR/page"
	typed 2 'priority' send coder --priority much
	typed 2 'TO is required' send
	[ -e "$TMPDIR/page" ] && bad "it was to be written in vain"
	none_left "wrong words"

	# If the editor fails, or does not exist, nothing is sent.
	does <<'EOF'
echo typed >>"$1"; exit 3
EOF
	typed 2 'ended with status 3: nothing was done' send coder
	kept '^typed$' "a failed editor"
	does <<'EOF'
exit 1
EOF
	typed 2 'ended with status 1' send coder
	none_left "a failed editor with no text"
	does <<'EOF'
rm "$1"
EOF
	typed 1 'cannot open' send coder
	grep -q 'is kept' "$TMPDIR/out" && bad "it names a file that the editor removed: $(cat "$TMPDIR/out")"
	does <<'EOF'
echo typed >>"$1"; kill -INT 0; sleep 1
EOF
	typed 2 'ended' send coder
	kept '^typed$' "a signal of the keyboard"
	EDITOR=/nowhere/editor
	typed 2 'ended with status 127' send coder
	none_left "no editor"
	VISUAL="$TMPDIR/editor -x" EDITOR="$TMPDIR/editor"
	export VISUAL
	does <<'EOF'
[ "$1" = -x ] && echo typed >"$2"
EOF
	typed 0 '^sent ' send coder 2>/dev/null
	unset VISUAL
	none_left "an editor with arguments"

	# Without a terminal no editor opens.
	is 2 'TEXT is required' "$CADRE" send coder

	# `note` and `done` also take their texts from the editor.
	does <<'EOF'
echo written >"$1"
EOF
	id=$("$CADRE" task create "For notes" | tr -dc 0-9)
	"$CADRE" --team shop --as coder claim "$id" >/dev/null
	typed 0 '^wrote a note' --team shop --as coder note "$id"
	"$CADRE" --team shop --as coder done "$id" >/dev/null
	is 0 '^ *.*written' "$CADRE" task show "$id"
	none_left note
	edits
}

# Tasks are shown and edited as pages.
edits() {
	id=$("$CADRE" task create "Mend it" --description "First
## Notes
## Description
last" --tags old --acceptance-criteria "it works" --acceptance-criteria "it is fast" | tr -dc 0-9)
	does <<'EOF'
:
EOF
	typed 0 '^nothing changed' task edit "$id"
	none_left "a page that is as it was"
	does <<'EOF'
touch "$1"; sed -i 's/^# Mend it$/# Mend it: "all"/; s/^priority: 3/priority: 1/; s/^tags: .*/tags:\n  - new one\n  - other/; s/^- \[ \] it works/- [x] it works/; s/^First$/First, and\n/; $a - it is small' "$1"
EOF
	typed 0 "^changed task $id" task edit "$id"
	none_left "a changed task"
	is 0 '"title":"Mend it: \\"all\\""' "$CADRE" --json task show "$id"
	for part in '"priority":1' '"tags":\["new one","other"\]' \
		'"description":"First, and\\n\\n## Notes\\n## Description\\nlast"' \
		'"acceptance_criteria":\[{"text":"it works","done":true},{"text":"it is fast","done":false},{"text":"it is small","done":false}\]'; do
		grep -q -e "$part" "$TMPDIR/out" || bad "no $part"
	done
	grep -q '^.## Description$' "$TMPDIR/page" || bad "a line of the text reads as a section"

	# If other callers change the task while the editor is open, the other callers' changes
	# stay.
	does <<EOF
"$CADRE" task tick "$id" 2 >/dev/null; sed -i 's/^# .*/# Mine/' "\$1"
EOF
	typed 0 "^changed task $id" task edit "$id"
	is 0 '"title":"Mine".*"it is fast","done":true' "$CADRE" --json task show "$id"
	does <<EOF
"$CADRE" task update "$id" --title Theirs >/dev/null; sed -i 's/^# .*/# Mine again/' "\$1"
EOF
	typed 4 "the title of task $id changed meanwhile" task edit "$id"
	kept '^# Mine again$' "a conflict"
	is 0 '"title":"Theirs"' "$CADRE" --json task show "$id"

	# A page with an invalid line is refused, and the page is kept.
	for line in 's/^priority: .*/priority: 9/' 's/^priority: .*/status: completed/' 's/^# .*/&\nbelow/' \
		's/^- \[.*small/it is small/' 's/^tags:.*/tags: [/'; do
		printf '%s\n' "sed -i '$line' \"\$1\"" >"$TMPDIR/do"
		typed 2 invalid task edit "$id"
		kept '^## Description' "a page that was refused"
	done
	is 0 '"title":"Theirs"' "$CADRE" --json task show "$id"
	does <<'EOF'
sed -i 's/^# .*/# Typed/' "$1"; exit 1
EOF
	typed 2 'ended with status 1' task edit "$id"
	kept '^# Typed$' "a failed editor of a task"
	does <<'EOF'
printf '\377' >>"$1"
EOF
	typed 2 'hint: Write it in UTF-8' task edit "$id"
	kept '^# ' "bytes that are no text"
	typed 3 'no task' task edit 999
	none_left "no such task"
	is 2 'an editor needs a terminal' "$CADRE" task edit "$id"

	# A text that is too long for one answer is still edited as a whole.
	yes 'A line of a long text that an answer has no room for.' | head -n 4000 >"$TMPDIR/long"
	"$CADRE" task update "$id" --description "@$TMPDIR/long" >/dev/null || bad "no long text"
	does <<'EOF'
sed -i 's/^priority: .*/priority: 2/; s/^A line/One line/' "$1"
EOF
	typed 0 "^changed task $id" task edit "$id"
	[ "$(grep -c '^A line of a long' "$TMPDIR/page")" = 4000 ] || bad "not the whole text"
	does <<'EOF'
:
EOF
	typed 0 '^nothing changed' task edit "$id"
	[ "$(grep -c '^One line of a long' "$TMPDIR/page")" = 4000 ] || bad "not the whole change"
}
story
"$CADRE" up >/dev/null || bad "no host"
story
"$CADRE" down >/dev/null
[ -e "$TMPDIR/wrong" ] && bad "$(cat "$TMPDIR/wrong")"
exit $failed
