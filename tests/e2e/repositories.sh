#!/bin/sh
# repositories - cadre is used in twelve kinds of git repository. For each kind the test checks
# which state is used, and whether the user trusts the state. The test also checks which agent
# works in a folder, and what `status`, a hook and `prime` print. Commands must refuse a state
# whose files git tracks.
set -u
. "$(dirname "$0")/../lib/said.sh"
unset CADRE_TEAM CADRE_AGENT CADRE_TOKEN
export GIT_ALLOW_PROTOCOL=file

left_out() { echo "left out: $1"; }
into() { mkdir -p "$1" && cd "$1" || exit 1; }
commit() { mkdir -p src && echo "$1" >"src/$1" && echo "$1" >"$1" && git add . && git commit -m "$1"; }
# asked COMMAND...: runs cadre, with changed variables if the kind of repository needs them.
with=env session=0
asked() { $with "$CADRE" "$@"; }

# made STATE: makes a new state and a team in it, from the working directory.
made() {
	is 0 "^made $1\$" asked init
	is 0 . asked team create shop
}
# works STATE PLACE AGENT: the agent registers in the working directory. Commands in the working
# directory, and in a folder below the working directory, act as this agent.
works() {
	state=$1 place=$2 agent=$3 session=$((session + 1))
	is 0 "^you are $agent of team shop" asked agent register "$agent" --here
	mkdir -p deep
	for folder in . deep; do
		cd "$folder" || exit 1
		answers
	done
	cd .. || exit 1
}
# answers: checks the answers of commands in the working directory.
answers() {
	is 0 "\"agent\":\"$agent\",\"team\":\"shop\",\"operator\":false,\"by\":\"[a-z]*\",\"place\":\"$place\",\"home\":\"$state\"" asked whoami --json
	is 0 "^already known: $state\$" asked trust
	is 0 "^home $state\$" asked status
	[ "$(cat "$TMPDIR/err")" = "nothing needs you" ] || bad "status complains in $PWD"
	is 0 "^You are $agent of team shop" asked prime
	printf '{"session_id":"s%s","transcript_path":"/t","cwd":"%s","hook_event_name":"SessionStart","source":"startup"}' $session "$PWD" >"$TMPDIR/event"
	asked hook claude <"$TMPDIR/event" >"$TMPDIR/out" 2>"$TMPDIR/err" || bad "a hook in $PWD"
	grep -q "\"You are $agent of team shop" "$TMPDIR/out" || bad "the hook in $PWD does not say who that is"
}
# tracked STATE: commands refuse the state while git tracks a file of the state, and also after
# git has stopped tracking the file. After `cadre trust`, commands use the state. While git
# tracks a second file of the state, commands refuse the state again.
tracked() {
	git add --sparse -f .cadre/id || bad "git adds nothing in $PWD"
	for verb in status prime 'task list'; do is 5 "$1 holds files that git tracks" asked $verb; done
	git rm --sparse --cached -f .cadre/id || bad "git removes nothing"
	is 5 "$1 held files that git tracked" asked status
	is 0 "^trusted $1\$" asked trust
	is 0 "^home $1\$" asked status
	git add --sparse -f .cadre/.gitignore || bad "git adds nothing in $PWD"
	is 5 "$1 has entries in git.s index, or a cadre.toml, that have changed" asked status
	git rm --sparse --cached -f .cadre/.gitignore || bad "git removes nothing"
	is 0 "^home $1\$" asked status
}
# main KIND FOLDER: tests the repository whose main worktree is FOLDER, and a second worktree of
# this repository.
main() {
	cd "$2" || exit 1
	made "$2/.cadre"
	works "$2/.cadre" "$2" "ann"
	git worktree add "../$1-more" || bad "$1: no worktree"
	cd "../$1-more" || exit 1
	is 0 "^already there: $2/.cadre\$" asked init
	is 0 '"operator":true' asked whoami --json
	works "$2/.cadre" "$TMPDIR/$1-more" "ben"
	cd "$2" || exit 1
	tracked "$2/.cadre"
}

# --- the twelve kinds ------------------------------------------------------------------------

into "$TMPDIR/sha1" && git init . && commit a || bad "sha1"
main sha1 "$TMPDIR/sha1"

into "$TMPDIR/sha256" && git init --object-format=sha256 . && commit a || bad "sha256"
[ "$(command git rev-parse HEAD | wc -c)" = 65 ] || bad "names are not of SHA-256"
main sha256 "$TMPDIR/sha256"

into "$TMPDIR/split" && git init . && git config core.splitIndex true && commit a &&
	git update-index --split-index && commit b || bad "split"
ls .git/sharedindex.* >/dev/null || bad "the index is not split"
main split "$TMPDIR/split"

into "$TMPDIR/sparse" && git init . && commit a && mkdir -p far/off && echo 1 >far/off/x && git add . && git commit -m far &&
	git sparse-checkout set --cone --sparse-index src || bad "sparse"
git ls-files --sparse && command git ls-files --sparse | grep -q '^far/$' || bad "the index is not sparse"
main sparse "$TMPDIR/sparse"

into "$TMPDIR/origin" && git init . && commit a && commit b && git config uploadpack.allowFilter true || bad "origin"
git clone --no-checkout --filter=blob:none "file://$TMPDIR/origin" "$TMPDIR/partial" && cd "$TMPDIR/partial" &&
	git checkout HEAD -- a src || bad "partial"
ls .git/objects/pack/*.promisor >/dev/null || bad "the clone is whole"
main partial "$TMPDIR/partial"

# Git 2.48 can make worktrees with relative paths by itself. An older git does not know the
# extension relativeWorktrees, so the test writes the relative paths.
into "$TMPDIR/relative" && git init . && commit a && git worktree add ../relative-a || bad "relative"
made "$TMPDIR/relative/.cadre"
git config core.repositoryFormatVersion 1 && git config extensions.relativeWorktrees true || bad "relative"
echo 'gitdir: ../relative/.git/worktrees/relative-a' >../relative-a/.git
echo '../../../../relative-a/.git' >.git/worktrees/relative-a/gitdir
cd ../relative-a || exit 1
works "$TMPDIR/relative/.cadre" "$TMPDIR/relative-a" ann

into "$TMPDIR/trees" && git clone --bare ../origin .bare && echo 'gitdir: ./.bare' >.git || bad ".bare"
git worktree add -b x x && git worktree add -b y y || bad ".bare: no worktree"
made "$TMPDIR/trees/.cadre"
works "$TMPDIR/trees/.cadre" "$TMPDIR/trees" ann
for name in x y; do
	cd "$TMPDIR/trees/$name" && is 0 '"operator":true' asked whoami --json
	works "$TMPDIR/trees/.cadre" "$TMPDIR/trees/$name" "of-$name"
done

into "$TMPDIR/super" && git init . && commit a && git submodule add ../origin part && git commit -m part || bad "submodule"
[ -f part/.git ] || bad "it is no submodule"
made "$TMPDIR/super/.cadre"
works "$TMPDIR/super/.cadre" "$TMPDIR/super" ann
cd part && made "$TMPDIR/super/part/.cadre"
is 0 '"operator":true' asked whoami --json
works "$TMPDIR/super/part/.cadre" "$TMPDIR/super/part" ben
git add --sparse -f .cadre/id || bad "git adds nothing in $PWD"
is 0 "^home $TMPDIR/super/.cadre\$" asked status
grep -q "$TMPDIR/super/part/.cadre holds files that git tracks, .*: cadre uses " "$TMPDIR/err" || bad "a state is passed over in silence"

into "$TMPDIR/config" && git init . && commit a && git config extensions.worktreeConfig true &&
	git config --worktree core.sparseCheckout false || bad "worktreeConfig"
[ -f .git/config.worktree ] || bad "no configuration of the worktree"
main config "$TMPDIR/config"

into "$TMPDIR/no-git" && git init . && commit a && git worktree add ../no-git-a || bad "no git"
mkdir "$TMPDIR/empty" && with="env PATH=$TMPDIR/empty"
made "$TMPDIR/no-git/.cadre"
works "$TMPDIR/no-git/.cadre" "$TMPDIR/no-git" ann
cd ../no-git-a && works "$TMPDIR/no-git/.cadre" "$TMPDIR/no-git-a" ben
cd ../no-git && tracked "$TMPDIR/no-git/.cadre"
with=env

# The library libgit2 cannot be loaded here, so a command that needed the library would fail.
mkdir "$TMPDIR/void" && : >"$TMPDIR/void/libgit2.so.1.5" && ln -s libgit2.so.1.5 "$TMPDIR/void/libgit2.so" || exit 1
with="env LD_LIBRARY_PATH=$TMPDIR/void"
into "$TMPDIR/no-library" && git init . && commit a || bad "no libgit2"
main no-library "$TMPDIR/no-library"
with=env

into "$TMPDIR/returns" && git init . && commit a && git worktree add ../returns-a || bad "carriage return"
made "$TMPDIR/returns/.cadre"
cd ../returns-a && printf '%s\r\n' "$(cat .git)" >.git.new && mv .git.new .git || exit 1
command git rev-parse HEAD >/dev/null 2>&1 || left_out "a .git file with a carriage return: this git does not take it"
works "$TMPDIR/returns/.cadre" "$TMPDIR/returns-a" ann
git init --separate-git-dir="$TMPDIR/returns.git" "$TMPDIR/returns-b" && cd "$TMPDIR/returns-b" && commit a &&
	printf '%s\r\n' "$(cat .git)" >.git.new && mv .git.new .git || exit 1
made "$TMPDIR/returns-b/.cadre"
works "$TMPDIR/returns-b/.cadre" "$TMPDIR/returns-b" ann
tracked "$TMPDIR/returns-b/.cadre"
exit $failed
