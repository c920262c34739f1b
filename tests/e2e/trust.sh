#!/bin/sh
# trust - a state may come from a clone, an archive or another user. Until the user runs `cadre
# trust`, a foreign state starts no program, hides no other state, and changes no mode and no
# setting. A state that the user has made stays trusted, in worktrees and after a move.
set -u
. "$(dirname "$0")/../lib/said.sh"
known=$XDG_STATE_HOME/cadre/known

# Prints the visible properties of a folder: names, modes, sizes, times, targets of links.
look() { find "$1" ! -path '*/.git*' -printf '%p %m %s %T@ %l\n' | sort; }

# refused PATTERN [VERB...]: each command VERB is refused with one sentence that matches
# PATTERN. No file in the working directory changes.
refused() {
	look . >"$TMPDIR/before"
	refusal=$1
	shift
	[ $# -gt 0 ] || set -- status up init 'team create t'
	for verb; do
		want=5
		[ "$verb" != 'trust --remove' ] || want=3
		is $want "$refusal\|not in the list of states" cadre $verb
		[ "$(wc -l <"$TMPDIR/err")" -le 2 ] || bad "$verb says more than a sentence and a hint"
	done
	is 5 '"denied"' cadre status --json
	cadre complete -- task show '' >/dev/null 2>&1
	mcp >"$TMPDIR/mcp"
	grep -q '"isError":true' "$TMPDIR/mcp" || bad "MCP does not say that it is denied"
	grep -q "$refusal" "$TMPDIR/mcp" || bad "MCP does not say why"
	look . | diff "$TMPDIR/before" - || bad "verbs have changed the folder"
}
mcp() {
	printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}' \
		'{"jsonrpc":"2.0","method":"notifications/initialized"}' \
		'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"task","arguments":{"action":"list","team":"t"}}}' |
		timeout "$(bound)" "$CADRE" mcp 2>/dev/null
}

# --- a repository that ships a state -------------------------------------------------

mkdir "$TMPDIR/mallory" && cd "$TMPDIR/mallory" && git init . || exit 1
(
	export XDG_STATE_HOME="$TMPDIR/mallorys"
	cadre init && cadre team create t --roles w && cadre --team t task create shipped
) >/dev/null || bad "mallory"
rm .cadre/.gitignore
printf '[vault]\nroot = "%s"\n' "$HOME" >.cadre/cadre.toml
printf 'team.default = "t"\n[state]\ndurability = "normal"\n' >cadre.toml
sqlite3 .cadre/state.db 'PRAGMA wal_checkpoint(truncate)' >/dev/null
git add -A -f && git commit -m x || bad "commit"

cd "$TMPDIR" && git clone mallory clone && cd clone || exit 1
chmod 755 .cadre
refused 'was not made here by you' status doctor config up down serve events logs gc backup 'task list' \
	'team list' 'vault list' 'team create t' inbox 'trust --remove' init
is 5 "cadre trust $TMPDIR/clone/.cadre" cadre status
is 5 'was not made here by you' cadre init
[ ! -e "$known" ] || ! grep -q clone "$known" || bad "the clone is noted"
# An unpacked archive of the repository and its state is refused like the clone.
cd "$TMPDIR" && tar -cf a.tar clone && mkdir unpacked && tar -xf a.tar -C unpacked && cd unpacked/clone || exit 1
refused 'was not made here by you'
# A state that the user names by --home or CADRE_HOME needs no trust. A project's configuration
# file does not apply to a state that the user names.
is 0 'state.durability\tfull\tdefault' cadre --home "$TMPDIR/mine" config
CADRE_HOME=$TMPDIR/mine is 3 'no state' cadre status
cadre --home "$TMPDIR/named" init >/dev/null
is 2 'named is a state that belongs to no project' cadre trust "$TMPDIR/named"
is 2 '^hint: Such a state needs no trust: name it by --home or CADRE_HOME.$' cadre trust "$TMPDIR/named"
cd "$TMPDIR/clone"

# After the user runs `cadre trust`, commands use the state.
is 0 "^trusted $TMPDIR/clone/.cadre$" cadre trust
is 0 'already known' cadre trust "$TMPDIR/clone"
[ "$(stat -c '%a %a' .cadre)" = '700 700' ] || bad "it is not private"
[ "$(stat -c %a .cadre/secret)" = 600 ] || bad "its secret is not private"
is 2 'cadre.toml:3:1: a project.s file cannot set state.durability' cadre task list
sed -i '/durability/d' cadre.toml
is 0 shipped cadre task list
is 0 "trusted\t.*$TMPDIR/clone/.cadre" cadre trust --list
is 0 "\"how\":\"trusted\",.*\"path\":\"$TMPDIR/clone/.cadre\"" cadre trust --list --json
is 0 "removed $TMPDIR/clone/.cadre" cadre trust --remove .cadre/
is 5 'was not made here by you' cadre status
[ "$(stat -c %a "$known")" = 600 ] && [ "$(stat -c %a "$(dirname "$known")")" = 700 ] ||
	bad "what is known is open to others"

# If several processes make a state at the same time, one trusted state is made.
for i in 1 2 3 4; do
	mkdir "$TMPDIR/once$i" && cd "$TMPDIR/once$i" || exit 1
	pids=
	for n in 1 2 3 4 5 6 7 8; do
		"$CADRE" init >"$TMPDIR/init$n" 2>&1 &
		pids="$pids $!"
	done
	for pid in $pids; do
		wait "$pid" || bad "one of eight inits at once: $(cat "$TMPDIR"/init?)"
	done
	is 0 . cadre status
	[ "$(grep -c " $PWD/.cadre [0-9a-f]*$" "$known")" = 1 ] || bad "it is not noted once"
done
cd "$TMPDIR/clone"

# A trusted state is refused if it contains tables or triggers that are not cadre's. A trusted
# state is also refused if it contains symbolic links.
cadre trust >/dev/null
sqlite3 .cadre/state.db 'CREATE TABLE m (x); CREATE TRIGGER t AFTER INSERT ON event BEGIN INSERT INTO m VALUES (1); END'
is 5 'holds a table that does not belong to cadre: m' cadre task list
is 5 'DROP table "m"' cadre --team t task create x
is 5 'not belong to cadre' cadre up
sqlite3 .cadre/state.db 'DROP TABLE m'
is 5 'holds a trigger that does not belong to cadre: t' cadre status
sqlite3 .cadre/state.db 'DROP TRIGGER t'
is 0 shipped cadre task list
echo private >"$HOME/note.md"
rm .cadre/cadre.toml
is 5 'have changed since you trusted it' cadre status
is 0 trusted cadre trust
mv .cadre/vault "$TMPDIR/vault" 2>/dev/null
ln -s "$HOME" .cadre/vault
for verb in 'vault list' 'vault read note.md' status up; do
	is 5 'vault is a link' cadre $verb
done
is 5 'vault is a link' cadre --home .cadre status
rm .cadre/vault
cadre trust --remove >/dev/null
rm -rf .cadre/log
ln -s "$HOME" .cadre/log
is 5 'log is a link' cadre trust
rm .cadre/log && mkdir -p .cadre/log && ln -sf "$HOME/note.md" .cadre/log/host.log
is 5 'host.log is a link' cadre trust
[ "$(cat "$HOME/note.md")" = private ] || bad "a link in a state was written to"

# --- links -------------------------------------------------------------------------------

mkdir -p "$TMPDIR/public" "$TMPDIR/linked" && cd "$TMPDIR/linked" && git init . || exit 1
chmod 755 "$TMPDIR/public"
echo x >"$TMPDIR/public/file"
ln -s ../public .cadre
refused 'is a link'
is 5 'is a link' cadre trust
is 5 'is a link' cadre trust .cadre
[ "$(stat -c %a "$TMPDIR/public") $(ls -A "$TMPDIR/public")" = '755 file' ] || bad "the link was followed"
# If the user names a wrong folder by --home, the folder keeps its mode.
is 3 'no state' cadre --home "$TMPDIR/public" status
is 3 'no state' cadre --home "$TMPDIR/public" up
is 5 'holds files that do not belong to cadre' cadre --home "$TMPDIR/public" --create up
[ "$(stat -c %a "$TMPDIR/public")" = 755 ] || bad "a foreign folder was made private"

# --- a foreign state inside the user's own project --------------------------------------------

mkdir "$TMPDIR/shop" && cd "$TMPDIR/shop" && git init . || exit 1
is 0 "^made $TMPDIR/shop/.cadre" cadre init
cadre team create mine --roles w >/dev/null
is 0 mine cadre team list
[ ! -s "$TMPDIR/err" ] || bad "the ordinary way is told something"
git clone "$TMPDIR/mallory" vendored && cd vendored || exit 1
look . >"$TMPDIR/before"
is 0 '^mine' cadre team list
grep -q "vendored/.cadre was not made here by you: cadre uses $TMPDIR/shop/.cadre" "$TMPDIR/err" ||
	bad "it does not say what it passed over"
is 0 'state.durability\tfull\tdefault' cadre config
is 0 'team.default\t\tdefault' cadre config
look . | diff "$TMPDIR/before" - || bad "the vendored folder was changed"
rm -r .cadre && ln -s "$TMPDIR/clone/.cadre" .cadre
is 0 "cadre: $TMPDIR/shop/vendored/.cadre is a link, .*: cadre uses $TMPDIR/shop/.cadre instead\$" cadre team list
cd ..

# git replaces ignored files, so a pull can bring files into the user's own state. A state with
# files from a pull is refused.
cd "$TMPDIR" && git init up && cd up && git commit --allow-empty -m 1 && cd .. && git clone up down || exit 1
cd down && cadre init >/dev/null && is 0 . cadre status
mkdir -p ../up/.cadre && echo 'vault.root = "/"' >../up/.cadre/cadre.toml
(cd ../up && git add -f .cadre && git commit -m 2)
git pull
[ -e .cadre/cadre.toml ] || bad "the pull brought nothing"
is 5 'files that git tracks' cadre status
is 5 'files that git tracks' cadre init
# If git once tracked files of a state, the user has to run `cadre trust`, because the files may
# have changed.
git rm --cached -r .cadre && rm .cadre/cadre.toml
is 5 'held files that git tracked' cadre status
is 0 "was tracked\t.*$TMPDIR/down/.cadre" cadre trust --list
is 0 trusted cadre trust
is 0 . cadre status

# `cadre trust` covers the state's files that git tracks when the command runs. If a pull
# changes files that `cadre trust` covers, the state is refused.
cd "$TMPDIR" && git clone up third && cd third || exit 1
mv .cadre/cadre.toml kept
is 0 '^made' cadre --home .cadre init
cadre --home .cadre team create t --roles w >/dev/null
mv kept .cadre/cadre.toml
is 5 'files that git tracks' cadre status
is 0 trusted cadre trust
is 0 '^t\t' cadre team list
(cd ../up && printf 'vault.root = "/etc"\n' >.cadre/cadre.toml && git commit -am 3)
git pull
is 5 'have changed since you trusted it' cadre vault list
is 0 "trusted\t.*$TMPDIR/third/.cadre" cadre trust --list
is 0 trusted cadre trust
is 0 'vault.root\t/etc' cadre config
# The state is also refused if a checkout of another branch leaves that branch's settings in the
# state. After the user removes the other branch's settings, the state is still refused.
(cd ../up && printf 'vault.root = "/usr"\n' >.cadre/cadre.toml && git commit -am 4)
git fetch origin && git checkout FETCH_HEAD && git reset main && git symbolic-ref HEAD refs/heads/main
is 5 'have changed since you trusted it' cadre vault list
rm .cadre/cadre.toml
is 5 'have changed since you trusted it' cadre status
is 0 trusted cadre trust
is 0 'already known' cadre trust
(cd ../up && : >.cadre/spool.db && git add -f .cadre && git commit -m 5)
git reset --hard && git checkout -B main && git fetch origin && git reset --hard FETCH_HEAD
[ -e .cadre/spool.db ] || bad "the branch brought nothing"
is 5 'have changed since you trusted it' cadre status
# If git's index cannot be read, `cadre trust` covers the state's present files, and no files
# that appear later.
is 0 trusted cadre trust
cp .git/index ../index && echo nonsense >.git/index
is 5 'have changed since you trusted it' cadre status
is 0 trusted cadre trust
is 0 '^t\t' cadre team list
printf 'vault.root = "/srv"\n' >.cadre/cadre.toml
is 5 'have changed since you trusted it' cadre vault list
is 0 trusted cadre trust
is 0 '^t\t' cadre team list
echo others >.git/index
is 5 'have changed since you trusted it' cadre status
cp ../index .git/index && git reset --hard

# --- git's files beside its index ----------------------------------------------------------

# Both a fast-forward that fails halfway and `git restore` leave files that are not in git's
# index. Settings in files outside git's index do not count as the user's own.
shipped() { printf '[inbox]\ncapacity = 7\n' >.cadre/cadre.toml; }
edited='settings (cadre.toml) that have changed since you made it'
cd "$TMPDIR" && git init -b main halfway && cd halfway && git commit --allow-empty -m 1 && cd .. &&
	git clone halfway half && cd half || exit 1
cadre init >/dev/null && cadre team create crew --roles w >/dev/null
(
	cd ../halfway && mkdir .cadre && shipped && echo '!*' >.cadre/.gitignore && git add -f .cadre
	name=$(printf 'x%.0s' $(seq 5000) | command git hash-object -w --stdin) # too long for the target of a link
	git update-index --add --cacheinfo "120000,$name,zlink" && git commit -m 2
) || bad "no commit"
rm .cadre/.gitignore # with this file, git would not replace the ignored files
git pull --ff-only
[ -e .cadre/cadre.toml ] || bad "the pull brought nothing"
[ -z "$(command git ls-files)" ] || bad "the pull did not fail"
for verb in 'send w hello' 'team list' up init 'trust --list'; do
	[ "$verb" = 'trust --list' ] || is 5 "$edited" cadre --team crew --as lead $verb
done
is 5 "$edited" cadre status
grep -q "if you changed them: cadre trust $TMPDIR/half/.cadre" "$TMPDIR/err" || bad "no hint"
# Even in a refused state .gitignore keeps the state's files out of git.
[ "$(cat .cadre/.gitignore)" = '*' ] || bad "its .gitignore is another one"
rm .cadre/cadre.toml
is 0 '^crew' cadre team list
git restore --source=origin/main .cadre/cadre.toml
is 5 "$edited" cadre team list
is 0 trusted cadre trust
is 0 'inbox.capacity\t7' cadre config
rm .cadre/cadre.toml
is 5 'changed since you trusted it' cadre team list
# Without a repository the user may edit the settings freely.
mkdir "$TMPDIR/bare" && cd "$TMPDIR/bare" && cadre init >/dev/null && shipped
is 0 'inbox.capacity\t7' cadre config
git init . && is 0 'inbox.capacity\t7' cadre config

# The state's files stay out of git, even if a branch or an archive has changed `.gitignore`.
mkdir -p "$TMPDIR/ignores/.cadre" && cd "$TMPDIR/ignores" && git init . && echo '!*' >.cadre/.gitignore
is 0 '^made' cadre init
grep -q '.gitignore was changed' "$TMPDIR/err" || bad "it does not say so"
for bring in ':' 'echo !* >.cadre/.gitignore' 'mkdir .cadre/.gitignore' \
	'mkdir -p .cadre/.gitignore/full' 'printf "*\n!secret\n" >.cadre/.gitignore'; do
	rm -rf .cadre/.gitignore
	eval "$bring"
	is 0 . cadre status
	[ "$(cat .cadre/.gitignore)" = '*' ] || bad "$bring: its .gitignore stays another one"
	git add -A
	[ -z "$(command git ls-files)" ] || bad "$bring: git takes files of the state"
done
is 0 . cadre status
[ "$(cat "$TMPDIR/err")" = 'nothing needs you' ] || bad "the right .gitignore is told something"

# --- another database in place of the user's own --------------------------------------------

(cd "$TMPDIR/mallory" && git rm --cached .cadre/id && git commit -m 2) || bad "no branch without an id"
# mine NAME: makes a project with a state, and fetches mallory's branch without a checkout.
mine() {
	mkdir "$TMPDIR/$1" && cd "$TMPDIR/$1" && git init -b main . && git commit --allow-empty -m 1 || exit 1
	cadre init >/dev/null && cadre team create mine --roles w >/dev/null && is 0 '^mine' cadre team list
	git fetch "$TMPDIR/mallory" HEAD:theirs || bad "fetch"
}
mine reset
git checkout theirs && git reset main || bad "no checkout"
is 5 'another state.db than the one that you made' cadre team list
grep -q 'move it away, and `cadre restore`' "$TMPDIR/err" || bad "no hint"
is 5 'another state.db' cadre init
mine untar
(cd "$TMPDIR/mallory" && tar -cf "$TMPDIR/db.tar" .cadre/state.db .cadre/secret)
tar -xf "$TMPDIR/db.tar"
is 5 'another state.db' cadre up
is 0 trusted cadre trust
is 0 '^t\t' cadre team list
# No command completes a restore that another user began.
mine ready
mkdir .cadre/restore.ready && cp ../mallory/.cadre/state.db ../mallory/.cadre/secret .cadre/restore.ready
printf 20260101-000000 >.cadre/restore.ready/aside
is 5 'another state.db' cadre team list
rm -r .cadre/restore.ready
is 0 '^mine' cadre team list
mkdir .cadre/restore.ready && cp ../mallory/.cadre/secret .cadre/restore.ready
is 5 'another state.db' cadre team list
rm -r .cadre/restore.ready
# The user's own backup can be restored. After state.db is removed, `init --anew` makes a new
# state. A backup can also be restored after the state's folder was moved away.
is 0 . cadre backup "$TMPDIR/mine.db"
is 0 '^restored' cadre restore --yes "$TMPDIR/mine.db"
is 0 '^mine' cadre team list
rm .cadre/state.db*
is 0 '^made' cadre init --anew
beside '^no teams' cadre team list
mv .cadre ../taken
is 0 '^restored' cadre restore "$TMPDIR/mine.db"
is 0 '^mine' cadre team list
# If `init` was interrupted, the file `id` of the state may lack the name of the database. The
# next command completes the file.
sed -i 1q .cadre/id
is 0 '^mine' cadre team list
grep -q '^db ' .cadre/id || bad "the id was not completed"

# --- a state that is moved, copied or unpacked ------------------------------------------------

cd "$TMPDIR" && mv shop store && cd store || exit 1
is 0 '^mine' cadre team list
[ ! -s "$TMPDIR/err" ] || bad "a moved project is told something"
grep -q " $TMPDIR/store/.cadre " "$known" || bad "its new place is not noted"
! grep -q " $TMPDIR/shop/.cadre " "$known" || bad "its old place is still noted"
cp -a "$TMPDIR/store" "$TMPDIR/copy" && cd "$TMPDIR/copy" || exit 1
refused 'was not made here by you'
is 0 trusted cadre trust "$TMPDIR/copy/.cadre"
is 0 '^mine' cadre team list
cd "$TMPDIR/store"
is 0 '^mine' cadre team list # the original is still trusted
cd "$TMPDIR" && tar -cf s.tar store && mv store away && tar -xf s.tar && cd store || exit 1
is 5 'was not made here by you' cadre team list
is 0 trusted cadre trust
is 0 '^mine' cadre team list
# A later archive of the same project may be unpacked into the same folder, and can contain the
# same id. A state from a later archive is refused.
tar -C "$TMPDIR" -xf "$TMPDIR/s.tar"
is 5 'was not made here by you' cadre team list
is 0 trusted cadre trust
is 0 '^mine' cadre team list

# --- a state from another environment ---------------------------------------------------------

# A person may trust a state that was made under another XDG_STATE_HOME. The state stays trusted
# under the first XDG_STATE_HOME, too.
id=$(cat .cadre/id)
if [ "$(stat -c %W .cadre)" -gt 0 ]; then # without times of birth an id never counts as cadre's own
	XDG_STATE_HOME=$TMPDIR/crons is 5 'was not made here by you' cadre team list
	XDG_STATE_HOME=$TMPDIR/crons is 0 trusted cadre trust
	XDG_STATE_HOME=$TMPDIR/crons is 0 '^mine' cadre team list
	is 0 '^mine' cadre team list
	[ "$(cat .cadre/id)" = "$id" ] || bad "it got another id"
fi
# The state's file `id` may be a hard link to another file. The other file must not change.
cadre trust --remove >/dev/null
echo notes >"$TMPDIR/notes" && chmod 644 "$TMPDIR/notes" && ln -f "$TMPDIR/notes" .cadre/id
is 0 trusted cadre trust
is 0 '^mine' cadre team list
ln .cadre/id "$TMPDIR/second"
is 5 'was not made here by you' cadre team list
rm "$TMPDIR/second"
is 0 '^mine' cadre team list
[ "$(stat -c %a "$TMPDIR/notes") $(cat "$TMPDIR/notes")" = '644 notes' ] || bad "another file was changed"
echo short >.cadre/id
is 5 'was not made here by you' cadre team list
is 0 trusted cadre trust
is 0 '^mine' cadre team list
grep -qE '^[0-9a-f]{32}( |$)' .cadre/id || bad "a malformed id was kept"

# --- a state without its state.db -------------------------------------------------------------

# If state.db is lost, commands do not silently use another state, such as the parent folder's
# state or the user's own state.
cadre --home "$XDG_STATE_HOME/cadre" init >/dev/null && cadre --home "$XDG_STATE_HOME/cadre" team create users >/dev/null
mkdir -p "$TMPDIR/outer/inner/deep" && cd "$TMPDIR/outer" && cadre init >/dev/null && cadre team create outers >/dev/null
cd inner && git init . && cadre init >/dev/null && cadre team create inners >/dev/null
cadre backup "$TMPDIR/inner.db" >/dev/null || bad "backup"
rm .cadre/state.db*
cd deep
for verb in status doctor config up events logs backup 'task list' 'team list' 'team create t' init; do
	is 3 "state.db of $TMPDIR/outer/inner/.cadre is gone" timeout "$(bound)" "$CADRE" $verb
	grep -q 'cadre restore FILE' "$TMPDIR/err" || bad "$verb: no hint"
done
mcp | grep '"isError":true' | grep -q "inner/.cadre is gone" || bad "MCP does not say that the state is gone"
is 0 "^restored $TMPDIR/outer/inner/.cadre$" cadre restore "$TMPDIR/inner.db"
is 0 '^inners' cadre team list
# If the restore of a state was interrupted, the next command completes the restore and uses
# this state.
mkdir ../.cadre/restore.ready && mv ../.cadre/state.db* ../.cadre/restore.ready
cp ../.cadre/secret ../.cadre/restore.ready && printf 20260101-000000 >../.cadre/restore.ready/aside
is 0 '^inners' cadre team list
[ ! -e ../.cadre/restore.ready ] || bad "the restore was not ended"
# No command completes a half-done restore that a stranger prepared.
mkdir -p "$TMPDIR/strange/.cadre/restore.ready" && cd "$TMPDIR/strange" || exit 1
is 5 'strange/.cadre was not made here by you' cadre team list
[ -e .cadre/restore.ready ] || bad "a stranger's restore was ended"
# `init --anew` makes a lost state again. `init` without --anew is refused.
cd "$TMPDIR/outer/inner" && rm .cadre/state.db*
is 3 'is gone' cadre init
is 0 . cadre init --anew
is 0 . cadre team create again
rm -r "$XDG_STATE_HOME"/cadre/[!k]* "$TMPDIR/outer"
cd "$TMPDIR/store" || exit 1

# --- worktrees --------------------------------------------------------------------------

git commit --allow-empty -m x && git worktree add ../tree || bad "worktree"
cd ../tree
is 0 '^mine' cadre team list
is 0 "already there: $TMPDIR/store/.cadre" cadre init
cd .. && mv tree elsewhere && cd elsewhere || exit 1
is 5 'git worktree repair' cadre team list
git -C "$TMPDIR/store" worktree repair "$PWD"
is 0 '^mine' cadre team list
# A file `.git` that names the user's repository does not make a folder a worktree of the
# repository. If the repository does not list the folder as a worktree, the repository's state
# is refused.
mkdir "$TMPDIR/forged" && cp .git "$TMPDIR/forged/" && cd "$TMPDIR/forged" || exit 1
is 5 'does not know this worktree' cadre team list
is 5 'does not know this worktree' cadre trust
mkfifo fifo && printf 'gitdir: %s\n' "$PWD" >.git && ln -s fifo commondir
is 3 'no state' timeout "$(bound)" "$CADRE" status

# --- a command in a workspace looks for no state ---------------------------------

cd "$TMPDIR/clone"
CADRE_SOCKET=$TMPDIR/no-door is 7 'this is a workspace' cadre config
CADRE_SOCKET=$TMPDIR/no-door is 7 'this is a workspace' cadre init
CADRE_SOCKET=$TMPDIR/no-door is 7 'this is a workspace' cadre trust

# --- another user --------------------------------------------------------------------------

if [ "$(id -u)" = 0 ] && setpriv --reuid 65534 --regid 65534 --clear-groups true 2>/dev/null; then
	chmod 755 "$TMPDIR"
	mkdir -m 777 "$TMPDIR/open" && cd "$TMPDIR/open" || exit 1
	nobody() { setpriv --reuid 65534 --regid 65534 --clear-groups env HOME="$TMPDIR/open/home" \
		XDG_STATE_HOME="$TMPDIR/open/home/state" XDG_RUNTIME_DIR="$TMPDIR/open/home/run" "$@"; }
	nobody mkdir -p home/run theirs && chmod 700 home/run
	# The other user may be unable to run this program, so the test makes the state and
	# gives it to the other user.
	(cd theirs && XDG_STATE_HOME=$TMPDIR/mallorys cadre init >/dev/null && chown -R 65534:65534 .cadre && chmod 755 .cadre)
	cd theirs
	refused 'belongs to another user'
	[ "$(stat -c '%a %u' .cadre)" = '755 65534' ] || bad "root changed it"
	rm -r .cadre
	nobody ln -s "$TMPDIR/public" .cadre
	refused 'is a link'
	[ "$(stat -c '%a %u' "$TMPDIR/public")" = '755 0' ] || bad "root followed the link"
fi
exit $failed
