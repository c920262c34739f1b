#!/bin/sh
# workflows - runs the sessions of docs/workflows.md with the commands that the document shows.
set -u
stateless=yes
. "$(dirname "$0")/../lib/story.sh"
. "$here/lib/said_in.sh"
unset CADRE_HOME
mkdir "$TMPDIR/bin" && ln -s "$CADRE" "$TMPDIR/bin/cadre"
export PATH="$TMPDIR/bin:$PATH" HOME="$TMPDIR"
type_in() { # HEADING: runs this session in a new folder; its output is in $TMPDIR/out
	dir=$TMPDIR/$(echo "$1" | tr -c 'a-zA-Z\n' -) && mkdir "$dir"
	block "$here/../docs/workflows.md" "$1" >"$dir/typed"
	[ -s "$dir/typed" ] || bad "no session: $1"
	# The shell of a session ends at the first command that fails.
	(cd "$dir" && timeout 120 sh -eu -c '. ./typed' >"$TMPDIR/out" 2>"$TMPDIR/err" </dev/null) ||
		{ judged=yes; bad "$1"; tail -n 5 "$TMPDIR/err"; }
	state=$(find "$dir" -maxdepth 2 -name .cadre | head -n 1)
	"$CADRE" --home "$state" down --all >/dev/null 2>&1
}
says() { tabbed "$1" && grep -q -e "$pattern" "$TMPDIR/out" || { judged=yes; bad "no '$1'"; }; }

type_in 'Work for daemons'
says '\t001\tworker-1\t0\t20[^\t]*\t.*built'
says '\t002\tworker-2\t0\t20[^\t]*\t1'
type_in 'Two clients on one repository'
says '^part-001$'
says '^part-002$'
says '^001\tcompleted\t.*\tann\t'
type_in 'A conversation of three'
says 'the text is good'
says '\tturn\t\t\t\t[0-9][0-9]*\tdone\t'
exit $failed
