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
is 0 '^team   shop by default, the only team below no other$' cadre whoami
is 0 . cadre agent env tester

# --- two teams: one has to be said, and may be said once --------------------------------

is 0 . cadre team create yard --roles coder,cook
is 2 'say which team' cadre task list
is 0 '^team   none by default; to set one: cadre use TEAM$' cadre whoami
is 2 'several teams have an agent coder' cadre agent env coder
grep -q 'hint: Name the agent.s team too. Teams: crew, shop, yard' "$TMPDIR/err" || bad "no hint: $(cat "$TMPDIR/err")"
is 0 . cadre agent env cook
is 0 'shop is the default team' cadre use shop
is 0 'In the shop' cadre task list
is 0 'yard is the default team' cadre use yard
is 0 'created task 001' cadre task create "In the yard"
[ "$(cat .cadre/cadre.toml)" = 'team.default = "yard"' ] || bad "the file: $(cat .cadre/cadre.toml)"
is 0 '^team   yard by default, as /.*/\.cadre/cadre\.toml:1 says$' cadre whoami
is 0 '"default_team":"shop","default_from":"CADRE_TEAM_DEFAULT"' env CADRE_TEAM_DEFAULT=shop "$CADRE" whoami --json
! cadre --as cook whoami | grep '^team ' || bad "an agent has a default team"
is 0 'In the shop' cadre --team shop task list
is 0 'note: here the default team is yard: CADRE_TEAM_DEFAULT sets it' env CADRE_TEAM_DEFAULT=yard "$CADRE" use shop

# --- with a host, whose own settings are those of its start ---------------------------------

is 0 . cadre up
is 0 'yard is the default team' cadre use yard
is 0 'In the yard' cadre task list
is 0 'In the shop' env CADRE_TEAM_DEFAULT=shop "$CADRE" task list
# A default team counts also for names that only another team has.
is 3 'painter' cadre agent whois painter
is 0 'shop is the default team' cadre use shop
is 3 'cook' cadre member remove cook
is 0 . cadre down

# --- roles, several recipients, and repeats ------------------------------------------------

echo '# empty' >.cadre/cadre.toml && cadre trust >/dev/null
is 2 'say which team' cadre send cook,coder hello
is 2 'say which team' cadre agent env lead
is 0 'cook is no member of team yard' cadre member remove cook --idempotency-key k2
is 0 'cook is no member of team yard' cadre member remove cook --idempotency-key k2
is 0 . cadre member add mason --team yard
is 0 . cadre agent update mason --new-name tiler --idempotency-key k3
is 0 . cadre agent update mason --new-name tiler --idempotency-key k3

# --- while `use` changes the file, nobody is refused ----------------------------------------

(for i in 1 2 3 4 5 6 7 8 9 10; do cadre use shop && cadre use yard || echo "use $i"; done >"$TMPDIR/uses" 2>&1) &
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	cadre --team shop task list >/dev/null 2>"$TMPDIR/refused" || bad "refused: $(cat "$TMPDIR/refused")"
done
wait
grep -v 'is the default team' "$TMPDIR/uses" && bad "a use failed"

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
