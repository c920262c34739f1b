#!/bin/sh
# restore - `cadre restore` replaces a state by a backup, but only if no process has the state
# open. The state is replaced completely or not at all. The former state is kept. After a
# restore, cursors, the search index, the mirror, tokens and commands agree with the restored
# state.
set -u
. "$(dirname "$0")/../lib/story.sh"
story=$TMPDIR
clients=
finish() {
	kill $clients 2>/dev/null
	for w in $(cadre workspace list --team t --json | grep -o '"name":"[^"]*"' | cut -d'"' -f4); do
		cadre workspace destroy --yes "$w" --team t
	done >/dev/null 2>&1
	until_is '^0$' count_guests
	cadre down >/dev/null 2>&1
}
trap finish EXIT

runs() { [ -n "$(tr -d '\0' </proc/$1/cmdline)" ]; } 2>/dev/null
ask() { sqlite3 -readonly "$CADRE_HOME/state.db" "$1"; }
refused() { # WORDS COMMAND...: the command fails with these words, and changes nothing
	words=$1
	shift
	before=$(cadre status --json | grep -o '"incarnation":"[^"]*"')
	"$@" >"$story/out" 2>&1 && bad "$*: not refused"
	grep -q -e "$words" "$story/out" || bad "$*: no '$words' in $(cat "$story/out")"
	[ "$(cadre status --json | grep -o '"incarnation":"[^"]*"')" = "$before" ] || bad "$*: it changed the state"
}

# --- refusals ----------------------------------------------------------------------------

cadre init >/dev/null
token=$(cadre team create t --roles a --roles b --json |
	sed 's/.*"name":"a"[^}]*"token":"\([0-9a-f]*\)".*/\1/')
cadre --team t --as a send b "before it" >/dev/null
cadre task create --team t "Before it" >/dev/null
cadre backup "$story/B.db" >/dev/null || bad "backup"
cadre backup "$story/B.db" >"$story/out" 2>&1 && bad "a backup was written over"
cadre --team t --as a send b "after it" >/dev/null

head -c 5000 /dev/urandom >"$story/junk.db"
cp "$story/B.db.secret" "$story/junk.db.secret"
refused 'is not a state of cadre' cadre restore --yes "$story/junk.db"
sqlite3 "$story/foreign.db" 'CREATE TABLE t(x); PRAGMA user_version = 1'
cp "$story/B.db.secret" "$story/foreign.db.secret"
refused 'is not a state of cadre' cadre restore --yes "$story/foreign.db"
cp "$story/B.db" "$story/newer.db"
cp "$story/B.db.secret" "$story/newer.db.secret"
sqlite3 "$story/newer.db" 'PRAGMA user_version = 4711'
refused 'of version 4711' cadre restore --yes "$story/newer.db"
cp "$story/B.db" "$story/bad.db"
cp "$story/B.db.secret" "$story/bad.db.secret"
dd if=/dev/urandom of="$story/bad.db" bs=4096 seek=12 count=8 conv=notrunc 2>/dev/null
refused 'is damaged' cadre restore --yes "$story/bad.db"
cp "$story/B.db" "$story/alone.db"
refused 'alone.db.secret is not there' cadre restore --yes "$story/alone.db"
cp "$story/B.db" "$story/strange.db"
head -c 32 /dev/urandom >"$story/strange.db.secret"
refused "strange.db.secret is not the secret of $story/strange.db" cadre restore --yes "$story/strange.db"
[ ! -e "$CADRE_HOME/restore.tmp" ] || bad "a refused secret leaves restore.tmp"
cadre doctor | grep -q 'tokens' && bad "doctor finds a fault in the right secret"
cp "$CADRE_HOME/secret" "$story/right" && cp "$story/strange.db.secret" "$CADRE_HOME/secret"
cadre doctor | grep -q '^bad *tokens *the tokens of 3 of the 3 newest agents do not match .*/secret' || bad "doctor: $(cadre doctor)"
cadre up >/dev/null
cadre logs -n 20 | grep -q 'belongs to another state.* agents=3 of=3' || bad "a host does not say that its secret is another"
cadre down >/dev/null
cp "$story/right" "$CADRE_HOME/secret"
refused 'is the state itself' cadre restore "$CADRE_HOME/state.db"
refused 'cadre backup writes .*backups.state-' cadre restore --yes "$story/nothing.db"
(unset CADRE_HOME; CADRE_SOCKET=/nowhere cadre restore --yes "$story/B.db" >"$story/out" 2>&1) &&
	bad "restored inside a workspace"
grep -q 'this is a workspace' "$story/out" || bad "in a workspace: $(cat "$story/out")"

# A restore is refused while any process has the state open.
cadre up >/dev/null
refused 'a host runs already.*' cadre restore --yes "$story/B.db"
grep -q 'cadre down' "$story/out" || bad "a host: $(cat "$story/out")"
cadre down >/dev/null
mkfifo "$story/in"
"$CADRE" mcp --direct <"$story/in" >/dev/null 2>&1 &
clients=$!
exec 3>"$story/in"
"$CADRE" --direct --team t --as a inbox --wait >/dev/null 2>&1 &
waiter=$!
clients="$clients $waiter"
holders() { ls -l /proc/$waiter/fd; }
until_is 'state.lock' holders
refused "is open in: $waiter (cadre.* inbox" cadre restore --yes "$story/B.db"
kill $clients 2>/dev/null
exec 3>&-
wait $clients 2>/dev/null
clients=
sqlite3 "$CADRE_HOME/state.db" <"$story/in" >"$story/rows" &
clients=$!
exec 3>"$story/in"
echo 'SELECT count(*) FROM message;' >&3
until_is '[0-9]' cat "$story/rows"
refused 'a process has state.db open: [0-9]* (sqlite3' cadre restore --yes "$story/B.db"
exec 3>&-
wait $clients
clients=
[ ! -e "$CADRE_HOME/restore.tmp" ] || bad "a refused restore leaves restore.tmp"

# Without a terminal the caller has to consent with --yes.
refused 'the restore would remove all changes in .* since the backup' cadre restore "$story/B.db"
grep -q 'add --yes to restore; the present files are kept in replaced/ of the state folder' "$story/out" || bad "no hint: $(cat "$story/out")"

# --- a restore ---------------------------------------------------------------------------

incarnation=$(ask 'SELECT incarnation FROM state')
inode=$(stat -c %i "$CADRE_HOME")
cadre restore --yes "$story/B.db" >"$story/out" || bad "restore"
aside=$(sed -n 's/^the former files are kept in //p' "$story/out")
[ "$(sqlite3 -readonly "$aside/state.db" "SELECT count(*) FROM v_message WHERE content = 'after it'")" = 1 ] ||
	bad "what was there is not kept"
[ "$(ask "SELECT group_concat(content) FROM v_message")" = "before it" ] || bad "it is not the backup"
[ "$(ask 'SELECT incarnation FROM state')" != "$incarnation" ] || bad "the same incarnation"
[ "$(stat -c %i "$CADRE_HOME")" = "$inode" ] || bad "another folder"
[ "$(ask 'PRAGMA integrity_check')" = ok ] || bad "not sound"
[ -z "$(find "$CADRE_HOME" -perm /077 ! -type l)" ] || bad "open to others: $(find "$CADRE_HOME" -perm /077)"
CADRE_TEAM=t CADRE_AGENT=a CADRE_TOKEN=$token cadre claim --json | grep -q 'Before it' || bad "its token"
cadre search after --team t | grep -q '\[after\] it' && bad "search knows what is not there"
cadre search before --team t | grep -q '\[before\] it' || bad "search does not know what is there"
cadre doctor >"$story/out" || bad "doctor: $(cat "$story/out")"
grep -q 'former state is kept' "$story/out" || bad "doctor does not tell of what is kept"

# A former state that a restore set aside can be restored like a backup. The three newest former
# states are kept.
cadre restore --yes "$aside/state.db" >/dev/null || bad "back again"
[ "$(ask "SELECT count(*) FROM v_message")" = 2 ] || bad "not back again"
for i in 1 2 3; do cadre restore --yes "$story/B.db" >/dev/null || bad "restore $i"; done
[ "$(ls "$CADRE_HOME/replaced" | wc -l)" = 3 ] || bad "kept: $(ls "$CADRE_HOME/replaced")"

# `cadre restore` makes a new state only with --create.
(export CADRE_HOME="$story/none" && cadre restore --yes "$story/B.db" >"$story/out" 2>&1) && bad "a state was made unasked"
grep -q 'cadre init first, or --home DIR --create' "$story/out" || bad "no state: $(cat "$story/out")"
[ ! -e "$story/none" ] || bad "a folder was made unasked"

# A backup can be restored to a folder without a state, and to a state whose files were lost.
(export CADRE_HOME="$story/new" && cadre restore --create "$story/B.db" >/dev/null &&
	cadre --team t --as b inbox peek | grep -q 'before it') || bad "a new place"
rm "$CADRE_HOME/state.db" "$CADRE_HOME/secret"
cadre restore --yes "$story/B.db" >/dev/null || bad "files that were lost"
cadre --team t --as b inbox peek | grep -q 'before it' || bad "files that were lost are not there"

# --- a restore is killed at each step ---------------------------------------------------------

killed=0 whole=0
kill_at() { # CALL N: fails if the restore was completed before the kill
	rm -rf "$CADRE_HOME"
	cadre init >/dev/null
	cadre team create former >/dev/null
	ASAN_OPTIONS=detect_leaks=0 strace -f -qq -o /dev/null -e trace="$1" \
		-e inject="$1:signal=KILL:when=$2" \
		"$CADRE" restore --yes "$story/B.db" >/dev/null 2>&1 && return 1
	killed=$((killed + 1))
	case $(cadre team list --json 2>&1 | grep -o '"name":"[^"]*"' | tr '\n' ' ') in
	'"name":"former" ') ;;
	'"name":"t" ')
		whole=$((whole + 1))
		CADRE_TEAM=t CADRE_AGENT=a CADRE_TOKEN=$token cadre inbox >/dev/null ||
			bad "killed at $1 $2: the token is void"
		;;
	*) bad "killed at $1 $2: $(cadre team list 2>&1 | head -2)" ;;
	esac
	[ "$(ask 'PRAGMA integrity_check')" = ok ] || bad "killed at $1 $2: not sound"
	[ ! -e "$CADRE_HOME/restore.ready" ] || bad "killed at $1 $2: restore.ready is left"
}
each=$([ "$FULL" ] && echo 1 || echo 3)
for call in renameat fsync mkdirat unlinkat; do
	n=$((1 + TURN % each))
	while [ $n -lt 40 ] && kill_at $call $n; do n=$((n + each)); done
	cadre restore --yes "$story/B.db" >/dev/null || bad "no restore afterwards"
	[ ! -e "$CADRE_HOME/restore.tmp" ] || bad "what a killed restore left stays"
done
[ $killed -gt $((15 / each)) ] && [ $whole -gt $((5 / each)) ] || bad "killed $killed times, $whole whole"

# --- a backup of an older version -------------------------------------------------------------

rm -rf "$CADRE_HOME"
mkdir -m 700 "$CADRE_HOME"
(cd "$(dirname "$0")/../.." && build/sqlgen -m schema/*.op storage/enums migrations/0001-*.sql) |
	sqlite3 "$story/old.db"
sqlite3 "$story/old.db" 'PRAGMA user_version = 1' # the version of a migrated file
cp "$story/B.db.secret" "$story/old.db.secret"
cadre restore --create "$story/old.db" >"$story/out" 2>&1 || bad "an older version: $(cat "$story/out")"
cadre team create young >/dev/null || bad "an older version does not work"

# --- a state with guests -----------------------------------------------------------------------

rm -rf "$CADRE_HOME"
cadre init >/dev/null
cadre up >/dev/null
cadre team create t --roles '[{"name":"w","workspace":true}]' --wait >/dev/null
cadre task create --team t one >/dev/null
cadre task assign --team t 001 w --command "echo run >>$story/runs; until [ -e $story/saved ]; do sleep 0.1; done" >/dev/null
until_is 'run' cat "$story/runs"
waited 0 task 001 in_progress --team t
cadre backup "$story/G.db" >/dev/null
: >"$story/saved"
cadre team create later --roles '[{"name":"v","workspace":true}]' --wait >/dev/null
cadre exec later/v sh -c 'echo work >kept'
waited 0 task 001 --team t
cadre workspace stop later/v --wait >/dev/null
# A running workspace with a running command is not in the backup.
cadre team create alone --roles '[{"name":"x","workspace":true}]' --wait >/dev/null
cadre exec alone/x sh -c 'echo more >kept'
cadre task create --team alone long >/dev/null
cadre task assign --team alone 001 x --command "echo \$\$ >$story/long; sleep 300" >/dev/null
until_is '[0-9]' cat "$story/long"
# Another command is not in the backup, and ends while no host runs.
cadre task create --team t two >/dev/null
cadre task assign --team t 002 w --command "until [ -e $story/go ]; do sleep 0.1; done; echo unknown >>$story/unknown" >/dev/null
waited 0 task 002 in_progress --team t
spool=$CADRE_HOME/guests/$(cadre workspace list --team t --json | sed 's/.*"id":"\([^"]*\)".*/\1/')/spool.db
results() { sqlite3 "$spool" "SELECT count(*) FROM result"; }
orphan=$(cadre workspace list --team alone --json | sed 's/.*"pid":\([0-9]*\).*/\1/')
folder=$(cadre workspace list --team alone --json | sed 's/.*"id":"\([^"]*\)".*/\1/')
cadre down >/dev/null
: >"$story/go"
until_is '^1$' results
cadre restore --yes "$story/G.db" | grep -q '1 commands .* are interrupted' || bad "the command is not interrupted"
runs "$orphan" || bad "no guest runs that only the former state knew"
cadre doctor >"$story/out"
grep -q "process $orphan runs in .*/guests/$folder, a workspace that the state does not know" "$story/out" ||
	bad "doctor does not name the guest: $(cat "$story/out")"
cadre up >/dev/null
until_is "was ended; its files stay\" workspace=$folder pid=$orphan" cadre logs -n 50
runs "$orphan" && bad "the guest runs on"
runs "$(cat "$story/long")" && bad "its command runs on"
grep -q more "$CADRE_HOME"/workspaces/*/kept || bad "its files are gone"
cadre doctor | grep -q "does not know" && bad "doctor still names the guest"
waited 0 task 001 failed --team t
until_is 'hello' cadre exec t/w echo hello
cadre result 001 --team t | grep -q 'backup of the state was restored' || bad "the result does not say why"
[ "$(wc -l <"$story/runs")" = 1 ] || bad "the command ran $(wc -l <"$story/runs") times"
until_is '^0$' results # the host has the results, and the guest has forgotten them
[ "$(wc -l <"$story/unknown")" = 1 ] || bad "a command that the backup does not know ran $(wc -l <"$story/unknown") times"
cadre task create --team t three >/dev/null # gets the number of task 002, which the backup lacks
cadre task show --team t 002 | grep -q ready || bad "a result of the former state is taken for a new task's"
cadre task assign --team t 002 w --command "echo again" >/dev/null
waited 0 task 002 --team t
cadre result 002 --team t | grep -q again || bad "no results are collected any more"
until_is 'the state does not know are kept' cadre logs -n 50
grep -rqs work "$CADRE_HOME"/workspaces/*/kept || bad "a workspace that only the former state knew is gone"
exit $failed
