#!/bin/sh
# which-state - commands use or make only the state that the user means. The cases are a user
# without a home, another user's home, a prepared folder, a folder that is gone, and several
# kinds of worktrees. An address such as TEAM/AGENT names the team of a call.
set -u
. "$(dirname "$0")/../lib/said.sh"

into() { mkdir -p "$1" && cd "$1" || exit 1; }
as_user() { # UID COMMAND...: runs the command as another user, if allowed
	user=$1
	shift
	setpriv --reuid "$user" --regid "$user" --clear-groups "$@"
}
open=$(mktemp -d /tmp/cadre-open.XXXXXX) || exit 1 # other users can reach this folder
trap 'rm -rf "$open"' EXIT
chmod 777 "$open"
left_out() { echo "left out: $1"; }
may_be_others() { [ "$(id -u)" = 0 ] && as_user 54321 "$CADRE" version >/dev/null 2>&1; }

# --- no home ---------------------------------------------------------------------------

# A state that --home or CADRE_HOME names can be made even if cadre cannot record that the state
# is the user's.
into "$TMPDIR/nowhere"
none="env -u XDG_STATE_HOME HOME=/dev/null/none"
is 0 "^made $PWD/named/.cadre" $none CADRE_HOME="$PWD/named/.cadre" "$CADRE" init
grep -q 'uses this state only if you name it' "$TMPDIR/err" || bad "it does not say that nothing is noted"
is 0 '^host' $none "$CADRE" --home named/.cadre status
is 1 "/dev/null/none: Not a directory" $none "$CADRE" init
[ ! -e .cadre ] || bad "a state was made that would not count"
if may_be_others && ! getent passwd 54321 >/dev/null; then
	into "$open"
	none="as_user 54321 env -u HOME -u XDG_STATE_HOME -u XDG_RUNTIME_DIR"
	is 0 "^made" $none "$CADRE" --home "$PWD/named/.cadre" init
	is 0 '^host' $none "$CADRE" --home "$PWD/named/.cadre" status
	for verb in init status up; do
		is 3 'neither HOME nor XDG_STATE_HOME is set' $none "$CADRE" $verb
	done
else
	left_out 'a user without a home: it needs root, and that uid 54321 is free'
fi

# --- somebody else's home --------------------------------------------------------------

if may_be_others; then
	into "$TMPDIR/sudo"
	mkdir "$TMPDIR/anns" && chown 54321 "$TMPDIR/anns"
	anns="env -u XDG_STATE_HOME HOME=$TMPDIR/anns"
	is 5 "$TMPDIR/anns belongs to another user" $anns "$CADRE" init
	for verb in up 'team create t'; do
		is 3 "none at $TMPDIR/anns/.local/state/cadre" $anns "$CADRE" $verb
	done
	is 5 "belongs to another user" env XDG_STATE_HOME="$TMPDIR/anns/state" "$CADRE" init
	is 0 '^made' $anns "$CADRE" --home "$PWD/named/.cadre" init
	[ -z "$(ls -A "$TMPDIR/anns")" ] || bad "something was made in another's home"
	[ "$(ls -A)" = named ] || bad "a state was made that would not count"
else
	left_out "somebody else's home, as with sudo: it needs root"
fi

# --- a folder that was prepared ----------------------------------------------------------

into "$TMPDIR/prepared"
mkdir -m 755 .cadre && echo 'team.default = "mine"' >.cadre/cadre.toml
is 0 "^made $PWD/.cadre" cadre init
[ "$(stat -c %a .cadre)" = 700 ] || bad "it is not private"
is 0 'team.default\tmine\t.*/.cadre/cadre.toml' cadre config
is 0 'already there' cadre init
# A file cadre.toml that was in the folder before the state was made may set only what a
# project's configuration file may set, because anyone may have written the file.
into "$TMPDIR/shipped"
mkdir .cadre && printf '[vault]\nroot = "%s"\n' "$HOME" >.cadre/cadre.toml
is 2 "a project's file cannot set vault.root" cadre init
grep -q 'move it away, run .cadre init., and move it back' "$TMPDIR/err" || bad "no hint"
[ "$(ls -A .cadre)" = cadre.toml ] || bad "it was touched"
mv .cadre/cadre.toml "$TMPDIR/kept.toml" && is 0 "^made" cadre init && mv "$TMPDIR/kept.toml" .cadre/cadre.toml
is 0 "vault.root\t$HOME" cadre config
into "$TMPDIR/other"
mkdir .cadre && ln -s "$HOME/x" .cadre/cadre.toml
is 2 'is a link' cadre init
rm .cadre/cadre.toml && echo x >.cadre/other
is 5 'was not made here by you' cadre init
into "$TMPDIR/tracked" && git init . && mkdir .cadre && echo 'team.default = "t"' >.cadre/cadre.toml && git add -f .cadre
is 5 'files that git tracks' cadre init
if may_be_others; then
	into "$TMPDIR/foreign" && mkdir .cadre && chown 54321 .cadre
	is 5 'belongs to another user' cadre init
	[ "$(stat -c '%a %u' .cadre)" = '755 54321' ] || bad "root has taken it"
else
	left_out "another user's folder: it needs root"
fi

# --- a folder that is gone -------------------------------------------------------------

is 0 '^made' cadre --home "$XDG_STATE_HOME/cadre" init
into "$TMPDIR/gone" && rmdir "$TMPDIR/gone"
for verb in status init up down doctor 'team list' 'team create t'; do
	is 3 'the current directory is gone' timeout "$(bound)" "$CADRE" $verb
done
is 0 'the current directory is gone' timeout "$(bound)" "$CADRE" mcp # each tool reports the fault
is 0 '^host' cadre --home "$XDG_STATE_HOME/cadre" status
CADRE_HOME=$XDG_STATE_HOME/cadre is 0 '^host' cadre status

# --- worktrees -------------------------------------------------------------------------

# Usage: one STATE FOLDER...: in each FOLDER `init` names STATE, and commands in a folder below
# FOLDER use STATE.
one() {
	state=$1
	shift
	for dir; do
		cd "$dir" || exit 1
		is 0 "already there: $state$" cadre init
		mkdir -p deep && cd deep || exit 1
		is 0 '^host' cadre status
		! grep -qv '^nothing needs you$' "$TMPDIR/err" || bad "the ordinary way is told something"
	done
}
into "$TMPDIR/source" && git init . && git commit --allow-empty -m x
# The state of a bare repository's worktrees is in the bare repository.
cd "$TMPDIR" && git clone --bare source bare.git
git -C bare.git worktree add -b a ../bare-a && git -C bare.git worktree add -b b ../bare-b || bad "worktree"
cd bare-a && is 0 "^made $TMPDIR/bare.git/.cadre" cadre init
one "$TMPDIR/bare.git/.cadre" "$TMPDIR/bare-a" "$TMPDIR/bare-b" "$TMPDIR/bare.git"
# A folder that contains worktrees has a file `.git` that leads to a bare repository. The first
# `init` runs in this folder or in a worktree.
for first in . a; do
	into "$TMPDIR/trees" && git clone --bare ../source .bare && echo 'gitdir: ./.bare' >.git
	git worktree add -b a a && git worktree add -b b b || bad "worktree"
	cd $first && is 0 "^made $TMPDIR/trees/" cadre init
	cd "$TMPDIR/trees" && state=$(find . -name .cadre)
	one "$PWD/${state#./}" "$PWD/a" "$PWD/b" "$PWD"
	rm -r "$TMPDIR/trees"
done
# The repository's folder may be outside the main worktree, as with --separate-git-dir and with
# submodules.
cd "$TMPDIR" && git init --separate-git-dir="$TMPDIR/apart.git" apart && cd apart && git commit --allow-empty -m x
git worktree add ../apart-a && git worktree add ../apart-b || bad "worktree"
is 0 "^made $TMPDIR/apart/.cadre" cadre init
one "$TMPDIR/apart/.cadre" "$TMPDIR/apart" "$TMPDIR/apart-a" "$TMPDIR/apart-b"
into "$TMPDIR/super" && git init . && git submodule add ../source part || bad "submodule"
git -C part worktree add ../../part-a && git -C part worktree add ../../part-b || bad "worktree"
cd part && is 0 "^made $TMPDIR/super/part/.cadre" cadre init
one "$TMPDIR/super/part/.cadre" "$TMPDIR/super/part" "$TMPDIR/part-a" "$TMPDIR/part-b"
cd "$TMPDIR/super" && is 0 "^made $TMPDIR/super/.cadre" cadre init

# If git does not say whether a folder is the main worktree, cadre does not guess.
cd "$TMPDIR" && git init --separate-git-dir="$TMPDIR/late.git" late && cd late && git commit --allow-empty -m x
git worktree add ../late-a && cd ../late-a && is 0 "^made $TMPDIR/late.git/.cadre" cadre init
cd ../late
for verb in init status 'team create t'; do
	is 5 'late.git/.cadre belongs to a repository that does not know this worktree' cadre $verb
done
# If a file `.git` leads to a repository that does not list the folder as a worktree, commands
# find no state and make no state.
into "$TMPDIR/mine" && git init . && git commit --allow-empty -m x && git worktree add ../mine-a && cadre init >/dev/null
into "$TMPDIR/forged"
stray() {
	for verb in init status 'team create t' trust; do
		is 5 'mine/.cadre belongs to a repository that does not know this worktree' cadre $verb
	done
	[ ! -e .cadre ] || bad "a state was made"
}
echo "gitdir: $TMPDIR/mine/.git" >.git
stray
echo "gitdir: $TMPDIR/mine/.git/worktrees/mine-a" >.git
stray
mkdir own && echo "gitdir: own" >.git && echo "$TMPDIR/mine/.git" >own/commondir && echo "$PWD/.git" >own/gitdir
stray
mkdir worktrees && mv own worktrees && ln -s "$TMPDIR/mine/.git/HEAD" HEAD && echo "gitdir: worktrees/own" >.git
stray
# A file `.git` that leads to no repository is treated as missing.
for line in 'gitdir: /dev/null' 'gitdir: .git' 'gitdir: ' 'x'; do
	echo "$line" >.git
	is 0 '^host' cadre --home "$TMPDIR/mine/.cadre" status
	is 0 '^host' cadre status # finds the user's own state
done
# If git's folder for a worktree is gone, cadre cannot find the worktree's state, so commands
# are refused.
echo 'gitdir: nowhere' >.git
is 5 'the git folder that .*forged/.git names is gone' cadre team create lost
mkdir below && cd below
is 5 'the git folder that .*forged/.git names is gone' cadre status
is 0 '^host' cadre --home "$TMPDIR/mine/.cadre" status
cd ..

# --- a state that cannot be written ----------------------------------------------------

# cadre does not read a state that it cannot write, because another process may use the state. A
# copy of the state can be read.
unwritable() { # STATE COMMAND...
	state=$1
	shift
	for verb in status 'task list' 'inbox peek' 'task create x'; do
		is 7 "cannot write $state (.*): cadre needs this even to read" "$@" --home "$state" --team t $verb
		grep -q "cp -a $state COPY" "$TMPDIR/err" || bad "$verb: no hint"
	done
	is 1 'cannot open .*host.lock' "$@" --home "$state" up
	grep -q 'write in the state' "$TMPDIR/err" || bad "up: no hint"
}
into "$TMPDIR/still"
cadre --home s init >/dev/null && cadre --home s team create t --roles w >/dev/null
cp -a s copy
is 0 '^t\t' cadre --home copy team list
if may_be_others; then
	cp -a s "$open/s" && chown -R 54321 "$open/s" && chmod 500 "$open/s"
	unwritable "$open/s" as_user 54321 env HOME="$open" XDG_STATE_HOME="$open/x" XDG_RUNTIME_DIR= "$CADRE"
else
	left_out 'a state that its user may not write: it needs root'
fi
if [ "$(id -u)" = 0 ] && unshare -m mount --bind s s 2>/dev/null; then
	still() { unshare -m sh -c 'mount --bind s s && mount -o remount,bind,ro s && exec "$@"' sh "$@"; }
	unwritable "$PWD/s" still "$CADRE"
else
	left_out 'a file system that is read-only: it needs root and unshare'
fi
is 0 '^t\t' cadre --home s team list

# --- which team ------------------------------------------------------------------------

cd "$TMPDIR" && export CADRE_HOME="$TMPDIR/teams"
cadre init >/dev/null && cadre team create a --roles w >/dev/null && cadre team create b --roles x >/dev/null
CADRE_TEAM=a is 0 "^sent #" cadre send b/x hello
CADRE_TEAM_DEFAULT=a is 0 "^sent #" cadre send b/x hello
CADRE_TEAM=a is 3 'no workspace b/x in team b' cadre workspace info b/x
CADRE_TEAM=a is 5 'not in team a' cadre --team a send b/x hello
CADRE_TEAM=a is 0 "^sent #" cadre send w hello
is 0 'hello.*' cadre --team b --as x inbox
unset CADRE_HOME

# --- names that are too long for a path, or for a socket ---------------------------------------

is 2 'the path is too long' cadre --home "/$(printf %05000d 0)" status
CADRE_HOME=$(printf %05000d 0) is 2 'the path is too long' cadre init
CADRE_SOCKET=/tmp/$(printf %0150d 0) is 2 'the path is too long' cadre status

# --- help ------------------------------------------------------------------------------

is 0 '^usage: cadre guest' cadre guest --help
is 0 'token-file' cadre guest -h

exit $failed
