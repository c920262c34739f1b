#!/bin/sh
# workflows - runs the session with VMs from docs/workflows.md, but without `cadre init` and
# without the team's end. An urgent message stops a turn in a VM.
. "$(dirname "$0")/../lib/vm.sh"
. "$(dirname "$0")/../lib/said_in.sh"
need_image
docs=$(cd "$(dirname "$0")/../../docs" && pwd)
mkdir "$TMPDIR/bin" && ln -s "$CADRE" "$TMPDIR/bin/cadre" && ln -s "$build/cadre-guest" "$TMPDIR/bin/cadre-guest"
export PATH="$TMPDIR/bin:$PATH"
cd "$TMPDIR" || exit 1
block "$docs/workflows.md" 'A team in VMs' | sed 's/cadre init && //; /^cadre team destroy/d' >typed
[ -s typed ] || bad "no session"
timeout 600 sh -eu -c '. ./typed' >out 2>err </dev/null || { bad "it failed"; tail -n 5 out err; }
grep -q 'I am in a VM' out || { bad "no answer from the VM"; cat out err; }
grep -q 'seen by lab-worker-1' out || bad "no turn in the VM"
cadre agent update worker-1 --team lab --runner 'trap "echo stopped; exit 1" INT; cat; while :; do sleep 1; done' >/dev/null || bad "update"
cadre send --team lab worker-1 'work for long' >/dev/null
turns() { sqlite3 "$CADRE_HOME/state.db" "SELECT count(*) FROM v_turn WHERE $1"; }
until_is '^1$' turns "text LIKE '%work for long%'"
cadre agent say --team lab worker-1 'stop' >/dev/null || bad "say"
until_is '^1$' turns "state = 'interrupted' AND text LIKE '%stopped%'"
[ $failed = 0 ] || sqlite3 "$CADRE_HOME/state.db" 'SELECT state, reason, text FROM v_turn'
finish
exit $failed
