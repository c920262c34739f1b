#!/bin/sh
# lost - a folder holds the remains of a state, but no state.db. No command makes an empty state
# in a folder with remains of a state, by whatever means the command finds the folder. `restore`
# and `init --anew` make a state in the folder, and keep the remains of the former state.
set -u
stateless=yes
. "$(dirname "$0")/../lib/story.sh"
story=$TMPDIR
trap 'cadre down >/dev/null 2>&1' EXIT

lost_is_said() { # COMMAND...: the refusal names the folder, the remaining files and the remedy
	"$@" >"$story/out" 2>&1 </dev/null && bad "$*: not refused"
	grep -q "state.db of $CADRE_HOME is \(gone\|empty\); .*belong to the former state" "$story/out" ||
		bad "$*: $(cat "$story/out")"
	grep -q 'cadre restore FILE.*cadre init --anew' "$story/out" || bad "$*: no hint: $(cat "$story/out")"
	[ ! -s "$CADRE_HOME/state.db" ] || bad "$*: it made a state"
}
all_verbs() {
	lost_is_said cadre team create t
	lost_is_said cadre --home "$CADRE_HOME" team create t
	lost_is_said cadre status
	lost_is_said cadre --direct team list
	lost_is_said cadre init
	lost_is_said cadre doctor
	lost_is_said cadre backup "$story/x.db"
	lost_is_said cadre config
	lost_is_said cadre up
	lost_is_said cadre serve
	echo '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"agents","arguments":{"action":"list"}}}' |
		cadre mcp >"$story/out" 2>&1
	grep '"id":2' "$story/out" | grep -q 'state.db of .* is gone.*init --anew\|state.db of .* is empty.*init --anew' ||
		bad "mcp: $(cat "$story/out")"
	[ ! -s "$CADRE_HOME/state.db" ] || bad "mcp made a state"
}
new_state() {
	rm -rf "$CADRE_HOME"
	cadre init >/dev/null || bad "init in a folder that is not there"
	cadre team create t --roles a >/dev/null || bad "a state in a folder that is not there"
	cadre --team t --as a send a "of the former state" >/dev/null
	mkdir -p "$CADRE_HOME/workspaces/w" && echo work >"$CADRE_HOME/workspaces/w/file"
}
message() { cadre --team t --as a inbox peek 2>&1; }

# In a folder that held no state, any command with --create makes a state.
mkdir -m 700 "$CADRE_HOME"
cadre --create team create t >/dev/null || bad "an empty folder"
rm -rf "$CADRE_HOME" && mkdir -m 700 "$CADRE_HOME" && echo '[inbox]
capacity = 5' >"$CADRE_HOME/cadre.toml"
cadre --create team create t >/dev/null || bad "a folder with a configuration"
# Many commands with --create that run at once make one state.
rm -rf "$CADRE_HOME"
pids=
for i in 1 2 3 4 5 6 7 8; do
	"$CADRE" --create --direct team create "t$i" >"$story/many.$i" 2>&1 &
	pids="$pids $!"
done
for pid in $pids; do wait "$pid" || bad "made by many at once: $(cat "$story"/many.*)"; done

# In the first case state.db is moved away. In the second case state.db is empty. In the last
# cases only one other file of a state is left.
new_state
cadre backup "$story/B.db" >/dev/null
mv "$CADRE_HOME/state.db" "$story/kept.db"
all_verbs
mv "$story/kept.db" "$CADRE_HOME/state.db"
message | grep -q 'of the former state' || bad "it was brought back, and is not there: $(message)"
: >"$CADRE_HOME/state.db"
all_verbs
cadre restore --yes "$story/B.db" >/dev/null || bad "restore where state.db was cut off"
message | grep -q 'of the former state' || bad "not restored: $(message)"
for name in secret workspaces search.db state.lock; do
	rm -rf "$CADRE_HOME" && mkdir -m 700 "$CADRE_HOME" && echo x >"$CADRE_HOME/$name"
	lost_is_said cadre team create t
done

# The user's own state is lost. The commands name no state, so they look for the user's own
# state.
(
	export XDG_STATE_HOME="$story/state" CADRE_HOME="$story/state/cadre"
	mkdir -p "$story/nowhere" "$story/state" && cd "$story/nowhere" || exit 1
	cadre init >/dev/null && rm "$CADRE_HOME/state.db" || bad "no state of the user's own"
	lost_is_said env -u CADRE_HOME "$CADRE" team create t
	
# Many processes run `init --anew` at once. One process sets the former state aside, and the
# other processes do not change the new state.
for round in 1 2 3 4 5; do
	new_state
	rm "$CADRE_HOME/state.db"
	pids=
	for i in 1 2 3 4; do
		"$CADRE" init --anew >"$story/anew.$i" 2>&1 &
		pids="$pids $!"
	done
	for pid in $pids; do wait "$pid"; done
	grep -q '^made' "$story"/anew.? || bad "none began anew: $(cat "$story"/anew.?)"
	grep -v -h '^made\|^the rest of\|^next:\|holds a state already\|elsewhere first' "$story"/anew.? >"$story/out" &&
		bad "begun anew by many at once: $(cat "$story/out")"
	[ "$(ls "$CADRE_HOME/replaced" | wc -l)" = 1 ] || bad "a new state was set aside: $(find "$CADRE_HOME/replaced")"
	cadre team create t >/dev/null || bad "no state after many began it anew"
done

# `init --anew` keeps the three newest former states, as `restore` does.
for i in 1 2 3 4; do
	rm "$CADRE_HOME/state.db"
	cadre init --anew >"$story/out" || bad "init --anew $i: $(cat "$story/out")"
done
[ "$(ls "$CADRE_HOME/replaced" | wc -l)" = 3 ] || bad "kept: $(ls "$CADRE_HOME/replaced")"
exit $failed
) || failed=1

# A state without its file `secret` is refused, because a new secret would make the tokens of
# all agents invalid.
secret_is_said() {
	"$@" >"$story/out" 2>&1 </dev/null && bad "$*: not refused"
	grep -q "$CADRE_HOME/secret is gone: the tokens" "$story/out" || bad "$*: $(cat "$story/out")"
	grep -q 'a backup has it as FILE.secret.*cadre restore FILE' "$story/out" || bad "$*: no hint: $(cat "$story/out")"
	[ ! -e "$CADRE_HOME/secret" ] || bad "$*: it made a secret"
}
new_state
cadre backup "$story/S.db" >/dev/null
cp "$CADRE_HOME/secret" "$story/kept.secret" && rm "$CADRE_HOME/secret"
for verb in status 'team create u' '--team t --as lead send a x' '--direct team list' init 'init --anew' \
	doctor config up serve "backup $story/x.db"; do
	secret_is_said cadre $verb
done
cp "$story/kept.secret" "$CADRE_HOME/secret"
message | grep -q 'of the former state' || bad "its secret was brought back, and it does not open: $(message)"
rm "$CADRE_HOME/secret"
cadre restore "$story/S.db" >"$story/out" 2>&1 </dev/null && bad "restore without a secret asks nothing"
grep -q 'would remove all changes in' "$story/out" || bad "restore without a secret: $(cat "$story/out")"
cadre restore "$story/S.db" --yes >"$story/out" 2>&1 || bad "restore without a secret: $(cat "$story/out")"
cmp -s "$CADRE_HOME/secret" "$story/kept.secret" || bad "restore put another secret there"
# If a secret is lost for good, `restore --any-secret` makes a new secret.
rm "$CADRE_HOME/secret"
cadre restore "$CADRE_HOME/state.db" >"$story/out" 2>&1 && bad "restored from itself"
cadre restore --any-secret "$CADRE_HOME/state.db" >"$story/out" 2>&1 || bad "restore --any-secret: $(cat "$story/out")"
message | grep -q 'of the former state' || bad "a new secret, and not its state: $(message)"
cadre restore --any-secret "$CADRE_HOME/state.db" >"$story/out" 2>&1 && bad "restored from itself with a secret"

# If a project's state is missing, cadre does not use the user's own state instead.
(
	unset CADRE_HOME
	export XDG_STATE_HOME="$story/users"
	gone_is_said() { # IN COMMAND...
		(cd "$1" && shift && "$@") >"$story/out" 2>&1 </dev/null && bad "$*: not refused"
		grep -q "the state $story/pro/.cadre that was noted on 2.* is gone" "$story/out" || bad "$*: $(cat "$story/out")"
		grep -q "restore FILE.*cadre init.*trust --remove $story/pro/.cadre" "$story/out" || bad "$*: no hint: $(cat "$story/out")"
		[ ! -e "$story/users/cadre/state.db" ] || bad "$*: it used the state of the user's own"
	}
	mkdir -p "$story/pro/deep" "$story/prose" && cd "$story/pro" && git init -q . && cadre init >/dev/null || exit 1
	git -c user.name=m -c user.email=m@x commit -q --allow-empty -m 1 && git worktree add -q "$story/linked" || exit 1
	cadre team create t --roles a >/dev/null && cadre backup "$story/P.db" >/dev/null
	mv .cadre ../away
	for verb in status 'team create u' '--team t --as lead send a x' up doctor 'task list'; do
		gone_is_said . cadre $verb
	done
	gone_is_said deep cadre team create u
	gone_is_said "$story/linked" cadre team create u
	mv ../away .cadre
	(cd "$story/linked" && cadre team list) | grep -q '^t[[:space:]]' || bad "it was brought back, and is not there"
	# In a linked worktree, commands are also refused if the repository's folder .git is
	# missing.
	mv "$story/pro" "$story/pro2"
	(cd "$story/linked" && cadre team create u) >"$story/out" 2>&1 && bad "a worktree that leads nowhere: not refused"
	grep -q 'the git folder that .*linked/.git names is gone' "$story/out" || bad "a worktree that leads nowhere: $(cat "$story/out")"
	mv "$story/pro2" "$story/pro"
	rm -rf .cadre
	cadre restore "$story/P.db" >"$story/out" 2>&1 || bad "restore where it is gone: $(cat "$story/out")"
	cadre team list | grep -q '^t[[:space:]]' || bad "what was restored is not there"
	rm -rf .cadre
	gone_is_said . cadre team list
	cadre init >/dev/null && cadre team list 2>&1 | grep -q '^no teams' || bad "a new one does not count"
	rm -rf .cadre
	cadre trust --remove "$story/pro/.cadre" >/dev/null || bad "it cannot be forgotten"
	cadre --home "$story/users/cadre" init >/dev/null || bad "no state of the user's own"
	(cd "$story/pro" && cadre team create own) >"$story/out" 2>&1 || bad "forgotten, and still refused: $(cat "$story/out")"
	# In a sibling folder whose name starts with the project's name, commands still use the
	# user's own state.
	cd "$story/pro" && cadre init >/dev/null && rm -rf .cadre && cd ../prose && cadre team list | grep -q own || bad "a sibling is refused"
	exit $failed
) || failed=1

# If state.db is removed while `cadre mcp` runs, `cadre mcp` does not make a new state.
new_state
mkfifo "$story/in"
"$CADRE" mcp --direct <"$story/in" >"$story/mcp.out" 2>&1 &
mcp=$!
exec 3>"$story/in"
ask() {
	echo '{"jsonrpc":"2.0","id":'"$1"',"method":"tools/call","params":{"name":"team","arguments":{"action":"list"}}}' >&3
	until_is "\"id\":$1[,}]" cat "$story/mcp.out"
}
echo '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}' >&3
ask 2
rm "$CADRE_HOME/state.db"
ask 3
ask 4
grep '"id":4' "$story/mcp.out" | grep -q 'state.db' || bad "mcp goes on: $(tail -1 "$story/mcp.out")"
[ ! -e "$CADRE_HOME/state.db" ] || bad "mcp made a state"
exec 3>&-
wait $mcp

# If a person runs `init --anew`, the remains of the former state are kept.
cadre init --anew >"$story/out" || bad "init --anew: $(cat "$story/out")"
aside=$(sed -n 's/^the rest of the former state is kept in //p' "$story/out")
[ -s "$aside/secret" ] || bad "the former secret is not kept: $(cat "$story/out")"
grep -q work "$CADRE_HOME/workspaces/w/file" || bad "a workspace's files are gone"
message | grep -q 'of the former' && bad "not anew"
cadre team create t >/dev/null || bad "a state that was begun anew"
cadre init --anew >"$story/out" 2>&1 && bad "a living state was replaced"
grep -q 'holds a state already' "$story/out" || bad "init --anew of a state: $(cat "$story/out")"
cadre team list --json | grep -q '"name":"t"' || bad "init --anew changed a state"

# `git clean` does not remove a state in the repository's folder .git.
git init -q "$story/kept" && cd "$story/kept" || bad "git init"
CADRE_HOME=$(git rev-parse --path-format=absolute --git-common-dir)/cadre
is 0 . cadre init
is 0 . cadre team create kept --roles a
touch file && git clean -fdxq && git stash -aq 2>/dev/null
[ ! -e file ] || bad "git cleans nothing"
is 0 '^kept\t' cadre team list
git commit -qm one --allow-empty && git worktree add -q ../beside && cd ../beside || bad "git worktree"
is 0 '^kept\t' cadre team list
exit $failed
