#!/bin/sh
# config - a person's settings are found, shown with their sources, and obeyed by each program.
# The refusal of a wrong setting names the place of the setting.
set -u
. "$(dirname "$0")/../lib/story.sh"
. "$(dirname "$0")/../lib/preload.sh"
unset CADRE_HOME CADRE_LIMITS_ENABLED
trap 'cadre --home "$TMPDIR/shop/.cadre" down >/dev/null 2>&1' EXIT

hint() { grep -q -e "^hint: .*$1" "$TMPDIR/err" || bad "no hint: $1"; }

mkdir -p "$TMPDIR/shop/deep/er" "$TMPDIR/config/cadre" && cd "$TMPDIR/shop" || exit 1
toml=$TMPDIR/shop/.cadre/cadre.toml # the state's own file
project=$TMPDIR/shop/cadre.toml

# --- the sources of settings ------------------------------------------------------

# A project can be configured before it has a state, and a state can be configured before the
# state is made.
is 0 '^inbox.capacity\t100\tdefault$' cadre config
[ "$(grep -c 'default$' "$TMPDIR/out")" = "$(($(wc -l <"$TMPDIR/out") - 1))" ] ||
	bad "not all keys have their defaults"
is 0 '^vault.root\t\tdefault$' cadre config
is 0 '^task.lease_seconds\t[0-9]*\tdefault$' cadre config task
[ "$(grep -vc '^task\.' "$TMPDIR/out")" = 1 ] || bad "a section has other keys: $(cat "$TMPDIR/out")"
is 0 '"keys":\[{"key":"inbox' cadre config inbox --json
is 2 'no section .tasks' cadre config tasks
hint 'did you mean .cadre config task.'
is 2 'no section .xyzzy' cadre config xyzzy
hint '.cadre config. lists all keys'
cadre init >/dev/null
is 0 "^vault.root\t$TMPDIR/shop/.cadre/vault\tdefault$" cadre config

# The user's file is read first, then the state's own file. Keys that a project may set are read
# from the nearest project file.
printf 'team.default = "a"\n[inbox]\ncapacity = 11\n' >"$TMPDIR/config/cadre/cadre.toml"
is 0 "^inbox.capacity\t11\t$TMPDIR/config/cadre/cadre.toml:3$" cadre config
printf '# of the shop\n[inbox]\ncapacity = 1_2\n' >"$toml"
is 0 "^inbox.capacity\t12\t$toml:3$" cadre config
is 0 "^team.default\ta\t$TMPDIR/config/cadre/cadre.toml:1$" cadre config
printf '\n[team]\ndefault = "b"\n' >"$project"
cd deep/er
is 0 "^inbox.capacity\t12\t$toml:3$" cadre config
is 0 "^team.default\tb\t$project:3$" cadre config
printf 'team = { default = "c" }\n' >../cadre.toml
is 0 "^team.default\tc\t$TMPDIR/shop/deep/cadre.toml:1$" cadre config
# A project's file may not set a key of the state. The refusal names the file in which the key
# belongs.
printf 'team.default = "c"\nvault.root = "/"\n' >../cadre.toml
is 2 "$TMPDIR/shop/deep/cadre.toml:2:7: a project's file cannot set vault.root" cadre config
hint "set the key in $TMPDIR/shop/.cadre/cadre.toml"
is 2 'cannot set vault.root' cadre team list
rm ../cadre.toml "$project"
cd "$TMPDIR/shop"

# A variable wins over the file, and a flag wins over variable and file. A key without a setting
# has its default value.
export CADRE_INBOX_CAPACITY=14
is 0 '^inbox.capacity\t14\tCADRE_INBOX_CAPACITY$' cadre config
is 0 '^inbox.capacity\t15\t--inbox.capacity$' cadre config --inbox.capacity 15
is 0 '^inbox.capacity\t16\t--inbox.capacity$' cadre --inbox.capacity=16 config
is 0 '^inbox.lease_seconds\t300\tdefault$' cadre config
unset CADRE_INBOX_CAPACITY

# For a single key the output is the value alone. The JSON output holds all facts about the key.
is 0 '^12$' cadre config inbox.capacity
# On a terminal the command also prints the source of the value and the meaning.
tty="import sys, terminal; print(terminal.run(sys.argv[1:], 200)[0].decode())"
is 0 '^inbox.capacity = 12, from ' env PYTHONPATH="$here/lib" /usr/bin/python3 -c "$tty" "$CADRE" config inbox.capacity
for word in inbox inbox.capacity; do
	is 0 '^inbox.capacity: [A-Z]' env PYTHONPATH="$here/lib" /usr/bin/python3 -c "$tty" "$CADRE" config $word
done
is 0 '^$' sh -c 'cadre config team.default; echo'
is 0 '^{"file":"'"$toml"'","keys":\[{"key":"state.durability","value":"full","source":"default"' \
	cadre config --json
is 0 '{"key":"inbox.capacity","value":12,"source":"file","from":"'"$toml:3"'","variable":"CADRE_INBOX_CAPACITY","meaning":"Maximum' \
	cadre config inbox.capacity --json
is 0 '"source":"environment","from":"CADRE_TEAM_DEFAULT"' \
	env CADRE_TEAM_DEFAULT=red cadre config team.default --json
is 2 'unknown key .inbox.capasity' cadre config inbox.capasity
hint "Did you mean 'inbox.capacity'"

# `docs reference` and the completion list all keys that `config` prints.
cadre config | awk 'NR > 1 { print $1 }' >"$TMPDIR/keys"
[ "$(wc -l <"$TMPDIR/keys")" -ge 10 ] || bad "few keys"
cadre docs reference >"$TMPDIR/reference"
cadre complete -- config '' >"$TMPDIR/completion"
while read -r key; do
	for file in reference completion; do
		grep -qF "$key" "$TMPDIR/$file" || bad "$key is not in the $file"
	done
done <"$TMPDIR/keys"

is 0 '^--inbox.capacity	Maximum' cadre complete -- send --inb

# --- wrong settings -----------------------------------------------------------------

# wrong TEXT PLACE HINT: every command refuses a file with TEXT, and prints PLACE and HINT.
wrong() {
	printf "$1" >"$toml"
	is 2 "^cadre: invalid: $toml$2" cadre config
	hint "$3"
	is 2 "$toml$2" cadre team list
	is 2 "$toml$2" cadre up
}
wrong '[inbox]\ncapasity = 3\n' ":2:1: unknown key 'inbox.capasity'" "Did you mean 'inbox.capacity'"
wrong 'max_total_vms = 3\n' ":1:1: unknown key 'max_total_vms'" "Did you mean 'limits.max_total_vms'"
wrong '\n[inbox]\ncapacity = "many"\n' ':3:12: inbox.capacity must be a whole number' 'Maximum number of messages'
wrong 'inbox.capacity = -1\n' ':1:18: inbox.capacity must be 0 to 1000000, not -1' 'Maximum number of messages'
wrong '[state]\ndurability = "fast"\n' ":2:14: state.durability 'fast' is none of full, normal" 'How well a change'
wrong '[inbox]\ncapacity = 1\ncapacity = 2\n' ":3:1: 'capacity' is defined already, in line 2" 'line 3'
wrong '# fine\n[inbox\n' ':2:7: the header does not end' 'line 2'
rm "$toml"
is 2 'CADRE_GC_KEEP_DAYS must be a whole number' env CADRE_GC_KEEP_DAYS=soon cadre config
is 2 '--gc.keep_days must be 0 to 36500' cadre config --gc.keep_days 40000
is 2 '--gc.keep_day: unknown key' cadre config --gc.keep_day 4
hint "Did you mean 'gc.keep_days'"

# --- obeyed settings ------------------------------------------------------------------

rm "$TMPDIR/config/cadre/cadre.toml"
echo 'team.default = "red"' >"$project"
cat >"$toml" <<'END'
team = { max_vms = 3 }
vault = { root = "../notes", extensions = "md adoc" }

[inbox]
capacity = 2
lease_seconds = 40

[task]
lease_seconds = 50
max_attempts = 1
END
roles='[{"name":"coder"},{"name":"tester"}]'
cadre team create red --roles "$roles" >/dev/null || bad "team create"
cadre team create blue --roles "$roles" --inbox.capacity=7 --max_vms 4 >/dev/null || bad "team create"

ask() { sqlite3 -readonly .cadre/state.db "$1"; }
# Checks the number $1 of seconds that are left of a lease. $1 must be more than $2 - 35 and at
# most $2.
within() { [ "$1" -gt $(($2 - 35)) ] && [ "$1" -le "$2" ] || bad "$3: $1 seconds, not $2"; }

[ "$(ask "SELECT inbox_capacity || ' ' || max_vms FROM v_team WHERE team = 'red'")" = '2 3' ] ||
	bad "the team has other limits"
[ "$(ask "SELECT inbox_capacity || ' ' || max_vms FROM v_team WHERE team = 'blue'")" = '7 4' ] ||
	bad "flags do not win"
# If the caller names no team, the default team red is used.
is 0 '^created task 001' cadre task create "Write it"
for n in 1 2 3; do cadre send coder "message $n" >/dev/null; done
is 0 'message 3' cadre --as coder inbox
! grep -q 'message 1' "$TMPDIR/out" || bad "an inbox of two holds three"
left=$(ask "SELECT due_at / 1000 - strftime('%s') FROM delivery WHERE state = 2 LIMIT 1")
within "$left" 40 "the lease of a message"
cadre --as coder claim 001 >/dev/null || bad "claim"
left=$(ask "SELECT lease_until / 1000 - strftime('%s') FROM task")
within "$left" 50 "the lease of a task"
is 0 'failed' cadre --as coder fail 001 "no way"
[ "$(ask "SELECT status FROM v_board WHERE id = '001'")" = failed ] || bad "a task is tried again"
grep -q 'status: failed' notes/teams/red/tasks/001-*.md || bad "the vault is not where it was put"
[ ! -e .cadre/vault ] || bad "there are two vaults"

is 0 . cadre vault write plan.adoc "= Plan"
is 2 'adoc' cadre vault write plan.json "{}"

is 0 '^nothing to remove' cadre gc
is 0 '^removed [1-9]' cadre gc --gc.keep_days 0

# A host reads the same settings as a command, and also the flags of `up`.
cadre up --limits.max_waits 1 --limits.max_total_vms=1 >/dev/null || bad "up"
is 6 'exhausted' cadre team create green --roles '[{"name":"a","workspace":true,"count":2}]'
until cadre --team blue --as tester inbox --wait_seconds 20 >"$TMPDIR/first" 2>&1; do :; done &
first=$!
until_is '1 calls of this caller wait' cadre --team blue --as tester inbox --wait_seconds 1
cadre --team blue send tester go >/dev/null
wait $first
grep -q go "$TMPDIR/first" || bad "the first wait has no answer"
cadre down >/dev/null

# A relative vault path in a variable or flag is relative to the caller's folder, also if the
# caller starts a host.
CADRE_VAULT_ROOT=other cadre up >/dev/null || bad "up"
cadre task create "Elsewhere" >/dev/null
until_is Elsewhere sh -c 'cat other/teams/red/tasks/*.md'
cadre down >/dev/null

# With state.durability = normal an answer does not wait for a sync of the disk. The test counts
# the host's syncs.
preload syncs <<'C'
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
static void count(void)
{
	int fd = open(getenv("SYNCS"), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);

	if (write(fd, "x", 1) == 1)
		close(fd);
}
int fsync(int fd)
{
	count();
	return (int)syscall(SYS_fsync, fd);
}
int fdatasync(int fd)
{
	count();
	return (int)syscall(SYS_fdatasync, fd);
}
C
export SYNCS="$TMPDIR/syncs"
syncs() { # VALUE: the number of syncs for twenty messages through a host
	with syncs "$CADRE" up --state.durability "$1" >/dev/null || bad "up"
	before=$(wc -c <"$SYNCS")
	for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		cadre --team blue send coder "$n" >/dev/null
	done
	echo $(($(wc -c <"$SYNCS") - before))
	cadre down >/dev/null
}
full=$(syncs full)
normal=$(syncs normal)
[ "$full" -ge 20 ] || bad "20 acknowledged messages, but $full syncs"
[ "$normal" -lt 10 ] || bad "normal durability syncs $normal times"

exit $failed
