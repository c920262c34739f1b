#!/bin/sh
# reservations - other agents do not change the files that an agent has reserved. Unless a
# reservation is shared, no other agent can reserve its files, however many agents try at the
# same time. A hook refuses a client's tool that would write a reserved file, and git refuses a
# commit that contains a reserved file.
set -u
. "$(dirname "$0")/../lib/story.sh"
. "$(dirname "$0")/../lib/patient.sh"
export CADRE_LIMITS_ENABLED=false
trap 'cadre down >/dev/null 2>&1' EXIT

cadre team create crew --roles '[{"name":"lead"},{"name":"coder"},{"name":"tester"},{"name":"w","count":32}]' >/dev/null || bad "team"
work=$TMPDIR/work
mkdir -p "$work/src/sub" "$TMPDIR/elsewhere"
git init -q "$work" || bad "git init"
git -C "$work" config user.email a@b
git -C "$work" config user.name a
for name in coder tester; do cadre agent env $name --team crew >"$TMPDIR/$name" || bad "env"; done
# at FOLDER AGENT COMMAND...: runs COMMAND as the agent AGENT in the folder FOLDER.
at() { (cd "$work/$1" && . "$TMPDIR/$2" && shift 2 && "$@"); }

# event TOOL INPUT: the event that a client writes to its hook before a tool runs.
event() { printf '{"session_id":"s","cwd":"%s","hook_event_name":"%s","tool_name":"%s","tool_input":%s}' "$work" "${event:-PreToolUse}" "$1" "$2" >"$TMPDIR/event"; }
told() { # CLIENT
	at . tester hook "$1" <"$TMPDIR/event" >"$TMPDIR/told" 2>"$TMPDIR/err" || bad "the hook of $1 ended with $?"
	[ ! -s "$TMPDIR/err" ] || bad "the hook of $1 complains: $(cat "$TMPDIR/err")"
}
denied() { # CLIENT PATTERN
	told "$1"
	grep -Eq "$2" "$TMPDIR/told" || bad "$1 is not told '$2': $(cat "$TMPDIR/told")"
}
free() { # CLIENT
	told "$1"
	[ ! -s "$TMPDIR/told" ] || bad "$1 is refused a free file: $(cat "$TMPDIR/told")"
}

round=0
all() { # runs twice, without a host and with a host
	# `cadre reserve` reads paths relative to the working directory.
	is 0 'src/sub/\*\*' at src/sub coder cadre reserve '**' --reason 'new parser' --ttl 600
	is 0 'src/a\.c' at src coder cadre reserve a.c ../doc/
	is 2 'not in the project' at . coder cadre reserve "$TMPDIR/elsewhere/x"
	is 4 'coder holds the reservation of src/sub/\*\*' at src tester cadre reserve "$work/src/sub/x.c"
	is 0 'src/sub/\*\*.*coder' at src/sub tester cadre reservations --path deep/x.c
	is 0 '"reservations":\[\]' at src tester cadre reservations --path b.c --json
	is 0 'crew.src/a\.c.coder.exclusive.*20.*Z' sqlite3 "$CADRE_HOME/state.db" "SELECT * FROM v_reservation"

	# If a tool would write a reserved file, the hook refuses the tool, in the form that the
	# client expects. The hook does not refuse a tool that reads a reserved file.
	event Edit "{\"file_path\":\"$work/src/sub/x.c\",\"old_string\":\"a\"}"
	denied claude '^\{"hookSpecificOutput":\{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"cadre: src/sub/x\.c is reserved by coder for [0-9]+ min more \(src/sub/\*\*: new parser\)\. Work on another file, wait until it is free, or ask for it: cadre send coder TEXT"\}\}$'
	event Write '{"content":"{\"file_path\":\"b\"}","file_path":"src/a.c"}'; denied claude 'src/a\.c is reserved by coder'
	event MultiEdit '{"edits":[{"file_path":"src/b.c"}],"file_path":"./doc/../src/a.c"}'; denied claude 'src/a\.c is reserved by coder'
	event NotebookEdit '{"notebook_path":"doc/n.ipynb"}'; denied claude 'doc/n\.ipynb is reserved by coder'
	ln -s src "$work/led"; : >"$work/src/a.c" && ln -s src/a.c "$work/one"
	event Edit '{"file_path":"led/sub/new.c"}'; denied claude 'src/sub/new\.c is reserved by coder'
	event Edit '{"file_path":"one"}'; denied claude 'src/a\.c is reserved by coder'
	event Edit '{"file_path":"led/b.c"}'; free claude
	rm "$work/led" "$work/one" "$work/src/a.c"
	event Read '{"file_path":"src/a.c"}'; free claude
	event Edit '{"file_path":"src/b.c"}'; free claude
	event Edit "{\"file_path\":\"$TMPDIR/elsewhere/src/a.c\"}"; free claude
	event Edit '{"edits":{"file_path":"src/a.c"},"new_string":"src/a.c"}'; free claude
	event Edit '[]'; free claude
	event Bash '{"command":"*** Update File: src/a.c"}'; free codex
	event apply_patch '{"command":"*** Begin Patch\n \t *** Move to: src/sub/b.c\n*** End Patch"}'; denied codex 'src/sub/b\.c is reserved by coder'
	event apply_patch '{"command":"*** Begin Patch\n*** Add File: src/new.c\n+*** Update File: src/a.c\n*** Update File: src/b.c\n@@\n-x \\\n*** Move to: src/sub/b.c\n*** End Patch"}'; denied codex 'src/sub/b\.c is reserved by coder'
	event apply_patch '{"command":"*** Begin Patch\n*** Add File: src/new.c\n+*** Update File: src/a.c\n*** End Patch"}'; free codex
	for blank in ' ' '\t' '\u00a0 ' '\u2003'; do
		event apply_patch "{\"command\":\"*** Begin Patch\n${blank}*** Update File: ${blank}src/a.c${blank}\n@@\n\"}"; denied codex 'src/a\.c is reserved by coder'
	done
	event=BeforeTool; event write_file '{"file_path":"src/a.c","content":"x"}'; denied gemini '^\{"decision":"deny","reason":"cadre: src/a\.c'
	event=preToolUse; event Write '{"file_path":"src/a.c"}'; denied cursor '^\{"permission":"deny","user_message":"cadre: src/a\.c.*"agent_message":"cadre'
	event=tool.execute.before; event edit '{"filePath":"src/a.c"}'; denied opencode '^\{"deny":"cadre: src/a\.c'
	unset event
	# The hook checks each file that a tool writes, however many files there are. The hook
	# also checks a file whose name is not UTF-8.
	event apply_patch "{\"command\":\"*** Begin Patch$(seq -f '\n*** Add File: many/%g' -s '' 200)\\n*** Add File: src/a.c\\n*** End Patch\"}"; denied codex 'src/a\.c is reserved by coder'
	event Write "{\"file_path\":\"src/sub/$(printf 'x\377').c\"}"; denied claude 'src/sub/x.*\.c is reserved by coder'
	event Write '{"file_path":"src/sub/\\\ud83d\ude00\ud83d.c"}'; denied claude 'src/sub/.*\.c is reserved by coder'
	# The hook does not refuse the holder of a reservation. If a reservation is shared, the
	# hook refuses no agent.
	event Edit '{"file_path":"src/a.c"}'
	[ -z "$(at . coder hook claude <"$TMPDIR/event")" ] || bad "a holder is refused"
	is 0 . at src coder cadre reserve a.c --shared
	free claude
	is 0 . at src coder cadre reserve a.c

	# git refuses the commit of a file that another agent has reserved, and names the
	# holder.
	printf '#!/bin/sh\nexec "%s" hook pre-commit\n' "$CADRE" >"$work/.git/hooks/pre-commit"
	chmod +x "$work/.git/hooks/pre-commit"
	round=$((round + 1))
	echo $round >>"$work/src/b.c"
	git -C "$work" add src/b.c
	is 0 . at src tester git commit -m b
	echo $round >"$work/src/a.c"
	for i in $(seq 100); do echo "$i $round" >"$work/many.$i"; done
	git -C "$work" add .
	is 1 'src/a.c is reserved by coder for [0-9]* min more' at src tester git commit -m a
	# In a stopped team reservations do not end.
	cadre estop crew >/dev/null || bad "estop"
	is 1 'src/a.c is reserved by coder (src/a.c)' at src tester git commit -m a
	cadre thaw crew >/dev/null || bad "thaw"
	is 0 . at . coder git commit -m a
	# git also refuses a commit with a reserved file whose name is not UTF-8. The refused
	# commit also contains a file whose name is longer than a path may be.
	: >"$work/src/sub/$(printf 'x\377').c"
	git -C "$work" add src/sub
	long=$(printf 'long/%.0s' $(seq 1000))x
	git -C "$work" update-index --add --cacheinfo "100644,$(git -C "$work" hash-object -w /dev/null),$long"
	is 1 'src/sub/x.*.c is reserved by coder for [0-9]* min more' at src tester git commit -m x
	git -C "$work" reset -q
	rm "$work"/src/sub/x*
	git -C "$work" rm -q src/a.c
	is 1 'src/a.c is reserved by coder for [0-9]* min more' at . tester git commit -m a
	is 0 . at . tester git commit --no-verify -m a
	echo again >"$work/src/a.c"
	git -C "$work" add .
	# The hook never refuses a person's commit.
	[ -z "$(cd "$work" && "$CADRE" hook pre-commit </dev/null 2>&1 || echo failed)" ] || bad "a person is held up"

	is 0 '^released src/a\.c; [0-9]* left$' at src coder cadre unreserve a.c
	is 0 . at src tester git commit -m a
	event Edit '{"file_path":"src/a.c"}'; free claude
	is 0 released cadre --team crew --as lead unreserve --agent coder

	# If several callers reserve overlapping globs, one of them succeeds.
	i=1
	takers=
	while [ $i -le 32 ]; do
		case $((i % 3)) in 0) glob="r/**" ;; 1) glob="r/*/x.c" ;; *) glob="r/a/x.c" ;; esac
		(cd "$work" && exec "$CADRE" --team crew --as w-$i reserve "$glob") >"$TMPDIR/taker.$i" 2>&1 &
		takers="$takers $!:$i"
		i=$((i + 1))
	done
	won=0 lost=0
	for taker in $takers; do
		wait "${taker%:*}"
		case $? in
		0) won=$((won + 1)) ;;
		4) lost=$((lost + 1)); grep -q 'holds the reservation of r/' "$TMPDIR/taker.${taker#*:}" || bad "a loser is told: $(cat "$TMPDIR/taker.${taker#*:}")" ;;
		*) bad "a taker failed: $(cat "$TMPDIR/taker.${taker#*:}")" ;;
		esac
	done
	[ "$won $lost" = "1 31" ] || bad "$won won, $lost lost"
	is 0 '^1$' sqlite3 "$CADRE_HOME/state.db" "SELECT count(*) FROM v_reservation"
	winner=$(sqlite3 "$CADRE_HOME/state.db" "SELECT agent FROM v_reservation")
	is 0 released cadre --team crew --as "$winner" unreserve
}

all
cadre up >/dev/null || bad "up"
all

# git runs different hooks for a merge, a cherry-pick, a revert and `git am`. Each hook refuses
# the commit of a reserved file.
cp "$work/.git/hooks/pre-commit" "$TMPDIR/guard"
for name in pre-merge-commit pre-applypatch prepare-commit-msg; do cp "$TMPDIR/guard" "$work/.git/hooks/$name"; done
is 0 . at . coder cadre reserve src/a.c lib/a.c sub
git -C "$work" reset -q --hard && git -C "$work" checkout -q -b side && echo side >"$work/src/a.c" || bad "git"
git -C "$work" commit -q -a -m side && git -C "$work" checkout -q - || bad "git"
commits() { # STATUS COMMAND: the tester's git command ends with this status
	is $1 'src/a.c is reserved by coder' at . tester git $2
	git -C "$work" reset -q --hard
	git -C "$work" am --abort >/dev/null 2>&1
}
git -C "$work" format-patch -q -1 side -o "$TMPDIR"
commits 1 "merge --no-ff -m m side"
commits 128 "cherry-pick side"
commits 128 "revert --no-edit HEAD"
commits 1 "am $TMPDIR/0001-side.patch"
rm "$work"/.git/hooks/pre-[ma]* "$work/.git/hooks/prepare-commit-msg"

# An agent can reserve files in a submodule by paths of the outer worktree. If the submodule's
# folder is reserved, the outer repository's commit of the submodule is refused.
git init -q "$TMPDIR/lib" && (cd "$TMPDIR/lib" && : >a.c && git add . && git -c user.name=a -c user.email=a@b commit -q -m a) || bad "git"
git -C "$work" -c protocol.file.allow=always submodule --quiet add "$TMPDIR/lib" lib && git -C "$work" commit -q -m lib || bad "submodule"
git -C "$work/lib" config user.email a@b && git -C "$work/lib" config user.name a
cp "$TMPDIR/guard" "$work/.git/modules/lib/hooks/pre-commit"
is 0 'lib/b\.c' at lib coder cadre reserve b.c
event() { printf '{"session_id":"lib","cwd":"%s","hook_event_name":"PreToolUse","tool_name":"Edit","tool_input":{"file_path":"%s"}}' "$1" "$2" >"$TMPDIR/event"; }
event "$work/lib" a.c; denied claude 'lib/a\.c is reserved by coder'
event "$work/lib" src/a.c; free claude
echo 1 >"$work/lib/a.c"
is 1 'lib/a.c is reserved by coder' at lib tester git commit -a -m a
is 0 . at lib coder git commit -a -m a
is 0 . at . coder cadre reserve lib
git -C "$work" config -f .gitmodules submodule.lib.ignore all
git -C "$work" add -f lib
is 1 'lib is reserved by coder' at . tester git commit -m lib
# In a glob, the braces of `{-$lang}` are ordinary characters.
is 0 'routes/{-\$lang}' at . coder cadre reserve 'routes/{-$lang}/index.tsx'
event "$work" 'routes/{-$lang}/index.tsx'; denied claude 'index\.tsx is reserved by coder'
is 2 'name each glob by itself' at . coder cadre reserve '*.{c,h}'
# Files of a worktree inside another worktree are named relative to the inner worktree.
git -C "$work" reset -q --hard && git -C "$work" worktree add -q inner 2>/dev/null || bad "worktree"
is 0 'src/y\.c' at . coder cadre reserve inner/src/y.c
event "$work" "$work/inner/src/y.c"; denied claude 'src/y\.c is reserved by coder'
event "$work/inner" "$work/src/y.c"; denied claude 'src/y\.c is reserved by coder'
event "$work" "$work/inner/y.c"; free claude
is 0 . at . coder cadre unreserve

# A reservation ends when its time is over, and the host records an event.
is 0 . at . coder cadre reserve short --ttl 5
is 0 'reservation.lapsed.*short' cadre events --team crew --kind reservation.lapsed --wait-seconds "$(bound)"
# A call whose globs take too long to compare is refused, so that it does not delay other calls.
for k in 1 2 3; do
	at . coder cadre reserve $(/usr/bin/python3 -c "print(*('*a' * 120 + 'x' + str(i + 64 * $k) for i in range(64)))") >/dev/null || bad "reserve *a"
done
is 2 'takes too long' at . tester cadre reserve $(/usr/bin/python3 -c "print(*('*b' * 120 + 'y' + str(i) for i in range(64)))")
is 0 . at . coder cadre unreserve
# A team holds at most 1024 reservations.
i=0
while [ $i -lt 16 ]; do
	at . coder cadre reserve $(seq -f "f%g" $((i * 64 + 1)) $((i * 64 + 64))) >/dev/null || bad "reserve $i"
	i=$((i + 1))
done
is 6 'holds 1024 reservations' at . tester cadre reserve one-more
is 0 . at . tester cadre reservations --path one-more
# If a team holds 1024 reservations, a holder can still renew a reservation, but cannot make a
# new reservation.
is 0 '^reserved f7, shared; ' at . coder cadre reserve f7 f7/ --shared
is 6 'holds 1024 reservations' at . coder cadre reserve f7 one-more
exit $failed
