#!/bin/sh
# golden - a copy of a person's folder leaves out the state for which the copy is made, and
# other states with their secrets. The copy also leaves out a `.git` that refers to the person's
# own repository.
set -u
. "$(dirname "$0")/../lib/story.sh"
trap 'cadre team destroy --yes one >/dev/null 2>&1; until_is "^0$" count_guests; cadre down >/dev/null 2>&1' EXIT
git() { command git -c user.name=a -c user.email=a@b -c protocol.file.allow=always "$@"; }
worker='[{"name":"w","workspace":true}]'

# The folder $gold holds two states, each in a folder below $gold: the state of this story, and
# another state.
gold="$TMPDIR/gold"
export CADRE_HOME="$gold/deep/state"
mkdir -p "$gold/deep" "$gold/tool"
echo text >"$gold/tool/file"
cadre --home "$gold/tool/.cadre" init >/dev/null 2>&1 || bad "init of the other state"
cadre init >/dev/null || bad "init"
cadre up >/dev/null || bad "up"
cadre team create one --golden "$gold" --roles "$worker" >/dev/null || bad "team create"
waited 0 workspace one/w
copy=$(echo "$CADRE_HOME"/workspaces/*)
[ -f "$copy/tool/file" ] || bad "the copy lacks a file"
[ -e "$copy/tool/.cadre" ] && bad "the copy has another state's secret"
[ -d "$copy/deep" ] || bad "the copy lacks a folder"
[ -e "$copy/deep/state" ] && bad "the copy holds the state that made it"
grep -q 'left out of a copy".* left_out=2' "$CADRE_HOME/log/"*.log || bad "what was left out is not told: $(cat "$CADRE_HOME/log/"*)"

set -f # $worker would be a pattern
refused() { # WHAT PATH TEXT
	for how in "team create t --golden $2 --roles $worker" "workspace create --team one --source $2"; do
		# shellcheck disable=SC2086 # words
		cadre $how >"$TMPDIR/out" 2>&1 && bad "$1: taken by $how"
		grep -q "invalid: .*$3: commits in a copy would move the original.s branch" "$TMPDIR/out" ||
			bad "$1: $(cat "$TMPDIR/out")"
		grep -q 'hint: `git clone` it' "$TMPDIR/out" || bad "$1: no hint: $(cat "$TMPDIR/out")"
	done
}
cd "$TMPDIR" || exit 1
git init -q shop
git -C shop commit -q --allow-empty -m 1
git -C shop worktree add -q ../tree 2>/dev/null || bad "worktree add"
git init -q part
git -C part commit -q --allow-empty -m 1
git -C shop submodule add -q "$TMPDIR/part" part 2>/dev/null || bad "submodule add"
mkdir link
ln -s ../shop/.git link/.git
refused worktree "$TMPDIR/tree" 'is a linked worktree of .*/shop'
refused submodule "$TMPDIR/shop/part" 'is a submodule of .*/shop'
refused link "$TMPDIR/link" 'uses, by its .git, the folder of .*/shop/.git'
git clone -q tree clone
cadre workspace create --team one --source "$TMPDIR/clone" >/dev/null || bad "a clone is not taken"
cadre workspace create --team one --source "$TMPDIR/shop" >/dev/null || bad "a main worktree is not taken"
exit $failed
