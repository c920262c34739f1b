#!/bin/sh
# agent-worktree - git itself makes the worktree of an agent, with git's filters, sparse
# checkout and hooks. When `git worktree add` is killed or fails, no program runs in half a
# worktree.
set -u
. "$(dirname "$0")/../lib/story.sh"
mkdir "$TMPDIR/shop" "$TMPDIR/gate" && cd "$TMPDIR/shop"
git init -q . && git config user.email a@b && git config user.name a
# The filter `slow` waits in the middle of a checkout while the file `shut` exists. The filter
# `coded` stores files in base64.
git config filter.slow.smudge "echo >$TMPDIR/gate/entered; while [ -e $TMPDIR/gate/shut ]; do sleep 0.1; done; [ ! -e $TMPDIR/gate/broken ] && cat"
git config filter.slow.clean cat && git config filter.slow.required true
git config filter.coded.smudge 'base64 -d' && git config filter.coded.clean base64 && git config filter.coded.required true
printf '*.slow filter=slow\n*.coded filter=coded\n' >.gitattributes
mkdir some other && echo 1 >first && echo 1 >some/file && echo 1 >other/file && echo text >last.slow && echo content >it.coded
git add . && git commit -qm one
cadre team create crew --roles lead,ann,bob,cat,dan,eve >/dev/null || bad "team"
place() { echo "$CADRE_HOME/worktrees/crew.$1"; }
whole() { # AGENT: checks that the next call gets a whole worktree and leaves no mark
	is 0 '^$' cadre agent run "$1" --worktree -- sh -c 'git status --short; echo; cat last.slow >&2'
	grep -q '^text$' "$TMPDIR/err" || bad "a file of $1 is not whole: $(cat "$TMPDIR/err")"
	[ "$(wc -l <"$TMPDIR/out")" = 1 ] || bad "git sees changes in the worktree of $1: $(cat "$TMPDIR/out")"
	[ ! -e "$(place "$1").making" ] || bad "$1 has a mark"
}

# git filters each file once when it checks the file out, and once when it adds the file.
is 0 '^content$' cadre agent run ann --worktree -- cat it.coded
is 0 . cadre agent run ann --worktree -- sh -c 'echo 2 >first; touch it.coded; git commit -qam work; git show --stat HEAD'
git merge -q crew.ann && [ "$(cat it.coded)" = content ] || bad "the merged file is damaged"

# `agent worktree` makes the same worktree and branch without a program, and prints the folder
# alone. A program that a person starts there is the agent.
is 0 "^$(place ann)\$" cadre agent worktree ann
is 0 "^$(place kim)\$" cadre agent worktree kim --role tester
[ "$(wc -l <"$TMPDIR/out")" = 1 ] || bad "more than the folder: $(cat "$TMPDIR/out")"
is 0 '^kim\ttester\toffline' cadre agent list
(cd "$(cadre agent worktree kim 2>/dev/null)" || bad "no worktree of kim"; is 0 '^kim of team crew, the agent of' cadre whoami; is 0 '^crew.kim$' git branch --show-current; is 5 'for the lead' cadre agent worktree bob; exit $failed) || failed=1
is 0 "^$(place kim)\$" cadre agent run kim --worktree -- pwd
is 0 '"path":"'"$(place kim)"'"' cadre agent worktree kim --json
is 2 'worktree NAME' cadre agent worktree
is 2 'worktree NAME' cadre agent worktree kim -- true
(cd / || bad "cd /"; is 1 'not in a git repository' cadre agent worktree new; exit $failed) || failed=1
until_is '^new\tnew\toffline' cadre agent list

# A sparse checkout stays sparse. Hooks run, and a hook that fails is reported but stops no
# program.
git sparse-checkout set some 2>/dev/null
printf '#!/bin/sh\necho "it ran in $(pwd)" >&2; exit 3\n' >.git/hooks/post-checkout && chmod +x .git/hooks/post-checkout
is 0 '^some$' cadre agent run bob --worktree -- ls
grep -q "^it ran in $(place bob)" "$TMPDIR/err" || bad "no hook: $(cat "$TMPDIR/err")"
[ ! -e "$(place bob)/other" ] || bad "the checkout is not sparse"
[ ! -e "$(place bob).making" ] || bad "bob has a mark"
git sparse-checkout disable && rm .git/hooks/post-checkout

# If a signal interrupts the making of a worktree, the next call makes the worktree anew. The
# result is the same whether cadre, git or both get the signal.
for signal in KILL TERM INT; do
	for victim in command git all; do
		in_turn $(((${#signal} + ${#victim}) % 3)) 3 || continue
		rm -f "$TMPDIR/gate/entered" && touch "$TMPDIR/gate/shut"
		# The command runs in its own process group, like a command that a shell at a
		# terminal starts.
		setsid python3 -c 'import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])' \
			"$CADRE" agent run cat --worktree -- touch "$TMPDIR/gate/ran" 2>"$TMPDIR/ended" &
		command=$!
		until_done test -e "$TMPDIR/gate/entered"
		git=$(pgrep -P $command git)
		case $victim in
		command) kill -$signal $command ;;
		git) kill -$signal "$git" ;;
		all) kill -$signal -$command ;;
		esac
		wait $command
		[ $? != 0 ] || bad "$signal to $victim: the command went on"
		[ ! -e "$TMPDIR/gate/ran" ] || bad "$signal to $victim: the program ran in half a worktree"
		rm "$TMPDIR/gate/shut"
		whole cat
		git worktree remove "$(place cat)" && git branch -q -D crew.cat
	done
done

# If the making of a worktree fails, the unfinished worktree and its branch are removed. The
# next call makes the worktree.
touch "$TMPDIR/gate/broken"
is 1 'smudge filter slow failed' cadre agent run dan --worktree -- touch "$TMPDIR/gate/ran"
grep -q '^cadre: io: git: ' "$TMPDIR/err" || bad "the fault has no line of its own: $(cat "$TMPDIR/err")"
[ ! -e "$TMPDIR/gate/ran" ] && [ ! -e "$(place dan)" ] && [ ! -e "$(place dan).making" ] || bad "half a worktree: $(ls -a "$CADRE_HOME/worktrees")"
rm "$TMPDIR/gate/broken"
whole dan

# A worktree that may be whole is not removed, since a person may have work in the worktree.
touch "$(place dan).making"
whole dan
touch "$(place dan).making" && echo mine >"$(place dan)/mine"
is 4 'may be incomplete: git was ended early' cadre agent run dan --worktree -- true
[ "$(cat "$(place dan)/mine")" = mine ] || bad "a file of a person's is gone"
git worktree remove --force "$(place dan)"
whole dan

# A call in another repository leaves the worktree of dan alone, even if the mark
# crew.dan.making lies beside the worktree.
git init -q "$TMPDIR/next" && git -C "$TMPDIR/next" -c user.name=a -c user.email=a@b commit -q --allow-empty -m one
touch "$(place dan).making" && echo mine >"$(place dan)/mine"
in_next() { (cd "$TMPDIR/next" && cadre agent run dan --worktree -- true); }
is 4 'is not a worktree of this repository' in_next
[ "$(cat "$(place dan)/mine")" = mine ] || bad "a worktree of another repository is gone"
rm "$(place dan)/mine"
whole dan
is 4 'is not a worktree of this repository' in_next
[ ! -e "$(place dan).making" ] || bad "a worktree of another repository has a mark"

# The command also works under a parent process that ignores SIGCHLD.
git worktree remove "$(place dan)" && git branch -q -D crew.dan
is 0 '^text$' env --ignore-signal=CHLD "$CADRE" agent run dan --worktree -- cat last.slow
whole dan

# While the git process of a killed call still runs, another call waits for that git process.
rm -f "$TMPDIR/gate/entered" && touch "$TMPDIR/gate/shut"
"$CADRE" agent run eve --worktree -- true 2>/dev/null &
command=$!
until_done test -e "$TMPDIR/gate/entered"
kill -KILL $command
wait $command 2>/dev/null
"$CADRE" agent run eve --worktree -- pwd >"$TMPDIR/waited" 2>"$TMPDIR/err" &
command=$!
sleep 0.3
kill -0 $command || bad "the call did not wait: $(cat "$TMPDIR/err")"
rm "$TMPDIR/gate/shut"
wait $command && [ "$(cat "$TMPDIR/waited")" = "$(place eve)" ] || bad "the call that waited: $(cat "$TMPDIR/err")"
whole eve
# If git is not installed, the hint of the fault says how to install git.
mkdir "$TMPDIR/none"
is 1 'apt-get install git' env PATH="$TMPDIR/none" "$CADRE" agent run eve --worktree -- true
exit $failed
