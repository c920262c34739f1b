#!/bin/sh
# git-work - before a workspace goes it is said what git would say of the work in it: files
# changed, removed and not tracked, commits of its own, a stash; and a hostile `.git` is
# neither run nor followed.
set -u
. "$(dirname "$0")/../lib/story.sh"
trap 'cadre team destroy --yes shop >/dev/null 2>&1
	until_is "^0$" count_guests; cadre down >/dev/null 2>&1' EXIT
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example

cd "$TMPDIR" || exit 1
git init -q -b main golden
for name in a b c d; do echo $name >golden/$name.txt; done
mkdir golden/lib
echo l >golden/lib/l.txt
echo built >golden/ignored.o
echo '*.o' >golden/.gitignore
git -C golden add . && git -C golden commit -qm first || bad "golden"
touch -d '2 days ago' golden/d.txt
cadre up >/dev/null || bad "up"
cadre team create shop --golden ./golden --roles '[{"name":"w","count":9,"workspace":true},{"name":"f"}]' >/dev/null || bad "team"
w() { # NUMBER SCRIPT: in that workspace
	n=$1
	shift
	cadre exec --team shop "shop/w-$n" "$@" >/dev/null || bad "in w-$n: $*"
}
says() { # NUMBER WORDS: what is said before that workspace goes
	is 4 "$2" cadre workspace destroy "shop/w-$1"
}
for n in 1 2 3 4 5 6 7 8 9; do
	until_is a.txt cadre exec --team shop "shop/w-$n" ls
done

# Files that came with the copy are no work: the question leaves out copied untracked files.
w 1 'echo more >>a.txt; echo more >>lib/l.txt; rm b.txt; echo new >new.txt; echo new >lib/new.o'
says 1 '1 workspace would go, 1 with uncommitted or unmerged work: shop/w-1 (2 files changed, 1 removed, 2 not tracked)$'

# MCP says it as well.
{
	echo '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}'
	echo '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"workspace","arguments":{"action":"destroy","workspace":"shop/w-1"}}}'
} | cadre mcp --operator --toolsets core,workspace >said
grep -q 'conflict.*shop/w-1 (2 files changed, 1 removed, 2 not tracked)' said || bad "over MCP: $(cat said)"

# A change that keeps the size and sets the time back is not seen by comparing, but that the
# file was written is.
w 2 'touch -r a.txt /tmp/cadre-time.$$; echo x >a.txt; touch -r /tmp/cadre-time.$$ a.txt; rm /tmp/cadre-time.$$'
says 2 'shop/w-2 (1 file written)$'

# Commits on the branch or on another one, packed or not, and a stash.
w 3 'echo more >>a.txt; git commit -qam more'
says 3 'shop/w-3 (commits of its own)$'
w 3 'git pack-refs --all; git checkout -q --detach; echo n >n; git add n; git commit -qm n'
says 3 'shop/w-3 (commits of its own)$'
w 4 'echo more >>a.txt; git stash -q; rm c.txt'
says 4 'shop/w-4 (1 file removed, 1 more written, a stash)$'
w 4 'git pack-refs --all'
says 4 ', a stash)$'
w 5 'echo more >>a.txt; git add a.txt'
says 5 'shop/w-5 (1 file written)$'
w 5 'git update-index --index-version 4'
says 5 'shop/w-5 (1 file written)$'

# Several: the names come first, and more facts as far as there is room.
is 4 '9 workspaces would go, 5 with .*: shop/w-1 (2 files .*), shop/w-2 (.*), shop/w-3 (.*), .*…' cadre team destroy shop

# Without work there is no question, even behind a `git status` that wrote the index.
is 0 . cadre workspace destroy shop/w-9

# A fork has the commit that it was made with.
is 0 . cadre workspace fork shop/w-3 --agent f --team shop
until_is a.txt cadre exec --team shop shop/f ls
cadre exec --team shop shop/f 'echo f >>b.txt' >/dev/null
is 4 'shop/f (1 file changed)$' cadre workspace destroy shop/f

# A repository that is not understood is told as work: an index of garbage, one that is too
# large, a split or sparse one, one that is a link or a pipe; a `.git` that leads elsewhere.
old='1 with work that was done there: shop/w-6$'
w 6 'cp .git/index .git/kept; echo more >>a.txt'
says 6 'shop/w-6 (1 file changed)$'
w 6 'head -c 3000 /dev/urandom >.git/index'
says 6 "$old"
w 6 'cp .git/kept .git/index; printf junk >>.git/index'
says 6 "$old"
w 6 'head -c 150 .git/kept >.git/index'
says 6 "$old"
w 6 'cp .git/kept .git/index; truncate -s 2G .git/index'
says 6 "$old"
w 6 'truncate -s 500M .git/index'
says 6 "$old"
w 6 'rm .git/index; mkfifo .git/index'
says 6 "$old"
w 6 'rm .git/index; ln -s kept .git/index'
says 6 "$old"
w 6 'rm .git/index; mkdir .git/index'
says 6 "$old"
w 6 'rm -r .git/index; cp .git/kept .git/index; git update-index --split-index'
says 6 "$old"
w 6 'git update-index --no-split-index'
says 6 'shop/w-6 (1 file changed)$'

# A file that is left out on purpose is not removed; a sparse index is not understood.
w 8 'git update-index --skip-worktree a.txt; rm a.txt; echo new >n'
says 8 'shop/w-8 (1 file not tracked)$'
w 8 'git update-index --no-skip-worktree a.txt; git checkout -q a.txt; git status >.git/said
	git sparse-checkout set --cone --sparse-index other'
says 8 '1 with work that was done there: shop/w-8$'

# Names of objects have 20 bytes, or 32.
w 8 'rm -rf .git; git init -q --object-format=sha256 .; git add .; git commit -qm all; echo more >>b.txt'
says 8 'shop/w-8 (1 file changed, commits of its own)$'

# Refs that lead elsewhere are not read.
golden=$(git -C golden rev-parse HEAD | tr 0-9a-f f0-9a-e)
echo "$golden" >elsewhere
w 6 "ln -sf '$TMPDIR/elsewhere' .git/refs/heads/main"
says 6 'shop/w-6 (1 file changed)$'
w 6 "rm .git/refs/heads/main; echo 'ref: refs/heads/../../../../elsewhere' >.git/HEAD"
says 6 'shop/w-6 (1 file changed)$'
w 6 'rm .git/HEAD; mkfifo .git/HEAD .git/packed-refs .git/refs/stash'
says 6 'shop/w-6 (1 file changed)$'
w 6 'mv .git .other; ln -s .other .git'
says 6 "$old"
w 6 'rm .git; echo "gitdir: .other" >.git'
says 6 "$old"

# So is a repository in the repository, whose files this index does not know.
w 7 'git init -q sub; cd sub; echo s >s; git add s; git commit -qm s'
says 7 'shop/w-7 (1 file not tracked)$'
w 7 'git add sub 2>/dev/null'
says 7 '1 with work that was done there: shop/w-7$'
exit $failed
