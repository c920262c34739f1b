#!/bin/sh
# worktrees - five agents work in five worktrees of git, with one .mcp.json that names no agent.
# Each agent registers once. After the registration, calls in an agent's worktree act as the
# agent, over MCP and in a shell. The record for a worktree is accepted only if no other user
# could have written the record. A refused record never makes an agent the operator.
set -u
. "$(dirname "$0")/../lib/said.sh"

unset CADRE_TEAM CADRE_AGENT CADRE_TOKEN
mkdir -p "$TMPDIR/shop" && cd "$TMPDIR/shop" || exit 1
git init .
cat >.mcp.json <<EOF
{ "mcpServers": { "cadre": { "command": "$CADRE", "args": ["mcp"] } } }
EOF
git add .mcp.json && git commit -m one
main=$PWD
is 0 "^made" "$CADRE" init
is 0 . "$CADRE" team create shop
is 0 . "$CADRE" agent register by-hand
is 0 . "$CADRE" --as by-hand send operator "for the person"
trees=
for name in ann ben cid dot eva; do
	git worktree add "../$name" || bad "no worktree"
	trees="$trees $TMPDIR/$name"
	is 0 . "$CADRE" task create "Work for one"
done

story() { /usr/bin/python3 "$here/peers/worktrees.py" "$@" >"$TMPDIR/out" 2>&1 && [ ! -s "$TMPDIR/out" ] || bad "$1: $(cat "$TMPDIR/out")"; }
story join $trees
story again $trees
is 0 up "$CADRE" up
story again $trees
more=
for name in lea mia; do
	git worktree add "../$name" || bad "no worktree"
	more="$more $TMPDIR/$name"
	is 0 . "$CADRE" task create "Work beside a host"
done
story join $more
is 0 "" "$CADRE" down
story again $more
is 0 'the operator' "$CADRE" whoami

# An agent that registers without a name gets a name, and keeps this name in its worktree.
git worktree add ../any && git worktree add ../other || bad "no worktree"
story nameless "$TMPDIR/any" "$TMPDIR/other"
for name in any other; do
	cd "../$name" || exit 1
	is 0 '^[a-z]*-[a-z0-9-]* of team shop, the agent of' "$CADRE" whoami
done
git worktree add ../third && cd ../third || exit 1
is 0 '^you are [a-z]*-[a-z]* of team shop: whenever' "$CADRE" agent register --here
cd "$main" || exit 1
# Two hundred agents that register at the same time get two hundred different names. The names
# are made of pairs of words, and there are fewer than two hundred words.
is 0 . "$CADRE" team create crowd
seq 200 | xargs -P 8 -I{} "$CADRE" agent register --team crowd --json --role r{} >"$TMPDIR/names" 2>&1
[ "$(grep -o '"name":"[a-z0-9-]*"' "$TMPDIR/names" | sort -u | wc -l)" = 200 ] ||
	bad "not 200 names: $(grep -v '"name"' "$TMPDIR/names" | head -3)"
"$CADRE" team destroy --yes crowd >/dev/null 2>&1 || bad "no end of a team"

# Two sessions in one worktree are two agents. The worktree still belongs to the agent of the
# first session.
git worktree add ../two || bad "no worktree"
story beside "$TMPDIR/two" "$TMPDIR/two"
cd ../two && is 0 '^one of team shop' "$CADRE" whoami
cd "$main" || exit 1

# Clients that run side by side in one worktree are separate agents, with a host and without.
for n in 1 2; do
	git worktree add ../side-$n || bad "no worktree"
	story clients "$TMPDIR/side-$n" pat-$n quin-$n ray-$n
	[ "$n" = 2 ] || is 0 up "$CADRE" up
done
is 0 "" "$CADRE" down

# Commands in a worktree's shell act as the worktree's agent, also in folders of the worktree.
for name in ann ben cid dot eva; do
	mkdir -p "../$name/src/deep" && cd "../$name/src/deep" || exit 1
	is 0 "^$name of team shop, the agent of $TMPDIR/$name" "$CADRE" whoami
	is 0 "\"agent\":\"$name\"" "$CADRE" --json whoami
	is 0 . "$CADRE" send lead "by $name"
	is 5 'only the lead of team shop' "$CADRE" team create another
	is 5 'agent.env is for the lead' "$CADRE" agent env "$name"
	cd "$main" || exit 1
	is 0 "$name.*by $name\|$name -> lead" "$CADRE" --as lead inbox
done

# Variables and options have precedence over the record for the worktree.
cd "$TMPDIR/ann" || exit 1
is 0 "^the operator.*as --as or --operator says" "$CADRE" --operator whoami
is 0 "^ben of team.*as --as or --operator says" "$CADRE" --operator --team shop --as ben whoami
eval "$("$CADRE" --operator agent env ben)"
is 0 "^ben of team shop, as CADRE_AGENT says" "$CADRE" whoami
is 5 'cannot act as another' "$CADRE" --operator whoami
unset CADRE_HOME CADRE_TEAM CADRE_AGENT CADRE_TOKEN
is 5 'names team other, but this directory is kept for ann' "$CADRE" --team other task list

# A person who registers an agent is still the operator, unless `agent register` has the option
# --here.
cd "$main" || exit 1
is 0 . "$CADRE" agent register fay
is 0 'the operator' "$CADRE" whoami
git worktree add ../fay && cd ../fay || exit 1
is 4 'is registered already' "$CADRE" agent register fay --here
is 0 "^you are fay of team shop: whenever cadre runs in $PWD" "$CADRE" agent env fay --here
is 0 '^fay of team shop' "$CADRE" whoami
is 0 forgotten "$CADRE" whoami --forget
is 0 'the operator' "$CADRE" whoami
is 0 '^you are gus' "$CADRE" agent register gus --here
is 0 '"you":"hal of team shop' "$CADRE" --operator --json agent register hal --here
grep -q token "$TMPDIR/out" && bad "a token is shown"
is 0 '^hal of team shop' "$CADRE" whoami

# On a terminal `agent register` prints no token, but prints the command that makes the shell
# act as the agent. `agent register` also prints no token to a pipe. Only the answer with --json
# contains the token.
script -qec "stty cols 80; '$CADRE' --operator agent register kim" /dev/null >"$TMPDIR/typed" </dev/null
grep -q "eval \"\$(cadre agent env kim)\"" "$TMPDIR/typed" || bad "a terminal is not told how to be kim: $(cat "$TMPDIR/typed")"
grep -Eq '[0-9a-f]{64}' "$TMPDIR/typed" && bad "a terminal shows a token"
script -qec "'$CADRE' --operator team create tools --roles x" /dev/null >"$TMPDIR/typed" </dev/null
grep -q '^created team tools: x, lead' "$TMPDIR/typed" || bad "no team: $(cat "$TMPDIR/typed")"
grep -Eq '[0-9a-f]{64}|TOKEN' "$TMPDIR/typed" && bad "a terminal shows tokens"
is 0 . "$CADRE" --operator --team tools agent register liz
grep -Eq '[0-9a-f]{64}' "$TMPDIR/out" && bad "a pipe shows a token"
is 0 '"token":"[0-9a-f]\{64\}"' "$CADRE" --operator --team tools --json agent register max
"$CADRE" --operator team destroy --yes tools >/dev/null 2>&1 || bad "no end of a team"

# A record that another user could have written is refused, and the caller does not become the
# operator.
kept=$main/.cadre/here
[ "$(stat -c %a "$kept")" = 700 ] || bad "the folder is open"
cd "$TMPDIR/ann" || exit 1
own=$(grep -lx "place $PWD" "$kept"/*)
[ "$(stat -c %a "$own")" = 600 ] || bad "the file is open"
cp -p "$own" "$TMPDIR/copy"
other=$(grep -lx "place $TMPDIR/ben" "$kept"/*)
refused() { # CAUSE
	for verb in "task list" "task create x" "inbox" "whoami"; do is 5 "$1" "$CADRE" $verb; done
	echo '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"task","arguments":{"action":"create","title":"y"}}}' |
		"$CADRE" mcp 2>/dev/null | grep -q "denied" || bad "MCP takes what $1"
	rm -f "$own"
	cp -p "$TMPDIR/copy" "$own"
	is 0 '^ann of' "$CADRE" whoami
}
chmod 640 "$own" && refused 'open to other users'
ln -sf "$other" "$own" && refused 'is a link'
ln -f "$other" "$own" && refused 'not a plain file'
cat "$other" >"$own" && refused 'made for another directory'
: >"$own" && refused 'changed since cadre wrote it'
mv "$own" "$own.away" && mkdir "$own" && {
	is 5 'not a plain file' "$CADRE" task list
	rmdir "$own"
	mv "$own.away" "$own"
}
sed -i 's/^token .*/token 00/' "$own"
chmod 600 "$own"
refused 'does not belong to agent ann'
chmod 755 "$kept" && is 5 'open to other users' "$CADRE" task list
chmod 700 "$kept"
if [ "$(id -u)" = 0 ]; then
	chown 54321 "$own" && refused 'belongs to another user'
fi

# If an agent was replaced, a fault names the new generation. The replaced agent can register
# again, and gets a new record for its worktree.
"$CADRE" --operator agent register ann --replace >/dev/null || bad "ann is not replaced"
is 4 'ann was registered again' "$CADRE" task list
grep -q 'you are ann of team shop in this directory' "$TMPDIR/err" || bad "it does not say why it is ann"
echo '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"agents","arguments":{"action":"register","name":"ann-2"}}}' |
	"$CADRE" mcp | grep -q '"id":2.*ann-2 of team shop' || bad "it cannot register anew"
is 0 '^ann-2 of team shop' "$CADRE" whoami

# A session is killed while it registers an agent. The next session in the same worktree gets
# the same agent by the same call. A session in another worktree does not get the agent of the
# killed session.
for name in kay far race; do git worktree add ../$name || bad "no worktree"; done
story killed "$TMPDIR/kay" "$TMPDIR/far"
race=$(for n in 1 2 3 4 5 6; do echo "$TMPDIR/race"; done)
won=$(/usr/bin/python3 "$here/peers/worktrees.py" race $race)
cd ../race && is 0 "^$won of team shop, the agent of" "$CADRE" whoami
cd "$main" || exit 1

# Sessions of one worktree that register at the same time are separate agents, with a host and
# without. The sessions still work after their team is renamed.
git worktree add ../flock || bad "no worktree"
flock=$(for n in 1 2 3 4 5; do echo "$TMPDIR/flock"; done)
for n in 1 2; do
	story together $flock
	(cd ../flock && is 0 forgotten "$CADRE" whoami --forget && exit $failed) || failed=1
	[ "$n" = 2 ] || is 0 up "$CADRE" up
done
is 0 "" "$CADRE" down
is 0 . "$CADRE" task create "Work for the flock"
is 0 . "$CADRE" task create "Work for the other"
story renamed shop store "$TMPDIR/flock" "$TMPDIR/flock"
is 0 . "$CADRE" --team store task create "Work beside a host"
is 0 . "$CADRE" --team store task create "More of it"
(cd ../flock && is 0 'forgotten' "$CADRE" whoami --forget && exit $failed) || failed=1
is 0 up "$CADRE" up
story renamed store shop "$TMPDIR/flock" "$TMPDIR/flock"
is 0 "" "$CADRE" down

# A repository inside a worktree belongs to the worktree's agent. Another worktree inside a
# worktree belongs to no agent.
git init "$TMPDIR/dot/dep" && mkdir ../dot/sub && echo "gitdir: $main/.git/worktrees/dot/modules/sub" >../dot/sub/.git && git worktree add ../dot/tree || bad "no repository"
cd ../dot/dep && is 0 "^dot of team shop, the agent of $TMPDIR/dot" "$CADRE" --home "$main/.cadre" whoami
cd ../sub && is 0 "^dot of team shop, the agent of $TMPDIR/dot" "$CADRE" --home "$main/.cadre" whoami
cd ../tree && is 0 '^the operator' "$CADRE" whoami
cd "$main" || exit 1

# A renamed agent still acts as itself, also when another agent has its old name.
is 0 . "$CADRE" --operator agent update eva --new-name eve
cd ../eva && is 0 . "$CADRE" task list
is 0 . "$CADRE" --operator agent register eva
is 0 '^eve of team shop, the agent of' "$CADRE" whoami
is 0 . "$CADRE" task create "By eve"
grep -q '^agent eve$' "$kept"/* || bad "the new name is not kept"
cd "$main" || exit 1

# A worktree that is made again under an old path belongs to no agent. The record for a removed
# worktree is deleted.
cd "$main" || exit 1
git worktree remove --force ../ben && git worktree remove --force ../cid && git worktree add -f ../ben
cd ../ben || exit 1
is 0 'the operator' "$CADRE" whoami
is 0 '^you are ida' "$CADRE" agent register ida --here
grep -lx "place $TMPDIR/cid" "$kept"/* | grep -vq '\.gone$' && bad "a worktree that is gone is kept"

# A moved worktree still belongs to its agent, even if records for other agents were made after
# the move. A copy of a worktree belongs to no agent.
cd "$main" || exit 1
git worktree add ../nora || bad "no worktree"
cd ../nora && is 0 '^you are nora' "$CADRE" agent register nora --here
cd "$main" && cp -a ../nora ../copied
(cd ../copied && is 0 'the operator' "$CADRE" --home "$main/.cadre" whoami && exit $failed) || failed=1
git worktree move ../nora ../nora-2 || bad "no move"
(cd ../copied && is 0 'the operator' "$CADRE" --home "$main/.cadre" whoami && exit $failed) || failed=1
git worktree add -b olga ../nora && cd ../nora && is 0 '^you are olga' "$CADRE" agent register olga --here
mkdir ../nora-2/src && cd ../nora-2/src || exit 1
is 0 . "$CADRE" send lead "still nora"
is 0 "^nora of team shop, the agent of $TMPDIR/nora-2\$" "$CADRE" whoami
cd "$main" && is 0 'nora -> lead\|nora.*still nora' "$CADRE" --as lead inbox
cd "$main" && git worktree move ../nora-2 ../nora-3 && cd ../nora-3 || exit 1
is 0 "^nora of team shop" "$CADRE" whoami
cd ../nora && is 0 "^olga of team shop" "$CADRE" whoami
git worktree add ../pia && cd ../pia && is 0 '^you are pia' "$CADRE" agent register pia --here
cd "$main" && git worktree move ../nora ../nora-4 && cd ../nora-4 || exit 1
is 0 "^olga of team shop, the agent of $TMPDIR/nora-4\$" "$CADRE" whoami
cd ../nora-3 && is 0 forgotten "$CADRE" whoami --forget
is 0 'the operator' "$CADRE" whoami

# `whoami --forget` also removes a record that is refused, even if the record was set aside
# under another name.
cd "$main" && git worktree add ../quin && cd ../quin && is 0 '^you are quin' "$CADRE" agent register quin --here
file=$(grep -lx "place $TMPDIR/quin" "$kept"/*) && mv "$file" "$file.gone" && chmod 644 "$file.gone"
is 5 'is open to other users' "$CADRE" task list
is 0 forgotten "$CADRE" whoami --forget
is 0 'the operator' "$CADRE" whoami

# A file system's snapshot of an agent's folder belongs to no agent while the original is
# mounted, although both have the same inodes and times of birth. The folder in the snapshot can
# get its own agent.
cd "$TMPDIR" && truncate -s 4M disk.img && mkdir disk snap
if /usr/sbin/mkfs.ext4 -q -I 256 disk.img && mount -o loop disk.img disk 2>/dev/null; then
	mkdir disk/x && umount disk && cp disk.img snap.img
	mount -o loop disk.img disk && mount -o loop snap.img snap || bad "no snapshot"
	cd disk/x && is 0 '^you are rex' "$CADRE" --home "$main/.cadre" agent register rex --here
	cd ../../snap/x && is 0 'the operator' "$CADRE" --home "$main/.cadre" whoami
	cd ../../disk/x && is 0 "^rex of team shop, the agent of $TMPDIR/disk/x" "$CADRE" --home "$main/.cadre" whoami
	cd ../../snap/x && is 0 '^you are sam' "$CADRE" --home "$main/.cadre" agent register sam --here
	is 0 "^sam of team shop, the agent of $TMPDIR/snap/x" "$CADRE" --home "$main/.cadre" whoami
	cd ../../disk/x && is 0 "^rex of team shop, the agent of $TMPDIR/disk/x" "$CADRE" --home "$main/.cadre" whoami
	cd ../../snap/x && is 0 forgotten "$CADRE" --home "$main/.cadre" whoami --forget
	is 0 'the operator' "$CADRE" --home "$main/.cadre" whoami
	cd ../../disk/x && is 0 "^rex of team shop, the agent of $TMPDIR/disk/x" "$CADRE" --home "$main/.cadre" whoami
	# The folder in the snapshot keeps its own agent after the original is unmounted.
	cd ../../snap/x && is 0 '^you are lou' "$CADRE" --home "$main/.cadre" agent register lou --here
	cd "$TMPDIR" && umount disk || bad "still mounted"
	cd snap/x && is 0 "^lou of team shop, the agent of $TMPDIR/snap/x" "$CADRE" --home "$main/.cadre" whoami
	is 0 forgotten "$CADRE" --home "$main/.cadre" whoami --forget
	cd "$TMPDIR" && umount snap || bad "still mounted"
else
	echo "skipped: no file system of its own"
fi

# Outside of git, `agent register --here` makes a record for the working directory and the
# folders below.
mkdir -p "$TMPDIR/plain/below" && cd "$TMPDIR/plain" || exit 1
is 0 '^you are joe' "$CADRE" --home "$main/.cadre" agent register joe --here
is 0 '^joe of team shop' "$CADRE" --home "$main/.cadre" whoami
cd below && is 0 "^joe of team shop, the agent of $TMPDIR/plain" "$CADRE" --home "$main/.cadre" whoami

# An agent whose team has ended gets a fault, and does not become the operator.
cd "$main" && is 0 . "$CADRE" team destroy --yes shop
cd "$TMPDIR/dot" || exit 1
for verb in "task list" "team list" "team create mine" whoami; do is 3 'there is no agent dot in team shop' "$CADRE" $verb; done
grep -q 'you are dot of team shop in this directory: cadre whoami --help' "$TMPDIR/err" || bad "it does not say what to do"
is 0 forgotten "$CADRE" whoami --forget
is 0 . "$CADRE" team create mine
exit $failed
