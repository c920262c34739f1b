#!/bin/sh
# team-folders - notes stay with their team when the team is renamed, and when two teams swap
# their names. A new team with the name of an ended team cannot read the ended team's notes. The
# cases run with a host, without a host, and after a kill of the host.
. "$(dirname "$0")/../lib/story.sh"
vault=$CADRE_HOME/vault/teams
quietly() { "$@" >"$TMPDIR/out" 2>&1 || bad "$*: $(cat "$TMPDIR/out")"; }
as() { cadre --as "$1" --team "$2" vault "$3" "$4" ${5+"$5"}; }

# Immediately after a team has ended, a new team gets its name. The names of the teams end in
# $1.
again() {
	quietly cadre team create "shop$1" --roles a
	quietly cadre vault write "teams/shop$1/plan.md" OLD
	quietly cadre team destroy --yes "shop$1"
	quietly cadre team create "shop$1" --roles b
	is 3 'no note teams/shop' as b "shop$1" read plan.md
	is 0 . as b "shop$1" write plan.md NEW
	is 0 OLD cat "$vault/.archive/shop$1"-*/plan.md
	is 0 '^NEW' as b "shop$1" read plan.md

	quietly cadre team create "gone$1" --roles a
	for n in 1 2 3 4 5 6; do quietly cadre vault write "teams/gone$1/$n.md" OLD; done
	quietly cadre team destroy "gone$1" --purge --yes
	quietly cadre team create "gone$1" --roles b
	is 0 . as b "gone$1" write mine.md NEW
	is 0 '^NEW' as b "gone$1" read mine.md
	[ ! -e "$vault/gone$1/1.md" ] || bad "an old note is there"
	! ls "$vault/.archive" | grep -q "gone$1" || bad "what was to go is in the archive"

	# The operator writes a note under the name of an ended team, and no new team has this
	# name.
	quietly cadre team create "last$1" --roles a
	quietly cadre vault write "teams/last$1/plan.md" OLD
	quietly cadre team destroy "last$1" --purge --yes
	is 0 . cadre vault write "teams/last$1/mine.md" NEW
	is 0 '^NEW' cadre vault read "teams/last$1/mine.md"
}

# Right after a rename the team's notes are read and written under the new name.
renamed() {
	quietly cadre team create "re$1" --roles a
	quietly cadre vault write "teams/re$1/log.md" one
	quietly cadre team update "re$1" --new-name "ra$1"
	is 0 '^one' as a "ra$1" read log.md
	quietly cadre team update "ra$1" --new-name "ro$1"
	is 0 . as a "ro$1" append log.md two
	is 0 . as a "ro$1" write more.md three
	quietly cadre team create "re$1" --roles z
	is 3 'no note' as z "re$1" read log.md
	is 0 . as z "re$1" write log.md z
	is 0 'two' as a "ro$1" read log.md
	is 0 'three' as a "ro$1" read more.md
	is 0 '^z' as z "re$1" read log.md
	[ ! -e "$vault/ra$1" ] || bad "a folder of a former name is there"

	quietly cadre team create "sa$1" --roles a
	quietly cadre team create "sb$1" --roles b
	quietly cadre vault write "teams/sa$1/who.md" "a is here"
	quietly cadre vault write "teams/sb$1/who.md" "b is here"
	quietly cadre team update "sa$1" --new-name "st$1"
	quietly cadre team update "sb$1" --new-name "sa$1"
	quietly cadre team update "st$1" --new-name "sb$1"
	is 0 'a is here' as a "sb$1" read who.md
	is 0 'b is here' as b "sa$1" read who.md
}

# A person's files stay in their folder when a team gets the name of that folder.
joined() {
	quietly cadre team create "jo$1" --roles a
	quietly cadre vault write "teams/jo$1/plan.md" "the team's"
	mkdir -p "$vault/ji$1/deep"
	echo "my own" >"$vault/ji$1/mine.md"
	echo "my plan" >"$vault/ji$1/plan.md"
	echo "deeper" >"$vault/ji$1/deep/note.md"
	quietly cadre team update "jo$1" --new-name "ji$1"
	is 0 "the team's" as a "ji$1" read plan.md
	is 0 'my own' as a "ji$1" read mine.md
	is 0 'my plan' as a "ji$1" read plan.conflict.md
	is 0 'deeper' as a "ji$1" read deep/note.md
	is 0 "row: " cat "$vault/ji$1/TEAM.md"
	! ls "$vault/.archive" | grep -q "j[io]$1" || bad "a person's folder is in the archive"
}

# A team can use its notes even if a person has damaged or removed the team's page TEAM.md.
spoiled() {
	quietly cadre team create "sp$1" --roles a
	quietly cadre vault write "teams/sp$1/plan.md" here
	echo "no page" >"$vault/sp$1/TEAM.md"
	is 0 here as a "sp$1" read plan.md
	is 0 . as a "sp$1" write plan.md there
	rm -f "$vault/sp$1/TEAM.md"
	is 0 there as a "sp$1" read plan.md
}

# A host is killed, so no host moves the folder of an ended team. The next call moves the
# folder.
killed() {
	quietly cadre team create kill --roles a
	quietly cadre vault write teams/kill/plan.md OLD
	host=$(cadre status --json | sed 's/.*"pid":\([0-9]*\).*/\1/')
	kill -STOP "$host"
	kill -KILL "$host"
	until_done sh -c "! kill -0 $host 2>/dev/null"
	quietly cadre team destroy --yes kill
	quietly cadre team create kill --roles b
	is 3 'no note' as b kill read plan.md
	is 0 . as b kill write plan.md NEW
	is 0 '^NEW' as b kill read plan.md
	is 0 OLD cat "$vault"/.archive/kill-*/plan.md
}

# An agent writes notes without a pause while its team is renamed again and again. At the end
# the team's folder contains every note whose write was acknowledged. The archive contains no
# note of the team.
busy() {
	quietly cadre team create "busy$1" --roles a
	(n=0; while [ ! -e "$TMPDIR/enough" ]; do
		n=$((n + 1))
		for name in busy$1 bee$1; do
			as a "$name" write "n$n-$name.md" "$n" >/dev/null 2>&1 &&
				echo "n$n-$name.md" >>"$TMPDIR/acknowledged"
		done
	done) &
	writer=$!
	for i in 1 2 3 4 5 6 7 8; do
		quietly cadre team update "busy$1" --new-name "bee$1"
		quietly cadre team update "bee$1" --new-name "busy$1"
		sleep 0.1
	done
	: >"$TMPDIR/enough"
	wait $writer
	rm "$TMPDIR/enough"
	cadre vault list "teams/busy$1" >/dev/null
	[ "$(wc -l <"$TMPDIR/acknowledged")" -gt 4 ] || bad "hardly a note was written"
	while read -r note; do
		[ -s "$vault/busy$1/$note" ] || bad "$note is not there"
	done <"$TMPDIR/acknowledged"
	rm "$TMPDIR/acknowledged"
	[ ! -e "$vault/bee$1" ] || bad "notes are in the folder of a former name"
	! ls "$vault/.archive" | grep -q "b[ue]" || bad "a living team's notes are in the archive"
}

# If a file in the vault already has a team's new name, the file is moved to the archive. If a
# copy of another team's folder has the new name, the copy is moved to the archive, and the
# other team keeps its own folder.
stands() {
	quietly cadre team create "one$1" --roles a
	quietly cadre team create "two$1" --roles b
	quietly cadre vault write "teams/one$1/mine.md" "of one"
	quietly cadre vault write "teams/two$1/mine.md" "of two"
	echo "a file" >"$vault/file$1"
	quietly cadre team update "one$1" --new-name "file$1"
	is 0 '^of one' as a "file$1" read mine.md
	is 0 'a file' cat "$vault/.archive/file$1"-*
	cp -r "$vault/two$1" "$vault/copy$1"
	echo "of the copy" >"$vault/copy$1/mine.md"
	quietly cadre team update "file$1" --new-name "copy$1"
	is 0 '^of one' as a "copy$1" read mine.md
	is 0 '^of two' as b "two$1" read mine.md
	is 0 'of the copy' cat "$vault/.archive/copy$1"-*/mine.md
	rm -rf "$vault/.archive"/file* "$vault/.archive"/copy*
	# If a team has no notes, its removal needs no consent, and leaves no notes that could
	# be restored.
	quietly cadre team create "bare$1" --roles a
	cadre vault list "teams/bare$1" >/dev/null
	is 0 "^team bare$1 is destroyed$" cadre team destroy --yes "bare$1" --purge
	quietly cadre team destroy --yes "two$1"
	quietly cadre team destroy --yes "copy$1"
}

for how in hosted alone; do
	[ $how = alone ] || quietly cadre up
	again $how
	renamed $how
	joined $how
	spoiled $how
	stands $how
	busy $how
	[ $how = alone ] || killed
done
is 0 'whole' cadre doctor
exit $failed
