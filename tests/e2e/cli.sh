#!/bin/sh
# cli - the command as a person and an agent use it. Each verb is tested for its form, exit
# status and output. The story runs without a host, with a host, and after the host was killed.
set -u
stateless=yes
. "$(dirname "$0")/../lib/story.sh"
trap 'cadre down --all >/dev/null 2>&1' EXIT

# --- before there is a state -----------------------------------------------------
is 0 '^cadre [0-9]' cadre version
is 0 'usage: cadre' cadre
is 0 '^Board  *task create TITLE  *put a task on the board$' cadre
[ "$(cadre | wc -l)" -le 26 ] || bad "the overview has $(cadre | wc -l) lines"
[ "$(cadre | grep -c '^[A-Z]')" = 5 ] || bad "the overview has not five groups"
for page in '' 'help work' 'help all'; do
	cadre $page | awk 'length($0) > 80 { print; exit 1 }' || bad "cadre $page is wider than 80 columns"
done
topics=$(cadre | tr '\n' ' ' | sed 's/.*of a topic: //; s/[.,]//g')
for topic in $topics; do cadre help "$topic"; done >"$TMPDIR/topics"
for word in $(cadre help all | sed -n '/^Options of every verb/q; s/^  \([a-z]*\) .*/\1/p' | sort -u); do
	grep -qw -- "^  $word" "$TMPDIR/topics" || bad "no topic has $word"
done
cadre help all | sed -n 's/^  \([a-z]*\( [a-z]*\)\{0,1\}\) .*/\1/p' | sort -u | while read -r words; do
	cadre help $words | sed 's/…/./g' | grep -q '.\{81\}' && echo "$words"
done >"$TMPDIR/wide"
[ ! -s "$TMPDIR/wide" ] || bad "lines of help are wider than 80: $(cat "$TMPDIR/wide")"
is 0 'send TO TEXT' cadre help all
is 0 '^  claim ' cadre help work
is 0 '^  claim ' cadre help task
is 0 '^  restore FILE' cadre help keep
is 0 '^cadre [0-9]' cadre --version
is 0 'cadre help all. lists the options' cadre help send
is 0 '^  --json' cadre help all
is 0 'usage: cadre send TO' cadre help send
is 0 'usage: cadre task claim\|usage: cadre claim' cadre claim --help
is 0 'team create NAME' cadre help team
is 2 'there is no verb .frob' cadre frob
is 0 '^  task create TITLE' cadre task
is 2 'see .cadre help task' cadre task frob
# A guessed command works, or the hint is the complete command.
while IFS='|' read -r typed meant; do
	eval "set -- $typed"
	is 2 "^hint: did you mean .cadre $meant.[?] see" cadre "$@" </dev/null
done <<-'END'
	3|task show 3
	003|task show 003
	edit 3|task edit 3. or .cadre workspace edit 3
	create "a b"|task create 'a b'. or .cadre team create 'a b'. or .cadre token create 'a b'. or .cadre workspace create 'a b'
	next|claim
	agent ls|agent list
	agent add bob|agent register bob
	team new shop|team create shop
	tell coder hi|send coder hi
	say coder hi|send coder hi
	broadcast hi|send '[*]' hi
	grep word|search word
	watch|status --watch
END
for words in "teams|team list" "mail|inbox" "msgs|messages" "show|task show" "assign|task assign" \
	"unblock|task unblock" "comment|note" "update|task update" "new|task create" "task claim|claim" \
	"task done|done" "task close|done" "task complete|done" "task ls|task list" "message send|send"; do
	is 0 "^usage: cadre ${words#*|}\( \|\$\)" cadre ${words%|*} --help
done
is 2 '^hint: see .cadre help.$' cadre ""
is 0 '^usage: cadre task tick' cadre help "task tick"
is 0 '^usage: cadre search QUERY' cadre search find --help
is 2 'see .cadre use --help' cadre use
is 2 'see .cadre agent run --help' cadre agent run
is 2 'See .cadre task list --help' cadre task list --frob
is 2 'did you mean .cadre task list' cadre task lst
is 2 'did you mean .cadre status' cadre help statsu
is 2 'did you mean .cadre task' cadre tsak
is 2 'did you mean .cadre version' cadre vesion
for word in top destroi destory kill stop gcc dow; do
	is 2 'hint: see .cadre help' cadre $word
done
is 0 'CADRE_TOKEN' cadre mcp --help
is 2 'unknown argument --costs' cadre mcp --costs
is 0 '"urn:cadre:agent-card"' cadre docs agent-card
# A word with two meanings: `help` shows the topic, and --help the verb. Each names the other.
is 0 '^Set cadre up for a project' cadre help start
grep -q '^.cadre start --help. explains the verb start' "$TMPDIR/out" || bad "the verb start is out of reach"
is 0 '^usage: cadre start' cadre start --help
grep -q 'See also .cadre agent start., .cadre workspace start., .cadre help start' "$TMPDIR/out" || bad "other starts are out of reach"
grep -q 'Set cadre up' "$TMPDIR/out" && bad "the topic is behind the verb"
is 0 'See also .cadre vault restore., .cadre workspace restore' cadre restore --help
is 0 '^-f, --follow begins with the last ten events' cadre events --help
is 0 'NAME alone, or JSON with name, role' cadre team create --help
is 3 'hint: make a state: cadre init' cadre status
is 3 'hint: make a state: cadre init' cadre task list
# Without a state, `status --line`, which serves a shell prompt, prints nothing and returns 0.
line=$(cadre status --line 2>&1) && [ -z "$line" ] || bad "a prompt is told '$line' of no state"
# `init` makes a state. Any command that has --create and names the state's folder makes a state
# too. Other commands make no state.
for verb in 'task create x' 'send a b' up down doctor; do
	is 3 "there is no state at $CADRE_HOME" cadre $verb
	is 3 'there is no .cadre in .* or above it, and none at /nowhere/cadre' env -u CADRE_HOME XDG_STATE_HOME=/nowhere sh -c 'cd / && exec "$@"' . "$CADRE" $verb
done
# A user's own folder that only notes states of projects is no state.
mkdir -p "$TMPDIR/noted/cadre"
: >"$TMPDIR/noted/cadre/known"
is 3 'no state: there is no .cadre in .* or above it, and none at .*/noted/cadre' \
	env -u CADRE_HOME XDG_STATE_HOME="$TMPDIR/noted" sh -c 'cd / && exec "$@"' . "$CADRE" status
is 2 'needs the state.s folder' env -u CADRE_HOME "$CADRE" --create team create t
[ ! -e "$CADRE_HOME" ] || bad "a state was made unasked"
is 0 '^created team t: lead$' cadre --home "$TMPDIR/said" --create team create t
is 0 '^t\t' cadre --home "$TMPDIR/said" team list
is 2 '`init` takes only --anew' cadre init here

# --- a state ---------------------------------------------------------------------
is 0 "made $CADRE_HOME" cadre init
is 0 'already there' cadre init
[ "$(stat -c %a "$CADRE_HOME")" = 700 ] || bad "the folder is not 0700"
[ "$(stat -c %a "$CADRE_HOME/secret")" = 600 ] || bad "the secret is not 0600"
[ "$(cat "$CADRE_HOME/.gitignore")" = '*' ] || bad "no .gitignore"
is 0 '^host  *no$' cadre status
# Inside of a project, `cadre` alone shows the status.
is 0 '^host  *no$' cadre
is 0 '^The commands: cadre help$' cadre
is 0 '"event_seq":' cadre --json
is 0 'usage: cadre' cadre --help
is 0 '^  status \[--watch\]' cadre help watch
is 0 'until you type q' cadre status --help
is 0 '^usage: cadre status' cadre status --help

is 2 ': TO is required' cadre send
is 2 'see .cadre task create --help' cadre task create

# The state of a git repository is found from a folder of the repository, and from a worktree.
(
	unset CADRE_HOME
	git init -q "$TMPDIR/repo"
	cd "$TMPDIR/repo" || exit 1
	git commit -q --allow-empty -m first
	git worktree add -q ../tree
	mkdir deep
	cd deep
	cadre init | grep -q "made $TMPDIR/repo/.cadre" || exit 1
	cadre team create inrepo >/dev/null
	cd "$TMPDIR/tree"
	cadre team list | grep -q inrepo || exit 1
	cd "$TMPDIR/repo"
	[ -z "$(git status --porcelain)" ]
) || bad "the state of a project is not found, or git sees it"

# --- the verbs, with and without a host --------------------------------------------
# story TEAM: runs the whole story of a team TEAM. The story is the same with a host and without
# a host.
story() {
	team=$1
	is 0 '^created team .*: coder, tester, lead$' cadre team create "$team" \
		--roles '[{"name":"coder","skills":["c"]},{"name":"tester"}]'
	token=$(cadre team create "$team-2" --roles '[{"name":"a"}]' --json |
		sed 's/.*"name":"a"[^}]*"token":"\([0-9a-f]*\)".*/\1/')
	is 0 "^$team\tready" cadre team list
	is 4 'conflict' cadre team create "$team"
	# With two teams the caller has to name one team.
	is 2 'say which team' cadre task list
	export CADRE_TEAM="$team"
	beside 'no tasks' cadre task list
	(
		export CADRE_TEAM="$team-2"
		for word in tasks board ls list; do beside 'no tasks' cadre $word; done
		for word in agents who; do is 0 '^a\ta\tready\t' cadre $word; done
		is 0 '^sent #' cadre msg lead hi
		is 0 '^created task' cadre add "a short one"
		is 0 'team.created' cadre log
		is 0 "the operator" cadre whoami
		is 0 . cadre claim 001 --as a
		is 0 'completed' cadre close 001 --as a
		exit $failed
	) || failed=1
	is 0 '^sent #' cadre send coder hello there
	# A word after the first receiver is refused if the word is an agent's name. The sender
	# may mean a second receiver or the start of the text.
	is 2 'coder and tester, or does the text' cadre send coder tester "are you there"
	is 2 'For both: cadre send coder,tester …; for coder alone: cadre send coder -- tester …' cadre send coder tester hi
	is 0 '^sent #' cadre send coder -- tester is there
	is 0 '^sent #[0-9]* to coder, tester' cadre send coder,tester both
	is 0 '^sent #' cadre send coder "tester says hi"
	is 0 'both' cadre --as tester inbox
	is 0 'hello there' cadre --as coder inbox
	is 0 'no messages' cadre --as coder inbox --keep
	is 3 '(TO)' cadre send nobody hi
	is 3 'toto .*(TO)' cadre send toto hi
	is 2 '.' cadre send coder
	is 2 'Did you mean --priority' cadre send coder hi --prioritx=urgent
	echo "from a pipe" | cadre send coder - >/dev/null || bad "send -"
	echo "from a file" >"$TMPDIR/text"
	is 0 . cadre send coder "@$TMPDIR/text"
	is 0 . cadre send coder @@you
	is 0 '^sent #' cadre send coder '- one thing'
	is 0 '^sent #' cadre send coder '--also = this' --priority=urgent
	is 2 'Put -- before a text that begins with -' cadre send coder -one
	is 0 '^sent #' cadre send coder -- -one
	is 0 . cadre send coder "@you there"
	is 3 'cannot open' cadre send coder @/no/such/file
	is 0 'from a pipe' cadre --as coder inbox peek
	cadre --as coder inbox --take >"$TMPDIR/out" 2>&1
	for text in 'from a pipe' 'from a file' '^ *@you$' '@you there' '^ *- one thing$' \
		'^ *--also = this$' '^ *-one$'; do
		grep -q "$text" "$TMPDIR/out" || bad "inbox lacks $text"
	done

	is 0 '^created task 001' cadre task create "Write it" --priority 1 --tags a,b --description "about it"
	is 0 '^created task 002, which waits for 001' cadre task create "Test it" --depends-on 001
	is 4 'conflict' cadre --as tester claim 002
	is 0 '^001\t' cadre ready
	is 0 'owner  *coder' cadre --as coder claim
	either=yes
	is 8 'no task' cadre --as tester claim
	either=
	is 4 'conflict' cadre --as tester claim 001
	is 0 '^started task 001' cadre --as coder start 001
	is 4 'conflict' cadre --as coder done 001 --epoch 7 x
	is 0 'completed' cadre --as coder done 001 all is well
	is 0 '^  all is well' cadre task show 001
	is 0 '^002\t' cadre ready
	is 0 'task.completed' cadre task history 001
	is 0 'task.completed' cadre events --kind task
	is 3 'not_found' cadre task show 999
	is 0 '^[{]"tasks":\[[{].*\]' cadre task list --json

	# The output of each command says that a task waits for a cancelled task.
	cadre task create "Ship it" --depends-on 002 >/dev/null && cadre task cancel 002 >/dev/null
	is 0 'blocked by 002 (cancelled)' cadre task show 003
	beside '^1 task waits for failed or called-off tasks: 003' cadre task list
	beside '^1 task waits for failed or called-off tasks: 003' cadre ready
	is 0 'waiting for others; 1 task waits for failed or called-off tasks: 003' cadre --as tester prime
	either=yes
	is 8 '^1 task waits for failed or called-off tasks: 003' cadre --as tester claim
	either=
	is 0 'called off; 003 waits for it' cadre team status

	# With --json a fault is printed on stdout as a JSON object.
	cadre task show 999 --json >"$TMPDIR/out" 2>"$TMPDIR/err"
	[ $? = 3 ] && grep -q '^{"error":{"code":"not_found","where":"/task"' "$TMPDIR/out" &&
		[ ! -s "$TMPDIR/err" ] || bad "a fault in JSON"

	# Two calls with the same key send the message once.
	first=$(cadre send coder once --key k-"$team" --json)
	second=$(cadre send coder once --key k-"$team" --json)
	case $second in *'"replayed":true'*) ;; *) bad "not replayed: $second" ;; esac
	[ "$(echo "$first" | cut -d, -f1)" = "$(echo "$second" | cut -d, -f1)" ] ||
		bad "two ids under one key"
	is 4 'this key was used' cadre send coder twice --key k-"$team"

	# A caller with a wrong token or a wrong name is refused.
	is 5 'denied' env CADRE_AGENT=coder CADRE_TOKEN=wrong cadre inbox
	is 5 'denied' env CADRE_AGENT=coder CADRE_TOKEN=x cadre --as tester inbox
	is 0 'no messages' env CADRE_TEAM="$team-2" CADRE_AGENT=a CADRE_TOKEN="$token" cadre inbox
	is 5 'denied' env CADRE_TEAM="$team-2" CADRE_AGENT=a CADRE_TOKEN="$token" \
		cadre team destroy --yes "$team"

	# `task part` prints a text, prints a list of texts, or says that a part is missing.
	is 0 '^about it$' cadre task part 001 description
	is 0 '^b$' cadre task part 001 tags
	is 0 '^no notes$' cadre task part 001

	# The first wait ends with a message. Each of the two later waits ends with its timeout.
	"$CADRE" --as tester inbox --wait >"$TMPDIR/waited" 2>&1 &
	waiter=$!
	sleep 0.3
	is 0 . cadre send tester "at last"
	wait $waiter || bad "inbox --wait ended with $?"
	grep -q 'at last' "$TMPDIR/waited" || bad "inbox --wait did not see the message"
	either=yes
	is 7 'no messages' cadre --as tester inbox --wait-seconds 1
	is 7 'no events' cadre events --after 100000 --wait-seconds 1
	either=
	is 0 'no messages' cadre --as tester inbox

	"$CADRE" events -f --json >"$TMPDIR/followed" &
	follower=$!
	is 0 . cadre task create "Seen by the follower"
	until_done grep -q '"task.created".*"003"' "$TMPDIR/followed"
	kill $follower
	wait $follower 2>/dev/null

	is 0 'is destroyed' cadre team destroy --yes "$team-2"
	unset CADRE_TEAM
	is 0 'Write it' cadre task list --all
	is 0 'is destroyed' cadre team destroy --yes "$team"
}

echo "without a host"
story red
is 0 . cadre team create still --roles '[{"name":"coder"}]'
is 7 'cadre up' cadre workspace create --agent coder --team still
is 7 'cadre up' cadre exec still/coder true
is 0 . cadre team destroy --yes still
is 0 '^ok  *integrity' cadre doctor
is 0 '^warn  *environment  *cadre does not know CADRE_TAEM' env CADRE_TAEM=x "$CADRE" doctor
is 0 . env CADRE_PAGER=cat "$CADRE" doctor
! grep -q CADRE_PAGER "$TMPDIR/out" || bad "doctor does not know CADRE_PAGER"
CADRE_HOME="$CADRE_HOME" CADRE_GC_KEEP_DAYS=9 "$CADRE" doctor | grep environment &&
	bad "a variable that is known is none to doctor"
is 0 '"ok":true' cadre doctor --json
is 0 'verified' cadre backup "$TMPDIR/copy.db"
is 0 'verified' cadre backup
[ "$(sqlite3 "$TMPDIR/copy.db" 'PRAGMA integrity_check')" = ok ] || bad "the backup is not sound"
is 0 '^nothing to remove' cadre gc
is 3 'cadre up' cadre logs
is 0 'no host runs' cadre down

echo "with a host"
is 0 '^up: process [0-9]*, /' cadre up
is 0 '^up already: process' cadre up
is 4 'a host runs already' cadre serve
is 0 '^host  *yes' cadre status
story blue
is 0 'holds the lock' cadre doctor
is 0 . cadre logs -n 5
is 0 '^host  *no$' cadre status --direct

# A command that `exec` runs in a workspace has arguments, input, output and a status like a
# local command.
is 0 . cadre team create shop --roles '[{"name":"coder","workspace":true}]' --wait
is 0 'ready' cadre workspace list --team shop
is 0 '^two words$' cadre exec shop/coder printf '%s\n' 'two words'
is 0 '^here$' cadre exec shop/coder 'echo here; true'
cadre exec shop/coder sh -c 'echo out; echo err >&2; exit 3' >"$TMPDIR/out" 2>"$TMPDIR/err"
[ "$? $(cat "$TMPDIR/out") $(cat "$TMPDIR/err")" = '3 out err' ] || bad "exec"
echo 'cat; echo from the script' | cadre exec shop/coder - >"$TMPDIR/out" 2>&1
grep -q 'from the script' "$TMPDIR/out" || bad "exec -"
# A command inside a workspace calls cadre as the agent of the workspace, without a token. The
# operator's commands are refused.
is 0 '^sent #' cadre exec shop/coder "$CADRE send lead from the inside"
is 0 'from the inside' cadre --as lead --team shop inbox
is 7 'this is a workspace' cadre exec shop/coder "$CADRE backup"
is 7 'this is a workspace' cadre exec shop/coder "$CADRE image build --name a/b"
# The options of `exec` must be given before the command. All words after the command's first
# word belong to the command.
is 0 '"exit_code":4' cadre --json exec shop/coder 'exit 4'
is 0 '"exit_code":4' cadre exec --json shop/coder 'exit 4'
is 0 '"exit_code":4' cadre exec shop/coder --json -- 'exit 4'
is 0 '^--json --as$' cadre exec shop/coder echo --json --as
is 0 '^--json -- two words$' cadre exec shop/coder -- printf '%s %s %s\n' --json -- 'two words'
is 0 '^--help$' cadre exec -- shop/coder echo --help
is 0 'such as --json, come before' cadre exec --help
is 0 'such as --json, come before' cadre help exec
[ "$(cadre complete -- exec '' | cut -f 1)" = "$(cadre workspace list --json | grep -o '"name":"[^"]*"' |
	head -n 1 | cut -d'"' -f 4)" ] || bad "no workspace to choose"
printf 'a\000b\377' >"$TMPDIR/bytes"
is 0 . cadre workspace write shop/coder some/bytes "@$TMPDIR/bytes"
cadre workspace read shop/coder some/bytes | cmp -s - "$TMPDIR/bytes" || bad "bytes of a file"
is 0 'bytes' cadre workspace ls shop/coder some
is 3 'not_found' cadre workspace read shop/coder no/such
# A path that is no regular file is neither opened nor replaced. No command waits for the other
# end of a pipe or socket.
odd=$(cadre workspace info shop/coder --json | sed -n 's/.*"path": *"\([^"]*\)".*/\1/p')
mkfifo "$odd/pipe" && mkdir "$odd/folder" || bad "no pipe in '$odd'"
(cd "$odd" && /usr/bin/python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("socket")')
kinds='pipe folder socket'
# A device without a driver is tested too, if mknod succeeds. Only root can make a device, and
# only on some file systems.
mknod "$odd/device" c 240 200 2>/dev/null && kinds="$kinds device"
for kind in $kinds; do
	is 2 "invalid.*$kind is not a file" timeout 60 "$CADRE" workspace read shop/coder $kind
	is 2 "invalid.*$kind is not a file" timeout 60 "$CADRE" workspace write shop/coder $kind "@$TMPDIR/bytes"
done
[ -p "$odd/pipe" ] && [ -S "$odd/socket" ] || bad "a pipe or a socket was replaced"
is 0 'bytes' cadre workspace ls shop/coder some # the guest does not hang
is 0 . cadre workspace destroy --yes shop/coder
is 0 . cadre team destroy --yes shop

# If the host is killed while a client waits, the client continues without a host.
is 0 . cadre team create green --roles '[{"name":"coder"}]'
"$CADRE" --as coder inbox --wait >"$TMPDIR/waited" 2>&1 &
waiter=$!
sleep 0.3
kill -9 "$(cut -d' ' -f1 "$CADRE_HOME/host.lock")"
sleep 0.3
is 0 . cadre send coder "after the host"
wait $waiter || bad "the waiting client ended with $?"
grep -q 'after the host' "$TMPDIR/waited" || bad "the waiting client saw nothing"
is 0 '^host  *no$' cadre status
is 0 '^up: process' cadre up
is 0 '^down: process' cadre down
is 0 'no host runs' cadre down

# --- generated texts ------------------------------------------------------------------
# offers WORDS CANDIDATES: the completions of the last word are CANDIDATES.
tab=$(printf '\t')
offers() {
	want=$2
	eval "set -- $1"
	got=$(cadre complete -- "$@" 2>"$TMPDIR/err" | cut -f 1 | tr '\n' ' ')
	[ "$got" = "$want" ] || { : >"$TMPDIR/out"; bad "complete $*: '$got', not '$want'"; }
}
is 0 . cadre team create blue --roles '[{"name":"painter"}]'
is 0 . cadre --team blue task create "Paint it"
offers 'ver' 'version '
offers 'task sh' 'show '
offers 'task ed' 'edit '
offers '--team blue task edit ""' '001 '
offers '--team blue task edit 001 ""' ''
is 0 . cadre --team blue task create "Dry it"
is 0 . cadre --team blue --as painter claim 002
offers '--team blue done ""' '002 ' # the tasks in work
offers '--team blue --as lead done ""' '002 001 '
# An offline agent with a blocked task is offline, in a pipe and on a terminal.
is 0 'task 002 is blocked: Dry it' cadre --team blue --as painter block 002 "no paint"
is 0 "^painter${tab}painter${tab}blocked${tab}002" cadre --team blue agent list
is 0 . cadre --team blue --as painter agent status offline
is 0 "^painter${tab}painter${tab}offline${tab}002" cadre --team blue agent list
is 0 '^painter  *painter  *offline  *002' cadre --table --team blue agent list
is 0 . cadre --team blue --as painter agent status ready
is 0 . cadre --team blue --as painter unblock 002
is 0 . cadre --team blue --as painter release 002
is 0 . cadre --team blue task cancel 002
offers 'help ver' 'version '
offers 'completion ""' 'bash zsh fish '
offers 'hook c' 'claude codex cursor '
offers 'team ""' 'budget create destroy list status update usage '
offers 'team status ""' 'blue green '
# A fault about a missing team lists all teams, and names the option to type.
is 2 'say which team (--team)' cadre task list
is 2 'hint: Teams: blue, green' cadre task list
is 0 . cadre task list --as painter
# Events of several teams name their team, and events of one team do not.
is 0 '^[0-9:]*  blue  *operator  *created 001' cadre --table events --limit 1000
is 0 '^[0-9:]*  operator  *created 001' cadre --table --team blue events --limit 1000
is 2 'hint: Write --priority urgent' cadre --team blue send painter x --urgent
is 2 'hint: Did you mean --ack-required' cadre --team blue send painter x --ack
is 3 'there is no task 9 in team blue$' cadre --team blue task show 9
is 2 "'-' is malformed .*(--roles 1 name)" cadre team create red --roles '[{"name":"-"}]'
cadre --json task list | grep -q '"where":"/team"' || bad "JSON names no place"
# `team create` prints one line, which names the first eight members and counts the others. A
# command for the next step is printed on stderr.
is 0 '^created team many: w-1, w-2, w-3, w-4, w-5, w-6, w-7, w-8 and 5 more$' \
	cadre team create many --roles '[{"name":"w","count":12}]'
grep -q '^next: cadre --team many task create TITLE' "$TMPDIR/err" || bad "no next step"
is 0 . cadre team destroy --yes many
# Help lists exit statuses and an example. The command line of every example is valid.
is 0 '^Faults (exit status): invalid 2, not_found 3,' cadre send --help
is 0 "^  cadre send tester 'the parser is on its way' --thread design$" cadre send --help
cadre docs reference | sed -n 's/^- Example: `\(.*\)`$/\1/p' >"$TMPDIR/examples"
[ "$(wc -l <"$TMPDIR/examples")" -ge 15 ] || bad "few examples"
echo draft >"$TMPDIR/draft.md"
while read -r line; do
	eval "set -- $line"
	shift
	(cd "$TMPDIR" && CADRE_TEAM=nowhere cadre "$@") </dev/null >"$TMPDIR/out" 2>"$TMPDIR/err"
	[ $? != 2 ] || bad "the example of help: $line"
done <"$TMPDIR/examples"
# `mcp --cost` prints the cost of each set of tools, of all sets together, or of the named sets.
is 0 '^all  *[0-9][0-9]*  *[0-9]' cadre mcp --cost
is 0 '^core,workspace  *[0-9]' cadre mcp --cost --toolsets core,workspace
# It needs no state, and docs/mcp.md has the same numbers.
(cd "$TMPDIR" && CADRE_HOME=$TMPDIR/none "$CADRE" mcp --cost >"$TMPDIR/cost" 2>"$TMPDIR/err") || bad "mcp --cost"
[ ! -s "$TMPDIR/err" ] || bad "mcp --cost complains: $(cat "$TMPDIR/err")"
sed -n '/^\$ cadre mcp --cost$/,/^```$/p' "$(dirname "$0")/../../docs/mcp.md" | grep -v '^[$`]' | cmp - "$TMPDIR/cost" ||
	bad "docs/mcp.md has old costs: make docs"
is 2 'no set of tools `nets`' cadre mcp --cost --toolsets nets
is 0 '^Example:' cadre man task
is 0 '^blue$' cadre --team blue status --line
is 0 '^2 teams$' cadre status --line
offers 'team create ""' '' # a new name has no completions
offers '--team ""' 'blue green '
offers '--team blue --as p' 'painter '
offers '--team blue task assign ""' '001 '
offers '--team blue task assign --timeout-secs 9 001 p' 'painter ' # `p` is the command's second word
offers '--team=blue send p' 'painter '
offers '--team=blue send role' 'role:lead role:painter '
offers '--team=blue task assign 001 role:p' 'role:painter '
offers 'send p' '' # no team is given
is 2 'is this for painter and role:lead' cadre --team blue send painter role:lead hello
offers 'task list --status pen' 'pending '
offers 'task list --status pending --ow' '--owner '
offers 'task list --status=pending --team blue --owner p' 'painter '
offers 'nothing ""' ''
# In completions, keys of the configuration do not hide options. For example, `--st` completes
# to --status, and not to the key `--state.durability`.
offers 'task list --st' '--status '
offers 'task list --state.d' '--state.durability '
offers 'task list --stat' '--status '
offers 'task create --stat' '--state.durability '
is 0 '^001	Paint it' cadre complete -- --team blue task show ''
is 0 '^wrote teams/blue/design.md: 9 bytes$' cadre vault write teams/blue/design.md "One pass."
is 0 '^teams/blue/design.md	note' cadre complete -- vault read teams/blue/d
is 2 'say which team' cadre complete # without `--` this is the verb that completes a task

# The completion scripts work in bash, zsh and fish.
export CADRE_TEAM=blue
cadre completion bash >"$TMPDIR/completion"
cat >"$TMPDIR/complete" <<'END'
. "$1"
try() {
	COMP_WORDS=("$@")
	COMP_CWORD=$(($# - 1))
	COMPREPLY=()
	_cadre
	echo "${COMPREPLY[@]}"
}
try cadre task list --status pen
try cadre task assign 001 ''
try cadre send role : # bash splits words at a colon
try cadre send role : p
END
[ "$(bash "$TMPDIR/complete" "$TMPDIR/completion" | tr '\n' ' ')" = \
	'pending lead painter role:lead role:painter lead painter painter ' ] || bad "completion in bash"
cadre completion zsh >"$TMPDIR/completion"
is 0 '^lead painter role:lead role:painter$' zsh -f -c "compdef() { :; }; . $TMPDIR/completion
	compadd() { shift 4; echo \"\$@\"; }
	words=(cadre task assign 001 ''); CURRENT=5; _cadre"
cadre completion fish >"$TMPDIR/completion"
is 0 '^pending' fish -c "source $TMPDIR/completion; complete -C 'cadre task list --status p'"
is 0 '^painter' fish -c "source $TMPDIR/completion; complete -C 'cadre task assign 001 '"
unset CADRE_TEAM
cadre team create talk --roles ann >/dev/null 2>&1
first=$(cadre --team talk --json send ann "one" | sed -n 's/.*"seq":\([0-9]*\).*/\1/p')
cadre --team talk --as ann reply "#$first" "two" >/dev/null || bad reply
is 0 "thread #$first " cadre --team talk thread "#$first"
is 0 '^.TH CADRE 1' cadre man
is 0 'EXIT STATUS' cadre man
cadre man | cmp -s - "$here/../docs/cadre.1" || bad "docs/cadre.1 is stale: make docs"
[ "$(wc -l <"$here/../docs/cadre.1")" -le 400 ] || bad "cadre(1) has over 400 lines"
for noun in $(cadre docs nouns); do
	cadre man "$noun" | cmp -s - "$here/../docs/cadre-$noun.1" || bad "docs/cadre-$noun.1 is stale: make docs"
done
is 0 'cadre task tick' cadre man task
is 0 '^.SS cadre agent run' cadre man agent
is 2 'no page about' cadre man nothing
exit $failed
