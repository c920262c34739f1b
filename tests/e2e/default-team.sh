#!/bin/sh
# default-team - `cadre use` makes a team the default of a state, in the state's cadre.toml, and
# keeps all else in this file. A person who has one project needs no --team.
set -u
. "$(dirname "$0")/../lib/story.sh"
unset CADRE_HOME
mkdir -p "$TMPDIR/p" && cd "$TMPDIR/p" || exit 1
git init -q . && git config user.name ann && git config user.email ann@host || exit 1
echo one >one && git add one && git commit -qm one || exit 1

# --- before there is a team -----------------------------------------------------------

is 0 . cadre init
is 2 'there is no team yet' cadre task create "Too early"
grep -q 'hint: Make a team: cadre team create NAME' "$TMPDIR/err" || bad "no hint: $(cat "$TMPDIR/err")"
is 3 'there is no team shop' cadre use shop

# --- one team, and teams below it -----------------------------------------------------

is 0 . cadre team create shop --roles coder,tester
is 0 . cadre --as lead --team shop team create crew --roles painter
is 0 'created task 001' cadre task create "In the shop"
is 0 'painter.*crew\|crew.*painter' cadre agent whois painter --json
is 0 . cadre agent env tester

# --- two teams: one has to be said, and may be said once --------------------------------

is 0 . cadre team create yard --roles coder,cook
is 2 'say which team' cadre task list
is 2 'several teams have an agent coder' cadre agent env coder
grep -q 'hint: Name one of them: shop/coder, yard/coder' "$TMPDIR/err" || bad "no hint: $(cat "$TMPDIR/err")"
is 0 . cadre agent env cook
is 0 'shop is the default team' cadre use shop
is 0 'In the shop' cadre task list
is 0 'yard is the default team' cadre use yard
is 0 'created task 001' cadre task create "In the yard"
[ "$(cat .cadre/cadre.toml)" = 'team.default = "yard"' ] || bad "the file: $(cat .cadre/cadre.toml)"
is 0 'In the shop' cadre --team shop task list
is 0 'note: here yard counts: CADRE_TEAM_DEFAULT has it' env CADRE_TEAM_DEFAULT=yard "$CADRE" use shop

# --- a person's own file -----------------------------------------------------------------

printf '# mine\r\n[team] # of teams\r\nworkspaces = false\r\n' >.cadre/cadre.toml
is 0 . cadre trust
is 0 'yard is the default team' cadre use yard
grep -q '^# mine.$' .cadre/cadre.toml && grep -q '^workspaces = false.$' .cadre/cadre.toml || bad "lines are lost: $(cat .cadre/cadre.toml)"
is 0 '^yard$' cadre config team.default
is 0 'shop is the default team' cadre use shop
is 0 '^shop$' cadre config team.default
for text in 'team = { workspaces = false }' 'team = '; do
	echo "$text" >.cadre/cadre.toml
	cadre trust >/dev/null
	cadre use yard >"$TMPDIR/out" 2>&1 && bad "took $text"
	[ "$(cat .cadre/cadre.toml)" = "$text" ] || bad "changed $text: $(cat .cadre/cadre.toml)"
done
rm .cadre/cadre.toml && is 0 . cadre trust

# --- the operator's alone -----------------------------------------------------------------

is 5 'for the operator' cadre --team shop --as coder use yard
is 2 'takes the name of a team' cadre use
is 3 'there is no team nowhere' cadre use nowhere
[ ! -e .cadre/cadre.toml ] || bad "a refused call made a file"

# A change that git may have brought is refused before as after.
is 0 . cadre use yard
echo 'log.level = "debug"' >>.cadre/cadre.toml
is 5 'that have changed since' cadre use shop
exit $failed
