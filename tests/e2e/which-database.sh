#!/bin/sh
# which-database - the file `id` of a state names the state's database. After a kill at any step
# of a restore or of `init --anew`, the owner's database opens, and another user's database does
# not open. Further cases are a huge or broken index of git, and paths with terminal codes. The
# last cases are a umask that removes all rights, and root in another user's state.
set -u
. "$(dirname "$0")/../lib/said.sh"
left_out() { echo "left out: $1"; }

# name FILE: prints the inode and the time of birth of FILE, in the form that the file `id`
# uses.
name() {
	printf %x "$(stat -c %i "$1")"
	[ "$(stat -c %W "$1")" -gt 0 ] || return 0
	printf ' %x.' "$(stat -c %W "$1")"
	printf %08x "$(stat -c %w "$1" | sed 's/.*\.0*\([0-9]*\) .*/\1/; s/^$/0/')"
}
# say WORD FILE: replaces the lines of the file `id` that begin with WORD by one line with WORD
# and the name of FILE. An empty FILE gives no line.
say() {
	sed "/^$1 /d" .cadre/id >id && [ -z "$2" ] || echo "$1 $(name "$2")" >>id
	cat id >.cadre/id && rm id
}
# counts CASE: the owner's state opens, and the command prints no warning.
counts() {
	is 0 '^mine' cadre team list
	[ ! -s "$TMPDIR/err" ] || bad "$1: the owner is told something"
}
other='has another state.db'

# --- a restore that is killed between two steps -----------------------------------------------

mkdir "$TMPDIR/other" "$TMPDIR/shop" && cd "$TMPDIR/other" || exit 1
cadre init >/dev/null && cadre team create others --roles w >/dev/null && cadre backup "$TMPDIR/others.db" >/dev/null
cd "$TMPDIR/shop" && cadre init >/dev/null && cadre team create mine --roles w >/dev/null || exit 1
is 0 verified cadre backup "$TMPDIR/mine.db"
[ "$(sed -n 's/^db //p' .cadre/id)" = "$(name .cadre/state.db)" ] || bad "the id names another database"

# stage FILE: prepares a restore of FILE, so that the next command completes the restore.
stage() {
	mkdir -m 700 .cadre/restore.ready && cp "$1" .cadre/restore.ready/state.db
	cp "$1.secret" .cadre/restore.ready/secret
	printf 20260101-000000 >.cadre/restore.ready/aside
}
# The file `id` names the next database, but no restore is staged.
cp "$TMPDIR/mine.db" kept && say next kept && rm kept
counts 'a restore that was begun'
# A restore is staged, and no file is moved yet.
stage "$TMPDIR/mine.db" && say next .cadre/restore.ready/state.db
counts 'a restore that was staged'
[ ! -e .cadre/restore.ready ] || bad "the restore was not ended"
! grep -q '^next' .cadre/id || bad "its end was not noted"
# The former database is moved away, and the next database is not yet in its place.
stage "$TMPDIR/mine.db" && say next .cadre/restore.ready/state.db
mkdir -p .cadre/replaced/20260101-000000 && mv .cadre/state.db* .cadre/replaced/20260101-000000
counts 'a restore that is half done'
# The next database is in its place, and the file `id` still names the former database.
say next .cadre/state.db && say db "$TMPDIR/mine.db"
counts 'a restore that was not noted'
[ "$(sed -n 's/^db //p' .cadre/id)" = "$(name .cadre/state.db)" ] || bad "it was not noted"
# During a restore, commands also refuse another user's database.
stage "$TMPDIR/others.db" && say next "$TMPDIR/mine.db"
is 5 "$other" cadre team list
rm -r .cadre/restore.ready
counts 'after a foreign restore'
say next "$TMPDIR/mine.db" && mkdir away && mv .cadre/state.db* away && cp "$TMPDIR/others.db" .cadre/state.db
is 5 "$other" cadre team list
is 5 "$other" cadre up
rm .cadre/state.db && mv away/* .cadre
counts 'what was moved back'
# A killed `init --anew` has set the former database aside, and the new database is still empty.
mv .cadre/state.db* .cadre/state.lock .cadre/secret away && : >.cadre/state.db
say db '' && say next ''
is 0 '^made\|already there' cadre init
beside 'no teams' cadre team list
rm .cadre/state.db* .cadre/state.lock .cadre/secret && mv away/* .cadre && rmdir away
is 5 "$other" cadre team list
say db .cadre/state.db
counts 'the former one'
# A killed command has left a temporary file that has not yet replaced the file `id`.
echo 0 >.cadre/id.4711
counts 'half an id'
# If another process holds the lock on the state's folder too long, `cadre trust` says so and
# changes nothing.
cp .cadre/id "$TMPDIR/id" && cp "$XDG_STATE_HOME/cadre/known" "$TMPDIR/known" && echo . >.cadre/id
mkfifo held
flock -F .cadre sh -c ': >held; exec sleep 60' &
pid=$!
: <held
is 7 'locked by another process' cadre trust
is 1 . grep -c '^[0-9a-f]\{32\}' .cadre/id
cat "$TMPDIR/id" >.cadre/id && cp "$TMPDIR/known" "$XDG_STATE_HOME/cadre/known"
counts 'the state beside a lock'
kill "$pid" && wait "$pid"
rm held
# After a change by the program `sqlite3` the file state.db still counts as the database that
# `id` names.
sqlite3 .cadre/state.db 'VACUUM' || bad "sqlite3"
counts 'VACUUM'

# --- an overlay file system, as in containers -------------------------------------------------

if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
	mkdir "$TMPDIR/layers" && cat >"$TMPDIR/inside" <<-'EOF'
		mount -t tmpfs none "$TMPDIR/layers" && cd "$TMPDIR/layers" && mkdir low up work all || exit 99
		mkdir low/p && (cd low/p && cadre init && cadre team create mine --roles w --json && sleep 0.02) >/dev/null
		mount -t overlay overlay -o lowerdir=low,upperdir=up,workdir=work all || exit 99
		cd all/p || exit 99
		sed -i "s#/layers/low/p/#/layers/all/p/#" "$XDG_STATE_HOME/cadre/known"
		for n in 1 2; do cadre team list && cadre team create "more$n" --roles w --json >/dev/null || exit 1; done
		# Once the overlay has copied state.db to its upper layer, commands that only
		# read do not change state.db.
		before=$(stat -c %z .cadre/state.db)
		cadre team list && [ "$(stat -c %z .cadre/state.db)" = "$before" ] || exit 2
		# A file with the right inode but another time of birth is refused.
		ino=$(stat -c %i .cadre/state.db | xargs printf %x)
		sed -i "s/^db .*/db $ino 1.00000000/" .cadre/id && touch .cadre/state.db
		cadre team list 2>others && exit 4
		grep -q 'another state.db' others || exit 4
	EOF
	unshare -m sh "$TMPDIR/inside" >"$TMPDIR/out" 2>"$TMPDIR/err"
	case $? in
	0) [ ! -s "$TMPDIR/err" ] || bad "on an overlay the owner is told something" ;;
	99) left_out "an overlay: none can be mounted" ;;
	1) bad "a state of a lower layer does not go on counting" ;;
	2) bad "on an overlay each command changes state.db" ;;
	*) bad "on an overlay another file counts that has the same inode" ;;
	esac
else
	left_out "an overlay: it needs root"
fi

# --- git's index -----------------------------------------------------------------------------

mkdir -p "$TMPDIR/index/.git" && cd "$TMPDIR/index" && echo 'ref: refs/heads/main' >.git/HEAD && mkdir .git/objects .git/refs || exit 1
echo nonsense >.git/index
is 5 'cannot read the index of the git repository around it' cadre init
! grep -q tracks "$TMPDIR/err" || bad "it says of a file that git tracks it"
[ ! -e .cadre ] || bad "something was made"
printf 'DIRC\000\000\000\002\000\020\000\000' >.git/index && truncate -s 8G .git/index
is 5 'cannot read the index of the git repository around it' timeout "$(bound)" cadre init
rm .git/index
is 0 '^made' cadre init

# --- printed paths ------------------------------------------------------------------------------

odd=$TMPDIR/$(printf 'a\033]0;title\007b')
mkdir "$odd" && cd "$odd" || exit 1
for verb in init trust 'trust --list' doctor up down; do
	cadre $verb >"$TMPDIR/out" 2>"$TMPDIR/err" </dev/null || bad "$verb"
	! grep -q "$(printf '\033')" "$TMPDIR/out" "$TMPDIR/err" || bad "$verb drives the terminal"
done

# --- a umask that leaves nothing, and root ---------------------------------------------------------

if [ "$(id -u)" = 0 ] && setpriv --reuid 65534 --regid 65534 --clear-groups test -x "$CADRE" 2>/dev/null; then
	# Makes a folder outside $TMPDIR that belongs to another user and is closed to all
	# others.
	theirs=$(mktemp -d /tmp/cadre-theirs.XXXXXX) || exit 1
	trap 'rm -rf "$theirs"' EXIT
	mkdir "$theirs/p" && chown -R 65534:65534 "$theirs" && cd "$theirs/p" || exit 1
	nobody() { setpriv --reuid 65534 --regid 65534 --clear-groups env -u XDG_RUNTIME_DIR -u XDG_CONFIG_HOME \
		HOME="$theirs" XDG_STATE_HOME="$theirs/state" TMPDIR="$theirs" "$@"; }
	is 0 '^made' nobody sh -c 'umask 0777; cadre init'
	is 0 . nobody sh -c 'umask 0777; cadre team create mine --roles w'
	is 0 '^mine' nobody cadre team list
	# Root may read another user's state, but creates no file that the state's owner could
	# not use.
	is 5 'belongs to another user' cadre team list
	is 0 '^trusted' cadre trust
	is 0 '^mine' cadre team list
	for verb in up gc backup init 'team create x --roles w' "restore --yes $TMPDIR/mine.db"; do
		is 5 'belongs to another user' cadre $verb
		grep -q "sudo -u '#65534'" "$TMPDIR/err" || bad "$verb: no hint"
	done
	cadre vault search x >/dev/null
	cadre doctor >/dev/null
	[ -z "$(find .cadre -user 0)" ] || bad "root has made $(find .cadre -user 0)"
	is 0 '^up' nobody cadre up
	is 0 '^down' nobody cadre down
	cd /
else
	left_out "root in another user's state: it needs root"
fi
exit $failed
